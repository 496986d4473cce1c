//! What is saved, as a list: one entry per run or result, and the trend of runs that can be compared.
//!
//! Lays entries out as text and JSON. Does not read files and does not find changes; `knee_study::change_point` does.

mod entry;

mod json;

mod text;

mod trend;

pub use entry::{Entry, Figures, load};
pub use json::render as json;
pub use text::{aligned, moment, render as text, value};
pub use trend::{Trend, TrendMetric, trends};

/// The layout's version; rises when a member is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// What is saved, as far as it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// How many more there are that a limit left out.
    pub older: usize,
    /// Trends, if they were asked for.
    pub trends: Option<Vec<Trend>>,
    /// Files that are not listed, each with the reason.
    pub skipped: Vec<(String, String)>,
}
