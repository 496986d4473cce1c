//! One thread at its limit while the process has more and the machine has room: an event loop, a global lock.
//!
//! Needs a process of the service. The main thread of Redis is `redis_thread`.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::profile::add_hottest;
use crate::watched::Watched;

use super::cpu_full;

pub(super) const RULE: Rule = Rule {
    code: "one_thread",
    finds: "one thread that fills a CPU while others idle: a blocked event loop",
    needs: "a process of the service that can use two CPUs",
    limits: "a thread runs 95 % of the time; one CPU of the machine is idle (`host`); 1.5 threads of the process run at a time at most. Nothing if the process fills its CPUs. With a profile of the process (`profile`), the function with most of its CPU time is named",
    source: "A thread cannot use more than one CPU: at 95 % the operational bound of one server is reached.",
    cause: "All requests pass through one thread: an event loop that computes or blocks (JSON, hashing, templates), a global interpreter lock, one worker.",
    remedy: "Run more processes or workers, move computation off the loop, or make it cheaper.",
    explains: &["fixed_places", "cpu_per_request"],
    check,
};

const THREAD: f64 = 0.95;
const IDLE: f64 = 1.0;
const RUNNING: f64 = 1.5;
const FILLED: f64 = 0.9;
const CPUS_MIN: f64 = 1.5;

/// Servers that read this variable for their number of processes.
const WORKERS: &[&str] = &["gunicorn", "uvicorn", "puma"];

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(evidence.needed(SourceKind::Process)?.iter().filter_map(|process| hot(evidence, process)).collect())
}

fn hot(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<Draft> {
    let (thread, rise) = process.rises("process.thread.cpu").into_iter().next()?;
    let share = rise.per_second();
    let allowed = bound::allowed_cpus(evidence, process)?;
    let used = bound::both(process, "process.cpu.user", "process.cpu.system")?.per_second()?;
    let name = thread.split_once(' ').map_or(thread, |(_, name)| name);
    if allowed < CPUS_MIN || used / allowed >= FILLED || name.contains("redis-server") {
        return None;
    }
    let full = Signal::at_least(
        "share of the time that the thread runs",
        Unit::Share,
        share,
        THREAD,
        "/proc/PID/task",
    )?;
    let hosts = evidence.sources(SourceKind::Host);
    let idle = hosts.first().and_then(|_| Some((1.0 - evidence.host_busy()?) * evidence.cpus()?));
    let running = process.mean("process.threads.state", "running");
    let signals = [
        Some(full),
        Signal::at_least("CPUs of the machine that idle", Unit::Count, idle, IDLE, "/proc/stat"),
        Signal::at_most(
            "threads of the process that run at a time",
            Unit::Count,
            running,
            RUNNING,
            "/proc/PID/task: state",
        ),
    ];
    let threads =
        process.mean("process.threads", "").map_or(String::new(), |all| format!(" of {}", number(all)));
    let mut draft = Draft {
        subject: Subject::of(SubjectKind::Process, name, Some(&process.source.name)),
        statement: format!(
            "one thread{threads} of {} ({name}) runs {} of the time, and the process uses {} of {} CPUs",
            process.source.name,
            percent(share?),
            number(used),
            number(allowed)
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: remedy(process, name, allowed),
        gain: cpu_full::doubled(evidence),
    };
    add_hottest(evidence, process, &mut draft);
    Some(draft)
}

fn remedy(process: &Watched<'_>, thread: &str, allowed: f64) -> Remedy {
    let commands = process.texts("process.command").map(|(_, command)| command);
    let reads = |name: &str| WORKERS.iter().any(|server| name.to_lowercase().contains(server));
    if commands.chain([thread, process.source.name.as_str()]).any(reads) {
        return Remedy::Environment { name: "WEB_CONCURRENCY".into(), value: number(allowed.floor()) };
    }
    Remedy::advice("run more processes or workers, or move computation off this thread")
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;

    use crate::testing::Scene;
    use crate::{Confidence, Remedy};

    fn hot(thread: &str, share: f64) -> Scene {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.busy_host(host, 0.4);
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", share);
        scene.counter(process, "process.thread.cpu", thread, share);
        scene
    }

    #[test]
    fn an_event_loop_at_its_limit_is_found_while_three_cpus_idle() {
        let finding = hot("7/7 node", 0.98).found("one_thread").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "node"));
        assert!(finding.statement.starts_with("one thread of 4 of shop"), "{}", finding.statement);
        let workers = hot("7/7 gunicorn", 0.98).found("one_thread").unwrap().remedy;
        assert_eq!(workers, Remedy::Environment { name: "WEB_CONCURRENCY".into(), value: "4".into() });
    }

    #[test]
    fn a_profile_says_what_the_event_loop_computes() {
        let mut scene = hot("7/7 node", 0.98);
        let profile = scene.source(SourceKind::Profile, "profile of shop (pid 7)");
        scene.counter(profile, "profile.samples", "JS:*render /app/page.js:3:1", 40.0);
        scene.counter(profile, "profile.samples", "(other)", 60.0);
        let finding = scene.found("one_thread").unwrap();
        let end = "; 40 % of its CPU time is in JS:*render /app/page.js:3:1";
        assert!(finding.statement.ends_with(end), "{}", finding.statement);
        assert_eq!(finding.confidence, Confidence::Likely);
    }

    #[test]
    fn a_busy_thread_with_room_and_a_process_that_fills_all_cpus_are_not_one_thread() {
        assert_eq!(hot("7/7 node", 0.7).found("one_thread"), None);
        let mut full = hot("7/7 worker", 0.97);
        full.counter(1, "process.cpu.user", "", 3.8);
        assert_eq!(full.found("one_thread"), None);
    }
}
