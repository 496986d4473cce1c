//! One saved run or result, as a list shows it and as an index stores it.
//!
//! Figures come from the view, so that they are those of the report.

use std::fmt::Write as _;

use knee_core::plan::{Executor, Plan};
use knee_core::record::{Machine, Run, SegmentOf};
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

use crate::View;
use crate::kept::Summary;
use crate::number::{counted, rate};
use crate::text::answer;

/// A saved run or result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of its file, without the ending: what `knee report` takes.
    pub record: String,
    /// The name without the time: runs with the same name belong together.
    pub name: String,
    /// What it is: `run`, or the kind of a result.
    pub kind: String,
    /// When a run began, or when a result was saved, since the Unix epoch.
    pub at: Nanos,
    /// What was measured.
    pub title: String,
    /// The load, in a few words.
    pub load: String,
    /// The machine that measured; empty for a result.
    pub machine: String,
    /// The result in a sentence; empty if there is none.
    pub answer: String,
    /// Whether it can be trusted; `None` if that is part of the answer.
    pub validity: Option<Validity>,
    /// Equal for runs with the same plan, the same target and the same machine; `None` for results.
    pub likeness: Option<u64>,
    /// Figures of a run.
    pub figures: Figures,
}

/// The figures of a run whose trend is of interest; `None` if it has too few requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// OK responses per second.
    pub goodput: Option<f64>,
    /// Response time at 50 %, in seconds.
    pub p50_s: Option<f64>,
    /// Response time at 99 %, in seconds.
    pub p99_s: Option<f64>,
}

impl Entry {
    /// A run whose file has this name, without its ending.
    pub fn of_run(record: &str, name: &str, run: &Run) -> Self {
        let view = View::of(run);
        let time = |percentile: &str| {
            let reading = view.total.response.percentile(percentile);
            reading.nanos().filter(|_| !reading.is_lower_bound()).map(|nanos| nanos / 1e9)
        };
        let figures = Figures { goodput: view.rate.achieved, p50_s: time("p50"), p99_s: time("p99") };
        let validity = run.validity.validity;
        Self {
            record: record.to_owned(),
            name: name.to_owned(),
            kind: "run".to_owned(),
            at: run.head.started,
            title: run.head.title.clone(),
            load: load(&run.head.plan) + if run.amendments.is_empty() { "" } else { ", steered" },
            machine: machine(&run.head.machine),
            answer: answer::pieces(&view, None).join(", "),
            validity: Some(validity),
            likeness: Some(likeness(run)),
            figures,
        }
    }

    /// A result that was saved at `at`.
    pub fn of_result(record: &str, name: &str, at: Nanos, summary: &Summary) -> Self {
        Self {
            record: record.to_owned(),
            name: name.to_owned(),
            kind: summary.kind.name().to_owned(),
            at,
            title: summary.title.clone(),
            load: summary.load.clone(),
            machine: String::new(),
            answer: summary.answer.clone(),
            validity: summary.validity,
            likeness: None,
            figures: Figures::default(),
        }
    }

    /// Whether a user who asks for `wanted` means this one: a part of its name or of its target.
    pub fn is_meant_by(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase();
        [&self.record, &self.name, &self.title].iter().any(|text| text.to_lowercase().contains(&wanted))
    }

    /// The likeness in four digits, for people; empty for a result.
    pub fn like(&self) -> String {
        self.likeness.map_or_else(String::new, |likeness| format!("{:04x}", likeness >> 48))
    }
}

/// A load in three words: `50 connections, 10.0 s`, `1,000/s, 60.0 s`.
pub fn load(plan: &Plan) -> String {
    // The endpoints of a script are met only while it runs.
    let user = if plan.endpoints.is_empty() { "VU" } else { "connection" };
    let shape = match &plan.scenarios[..] {
        [scenario] => match &scenario.executor {
            Executor::Open { rate: curve, .. } => format!("{}/s", rate(curve.peak())),
            Executor::Closed { .. } => counted(u64::from(scenario.users_max()), user),
        },
        several => format!("{} scenarios", several.len()),
    };
    let extent = match (plan.duration(), plan.requests()) {
        (Some(duration), _) => format!(", {duration}"),
        (None, Some(requests)) => format!(", {}", counted(requests, "request")),
        (None, None) => String::new(),
    };
    shape + &extent
}

fn machine(machine: &Machine) -> String {
    let cpu = machine.cpu.as_deref().unwrap_or(&machine.arch);
    format!("{} CPUs of {cpu}, {}", machine.cores, machine.system)
}

/// A number that is the same for runs of the same plan, target and machine. Memory is no part of it, because virtual
/// machines differ in it by some pages from start to start.
fn likeness(run: &Run) -> u64 {
    let head = &run.head;
    let mut text = head.title.clone();
    // Writing into a text cannot fail. The order of the members is that of their declaration.
    let plan = serde_json::to_string(&head.plan).unwrap_or_default();
    // The plan is that of the whole load; the segment is the part of it.
    let _ = write!(text, "\n{plan}\n{}\n{:?}", machine(&head.machine), head.co_located);
    // As it was written before there were agents: the number is stored.
    let _ = match &head.segment {
        Some(SegmentOf { segment, sequence, .. }) => {
            write!(text, "\nSome(SegmentOf {{ segment: {segment:?}, sequence: {sequence:?} }})")
        }
        None => write!(text, "\nNone"),
    };
    if !run.amendments.is_empty() {
        let changes = serde_json::to_string(&run.amendments).unwrap_or_default();
        let _ = write!(text, "\n{changes}");
    }
    if let Some(streams) = head.http2_streams {
        let _ = write!(text, "\nHTTP/2, {streams}");
    }
    fnv(text.as_bytes())
}

/// FNV-1a with 64 bits (Fowler, Noll and Vo, IETF draft-eastlake-fnv): stored, so it must be the same in each build.
fn fnv(bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_published_examples() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
