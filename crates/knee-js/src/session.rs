//! The stages of a script except the load itself: loading, `setup`, `teardown`, `handleSummary`.
//!
//! Blocks the calling thread. Does not read options and does not print.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::deadline::Deadlines;
use knee_engine::endpoints::{Endpoints, Registry};
use knee_engine::http::client::Network;
use knee_engine::http::origin::Resolver;
use knee_engine::recorder::Recorder;
use knee_engine::run::HttpConfig;
use knee_engine::timer::{Timer, WorkerTimer};

use crate::loader::trouble::Trouble;
use crate::loader::{commonjs, export};
use crate::op::{Call, Ended, Stage};
use crate::program::files::Script;
use crate::program::{HttpDefaults, Program, Surroundings};
use crate::state::ExecutionInfo;
use crate::vu::{LoadError, Vu};
use crate::world::Description;
use knee_k6::flight::Late;
use knee_k6::http::send::RequestSender;
use knee_k6::http::targets::Targets;
use knee_k6::observe::Observer;
use knee_k6::observe::system_tags::SystemTags;
use knee_k6::secrets::Secrets;

/// Interval of checks for timeouts and the end of a stage, outside of scenarios.
const PACE: Nanos = Nanos::from_millis(20);

/// Why a script cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file, or an allowed folder, does not exist.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A module that the script imports is unavailable.
    #[error(transparent)]
    Module(Trouble),
    /// The script itself.
    #[error(transparent)]
    Script(#[from] LoadError),
}

/// A script that has been loaded.
pub struct Session {
    /// The script.
    pub program: Arc<Program>,
    /// Its exports.
    pub description: Description,
}

/// Settings of a stage outside of scenarios.
pub struct StageSettings {
    /// Network, TLS and connection settings.
    pub way: HttpConfig,
    /// Defaults of requests.
    pub http: HttpDefaults,
    /// Time limit of the stage.
    pub timeout: Nanos,
    /// k6's view of the run.
    pub observer: Rc<dyn Observer>,
    /// Whether the stage must end at once; polled while it runs.
    pub is_over: Rc<dyn Fn() -> bool>,
    /// Facts of the run that scripts can read.
    pub execution_info: Rc<ExecutionInfo>,
    /// Tags of all samples.
    pub tags: Rc<[(String, String)]>,
    /// Which tags samples get by themselves.
    pub system_tags: SystemTags,
}

impl Session {
    /// Loads a script: reads, compiles and evaluates it once.
    pub fn load(script: impl Into<Script>, surroundings: Surroundings) -> Result<Self, SessionError> {
        let program = Arc::new(Program::new(script, surroundings)?);
        let (vu, description) =
            Vu::load(&program, &Rc::default(), 0).map_err(|error| reason(&program, error))?;
        drop(vu);
        program.seal();
        let mut description = description;
        if let Some(options) = program.files.options() {
            description.options = Some(options.to_owned());
        }
        Ok(Self { program, description })
    }

    /// Whether the script exports this function.
    pub fn exports(&self, name: &str) -> bool {
        self.description.functions.iter().any(|known| known == name)
    }

    /// Calls `export` outside of all scenarios, with the JSON of its argument, and waits for it.
    pub fn stage(
        &self,
        export: &str,
        stage: Stage,
        argument: Option<&str>,
        settings: StageSettings,
    ) -> Result<Ended, SessionError> {
        let runtime = WorkerTimer::runtime()?;
        runtime.block_on(async {
            let (mut vu, _) = Vu::load(&self.program, &Rc::<Targets>::default(), 0)?;
            let timer = WorkerTimer::new(MonotonicClock::start())?;
            vu.state().http.replace(Rc::new(settings.http.clone()));
            vu.state().set_execution_info(settings.execution_info.clone());
            vu.state().tags.replace(settings.tags.clone());
            vu.state().system_tags.set(settings.system_tags);
            vu.state().number(settings.system_tags, None, 0);
            let group = match stage {
                Stage::Setup => "::setup",
                Stage::Teardown => "::teardown",
                Stage::Iteration | Stage::Summary => "",
            };
            vu.state().enter_group(group.into());
            let (timeout, is_over) = (settings.timeout, settings.is_over.clone());
            let watch = timer.clone();
            let secrets = self.program.surroundings.secrets.clone();
            vu.join(Rc::new(sender(settings, timer, secrets)));
            let call = Call { export: export.into(), stage, argument: argument.map(Into::into) };
            let cut = vu.state().now().saturating_add(timeout);
            let mut called = pin!(vu.call(call, Late::default(), cut));
            loop {
                let mut pause = pin!(watch.sleep_until(watch.now().saturating_add(PACE)));
                let ended = poll_fn(|ctx| match called.as_mut().poll(ctx) {
                    Poll::Ready(ended) => Poll::Ready(Some(ended)),
                    Poll::Pending => pause.as_mut().poll(ctx).map(|()| None),
                });
                match ended.await {
                    Some(ended) => return Ok(ended),
                    None if is_over() => return Ok(Ended::Cut),
                    None => {}
                }
            }
        })
    }
}

/// A failed import is a JavaScript error; this finds its cause, which has a hint.
fn reason(program: &Program, error: LoadError) -> SessionError {
    match (program.trouble(), error) {
        (Some(trouble), LoadError::Script(thrown)) if thrown.message.contains(&trouble.what) => {
            SessionError::Module(trouble)
        }
        (_, LoadError::Script(thrown)) => {
            match commonjs::trouble(&thrown).or_else(|| export::trouble(program, &thrown)) {
                Some(trouble) => SessionError::Module(trouble),
                None => LoadError::Script(thrown).into(),
            }
        }
        (_, error) => error.into(),
    }
}

/// A request sender with a recorder of its own: requests of `setup` and `teardown` are not measured.
fn sender(settings: StageSettings, timer: WorkerTimer, secrets: Arc<Secrets>) -> RequestSender {
    let clock = MonotonicClock::start();
    tokio::task::spawn_local(timer.clone().drive());
    let deadlines = Rc::new(Deadlines::default());
    let watch = (deadlines.clone(), timer.clone());
    tokio::task::spawn_local(async move { watch.0.watch(watch.1, PACE).await });
    let HttpConfig { settings: way, defaults, tls, http2: _ } = settings.way;
    let network = Network::new(clock, way, defaults, Arc::new(Resolver::default()), tls, deadlines);
    RequestSender {
        network: Rc::new(network),
        recorder: Rc::new(RefCell::new(Recorder::new(Nanos::ZERO))),
        endpoints: Endpoints::new(Arc::new(Registry::new(&[]))),
        timer,
        observer: settings.observer,
        user_agent: settings.http.user_agent.as_str().into(),
        pace: settings.http.pace,
        ceiling: settings.http.ceiling,
        secrets,
    }
}
