//! What is shown during a load: the live screen or one line per interval, and the live page.
//!
//! Receives events and never slows the run: a screen that falls behind loses a frame, not a measurement. Does not
//! calculate results; the report at the end comes from the record.

use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use knee_core::event::Event;
use knee_core::record::Run;
use knee_engine::control::Control;
use knee_report::number::Unit;

use crate::settings::output::Progress;
use crate::stderr;

pub mod feed;

pub mod figure;

pub mod fold;

pub mod history;

pub mod line;

pub mod observed;

pub mod page;

pub mod plan_words;

pub mod provisional;

pub mod term;

pub mod web;

use feed::Feed;

/// How many events can wait for a screen: far more than come in a second, far fewer than in a run.
pub const BACKLOG: usize = 1_024;

/// A screen on its own thread.
#[derive(Debug)]
pub struct Live {
    thread: Option<JoinHandle<Vec<String>>>,
    /// What the live page of this process shows, if it has one.
    page: Option<Feed>,
}

impl Live {
    /// Shows `events` until the run has ended or its senders are gone. Keys on the screen steer
    /// the run through `control`; `unit` is the unit of times, chosen to fit when `None`.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn start(
        progress: Progress,
        unit: Option<Unit>,
        events: Receiver<Event>,
        control: Control,
    ) -> std::io::Result<Self> {
        page::attach(&control);
        let page = page::feed();
        let feed = page.clone();
        let show = move || match progress {
            Progress::Screen { fps, color } => {
                let options = term::Options { fps, color, unit, page: page::url() };
                term::run(&options, &events, &control, feed.unwrap_or_default())
            }
            Progress::Lines => line::run(unit, &events, feed.as_ref(), stderr::say),
            Progress::None => line::warnings(&events, feed.as_ref()),
        };
        let thread = std::thread::Builder::new().name("live".to_owned()).spawn(show)?;
        Ok(Self { thread: Some(thread), page })
    }

    /// Waits until the screen is gone and the terminal restored. Returns the warnings that the screen
    /// showed, for stderr. The live page gets the result of the run, if there is one.
    pub fn finish(mut self, run: Option<&Run>) -> Vec<String> {
        // A screen that panicked has said so; the run does not depend on it.
        let warnings = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        if let (Some(page), Some(run)) = (&self.page, run) {
            page.finish(run);
        }
        warnings
    }
}
