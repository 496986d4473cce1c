//! An interval as a record holds it, with tallies that are unpacked one endpoint at a time.
//!
//! An unpacked tally takes up to a thousand times its bytes: a histogram with one value has 50 bytes in a record and
//! 5 KB in memory. So only one endpoint is unpacked at a time, and everything is checked before the first one is:
//! a reader never adds half an interval. Does not sum up.

use super::msgpack::Values;
use super::unfit::Unfit;
use crate::interval::Interval;
use crate::plan::EndpointId;
use crate::tally::{Accounting, EndpointTally, Tally};
use crate::unit::Nanos;

mod endpoint;

use endpoint::endpoint_tally;

/// Most endpoints that a reader takes. A run has at most a tenth of it.
pub const ENDPOINTS_MAX: u64 = 10_000;

/// The two tallies of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Requests due during the warm-up.
    WarmUp,
    /// All others.
    Measured,
}

/// An interval whose tallies are still packed. Its content has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredInterval {
    bytes: Vec<u8>,
    outline: Interval,
    warm_up: Vec<StoredEndpoint>,
    measured: Vec<StoredEndpoint>,
}

/// Where the tally of an endpoint begins, and its request accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoredEndpoint {
    at: usize,
    accounting: Accounting,
}

impl StoredInterval {
    /// Checks the content of an interval frame.
    ///
    /// # Errors
    /// `Content` if it is no interval, `Memory` if it has more endpoints, workers or names than any run.
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Self, Unfit> {
        let (mut warm_up, mut measured, mut outline) = (Vec::new(), Vec::new(), Interval::default());
        let (mut from, mut to) = (None, None);
        let mut values = Values::new(&bytes);
        for _ in 0..values.map()? {
            match values.text()? {
                "from" => from = Some(Nanos(values.number()?)),
                "to" => to = Some(Nanos(values.number()?)),
                "warm_up" => warm_up = endpoints(&mut values, bytes.len())?,
                "measured" => measured = endpoints(&mut values, bytes.len())?,
                "concurrency" => outline.concurrency = values.decode()?,
                "backlog" => outline.backlog = values.number()?,
                "connections_open" => outline.connections_open = values.number()?,
                "instrument" => outline.generator = values.decode()?,
                "endpoints_met" => outline.endpoints_met = values.decode()?,
                _ => drop(values.whole()?),
            }
        }
        let (Some(from), Some(to)) = (from, to) else {
            return Err(Unfit::content("an interval has no beginning or no end"));
        };
        (outline.from, outline.to) = (from, to);
        Ok(Self { bytes, outline, warm_up, measured })
    }

    /// Everything but the tallies, which are empty here.
    pub const fn outline(&self) -> &Interval {
        &self.outline
    }

    /// The request accounting of every endpoint of a tally, by id.
    pub fn accounting(&self, period: Period) -> impl ExactSizeIterator<Item = &Accounting> {
        self.of(period).iter().map(|endpoint| &endpoint.accounting)
    }

    /// Adds the tally of one endpoint to `tally`; nothing if the interval has none of this id.
    pub fn add_to(&self, tally: &mut EndpointTally, period: Period, id: EndpointId) {
        if let Some(endpoint) = self.of(period).get(id.0 as usize) {
            let mut values = Values::new(self.bytes.get(endpoint.at..).unwrap_or_default());
            // Cannot fail: it was read once before.
            let _ = endpoint_tally(&mut values, Some(tally));
        }
    }

    /// The interval with its tallies. Takes as much memory as the interval took in the program that wrote it.
    pub fn unpacked(&self) -> Interval {
        let endpoint = |period: Period, place: usize| {
            let mut tally = EndpointTally::default();
            self.add_to(&mut tally, period, EndpointId(place as u32));
            tally
        };
        let tally = |period: Period| Tally {
            endpoints: (0..self.of(period).len()).map(|place| endpoint(period, place)).collect(),
            ..Tally::default()
        };
        Interval { warm_up: tally(Period::WarmUp), measured: tally(Period::Measured), ..self.outline.clone() }
    }

    fn of(&self, period: Period) -> &[StoredEndpoint] {
        match period {
            Period::WarmUp => &self.warm_up,
            Period::Measured => &self.measured,
        }
    }
}

/// Checks a tally; `whole` is the length of the bytes in which `values` are the end.
fn endpoints(values: &mut Values<'_>, whole: usize) -> Result<Vec<StoredEndpoint>, Unfit> {
    let mut stored = Vec::new();
    for _ in 0..values.map()? {
        if values.text()? != "endpoints" {
            values.whole()?;
            continue;
        }
        let count = values.list()?;
        if count > ENDPOINTS_MAX {
            return Err(Unfit::memory(format!("{count} endpoints")));
        }
        stored.clear();
        for _ in 0..count {
            let at = whole - values.left();
            stored.push(StoredEndpoint { at, accounting: endpoint_tally(values, None)? });
        }
    }
    Ok(stored)
}

const _: () =
    assert!(size_of::<StoredEndpoint>() * (ENDPOINTS_MAX as usize) < 1 << 20, "a tally's places are few");
