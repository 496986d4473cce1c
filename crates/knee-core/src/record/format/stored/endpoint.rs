//! The tally of one endpoint as a record holds it: checked, and added to another one.
//!
//! Takes both forms: lists of outcomes and phases in a fixed order (version 1), and maps by name (version 2). Counts of
//! names that this version does not know are kept under these names. Does not keep what it read.

use super::super::msgpack::Values;
use super::super::unfit::Unfit;
use crate::histogram::{Extent, Histogram, LAST_INDEX};
use crate::outcome::{Blame, Fault, Outcome};
use crate::tally::{Accounting, EndpointTally, OutcomeTally, Phase, UnknownOutcome};

/// The highest status code of HTTP has three digits.
const STATUS_MAX: u64 = 999;

/// Longest name of an outcome, a phase or a fault.
const NAME_BYTES_MAX: usize = 64;

/// Longer example messages of faults are cut.
const EXAMPLE_BYTES_MAX: usize = 4_096;

/// Reads the tally of an endpoint and adds it to `into`; without that, it only checks it.
pub(super) fn endpoint_tally(
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
        "redirects_refused" => |tally| &mut tally.redirects_refused,
        "surplus" => |tally| &mut tally.surplus,
        "doubtful" => |tally| &mut tally.doubtful,
        _ => return None,
    })
}

fn add(into: Option<&mut u64>, number: u64) {
    if let Some(into) = into {
        *into = into.saturating_add(number);
    }
}

/// Outcomes by name; in version 1 a list in the order of [`Outcome::ALL`].
fn outcomes(
    values: &mut Values<'_>,
    mut into: Option<&mut EndpointTally>,
    accounting: &mut Accounting,
) -> Result<(), Unfit> {
    let mut known = |values: &mut Values<'_>, into: Option<&mut EndpointTally>, outcome: Outcome| {
        let times = into.map(|tally| &mut tally.outcomes[outcome as usize]);
        let count = &mut accounting.by_outcome[outcome as usize];
        *count = count.saturating_add(outcome_tally(values, times)?.count);
        Ok(())
    };
    if values.is_list() {
        values.list_of(Outcome::ALL.len() as u64)?;
        return Outcome::ALL.into_iter().try_for_each(|outcome| known(values, into.as_deref_mut(), outcome));
    }
    let mut unknown = 0_u64;
    for _ in 0..values.map()? {
        let name = values.text()?;
        if let Some(outcome) = Outcome::named(name) {
            known(values, into.as_deref_mut(), outcome)?;
            continue;
        }
        let name = checked(name)?;
        let entry = into.as_deref_mut().map(|tally| tally.unknown.outcome_mut(name));
        unknown = unknown.saturating_add(unknown_outcome(values, entry)?);
    }
    accounting.unknown = accounting.unknown.saturating_add(unknown);
    Ok(())
}

/// Returns the number of requests.
fn unknown_outcome(values: &mut Values<'_>, into: Option<&mut UnknownOutcome>) -> Result<u64, Unfit> {
    let Some(into) = into else { return Ok(outcome_tally(values, None)?.count) };
    let ended = outcome_tally(values, Some(&mut into.times))?;
    into.lower_bound |= ended.lower_bound;
    Ok(ended.count)
}

/// What an outcome says beside its times.
struct Ended {
    /// Requests.
    count: u64,
    /// Whether the times are lower bounds; false in version 1.
    lower_bound: bool,
}

fn outcome_tally(values: &mut Values<'_>, mut into: Option<&mut OutcomeTally>) -> Result<Ended, Unfit> {
    let mut ended = Ended { count: 0, lower_bound: false };
    for _ in 0..values.map()? {
        let into = into.as_deref_mut();
        match values.text()? {
            "response" => {
                let count = histogram(values, into.map(|tally| &mut tally.response))?;
                ended.count = ended.count.saturating_add(count);
            }
            "service" => drop(histogram(values, into.map(|tally| &mut tally.service))?),
            "lower_bound" => ended.lower_bound |= values.flag()?,
            _ => drop(values.whole()?),
        }
    }
    Ok(ended)
}

/// Phases by name; in version 1 a list in the order of [`Phase::OF_VERSION_1`].
fn phases(values: &mut Values<'_>, mut into: Option<&mut EndpointTally>) -> Result<(), Unfit> {
    if values.is_list() {
        values.list_of(Phase::OF_VERSION_1.len() as u64)?;
        for phase in Phase::OF_VERSION_1 {
            histogram(values, into.as_deref_mut().map(|tally| &mut tally.phases[phase as usize]))?;
        }
        return Ok(());
    }
    for _ in 0..values.map()? {
        let name = values.text()?;
        let (phase, name) = (Phase::named(name), checked(name)?);
        let times = into.as_deref_mut().map(|tally| match phase {
            Some(phase) => &mut tally.phases[phase as usize],
            None => &mut tally.unknown.phase_mut(name).times,
        });
        histogram(values, times)?;
    }
    Ok(())
}

/// A name of an outcome, a phase or a fault. Reports print names, so nothing but words is one.
fn checked(name: &str) -> Result<&str, Unfit> {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_word) {
        return Ok(name);
    }
    Err(Unfit::content("a name is no word of lower-case letters"))
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
        let (mut name, mut blame, mut count, mut examples) = (None, None, 0, None);
        for _ in 0..values.map()? {
            match values.text()? {
                "fault" => name = Some(checked(values.text()?)?),
                // Whatever it is: only a party that is known can be blamed.
                "blame" => blame = Values::new(values.whole()?.0).text().ok().and_then(Blame::named),
                "count" => count = values.number()?,
                "examples" => examples = Some(Values::new(values.whole()?.0)),
                _ => drop(values.whole()?),
            }
        }
        let name = name.ok_or_else(|| Unfit::content("a fault has no name"))?;
        let mut note = |count, example| {
            let Some(tally) = into.as_deref_mut() else { return };
            match Fault::named(name) {
                Some(fault) => tally.note_fault(fault, count, example),
                None => tally.unknown.note_fault(name, blame, count, example),
            }
        };
        note(count, None);
        let Some(mut examples) = examples else { continue };
        for _ in 0..examples.list()? {
            note(0, Some(cut(examples.text()?)));
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
