//! What is shown during a load: the live screen, or one line per interval.
//!
//! Receives events and never slows the run: a screen that falls behind loses a frame, not a measurement. Does not
//! calculate results; the report at the end comes from the record.

use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use knee_core::event::Event;
use knee_engine::control::Control;
use knee_report::number::Unit;

use crate::settings::output::Progress;
use crate::stderr;

pub mod figure;

pub mod history;

pub mod line;

pub mod provisional;

pub mod term;

/// How many events can wait for a screen: far more than come in a second, far fewer than in a run.
pub const BACKLOG: usize = 1_024;

/// A screen on its own thread.
#[derive(Debug)]
pub struct Live {
    thread: Option<JoinHandle<Vec<String>>>,
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
        let show = move || match progress {
            Progress::Screen { fps, color } => {
                term::run(term::Options { fps, color, unit }, &events, &control)
            }
            Progress::Lines => line::run(unit, &events, stderr::say),
            Progress::None => line::warnings(&events),
        };
        let thread = std::thread::Builder::new().name("live".to_owned()).spawn(show)?;
        Ok(Self { thread: Some(thread) })
    }

    /// Waits until the screen is gone and the terminal restored. Returns the warnings that the screen
    /// showed, for stderr.
    pub fn finish(mut self) -> Vec<String> {
        // A screen that panicked has said so; the run does not depend on it.
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}
