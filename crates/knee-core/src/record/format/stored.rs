//! An interval as a record holds it, with tallies that are unpacked one endpoint at a time.
//!
//! An unpacked tally takes up to a thousand times its bytes: a histogram with one value has 50 bytes in a record and
//! 5 KB in memory. So only one endpoint is unpacked at a time, and everything is checked before the first one is:
//! a reader never adds half an interval. Does not sum up.

use super::msgpack::Values;
use super::unfit::Unfit;
use crate::histogram::{Extent, Histogram, LAST_INDEX};
use crate::interval::Interval;
use crate::outcome::{Fault, Outcome};
use crate::plan::EndpointId;
use crate::tally::{Accounting, EndpointTally, OutcomeTally, Tally};
use crate::unit::Nanos;

/// Most endpoints that a reader takes. A run has at most a tenth of it.
pub const ENDPOINTS_MAX: u64 = 10_000;

/// The highest status code of HTTP has three digits.
const STATUS_MAX: u64 = 999;

/// Longer example messages of faults are cut.
const EXAMPLE_BYTES_MAX: usize = 4_096;

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

/// Reads the tally of an endpoint and adds it to `into`; without that, it only checks it.
fn endpoint_tally(
    values: &mut Values<'_>,
    mut into: Option<&mut EndpointTally>,
) -> Result<Accounting, Unfit> {
    let mut accounting = Accounting::default();
    for _ in 0..values.map()? {
        let into = into.as_deref_mut();
        match values.text()? {
            "outcomes" => outcomes(values, into, &mut accounting)?,
            "phases" => phases(values, into)?,
            "lag" => drop(histogram(values, into.map(|tally| &mut tally.send_delay))?),
            "own_lag" => drop(histogram(values, into.map(|tally| &mut tally.generator_lag))?),
            "status" => statuses(values, into)?,
            "faults" => faults(values, into)?,
            "bodies" => bodies(values, into)?,
            "planned" => {
                accounting.planned = values.number()?;
                add(into.map(|tally| &mut tally.planned), accounting.planned);
            }
            name => match number_of(name) {
                Some(of) => {
                    let number = values.number()?;
                    add(into.map(of), number);
                }
                None => drop(values.whole()?),
            },
        }
    }
    Ok(accounting)
}

/// The plain count of a tally that has this name.
fn number_of(name: &str) -> Option<fn(&mut EndpointTally) -> &mut u64> {
    Some(match name {
        "bytes_sent" => |tally| &mut tally.bytes_sent,
        "bytes_received" => |tally| &mut tally.bytes_received,
        "bytes_body" => |tally| &mut tally.bytes_body,
        "connections" => |tally| &mut tally.connections,
        "resent" => |tally| &mut tally.resent,
        "redirects" => |tally| &mut tally.redirects,
        "surplus" => |tally| &mut tally.surplus,
        _ => return None,
    })
}

fn add(into: Option<&mut u64>, number: u64) {
    if let Some(into) = into {
        *into = into.saturating_add(number);
    }
}

fn outcomes(
    values: &mut Values<'_>,
    mut into: Option<&mut EndpointTally>,
    accounting: &mut Accounting,
) -> Result<(), Unfit> {
    values.list_of(Outcome::ALL.len() as u64)?;
    for outcome in Outcome::ALL {
        let tally = into.as_deref_mut().map(|tally| &mut tally.outcomes[outcome as usize]);
        let count = &mut accounting.by_outcome[outcome as usize];
        *count = count.saturating_add(outcome_tally(values, tally)?);
    }
    Ok(())
}

/// Returns the number of requests.
fn outcome_tally(values: &mut Values<'_>, mut into: Option<&mut OutcomeTally>) -> Result<u64, Unfit> {
    let mut count = 0;
    for _ in 0..values.map()? {
        let into = into.as_deref_mut();
        match values.text()? {
            "response" => count = histogram(values, into.map(|tally| &mut tally.response))?,
            "service" => drop(histogram(values, into.map(|tally| &mut tally.service))?),
            _ => drop(values.whole()?),
        }
    }
    Ok(count)
}

fn phases(values: &mut Values<'_>, mut into: Option<&mut EndpointTally>) -> Result<(), Unfit> {
    let count = crate::tally::Phase::ALL.len();
    values.list_of(count as u64)?;
    for place in 0..count {
        histogram(values, into.as_deref_mut().map(|tally| &mut tally.phases[place]))?;
    }
    Ok(())
}

