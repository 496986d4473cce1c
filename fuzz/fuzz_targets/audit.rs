//! Any bytes as an output of a load testing tool.
//!
//! The first byte chooses the beginning of a format, so that each reader is reached. Looks for panics, and for findings
//! without a sentence.

#![no_main]

use knee_audit::{Known, audit};
use libfuzzer_sys::fuzz_target;

/// Beginnings by which readers recognise their format.
const BEGINNINGS: [&str; 13] = [
    "",
    "Summary:\n  Success rate:\t100.00%\n  Total:\t1.0000 secs\n",
    "Summary:\n  Total:\t1.0000 secs\n",
    "Running 30s test @ http://127.0.0.1/\n  2 threads and 10 connections\n",
    "Concurrency Level:      10\n",
    "    http_reqs......................: 10 1.0/s\n",
    "Requests      [total, rate, throughput]  10, 1.0, 1.0\n",
    "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time\n",
    "Timestamp,User Count,Type,Name,Requests/s\n",
    "window.templateArgs = ",
    "metric_name,timestamp,metric_value\n",
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n",
    "# Results\n\n| Connections | Requests/s | Average |\n|---|---|---|\n",
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let beginning = BEGINNINGS[usize::from(*choice) % BEGINNINGS.len()];
    let output = [beginning.as_bytes(), rest].concat();
    let known = Known { connections: (*choice > 127).then_some(50) };
    if let Ok(report) = audit("output", output.as_slice(), &known) {
        assert!(report.findings.iter().all(|finding| !finding.says.is_empty()));
    }
});
