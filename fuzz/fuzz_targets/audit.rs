//! Any bytes as an output of a load testing tool.
//!
//! The first byte chooses the beginning of a format, so that each reader is reached. Looks for panics, and for findings
//! without a sentence.

#![no_main]

use knee_audit::{Known, audit};
use libfuzzer_sys::fuzz_target;

/// Beginnings by which readers recognise their format, and what ends a document that would not be one without it. The
/// input stands between the two.
const BEGINNINGS: [(&[u8], &[u8]); 20] = [
    (b"", b""),
    (b"Summary:\n  Success rate:\t100.00%\n  Total:\t1.0000 secs\n", b""),
    (b"Summary:\n  Total:\t1.0000 secs\n", b""),
    (b"Running 30s test @ http://127.0.0.1/\n  2 threads and 10 connections\n", b""),
    (b"Concurrency Level:      10\n", b""),
    (b"    http_reqs......................: 10 1.0/s\n", b""),
    (b"Requests      [total, rate, throughput]  10, 1.0, 1.0\n", b""),
    (b"Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time\n", b""),
    (b"Timestamp,User Count,Type,Name,Requests/s\n", b""),
    (b"window.templateArgs = ", b""),
    (b"metric_name,timestamp,metric_value\n", b""),
    (b"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n", b""),
    (b"# Results\n\n| Connections | Requests/s | Average |\n|---|---|---|\n", b""),
    // k6's summary, as it is exported and as `handleSummary` gets it.
    (b"{\"metrics\":{\"http_reqs\":{\"count\":10,\"rate\":1.0},\"http_req_duration\":{\"avg\":", b"}}}"),
    (b"{\"metrics\":{\"vus\":{},\"iteration_duration\":{\"contains\":\"time\",\"values\":{\"avg\":", b"}}}}"),
    (K6_LINE, b""),
    (b"{\"summary\":{\"total\":1.0,\"average\":", b"},\"responseTimeHistogram\":{\"0.1\":1}}"),
    (b"{\"requests\":10,\"latencies\":{\"mean\":", b"},\"status_codes\":{\"200\":10}}"),
    (b"{\"timestamp\":\"2026-01-02T03:04:05.5Z\",\"latency\":1000000,\"code\":200}\n", b""),
    (VEGETA_TYPES, b""),
];

/// A line of k6.
const K6_LINE: &[u8] = b"{\"metric\":\"http_req_duration\",\"type\":\"Point\",\
    \"data\":{\"time\":\"2026-01-02T10:00:00Z\",\"value\":5.0,\"tags\":{\"status\":\"200\"}}}\n";

/// The definitions of vegeta's binary results, with the fields Timestamp, Latency, Code, Body and Headers, and one
/// result.
const VEGETA_TYPES: &[u8] = b"N\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\x00\x01\x05\
    \x01\x09Timestamp\x01\xff\x84\x00\x01\x07Latency\x01\x04\x00\x01\x04Code\x01\x06\x00\x01\x04Body\x01\x0a\x00\
    \x01\x07Headers\x01\xff\x86\x00\x00\x00\
    \x10\xff\x83\x05\x01\x01\x04Time\x01\xff\x84\x00\x00\x00\
    \x17\xff\x85\x04\x01\x01\x06Header\x01\xff\x86\x00\x01\x0c\x01\xff\x88\x00\x00\
    \x16\xff\x87\x02\x01\x01\x08[]string\x01\xff\x88\x00\x01\x0c\x00\x00\
    \x1c\xff\x82\x01\x0f\x01\x00\x00\x00\x0e\xe2\x9e\xb3\x80\x00\x00\x00\x00\
    \xff\xff\x01\xfd\x1e\x84\x80\x01\xff\xc8\x00";

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let (beginning, end) = BEGINNINGS[usize::from(*choice) % BEGINNINGS.len()];
    let output = [beginning, rest, end].concat();
    let known = Known { connections: (*choice > 127).then_some(50) };
    if let Ok(report) = audit("output", output.as_slice(), &known) {
        assert!(report.findings.iter().all(|finding| !finding.says.is_empty()));
    }
});
