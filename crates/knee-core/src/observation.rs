//! What observers saw beside a run: series of figures and texts by source, on the clock of the run.
//!
//! A source is one thing that was watched: a database, a cache, a process, this machine. Its figures are series, of which
//! each has a name (what is counted), a label (of which statement, table, wait or CPU) and points. Does not read any
//! source and does not judge; that is for `knee-observe` and `knee-findings`.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

mod again;
mod batch;
mod builder;
mod encoder;
mod observer;
mod proposal;
mod sqlite;

pub use again::batches;
pub use batch::{Batch, NewSeries, Number, Reading, SourceChange};
pub use builder::{ObservationBuilder, POINTS_MAX};
pub use encoder::{Encoder, Figure};
pub use observer::Observer;
pub use proposal::{PLANNED_INDEXES, PlannedIndex, Proposal};
pub use sqlite::{SQLITE_SECONDS, sqlite_statement};

/// The commands that the observer of a Redis server sends, as `redis.command.calls` has them; without a second word
/// before Redis 7.
pub const OBSERVING_COMMANDS: [&str; 7] =
    ["info", "client|list", "slowlog|get", "latency|latest", "client", "slowlog", "latency"];

/// Most series of one run. Beyond this a source leaves out those that matter least, and says how many.
pub const SERIES_MAX: usize = 4_000;

/// Most bytes of one text: a longer one is cut at a character's end.
pub const TEXT_MAX: usize = 16 * 1024;

/// Most sources of one run.
pub const SOURCES_MAX: usize = 64;

/// Most texts of one run.
pub const TEXTS_MAX: usize = 2_000;

/// Most bytes of all texts and names of one run together.
pub const TEXT_BYTES_MAX: usize = 8 << 20;

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// This machine.
    Host,
    /// A process and its threads.
    Process,
    /// A PostgreSQL server.
    Postgres,
    /// A Redis or Valkey server.
    Redis,
    /// A SQLite database file, from outside.
    Sqlite,
    /// A PgBouncer.
    PgBouncer,
    /// The page `stub_status` of an nginx.
    Nginx,
    /// A page of metrics in the text format of Prometheus.
    Prometheus,
    /// The functions in which a process spends its CPU time.
    Profile,
}

/// What became of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SourceState {
    /// It was read until the end of the run.
    Read,
    /// It could not be read from the start.
    Refused {
        /// Why, without secrets.
        reason: String,
    },
    /// It could not be read from a moment on; its figures until then stay.
    Lost {
        /// When, since the start of the run.
        at: Nanos,
        /// Why, without secrets.
        reason: String,
    },
}

/// One thing that was watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// How it is called in reports: its address without password, or the name of a process.
    pub name: String,
    /// What it is.
    pub kind: SourceKind,
    /// Its version, as it says.
    pub version: Option<String>,
    /// What became of it.
    pub state: SourceState,
    /// What it could not be asked, in words: "`pg_stat_statements` is not installed".
    pub without: Vec<String>,
    /// Series and texts that were left out because there were too many.
    pub left_out: u64,
}

/// What a figure counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// A number of something.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share, 0 to 1.
    Share,
}

/// How the points of a series follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Ever more, since some start; only differences mean something. One that falls was reset in between.
    Counter,
    /// A level at the moment of reading.
    Gauge,
}

/// A figure of a source over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Index of its source.
    pub source: usize,
    /// What is counted: words with dots between them, `statement.calls`. `docs/reference/observations.md` lists them.
    pub name: String,
    /// Of what: the id of a statement, a table, a wait, a CPU. Empty if the source has only one.
    pub label: String,
    /// What it counts in.
    pub unit: FigureUnit,
    /// How points follow each other.
    pub kind: SeriesKind,
    /// When, since the start of the run, ascending; and the figure, finite.
    pub points: Vec<(Nanos, f64)>,
}

/// A text of a source: a statement, a plan, a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Index of its source.
    pub source: usize,
    /// What it is: `statement.text`, `statement.plan`, `setting`.
    pub name: String,
    /// Of what: the label of the series that it explains.
    pub label: String,
    /// The text, literals masked, at most [`TEXT_MAX`] bytes.
    pub text: String,
}

/// Everything that observers saw beside a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// The sources, in the order in which they were asked for.
    pub sources: Vec<Source>,
    /// Their figures.
    pub series: Vec<Series>,
    /// Their texts.
    pub texts: Vec<Text>,
}

