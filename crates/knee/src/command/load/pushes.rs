//! Sends the figures of a load on a URL while it runs, interval by interval.
//!
//! The engine never waits for it: an interval that finds no room is left out, and a warning says so.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use knee_core::clock;
use knee_core::event::Event;
use knee_k6::metric::Registry;
use knee_k6::observe::system_tags::SystemTags;
use knee_k6::output::interval::IntervalSamples;
use knee_k6::output::{Outlet, Settings, Writer};

use super::super::failed::{Failed, refused};
use crate::live;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::Load;

/// What sends.
pub struct Pushes {
    thread: JoinHandle<Option<String>>,
}

impl Pushes {
    /// Begins to send the figures of `load`, if they are to be sent. Gets them as events.
    ///
    /// # Errors
    ///
    /// If sending cannot begin.
    pub fn start(load: &Load, narrate: fn(&str)) -> Result<Option<(Self, SyncSender<Event>)>, Failed> {
        if load.output.pushes.is_empty() {
            return Ok(None);
        }
        let unable = |words: String| {
            refused(Problem::new(
                format!("figures cannot be sent, for `--out`: {words}"),
                "leave `--out` out",
            ))
        };
        let metrics = Arc::new(Registry::default());
        let samples = IntervalSamples::new(load.plan.endpoints.clone(), &metrics)
            .map_err(|error| unable(error.to_string()))?;
        let settings = Settings {
            targets: load.output.pushes.clone(),
            metrics,
            thresholds: std::collections::BTreeMap::new(),
            system_tags: SystemTags::default(),
            say: Arc::new(move |words| narrate(&format!("warning: {}", on_one_line(words)))),
        };
        let started: io::Result<_> = Writer::start(&settings).and_then(|(writer, outlet)| {
            let (sender, events) = sync_channel(live::BACKLOG);
            let work = move || push(samples, &events, writer, outlet);
            let thread = Builder::new().name("pushes".to_owned()).spawn(work)?;
            Ok((Self { thread }, sender))
        });
        started.map(Some).map_err(|error| unable(reason(&error)))
    }

    /// Waits until everything is sent or given up. Returns a warning for the user, if there is one.
    pub fn finish(self) -> Option<String> {
        self.thread.join().unwrap_or_else(|_| Some("the thread that sends figures has panicked".to_owned()))
    }
}

/// Sends intervals until there are no more.
fn push(
    mut samples: IntervalSamples,
    events: &Receiver<Event>,
    writer: Writer,
    outlet: Outlet,
) -> Option<String> {
    let mut missing = 0_u64;
    let mut reached = None;
    while let Ok(event) = events.recv() {
        match event {
            Event::Interval(interval) => {
                missing += u64::from(reached.is_some_and(|to| to != interval.from));
                reached = Some(interval.to);
                outlet.send(samples.batch(&interval, clock::wall()));
            }
            Event::Ended => break,
            Event::Started(_) | Event::Observed { .. } | Event::Stopping { .. } | Event::Warning(_) => {}
        }
    }
    drop(outlet);
    let warning = writer.finish();
    let gaps =
        (missing > 0).then(|| format!("the figures that were sent lack intervals in {missing} places"));
    let warnings: Vec<String> = warning.into_iter().chain(gaps).collect();
    (!warnings.is_empty()).then(|| warnings.join("; "))
}
