//! What the live screen knows: events and keys go in, figures to draw come out.
//!
//! Does not draw (`draw` does), does not read a clock and does not touch a terminal, so
//! that every state can be made in a test.

use std::collections::BTreeMap;
use std::sync::Arc;

use knee_core::event::Event;
use knee_core::interval::Interval;
use knee_core::outcome::Fault;
use knee_core::record::{Head, Point};
use knee_core::unit::Nanos;
use knee_report::number::Unit;
use ratatui::style::{Color, Style};

use crate::live::history::{History, Moment};
use crate::live::provisional::Signs;

/// Widths of a bar in the chart of rates, and their names.
pub const BARS: [(Nanos, &str); 6] = [
    (Nanos::from_secs(1), "1 s"),
    (Nanos::from_secs(10), "10 s"),
    (Nanos::from_secs(60), "1 min"),
    (Nanos::from_secs(600), "10 min"),
    (Nanos::from_secs(3_600), "1 h"),
    (Nanos::from_secs(86_400), "1 d"),
];

/// Most warnings kept; the first ones tell the cause.
const WARNINGS_MAX: usize = 20;

/// A key that the screen knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// End the run; not the screen's to do.
    Quit,
    /// Wider bars.
    Wider,
    /// Narrower bars.
    Narrower,
    /// Bars as wide as the run needs.
    Auto,
    /// The next unit of time.
    Unit,
    /// Nothing but a new frame.
    Redraw,
}

/// Where the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the first request.
    Waiting,
    /// Requests are sent.
    Loading,
    /// No new requests; the flag says whether a person asked for that.
    Stopping(bool),
}

/// Everything the screen shows.
#[derive(Debug)]
pub struct Screen {
    pub(super) head: Option<Arc<Head>>,
    pub(super) phase: Phase,
    pub(super) history: History,
    pub(super) last: Option<Point>,
    pub(super) connections: u64,
    pub(super) planned: u64,
    pub(super) by_outcome: [u64; 6],
    pub(super) status: BTreeMap<u16, u64>,
    pub(super) faults: BTreeMap<Fault, u64>,
    pub(super) bytes: u64,
    pub(super) signs: Signs,
    pub(super) unit: Option<Unit>,
    pub(super) color: bool,
    warnings: Vec<String>,
    /// Place in [`BARS`]; `None` chooses.
    bar: Option<usize>,
    /// The screen's clock when the run began.
    began: Nanos,
    changed: bool,
}

impl Screen {
    /// An empty screen.
    pub fn new(unit: Option<Unit>, color: bool) -> Self {
        Self {
            head: None,
            phase: Phase::Waiting,
            history: History::default(),
            last: None,
            connections: 0,
            planned: 0,
            by_outcome: [0; 6],
            status: BTreeMap::new(),
            faults: BTreeMap::new(),
            bytes: 0,
            signs: Signs::default(),
            unit,
            color,
            warnings: Vec::new(),
            bar: None,
            began: Nanos::ZERO,
            changed: true,
        }
    }

    /// Takes an event that arrived at `now` on the screen's clock.
    pub fn handle(&mut self, event: &Event, now: Nanos) {
        self.changed = true;
        match event {
            Event::Started(head) => {
                self.head = Some(head.clone());
                self.phase = Phase::Loading;
                self.began = now;
            }
            Event::Interval(interval) => self.add(interval),
            Event::Stopping { interrupted } => self.phase = Phase::Stopping(*interrupted),
            Event::Warning(text) => {
                if self.warnings.len() < WARNINGS_MAX {
                    self.warnings.push(text.clone());
                }
            }
            Event::Ended => {}
        }
    }

