//! Drives the trials of studies, comparisons and calibrations, and the steps of sweeps.
//!
//! `knee_study` decides which trial comes next and draws the conclusion, `knee_fixture` starts services and stores,
//! and a [`LoadSource`] of the caller sends the load; this crate runs one trial after the other, measures its cost,
//! and saves its result before the next begins. Progress is reported as events. Prints nothing, reads no arguments, no
//! environment and no signals, and does not calculate statistics.

pub mod calibration;
mod cost;
pub mod cpu_use;
mod error;
mod fixture;
pub mod lock;
pub mod pictures;
mod pilot;
mod placement;
pub mod private_file;
pub mod process;
mod reset;
mod resource;
mod runner;
pub mod saved;
pub mod saved_steps;
pub mod search;
pub mod standing;
pub mod study;
pub mod sweep;
mod trials;
mod variant;

pub use error::{Error, Kind};
pub use fixture::StudyFixture;
pub use knee_fixture::Preparation;
pub use runner::{LoadSource, Loaded, Spans, Subject, Times, TrialRunner};
pub use trials::{Event, Trials};
