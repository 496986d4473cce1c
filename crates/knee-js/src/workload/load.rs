//! What a script under load is made of, and how it ends a run.
//!
//! Does not make VUs or call the script.

use std::sync::{Arc, Mutex, PoisonError};

use knee_core::share::Stripe;
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};

use crate::program::{HttpDefaults, Program};
use crate::state::{Count, Tally};
use crate::vu::LoadError;
use knee_k6::observe::system_tags::SystemTags;
use knee_k6::observe::{Context, Observer, Observers};
use knee_k6::options::ExecutorSpec;
use knee_k6::secrets::Secrets;

/// The function that a scenario calls, and the facts that its VUs can read.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its executor.
    pub executor: ExecutorSpec,
    /// The exported function.
    pub export: String,
    /// Tags of all its samples.
    pub tags: Vec<(String, String)>,
    /// `__ENV` besides the script's.
    pub environment: Vec<(String, String)>,
    /// Start time.
    pub begins: Nanos,
    /// Its duration, if time ends it.
    pub lasts: Option<Nanos>,
    /// Its iterations, if their number ends it.
    pub iterations: Option<u64>,
    /// Which of all machines' iterations are its own; all of them if `None`.
    pub turns: Option<Stripe>,
}

/// A script under load.
pub struct Load {
    /// The script.
    pub program: Arc<Program>,
    /// Its scenarios, in the plan's order.
    pub parts: Vec<Part>,
    /// Tags of all samples, also of those that no VU takes.
    pub tags: Vec<(String, String)>,
    /// JSON of what `setup` returned.
    pub data: Option<Arc<str>>,
    /// Defaults of requests.
    pub http: HttpDefaults,
    /// JSON of the options, for scripts that ask.
    pub options: Arc<str>,
    /// Counts of all VUs.
    pub tally: Arc<Tally>,
    /// Makes the observer of each worker.
    pub observers: Observers,
    /// To end the run when a script asks for it.
    pub control: Control,
    /// Why the run was ended by the script, or could not go on.
    pub stopped: Mutex<Option<Stop>>,
    /// Minimum duration of an iteration; its VU waits for the rest.
    pub min_iteration: Nanos,
    /// Which tags samples get by themselves; VUs set those that are metadata.
    pub system_tags: SystemTags,
    /// Counts of iterations, by scenario.
    pub counts: Vec<Arc<Count>>,
    /// Which of all machines' VUs are of this one; all of them if `None`.
    pub vus: Option<Stripe>,
}

/// Why a run was ended from inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The script asked for it.
    Asked(String),
    /// The script threw while a VU was made.
    Threw(String),
    /// A VU could not be made.
    Failed(String),
}

impl Stop {
    /// The same without secrets.
    fn masked(self, secrets: &Secrets) -> Self {
        let masked = |words: String| secrets.masked(&words).into_owned();
        match self {
            Self::Asked(words) => Self::Asked(masked(words)),
            Self::Threw(words) => Self::Threw(masked(words)),
            Self::Failed(words) => Self::Failed(words),
        }
    }
}

impl From<LoadError> for Stop {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Aborted(words) => Self::Asked(words),
            LoadError::Script(thrown) => Self::Threw(thrown.to_string()),
            LoadError::Stack(_) => Self::Failed(error.to_string()),
        }
    }
}

impl Part {
    /// Whether its arrivals do not wait for iterations.
    pub fn is_open(&self) -> bool {
        self.executor.is_open()
    }
}

impl Load {
    /// Ends the run; returns whether this is the first reason, which is the one that counts.
    pub(super) fn stop(&self, why: Stop) -> bool {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let first = stopped.is_none();
        stopped.get_or_insert(why.masked(&self.program.surroundings.secrets));
        drop(stopped);
        if first {
            self.control.note("the script ended the load");
        }
        self.control.abort();
        first
    }

    /// Whether everything is to end at once.
    pub(super) fn is_aborted(&self) -> bool {
        self.control.request() == Request::Abort
    }

    /// Why the run was ended from inside, if it was.
    pub fn why_stopped(&self) -> Option<Stop> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reports to k6's view iterations of a scenario that never began.
    pub(super) fn dropped(&self, observer: &dyn Observer, scenario: usize, count: u64, at: Nanos) {
        let part = &self.parts[scenario];
        let tags = self.system_tags.above(&self.tags);
        let context = Context { scenario: &part.name, group: "", tags: &tags, metadata: &[], at };
        observer.dropped(count, &context);
    }

    /// Reports planned iterations for which there was no time to k6's view. To be called when the plan has ended.
    pub fn drop_rest(&self, observer: &dyn Observer, at: Nanos) {
        for (scenario, (part, count)) in self.parts.iter().zip(&self.counts).enumerate() {
            let rest = part.iterations.map_or(0, |all| all.saturating_sub(count.begun()));
            if rest > 0 {
                self.dropped(observer, scenario, rest, at);
            }
        }
    }
}