/// Reads a histogram and adds it to `into`; returns the number of its values.
fn histogram(values: &mut Values<'_>, mut into: Option<&mut Histogram>) -> Result<u64, Unfit> {
    let (mut extent, mut ends, mut in_buckets) = (Extent::default(), None, 0);
    for _ in 0..values.map()? {
        match values.text()? {
            "count" => extent.count = values.number()?,
            "overflow" => extent.overflow = values.number()?,
            "sum" => {
                values.list_of(2)?;
                extent.sum = u128::from(values.number()?) << 64 | u128::from(values.number()?);
            }
            "min" => extent.min = values.number()?,
            "max" => extent.max = values.number()?,
            "gaps_and_counts" => (ends, in_buckets) = buckets(values, into.as_deref_mut())?,
            _ => drop(values.whole()?),
        }
    }
    if !extent.fits(ends, Some(in_buckets)) {
        return Err(Unfit::content("a histogram contradicts itself"));
    }
    if let Some(histogram) = into.filter(|_| extent.count > 0) {
        histogram.add_extent(&extent);
    }
    Ok(extent.count)
}

/// The first and the last bucket, and the sum of the counts.
type Buckets = (Option<(usize, usize)>, u64);

fn buckets(values: &mut Values<'_>, mut into: Option<&mut Histogram>) -> Result<Buckets, Unfit> {
    let wrong = || Unfit::content("a histogram contradicts itself");
    let numbers = values.list()?;
    let (mut ends, mut next, mut sum) = (None, 0_u64, 0_u64);
    for _ in 0..numbers / 2 {
        let (gap, count) = (values.number()?, values.number()?);
        let bucket = next.checked_add(gap).filter(|bucket| *bucket <= LAST_INDEX as u64).ok_or_else(wrong)?;
        sum = sum.checked_add(count).filter(|_| count > 0).ok_or_else(wrong)?;
        next = bucket + 1;
        ends = Some((ends.map_or(bucket as usize, |(first, _)| first), bucket as usize));
        if let Some(histogram) = &mut into {
            histogram.add_to_bucket(bucket as usize, count);
        }
    }
    if numbers % 2 == 0 { Ok((ends, sum)) } else { Err(wrong()) }
}

fn statuses(values: &mut Values<'_>, mut into: Option<&mut EndpointTally>) -> Result<(), Unfit> {
    for _ in 0..values.list()? {
        values.list_of(2)?;
        let (status, count) = (values.number()?, values.number()?);
        if status > STATUS_MAX {
            return Err(Unfit::content("a status has more than three digits"));
        }
        if let Some(tally) = &mut into {
            tally.note_status(status as u16, count);
        }
    }
    Ok(())
}

fn faults(values: &mut Values<'_>, mut into: Option<&mut EndpointTally>) -> Result<(), Unfit> {
    for _ in 0..values.list()? {
        let (mut fault, mut count, mut examples) = (None, 0, None);
        for _ in 0..values.map()? {
            match values.text()? {
                "fault" => fault = Some(fault_of(values.text()?)?),
                "count" => count = values.number()?,
                "examples" => examples = Some(Values::new(values.whole()?.0)),
                _ => drop(values.whole()?),
            }
        }
        let fault = fault.ok_or_else(|| Unfit::content("a fault has no name"))?;
        if let Some(tally) = &mut into {
            tally.note_fault(fault, count, None);
        }
        let Some(mut examples) = examples else { continue };
        for _ in 0..examples.list()? {
            let example = examples.text()?;
            if let Some(tally) = &mut into {
                tally.note_fault(fault, 0, Some(cut(example)));
            }
        }
    }
    Ok(())
}

/// The beginning of an example message.
fn cut(example: &str) -> &str {
    let fits = |(at, letter): &(usize, char)| at + letter.len_utf8() <= EXAMPLE_BYTES_MAX;
    let end = example.char_indices().take_while(fits).last().map_or(0, |(at, letter)| at + letter.len_utf8());
    &example[..end]
}

fn fault_of(name: &str) -> Result<Fault, Unfit> {
    let known = Fault::ALL.iter().find(|fault| fault.name() == name);
    known.copied().ok_or_else(|| Unfit::content("a fault is unknown"))
}

fn bodies(values: &mut Values<'_>, mut into: Option<&mut EndpointTally>) -> Result<(), Unfit> {
    for _ in 0..values.map()? {
        match values.text()? {
            "seen" => {
                for _ in 0..values.list()? {
                    values.list_of(2)?;
                    let (checksum, length) = (values.number()?, values.number()?);
                    let checksum =
                        u32::try_from(checksum).map_err(|_| Unfit::content("a checksum is too large"))?;
                    if let Some(tally) = &mut into {
                        tally.bodies.note(checksum, length);
                    }
                }
            }
            "more" => {
                let more = values.flag()?;
                if let Some(tally) = &mut into {
                    tally.bodies.more |= more;
                }
            }
            _ => drop(values.whole()?),
        }
    }
    Ok(())
}

const _: () =
    assert!(size_of::<StoredEndpoint>() * (ENDPOINTS_MAX as usize) < 1 << 20, "a tally's places are few");