    fn add(&mut self, interval: &Interval) {
        let measured_from = self.head.as_ref().map_or(Nanos::ZERO, |head| head.measured_from);
        let point = Point::of(interval, measured_from);
        let tallies = || interval.warm_up.endpoints.iter().chain(&interval.measured.endpoints);
        for endpoint in tallies() {
            endpoint.status.iter().for_each(|(code, count)| *self.status.entry(*code).or_default() += count);
            endpoint
                .faults
                .iter()
                .for_each(|tally| *self.faults.entry(tally.fault).or_default() += tally.count);
        }
        let faults =
            tallies().flat_map(|endpoint| endpoint.faults.iter().map(|tally| (tally.fault, tally.count)));
        self.signs.add(&point, faults);
        self.by_outcome.iter_mut().zip(point.by_outcome).for_each(|(sum, count)| *sum += count);
        self.planned += point.planned;
        self.bytes += point.bytes_received;
        self.connections = interval.connections_open;
        self.history.push(Moment::of(&point));
        self.last = Some(point);
    }

    /// Takes a key, except [`Key::Quit`], which is for the code that controls the run.
    pub fn press(&mut self, key: Key) {
        self.changed = true;
        let bar = self.bar.unwrap_or(0);
        match key {
            Key::Wider => self.bar = Some((bar + 1).min(BARS.len() - 1)),
            Key::Narrower => self.bar = Some(bar.saturating_sub(1)),
            Key::Auto => self.bar = None,
            Key::Unit => self.unit = next_unit(self.unit),
            Key::Quit | Key::Redraw => {}
        }
    }

    /// Whether something other than the progress is to be shown since the last frame.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// A frame is about to show all that has changed.
    pub fn is_shown(&mut self) {
        self.changed = false;
    }

    /// A style with `color`, or none on a screen without colours.
    pub(super) fn tone(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// The last warning.
    pub(super) fn warning(&self) -> Option<&str> {
        self.warnings.last().map(String::as_str)
    }

    /// Every warning that came.
    pub fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    /// Time since the run began.
    pub(super) fn elapsed(&self, now: Nanos) -> Nanos {
        if self.phase == Phase::Waiting { Nanos::ZERO } else { now.since(self.began) }
    }

    /// Requests that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.by_outcome.iter().sum()
    }

    /// Width of a bar and its name, when `count` of them have room: the one chosen by key, else the
    /// narrowest that shows the whole run so far.
    pub(super) fn bar(&self, count: usize) -> (Nanos, &'static str) {
        let chosen = self.bar.unwrap_or_else(|| {
            let end = self.history.end().0;
            BARS.iter().position(|(width, _)| end <= width.0 * count as u64).unwrap_or(BARS.len() - 1)
        });
        BARS[chosen]
    }

    /// Whether a key chose the bars.
    pub(super) fn bar_is_chosen(&self) -> bool {
        self.bar.is_some()
    }

    /// How much is done, from 0 to 1, and the time that is left if it is known.
    pub(super) fn progress(&self, now: Nanos) -> (f64, Option<Nanos>) {
        let Some(plan) = self.head.as_ref().map(|head| &head.plan) else { return (0.0, None) };
        let elapsed = self.elapsed(now);
        if let Some(duration) = plan.duration().filter(|duration| *duration > Nanos::ZERO) {
            let share = elapsed.as_secs_f64() / duration.as_secs_f64();
            return (share.min(1.0), Some(duration.since(elapsed)));
        }
        let Some(requests) = plan.requests().filter(|requests| *requests > 0) else { return (0.0, None) };
        let ended = self.ended();
        let share = (ended as f64 / requests as f64).min(1.0);
        // What is left at the pace of the run so far, as of its last interval.
        let left = (ended > 0).then(|| {
            let pace = ended as f64 / self.history.end().as_secs_f64();
            Nanos::from_secs_f64(requests.saturating_sub(ended) as f64 / pace)
        });
        (share, left.map(|left| left.since(elapsed.since(self.history.end()))))
    }
}

/// Fitting, us, ms, s, and round again. The others are for the command line.
fn next_unit(unit: Option<Unit>) -> Option<Unit> {
    match unit {
        None => Some(Unit::Us),
        Some(Unit::Us) => Some(Unit::Ms),
        Some(Unit::Ms) => Some(Unit::S),
        Some(_) => None,
    }
}
