//! A service whose memory grows evenly with the requests, because it keeps something of each.
//!
//! Needs a process of the service and the machine on which it runs, and a minute of load: what a service makes once, and
//! what a garbage collector has not collected yet, grows at the beginning alone. Programs whose collector is known to let
//! the heap grow for minutes are left alone before ten. Cannot tell a leak from a cache that is being filled.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "growing_memory",
    finds: "a service that keeps memory of each request",
    needs: "a process of the service, the figures of its machine (`host`), and 60 s of load; 10 minutes for Java, .NET, Node and Erlang, by the names of their programs",
    limits: "the resident memory of the process grows by 64 MiB and by a fifth, by 1 KiB per response, and by a fifth of the whole in each third of the run; the available memory of the machine falls by half as much. Both, or nothing",
    source: "What is made once grows at the beginning of a run, and a heap grows until it has its size; neither grows as much in each third. 64 MiB are more than the young heap of most collectors. Two programs that free memory at the same time would hide a fall of what is available.",
    cause: "Something is added for each request and never removed: an entry of a map or a list, a listener, a task that never ends, a cache without a limit.",
    remedy: "Compare two profiles of the heap, one from the beginning and one from the end of a longer load. Give caches a limit. If it is a cache that is being filled, a longer load ends the growth.",
    explains: &[],
    check,
};

const SECONDS: f64 = 60.0;
/// Where a garbage collector can let the heap grow for minutes.
const SECONDS_OF_COLLECTORS: f64 = 600.0;
/// Their names, as the system knows them: newer versions of Node name their first thread.
const COLLECTORS: [&str; 6] = ["java", "dotnet", "node", "MainThread", "node-MainThread", "beam.smp"];
const GROWTH: f64 = 64.0 * 1024.0 * 1024.0;
/// Of the memory at the beginning.
const GROWTH_SHARE: f64 = 0.2;
const PER_RESPONSE: f64 = 1024.0;
/// Of the whole growth, in each third of the run.
const EVEN: f64 = 0.2;
/// Fall of the machine's available memory, of the growth.
const FALL: f64 = 0.5;
/// Readings of each third.
const READINGS: usize = 3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    let hosts = evidence.needed(SourceKind::Host)?;
    if evidence.seconds() < SECONDS {
        return Err(Lack::of(format!("{SECONDS} s of load")));
    }
    let grown = |process: &Watched<'_>| hosts.iter().find_map(|host| growing(evidence, process, host));
    Ok(processes.iter().filter_map(grown).collect())
}

fn growing(evidence: &Evidence<'_>, process: &Watched<'_>, host: &Watched<'_>) -> Option<Draft> {
    let program = process.source.name.split_whitespace().next().unwrap_or_default();
    if COLLECTORS.contains(&program) && evidence.seconds() < SECONDS_OF_COLLECTORS {
        return None;
    }
    let levels = process.levels("process.memory.resident", "");
    let edges = edges(&levels)?;
    let growth = edges[3] - edges[0];
    let per_response = growth / evidence.answered().max(1) as f64;
    if growth < GROWTH || growth < GROWTH_SHARE * edges[0] || per_response < PER_RESPONSE {
        return None;
    }
    let least = edges.windows(2).map(|pair| (pair[1] - pair[0]) / growth).fold(f64::INFINITY, f64::min);
    let even = Signal::at_least(
        "least growth in a third of the run, of the whole growth",
        Unit::Share,
        Some(least),
        EVEN,
        "/proc/PID/status: VmRSS",
    )?;
    let available = host.levels("host.memory.available", "");
    let fall = available.first().zip(available.last()).map(|(first, last)| (first - last) / growth);
    let missing = Signal::at_least(
        "fall of the machine's available memory, of this growth",
        Unit::Share,
        fall,
        FALL,
        "/proc/meminfo: MemAvailable",
    )?;
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "the memory of {} grows evenly from {} to {} MiB (by {}): it keeps {} KiB of each response",
            process.source.name,
            number(edges[0] / 1024.0 / 1024.0),
            number(edges[3] / 1024.0 / 1024.0),
            percent(growth / edges[0]),
            number(per_response / 1024.0)
        ),
        signals: vec![even, missing],
        remedy: Remedy::advice(
            "compare two profiles of the heap, from the beginning and the end of a longer load, and limit what is kept; if it \
             is a cache that is being filled, a longer load ends the growth",
        ),
        gain: None,
    })
}

/// The level at the beginning, after a third, after two thirds and at the end; `None` with too few readings.
fn edges(levels: &[f64]) -> Option<[f64; 4]> {
    let last = levels.len().checked_sub(1).filter(|last| *last >= 3 * READINGS)?;
    let at = |third: usize| levels.get(last * third / 3).copied();
    Some([at(0)?, at(1)?, at(2)?, at(3)?])
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;

    use crate::Confidence;
    use crate::testing::Scene;

    const MIB: f64 = 1024.0 * 1024.0;

    /// A load of so many seconds, 100 responses each, on a program with so many MiB at each second; what the machine has
    /// left falls by a part of that.
    fn service(seconds: u64, program: &str, memory: impl Fn(f64) -> f64, falls: f64) -> Scene {
        let mut scene = Scene::sized(seconds, |_| 100, Curve::constant(10.0), |_, _, _| {});
        let (host, process) = (scene.host(4.0), scene.process(program));
        let points = |level: &dyn Fn(f64) -> f64| {
            (0..=seconds).map(|second| (Nanos::from_secs(second), level(second as f64) * MIB)).collect()
        };
        scene.points(process, "process.memory.resident", "", SeriesKind::Gauge, points(&memory));
        let available = |second: f64| 8_000.0 - falls * memory(second);
        scene.points(host, "host.memory.available", "", SeriesKind::Gauge, points(&available));
        scene
    }

    #[test]
    fn memory_that_grows_with_each_response_is_found() {
        let finding = service(90, "shop (pid 7)", |second| 100.0 + 3.0 * second, 1.0).found("growing_memory");
        let finding = finding.unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        let says = "the memory of shop (pid 7) grows evenly from 100 to 370 MiB (by 270 %): it keeps 30.7 KiB of each \
                    response";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn a_heap_that_reaches_its_size_and_one_that_is_collected_are_healthy() {
        let found = |memory: fn(f64) -> f64| service(90, "shop (pid 7)", memory, 1.0).found("growing_memory");
        assert_eq!(found(|second| 100.0 + 8.0 * second.min(45.0)), None, "it is full after half of the run");
        assert_eq!(found(|second| 100.0 + 5.0 * (second % 20.0)), None, "collected every 20 s");
        assert_eq!(found(|second| 100.0 + 0.5 * second), None, "a little");
        let full_machine = service(90, "shop (pid 7)", |second| 100.0 + 3.0 * second, 0.1);
        assert_eq!(full_machine.found("growing_memory"), None, "the machine has as much left: shared pages");
    }

    #[test]
    fn collectors_have_ten_minutes_and_others_one() {
        let grows = |second: f64| 100.0 + 3.0 * second;
        let lacks = service(30, "shop (pid 7)", grows, 1.0).lacks("growing_memory");
        assert_eq!(lacks.as_deref(), Some("60 s of load"));
        assert_eq!(service(90, "java (pid 7)", grows, 1.0).found("growing_memory"), None);
        assert!(service(630, "java (pid 7)", grows, 1.0).found("growing_memory").is_some());
    }
}
