//! Results as one HTML file each: a run, a sweep, a study, a comparison, a search.
//!
//! Lays out the views that text and JSON show too, in the same words, and calculates nothing. A file needs no script,
//! no network and no other file; its content policy allows none but the two of [`inline`]. Charts come from
//! [`crate::chart`].

mod cursor;

mod data;

mod document;

mod forest;

mod front;

mod history;

pub mod inline;

mod page;

mod picture;

mod raw;

mod run;

mod search;

mod section;

pub mod served;

pub mod start;

mod sweep;

mod table;

mod words;

pub use document::{calibration, comparison, record_pair, study};
pub use history::{history, served_history};
pub use run::run;
pub use search::search;
pub use sweep::sweep;
