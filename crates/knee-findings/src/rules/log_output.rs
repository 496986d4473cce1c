//! A service that writes much more than its responses: logs, synchronously.
//!
//! Needs a process of the service. What is written is not in the evidence, only how much and where threads wait. A log in
//! another file than stdout and stderr is seen only by what it makes threads wait for.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "log_output",
    finds: "much output beside the responses: logs",
    needs: "a process of the service",
    limits: "its stdout and stderr are files that grow by 4 KiB per response; it writes 4 KiB per response beyond the bytes of the response, in 10 calls at least; 0.2 threads wait in the kernel for a pipe; 0.2 threads wait for a disk. Two of them, or nothing; if stdout or stderr is a file, its growth is one of them, and if not, or if that is not known, the wait for a pipe is",
    source: "A response is one write or two, and ten more are not. What stdout and stderr get is a log for certain; a thread that waits for a pipe waits for the reader of the log. A service that keeps its data itself writes much and waits for the disk as well.",
    cause: "Each request writes many log lines, unbuffered, to a pipe or a file.",
    remedy: "Log less per request (level), buffer the log, or write it from another thread.",
    explains: &[],
    check,
};

const BYTES: f64 = 4_096.0;
const CALLS: f64 = 10.0;
const THREADS: f64 = 0.2;

fn check(evidence: &Evidence<'_>) -> Checked {
    Ok(evidence
        .needed(SourceKind::Process)?
        .iter()
        .filter_map(|process| logging(evidence, process))
        .collect())
}

fn logging(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<Draft> {
    let per_request = |name: &str| process.rise(name, "").and_then(|rise| evidence.per_request(rise));
    let logged = per_request("process.output_bytes");
    let response = evidence.bytes_per_response().unwrap_or(0.0);
    let beyond = per_request("process.io.write_chars").map(|written| written - response);
    let calls = per_request("process.io.write_calls");
    // Bytes and calls come from one place and are one signal: files and sockets of stores count there, too.
    let written = beyond.filter(|_| calls.is_some_and(|calls| calls >= CALLS));
    let pipe = process.mean("process.threads.waiting", "pipe_write");
    let disk = process.mean("process.threads.state", "disk");
    let signals: Vec<Signal> = [
        Signal::at_least(
            "bytes of stdout and stderr per response",
            Unit::Bytes,
            logged,
            BYTES,
            "their files",
        ),
        Signal::at_least("bytes written per response beyond it", Unit::Bytes, written, BYTES, "/proc/PID/io"),
        Signal::at_least("threads that wait for a pipe", Unit::Count, pipe, THREADS, "/proc/PID/wchan"),
        Signal::at_least("threads that wait for a disk", Unit::Count, disk, THREADS, "/proc/PID/task: state"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let shown = match logged {
        Some(bytes) => bytes >= BYTES,
        // Files of data are written in many calls, and waited for, too.
        None => written.is_some_and(|bytes| bytes >= BYTES) && pipe.is_some_and(|threads| threads >= THREADS),
    };
    if !shown || signals.len() < 2 {
        return None;
    }
    let bytes = logged.or(beyond).unwrap_or(0.0).max(0.0);
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: match calls {
            Some(calls) => format!(
                "{} logs {} bytes per response; it calls write {} times for one",
                process.source.name,
                number(bytes),
                number(calls)
            ),
            None => format!("{} logs {} bytes per response", process.source.name, number(bytes)),
        },
        signals,
        remedy: Remedy::advice("log less per request, buffer the log, or write it from another thread"),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};

    /// A shop that writes so many lines of 200 bytes per response, each with one call.
    fn writing(lines: f64) -> Scene {
        let mut scene = Scene::steady();
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.io.write_chars", "", (800.0 + lines * 200.0) * RATE as f64);
        scene.counter(process, "process.io.write_calls", "", (1.0 + lines) * RATE as f64);
        scene
    }

    #[test]
    fn thirty_log_lines_per_request_in_a_file_are_found_and_one_is_healthy() {
        let of = |lines: f64| {
            let mut scene = writing(lines);
            scene.counter(0, "process.output_bytes", "", lines * 200.0 * RATE as f64);
            scene.found("log_output")
        };
        assert_eq!(of(30.0).unwrap().evidence.len(), 2);
        assert_eq!(of(1.0), None);
    }

    #[test]
    fn what_a_service_writes_to_its_stores_is_no_log() {
        assert_eq!(writing(200.0).found("log_output"), None, "200 commands to Redis, and an unknown output");
        let mut scene = writing(200.0);
        scene.counter(0, "process.output_bytes", "", 90.0 * RATE as f64);
        scene.gauge(0, "process.threads.state", "disk", 0.5);
        assert_eq!(scene.found("log_output"), None, "pages of SQLite");
    }

    #[test]
    fn a_service_that_keeps_its_data_in_files_of_its_own_does_not_log() {
        let mut scene = writing(200.0);
        scene.gauge(0, "process.threads.state", "disk", 0.5);
        assert_eq!(scene.found("log_output"), None, "pages of an embedded store, and stdout is a pipe");
    }

    #[test]
    fn a_log_that_goes_to_a_pipe_is_found_by_those_who_wait_for_its_reader() {
        let mut scene = writing(30.0);
        scene.gauge(0, "process.threads.waiting", "pipe_write", 0.6);
        assert_eq!(scene.found("log_output").unwrap().evidence.len(), 2);
    }
}
