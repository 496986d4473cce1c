//! What every kind of source can do: be connected to, be looked at often, be read once per interval.
//!
//! Does not wait and has no thread; see [`crate::watch`].

use std::time::Duration;

use knee_core::unit::Nanos;

use crate::figures::Figures;

/// Why a source cannot be read, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(pub(crate) String);

/// What is known of a source beside its figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// A better name than that of the target, if there is one.
    pub(crate) name: Option<String>,
    /// Its version, as it says.
    pub(crate) version: Option<String>,
    /// What it could not be asked, in words.
    pub(crate) without: Vec<String>,
    /// What was left out because there was too much of it.
    pub(crate) left_out: u64,
}

/// Which reading of a source this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// One of many: what is read less often can be left out.
    Interval,
    /// The first after connecting, or the last: everything is read.
    Whole,
}

/// A kind of source.
pub(crate) trait Sampler: Send {
    /// Connects, within two seconds.
    fn connect(&mut self) -> Result<(), Unreadable>;

    /// How often [`Sampler::look`] is called in a run whose planned length is `planned`, as far as the plan bounds it;
    /// `None` if never.
    fn look_pace(&self, _planned: Option<Nanos>) -> Option<Duration> {
        None
    }

    /// Counts what is there at this moment, for the next reading.
    fn look(&mut self) -> Result<(), Unreadable> {
        Ok(())
    }

    /// Reads everything. `now` is the time on the clock of the sampler.
    fn read(&mut self, now: Nanos, depth: Depth, figures: &mut Figures) -> Result<(), Unreadable>;

    /// What is known of the source by now.
    fn about(&self) -> About {
        About::default()
    }

    /// Gives up the connection. The next call is [`Sampler::connect`].
    fn disconnect(&mut self) {}
}
