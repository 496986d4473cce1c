//! Sends the figures of loads while they run, interval by interval.
//!
//! A command that makes several loads has one way to its outputs for all of them, so that sums go on from load to load and
//! none waits for an endpoint of the one before. The engine never waits for it either: an interval that finds no room is
//! left out, and a warning says so. Does not know what the figures are.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use knee_core::clock;
use knee_core::event::Event;
use knee_core::plan::Endpoint;
use knee_driver::Subject;
use knee_k6::metric::Registry;
use knee_k6::observe::system_tags::SystemTags;
use knee_k6::output::interval::{About, IntervalSamples};
use knee_k6::output::{Outlet, Settings, Target, Writer};

use super::failed::{Failed, failed, refused};
use crate::live;
use crate::problem::{Problem, on_one_line, reason};

/// What the figures of a load are handed to. Clones hand over to the same outputs.
#[derive(Clone)]
pub struct Feed {
    outlet: Outlet,
    metrics: Arc<Registry>,
    about: About,
    /// How many times intervals were missing.
    gaps: Arc<AtomicU64>,
}

/// A load whose figures are handed over.
pub struct Listening(JoinHandle<()>);

/// Does `work`, whose loads hand their figures to `targets`, if there are any. Then waits until everything is sent or given
/// up, and reports what is missing. `work` must keep no feed.
///
/// # Errors
///
/// If sending cannot begin, and those of `work`.
pub fn during<T>(
    targets: &[Target],
    narrate: fn(&str),
    work: impl FnOnce(Option<Feed>) -> Result<T, Failed>,
) -> Result<T, Failed> {
    if targets.is_empty() {
        return work(None);
    }
    let metrics = Arc::new(Registry::default());
    let settings = Settings {
        targets: targets.to_vec(),
        metrics: metrics.clone(),
        thresholds: std::collections::BTreeMap::new(),
        system_tags: SystemTags::default(),
        say: Arc::new(move |words| narrate(&format!("warning: {}", on_one_line(words)))),
    };
    let (writer, outlet) = Writer::start(&settings)
        .map_err(|error| refused(Problem::new(unable(&reason(&error)), "leave `--out` out")))?;
    let gaps: Arc<AtomicU64> = Arc::default();
    let done = work(Some(Feed { outlet, metrics, about: About::default(), gaps: gaps.clone() }));
    let missing = gaps.load(Ordering::Relaxed);
    let missing =
        (missing > 0).then(|| format!("the figures that were sent lack intervals in {missing} places"));
    for warning in writer.finish().into_iter().chain(missing) {
        narrate(&format!("warning: {}", on_one_line(&warning)));
    }
    done
}

impl Feed {
    /// The same for a load of which this is said.
    #[must_use]
    pub fn about(&self, about: About) -> Self {
        Self { about, ..self.clone() }
    }

    /// Hands over the figures of a load with these endpoints, which come as events.
    ///
    /// # Errors
    ///
    /// If the system starts no thread.
    pub fn listen(&self, endpoints: Vec<Endpoint>) -> Result<(Listening, SyncSender<Event>), Failed> {
        let fault = |words: &str| failed(Problem::new(unable(words), "leave `--out` out"));
        let samples = IntervalSamples::new(self.about.clone(), endpoints, &self.metrics)
            .map_err(|error| fault(&error.to_string()))?;
        let (sender, events) = sync_channel(live::BACKLOG);
        let (outlet, gaps) = (self.outlet.clone(), self.gaps.clone());
        let work = move || hand_over(samples, &events, &outlet, &gaps);
        let thread: io::Result<_> = Builder::new().name("pushes".to_owned()).spawn(work);
        thread.map(|thread| (Listening(thread), sender)).map_err(|error| fault(&reason(&error)))
    }
}

/// What the figures of a trial go to; nothing if it is none of the study.
pub fn of_trial(feed: Option<&Feed>, subject: &Subject<'_>, is_script: bool) -> Option<Feed> {
    let (feed, trial) = (feed?, subject.trial?);
    let tags = [
        ("variant", trial.variant.clone()),
        ("workload", trial.workload.clone()),
        ("block", (trial.block + 1).to_string()),
        ("trial", (trial.number + 1).to_string()),
    ];
    let tags = tags.map(|(name, value)| (name.to_owned(), value)).to_vec();
    // What is started has another port with each start.
    let base = (!subject.started.is_empty()).then(|| subject.url.trim_end_matches('/').to_owned());
    Some(feed.about(About { tags, base, iterates: !is_script }))
}

impl Listening {
    /// Waits until the last figures are handed over, which no endpoint delays.
    pub fn end(self) {
        // A thread that panicked has said so.
        let _ = self.0.join();
    }
}

fn unable(words: &str) -> String {
    format!("figures cannot be sent, for `--out`: {words}")
}

/// Hands over intervals until there are no more.
fn hand_over(mut samples: IntervalSamples, events: &Receiver<Event>, outlet: &Outlet, gaps: &AtomicU64) {
    let mut reached = None;
    while let Ok(event) = events.recv() {
        match event {
            Event::Interval(interval) => {
                if reached.is_some_and(|to| to != interval.from) {
                    gaps.fetch_add(1, Ordering::Relaxed);
                }
                reached = Some(interval.to);
                outlet.send_interval(samples.columns(&interval, clock::wall()));
            }
            Event::Ended => break,
            Event::Started(_) | Event::Observed { .. } | Event::Stopping { .. } | Event::Warning(_) => {}
        }
    }
}
