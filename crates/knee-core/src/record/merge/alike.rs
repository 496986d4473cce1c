//! Checks that records are parts of one load, and says what the whole is.
//!
//! Reads heads only.

use std::io::Read;

use super::super::format::Reader;
use super::super::{Build, Fleet, Head, Machine, Member};
use super::error::{MergeError, Place};
use crate::generator::both;
use crate::plan::{Plan, Scenario};
use crate::share::Share;

/// The load of which the records are parts.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    /// The head of the merged record.
    pub head: Head,
    /// The shares of the load, in order, with the place of their records; `None` for those that are missing.
    pub shares: Vec<(Share, Option<Place>)>,
}

/// The records in the order of their parts.
type Sorted<R> = Vec<(Place, Share, Reader<R>)>;

/// Checks that all are parts of one load, and puts them in the order of their parts.
///
/// # Errors
/// If they are not.
pub(super) fn sorted<R: Read>(readers: Vec<(Place, Reader<R>)>) -> Result<(Whole, Sorted<R>), MergeError> {
    let mut parts = Vec::with_capacity(readers.len());
    for (place, reader) in readers {
        parts.push((place, share(place, reader.head())?, reader));
    }
    // By part alone: the result must not depend on the order in which records are given.
    parts.sort_by_key(|(_, share, _)| share.place());
    let Some((first, first_share, first_reader)) = parts.first() else { return Err(MergeError::None) };
    for (place, share, reader) in parts.iter().skip(1) {
        if let Some(what) = difference((first_share, first_reader.head()), (share, reader.head())) {
            return Err(MergeError::Different { one: *first, other: *place, what });
        }
    }
    let twice = parts.windows(2).find(|pair| pair[0].1.place() == pair[1].1.place());
    if let Some(pair) = twice {
        let segment = pair[0].1.segment().to_string();
        return Err(MergeError::Twice { one: pair[0].0, other: pair[1].0, segment });
    }
    let shares = shares(first_share, &parts);
    let heads: Vec<&Head> = parts.iter().map(|(.., reader)| reader.head()).collect();
    Ok((Whole { head: head(&heads, first_share), shares }, parts))
}

fn share(place: Place, head: &Head) -> Result<Share, MergeError> {
    let of = head.segment.as_ref().filter(|_| head.fleet.is_none()).ok_or(MergeError::NotAPart { place })?;
    let broken = |error| MergeError::Share { place, error };
    let (segment, sequence) = (of.segment.parse().map_err(broken)?, of.sequence.parse().map_err(broken)?);
    Share::new(Some(segment), Some(&sequence)).map_err(broken)
}

/// In what two parts are of different loads; `None` if they are of the same one.
fn difference(
    (one_share, one): (&Share, &Head),
    (other_share, other): (&Share, &Head),
) -> Option<&'static str> {
    let (a, b) = (whole_plan(one), whole_plan(other));
    let differs = [
        (run_of(one) != run_of(other), "the run of the fleet"),
        (one_share.sequence() != other_share.sequence(), "the sequence of parts"),
        (one.title != other.title, "the target"),
        (a.interval != b.interval, "the width of the intervals"),
        (a.endpoints != b.endpoints, "the list of endpoints"),
        (a.scenarios != b.scenarios, "the load"),
        (a != b || one.measured_from != other.measured_from, "a time limit or the warm-up"),
        (one.http2_streams != other.http2_streams, "the version of HTTP"),
    ];
    differs.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
}

/// The run of a fleet that the record belongs to.
fn run_of(head: &Head) -> Option<&str> {
    head.segment.as_ref()?.agent.as_ref().map(|agent| agent.run.as_str())
}

/// The plan without what each machine decides for itself: its part, and its number of workers.
fn whole_plan(head: &Head) -> Plan {
    let scenario = |scenario: &Scenario| Scenario { part: None, ..scenario.clone() };
    Plan { scenarios: head.plan.scenarios.iter().map(scenario).collect(), workers: 1, ..head.plan.clone() }
}

/// All shares of the load of which `of` is one.
fn shares<R: Read>(of: &Share, parts: &[(Place, Share, Reader<R>)]) -> Vec<(Share, Option<Place>)> {
    let share = |segment| Share::new(Some(segment), Some(of.sequence()));
    let all = of.sequence().segments().iter().filter_map(|segment| share(*segment).ok());
    let place = |share: &Share| {
        parts.iter().find(|(_, own, _)| own.place() == share.place()).map(|(place, ..)| *place)
    };
    all.map(|share| (share.clone(), place(&share))).collect()
}

fn head(heads: &[&Head], share: &Share) -> Head {
    let first = heads[0];
    let workers = heads.iter().fold(0_u16, |sum, head| sum.saturating_add(head.plan.workers));
    let members = heads.iter().map(|head| Member {
        segment: head.segment.as_ref().map(|of| of.segment.clone()).unwrap_or_default(),
        agent: head.segment.as_ref().and_then(|of| of.agent.as_ref()).map(|agent| agent.name.clone()),
        started: head.started,
        build: head.build.clone(),
        machine: head.machine.clone(),
    });
    Head {
        plan: Plan { workers, ..whole_plan(first) },
        title: first.title.clone(),
        started: heads.iter().map(|head| head.started).min().unwrap_or_default(),
        build: Build { optimized: heads.iter().all(|head| head.build.optimized), ..first.build.clone() },
        machine: machine(heads),
        co_located: heads.iter().fold(heads[0].co_located, |all, head| both(all, head.co_located)),
        measured_from: first.measured_from,
        segment: None,
        fleet: Some(Fleet { sequence: share.sequence().to_string(), members: members.collect() }),
        http2_streams: first.http2_streams,
    }
}

/// All machines together: what they have in common, and the sums of CPUs and memory.
fn machine(heads: &[&Head]) -> Machine {
    let first = &heads[0].machine;
    let all = |same: fn(&Machine, &Machine) -> bool| heads.iter().all(|head| same(first, &head.machine));
    let of = |text: &str, same: bool| if same { text.to_owned() } else { "various".to_owned() };
    let memory: Option<u64> = heads
        .iter()
        .map(|head| head.machine.memory_bytes)
        .try_fold(0_u64, |sum, bytes| bytes.map(|bytes| sum.saturating_add(bytes)));
    Machine {
        system: of(&first.system, all(|one, other| one.system == other.system)),
        arch: of(&first.arch, all(|one, other| one.arch == other.arch)),
        cpu: first.cpu.clone().filter(|_| all(|one, other| one.cpu == other.cpu)),
        cores: heads.iter().fold(0_u32, |sum, head| sum.saturating_add(head.machine.cores)),
        memory_bytes: memory,
    }
}
