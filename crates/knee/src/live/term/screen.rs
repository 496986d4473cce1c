//! What the live screen adds to the fold of the run: keys, units, the width of bars.
//!
//! Does not draw (`draw` does) and does not touch a terminal, so that every state can be made in a test.

use knee_core::event::Event;
use knee_core::unit::Nanos;
use knee_report::number::Unit;
use ratatui::style::{Color, Style};

use crate::live::feed::Feed;
use crate::live::fold::Fold;

/// Widths of a bar in the chart of rates, and their names.
pub const BARS: [(Nanos, &str); 6] = [
    (Nanos::from_secs(1), "1 s"),
    (Nanos::from_secs(10), "10 s"),
    (Nanos::from_secs(60), "1 min"),
    (Nanos::from_secs(600), "10 min"),
    (Nanos::from_secs(3_600), "1 h"),
    (Nanos::from_secs(86_400), "1 d"),
];

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

/// Everything the screen shows.
#[derive(Debug)]
pub struct Screen {
    feed: Feed,
    pub(super) unit: Option<Unit>,
    pub(super) color: bool,
    /// Where the live page is.
    pub(super) page: Option<String>,
    /// Place in [`BARS`]; `None` chooses.
    bar: Option<usize>,
    changed: bool,
}

impl Screen {
    /// A screen of the run that `feed` knows.
    pub fn new(unit: Option<Unit>, color: bool, feed: Feed) -> Self {
        Self { feed, unit, color, page: None, bar: None, changed: true }
    }

    /// The same with a line that says where the live page is.
    #[must_use]
    pub fn with_page(self, page: Option<String>) -> Self {
        Self { page, ..self }
    }

    /// The time on the screen's clock.
    pub fn now(&self) -> Nanos {
        self.feed.now()
    }

    /// Takes an event that arrived at `now` on the screen's clock.
    pub fn handle(&mut self, event: &Event, now: Nanos) {
        self.changed = true;
        self.feed.take_at(event, now);
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

    /// What the run is so far.
    pub(super) fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// Every warning that came.
    pub fn warnings(&self) -> Vec<String> {
        self.feed.read().warnings.clone()
    }
}

/// One state of the run, and how the screen shows it.
#[derive(Clone, Copy)]
pub struct Picture<'a> {
    /// The run so far.
    pub(super) run: &'a Fold,
    /// How it is shown.
    pub(super) screen: &'a Screen,
}

impl Picture<'_> {
    /// The unit of times.
    pub(super) fn unit(&self) -> Option<Unit> {
        self.screen.unit
    }

    /// A style with `color`, or none on a screen without colours.
    pub(super) fn tone(&self, color: Color) -> Style {
        if self.screen.color { Style::new().fg(color) } else { Style::new() }
    }

    /// The last warning.
    pub(super) fn warning(&self) -> Option<&str> {
        self.run.warnings.last().map(String::as_str)
    }

    /// Width of a bar and its name, when `count` of them have room: the one chosen by key, else the
    /// narrowest that shows the whole run so far.
    pub(super) fn bar(&self, count: usize) -> (Nanos, &'static str) {
        let chosen = self.screen.bar.unwrap_or_else(|| {
            let end = self.run.history.end().0;
            BARS.iter().position(|(width, _)| end <= width.0 * count as u64).unwrap_or(BARS.len() - 1)
        });
        BARS[chosen]
    }

    /// Whether a key chose the bars.
    pub(super) fn bar_is_chosen(&self) -> bool {
        self.screen.bar.is_some()
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