impl Observations {
    /// The series of this name, of all sources and labels.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Series> {
        self.series.iter().filter(move |series| series.name == name)
    }

    /// The series of this name and label of one source.
    pub fn series(&self, source: usize, name: &str, label: &str) -> Option<&Series> {
        let is_it = |one: &&Series| one.source == source && one.name == name && one.label == label;
        self.series.iter().find(is_it)
    }

    /// The text of this name and label of one source.
    pub fn text(&self, source: usize, name: &str, label: &str) -> Option<&str> {
        let is_it = |one: &&Text| one.source == source && one.name == name && one.label == label;
        self.texts.iter().find(is_it).map(|one| one.text.as_str())
    }
}

impl Series {
    /// How much a counter rose from the last point at or before `from` to the last at or before `to`; a fall counts as a
    /// start from zero. `None` if there are no two such points, or if it is no counter. Of equal points in sequence, only
    /// the first and the last are kept: between the two, the rise is zero.
    pub fn rise(&self, from: Nanos, to: Nanos) -> Option<f64> {
        if self.kind != SeriesKind::Counter {
            return None;
        }
        let until = |moment: Nanos| self.points.partition_point(|(at, _)| *at <= moment).checked_sub(1);
        let first = until(from).unwrap_or(0);
        let last = until(to)?;
        if last <= first {
            let (at, value) = self.points[first];
            let stays = at <= from
                && self.points.get(first + 1).is_some_and(|next| next.1.to_bits() == value.to_bits());
            return (last == first && stays).then_some(0.0);
        }
        let steps = self.points[first..=last].windows(2);
        Some(steps.map(|pair| if pair[1].1 >= pair[0].1 { pair[1].1 - pair[0].1 } else { pair[1].1 }).sum())
    }

    /// The mean of the points of a gauge from `from` to `to`; `None` if there are none, or if it is no gauge.
    pub fn mean(&self, from: Nanos, to: Nanos) -> Option<f64> {
        let inside = self.points.iter().filter(|(at, _)| *at >= from && *at <= to);
        let (sum, count) = inside.fold((0.0, 0_u32), |(sum, count), (_, value)| (sum + value, count + 1));
        (self.kind == SeriesKind::Gauge && count > 0).then(|| sum / f64::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(kind: SeriesKind, points: &[(u64, f64)]) -> Series {
        Series {
            source: 0,
            name: "statement.calls".into(),
            label: "1".into(),
            unit: FigureUnit::Count,
            kind,
            points: points.iter().map(|(second, value)| (Nanos::from_secs(*second), *value)).collect(),
        }
    }

    #[test]
    fn a_counter_that_was_reset_counts_from_zero_again() {
        let counter = series(SeriesKind::Counter, &[(0, 100.0), (1, 110.0), (2, 5.0), (3, 9.0)]);
        assert_eq!(counter.rise(Nanos::ZERO, Nanos::from_secs(3)), Some(19.0));
        assert_eq!(counter.rise(Nanos::from_secs(1), Nanos::from_secs(9)), Some(9.0));
        assert_eq!(counter.rise(Nanos::from_secs(3), Nanos::from_secs(9)), None, "no two points");
        assert_eq!(counter.mean(Nanos::ZERO, Nanos::from_secs(3)), None, "no gauge");
    }

    #[test]
    fn a_counter_that_stays_rises_by_zero_between_its_equal_points() {
        let counter = series(SeriesKind::Counter, &[(0, 5.0), (8, 5.0), (9, 6.0)]);
        assert_eq!(counter.rise(Nanos::from_secs(3), Nanos::from_secs(5)), Some(0.0));
        assert_eq!(counter.rise(Nanos::from_secs(3), Nanos::from_secs(9)), Some(1.0));
        let slow = series(SeriesKind::Counter, &[(0, 5.0), (10, 6.0)]);
        assert_eq!(
            slow.rise(Nanos::from_secs(3), Nanos::from_secs(5)),
            None,
            "it can have risen then or later"
        );
    }

    #[test]
    fn a_gauge_has_a_mean_of_the_points_within() {
        let gauge = series(SeriesKind::Gauge, &[(0, 1.0), (1, 3.0), (2, 8.0)]);
        assert_eq!(gauge.mean(Nanos::ZERO, Nanos::from_secs(1)), Some(2.0));
        assert_eq!(gauge.mean(Nanos::from_secs(5), Nanos::from_secs(6)), None);
        assert_eq!(gauge.rise(Nanos::ZERO, Nanos::from_secs(1)), None);
    }
}
