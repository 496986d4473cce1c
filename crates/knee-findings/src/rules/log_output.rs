//! A service that writes much more than its responses: logs, synchronously.
//!
//! Needs a process of the service. What is written is not in the evidence, only how much and where threads wait.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};

pub(super) const RULE: Rule = Rule {
    code: "log_output",
    finds: "much output beside the responses: logs",
    needs: "a process of the service",
    limits: "it writes 4 KiB per response beyond the bytes of the response; it calls write 10 times per response; 0.2 threads wait in the kernel for a pipe; 0.2 threads wait for a disk. Two of them, or nothing",
    source: "A response is one write or two. Ten are lines of a log; a thread that waits for a pipe waits for the reader of the log.",
    cause: "Each request writes many log lines, unbuffered, to a pipe or a file.",
    remedy: "Log less per request (level), buffer the log, or write it from another thread.",
    explains: &[],
    check,
};

const BYTES: f64 = 4_096.0;
const CALLS: f64 = 10.0;
const THREADS: f64 = 0.2;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for process in evidence.needed(SourceKind::Process)? {
        let per_request = |name: &str| process.rise(name, "").and_then(|rise| evidence.per_request(rise));
        let response = evidence.all().bytes_received as f64 / evidence.answered().max(1) as f64;
        let beyond = per_request("process.io.write_chars").map(|written| written - response);
        let calls = per_request("process.io.write_calls");
        let signals: Vec<Signal> = [
            Signal::at_least(
                "bytes written per response beyond it",
                Unit::Bytes,
                beyond,
                BYTES,
                "/proc/PID/io: wchar",
            ),
            Signal::at_least("calls of write per response", Unit::Count, calls, CALLS, "/proc/PID/io: syscw"),
            Signal::at_least(
                "threads that wait for a pipe",
                Unit::Count,
                process.mean("process.threads.waiting", "pipe_write"),
                THREADS,
                "/proc/PID/wchan",
            ),
            Signal::at_least(
                "threads that wait for a disk",
                Unit::Count,
                process.mean("process.threads.state", "disk"),
                THREADS,
                "/proc/PID/task: state",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        if signals.len() < 2
            || (beyond.is_none_or(|beyond| beyond < BYTES) && calls.is_none_or(|calls| calls < CALLS))
        {
            continue;
        }
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
            statement: format!(
                "{} writes {} bytes in {} calls per response beyond the response itself",
                process.source.name,
                number(beyond.unwrap_or(0.0).max(0.0)),
                number(calls.unwrap_or(0.0))
            ),
            signals,
            remedy: Remedy::advice("log less per request, buffer the log, or write it from another thread"),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::testing::{RATE, Scene};

    #[test]
    fn thirty_log_lines_per_request_are_found_and_one_is_healthy() {
        let of = |lines: f64| {
            let mut scene = Scene::steady();
            let process = scene.process("shop (pid 7)");
            scene.counter(process, "process.io.write_chars", "", (800.0 + lines * 200.0) * RATE as f64);
            scene.counter(process, "process.io.write_calls", "", (1.0 + lines) * RATE as f64);
            scene.found("log_output")
        };
        assert_eq!(of(30.0).unwrap().evidence.len(), 2);
        assert_eq!(of(1.0), None);
    }
}
