//! Every format is recognised by its content, a sound output of it is consistent, and a planted defect is found.
//!
//! The outputs are written here, in the layouts of the tools.

use knee_audit::{Known, ReadError, Report, audit};

fn checked(output: &str) -> Report {
    audit("output", output.as_bytes(), &Known::default()).unwrap_or_else(|error| panic!("{error}\n{output}"))
}

/// Fails unless the output is consistent, and has a defect that this check finds after a replacement.
fn plant(format: &str, sound: &str, replace: (&str, &str), check: &str) {
    let report = checked(sound);
    assert_eq!(report.format, format);
    assert!(report.consistent, "{}", knee_audit::report::text(&[report]));
    assert!(sound.contains(replace.0), "{}", replace.0);
    let report = checked(&sound.replacen(replace.0, replace.1, 1));
    let found = report.findings.iter().any(|finding| finding.check == check);
    assert!(found, "{check}: {}", knee_audit::report::text(&[report]));
}

const OHA_JSON: &str = r#"{"summary":{"successRate":1.0,"total":10.0,"slowest":0.2,"fastest":0.01,"average":0.05,
"requestsPerSec":100.0,"totalData":1000,"sizePerRequest":1,"sizePerSec":100.0},
"responseTimeHistogram":{"0.01":1,"0.1":900,"0.2":99},
"latencyPercentiles":{"p50":0.04,"p95":0.12,"p99":0.18},
"statusCodeDistribution":{"200":1000},"errorDistribution":{}}"#;

#[test]
fn the_json_of_oha_is_read() {
    plant("oha JSON", OHA_JSON, ("\"requestsPerSec\":100.0", "\"requestsPerSec\":110.0"), "count");
    plant("oha JSON", OHA_JSON, ("\"0.2\":99", "\"0.2\":90"), "part");
    plant("oha JSON", OHA_JSON, ("\"p95\":0.12", "\"p95\":0.19"), "order");
    plant("oha JSON", OHA_JSON, ("\"average\":0.05", "\"average\":0.15"), "mean");
    plant("oha JSON", OHA_JSON, ("{\"200\":1000}", "{\"200\":900,\"500\":100}"), "success");
}

const VEGETA: &str = r#"{"latencies":{"total":50000000000,"mean":50000000,"50th":40000000,"90th":90000000,
"95th":120000000,"99th":180000000,"max":200000000,"min":10000000},"bytes_in":{"total":1000,"mean":1},
"duration":9990000000,"wait":20000000,"requests":1000,"rate":100.1001001001,"throughput":99.9,"success":1,
"status_codes":{"200":1000},"errors":[]}"#;

#[test]
fn the_report_of_vegeta_is_read() {
    plant("vegeta report", VEGETA, ("\"mean\":50000000", "\"mean\":60000000"), "count");
    plant("vegeta report", VEGETA, ("\"rate\":100.1001001001", "\"rate\":90.0"), "count");
    plant("vegeta report", VEGETA, ("\"success\":1", "\"success\":0.9"), "share");
    plant("vegeta report", VEGETA, ("\"max\":200000000", "\"max\":150000000"), "order");
}

#[test]
fn single_results_of_vegeta_are_read() {
    let line = |second: usize, ms: u64| {
        format!(
            "{{\"attack\":\"\",\"seq\":{second},\"code\":200,\"timestamp\":\"2026-01-02T03:04:{second:02}.5+01:00\",\
             \"latency\":{},\"body\":\"aGVsbG8=\"}}\n",
            ms * 1_000_000
        )
    };
    let text: String = (0..50).map(|second| line(second, 20)).collect();
    let report = checked(&text);
    assert_eq!((report.format.as_str(), report.consistent), ("vegeta results", true));
}

const LOCUST: &str = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,\
Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%\n\
GET,/a,1000,0,40,45.0,10,198,71.5,10.0,0.0,40,50,60,70,90,120,150,180,200,200,200\n\
POST,/a,500,2,40,60.0,10,398,71.5,5.0,0.0,40,50,60,70,90,220,250,280,400,400,400\n\
,Aggregated,1500,2,40,50.0,10,398,71.5,15.0,0.0,40,50,60,70,90,120,150,180,400,400,400\n";

#[test]
fn the_statistics_of_locust_are_read() {
    plant("Locust statistics", LOCUST, ("Aggregated,1500", "Aggregated,1400"), "part");
    plant("Locust statistics", LOCUST, ("1500,2,40,50.0", "1500,2,40,55.0"), "part");
    plant(
        "Locust statistics",
        LOCUST,
        ("10.0,0.0,40,50,60,70,90,120", "10.0,0.0,40,50,60,70,90,80"),
        "order",
    );
}

#[test]
fn the_history_and_the_report_of_locust_are_read() {
    let history = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,100%,Total Request Count,\
        Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,\
        Total Max Response Time,Total Average Content Size\n\
        1,5,,Aggregated,1.0,0.0,N/A,N/A,N/A,0,0,0,0,0,0,0\n2,5,,Aggregated,9.0,0.0,40,120,200,90,0,40,50.0,10,198,71\n";
    plant("Locust history", history, ("50.0,10,198", "250.0,10,198"), "mean");
    let html = "<html><script>window.templateArgs = {\"requests_statistics\": [{\"method\":\"GET\",\"name\":\"/a\",\
        \"num_requests\":100,\"num_failures\":0,\"median_response_time\":40,\"avg_response_time\":50.5,\
        \"min_response_time\":10,\"max_response_time\":198,\"avg_content_length\":7},{\"method\":\"\",\
        \"name\":\"Aggregated\",\"num_requests\":100,\"num_failures\":0,\"median_response_time\":40,\
        \"avg_response_time\":50.5,\"min_response_time\":10,\"max_response_time\":198,\"avg_content_length\":7}]}\n\
        window.theme = \"\";</script></html>";
    plant("Locust report", html, ("\"num_requests\":100", "\"num_requests\":99"), "part");
}

#[test]
fn the_table_of_hey_is_read_and_its_limit_is_named() {
    let text = "\nSummary:\n  Total:\t30.0000 secs\n  Slowest:\t0.2000 secs\n  Fastest:\t0.0001 secs\n  \
        Average:\t0.0060 secs\n  Requests/sec:\t33333.3333\n\nLatency distribution:\n  50% in 0.0040 secs\n\n\
        Status code distribution:\n  [200]\t1000000 responses\n";
    plant("hey", text, ("33333.3333", "131932.7333"), "capped");
    let csv = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n\
        0.0101,0.0001,0.0000,0.0000,0.0100,0.0000,200,0.0000\n0.0102,0.0000,0.0000,0.0000,0.0100,0.0000,200,0.0101\n";
    assert_eq!(checked(csv).format, "hey CSV");
}

#[test]
fn a_stall_in_the_samples_of_k6_is_found() {
    // Ten requests in each second of a minute; then nothing for six seconds, and one slow request per user.
    let point = |second: f64, ms: f64| {
        let (minute, second) = ((second / 60.0) as u64, second % 60.0);
        format!(
            "{{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{{\"time\":\
             \"2026-01-02T10:{minute:02}:{second:09.6}Z\",\"value\":{ms},\"tags\":{{\"status\":\"200\"}}}}}}\n"
        )
    };
    let steady: String = (0..6000).map(|at| point(f64::from(at) / 100.0, 10.0)).collect();
    let report = checked(&steady);
    assert_eq!((report.format.as_str(), report.consistent), ("k6 JSON lines", true));
    let stalled: String = (0..5).map(|_| point(66.0, 6000.0)).collect();
    let report = checked(&format!("{steady}{stalled}"));
    assert_eq!(report.findings[0].check, "omission", "{report:?}");
}

#[test]
fn iterations_that_k6_did_not_start_are_named() {
    let json = r#"{"metrics":{"http_req_duration":{"type":"trend","contains":"time","values":{"avg":5,"min":1,"med":4,
        "max":20,"p(90)":9,"p(95)":12}},"http_reqs":{"type":"counter","contains":"default","values":{"count":1000,
        "rate":100}},"iterations":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}},
        "iteration_duration":{"type":"trend","contains":"time","values":{"avg":6,"min":1,"med":5,"max":20}},
        "vus_max":{"type":"gauge","contains":"default","values":{"value":10,"min":10,"max":10}}},
        "state":{"testRunDurationMs":10000}}"#;
    plant(
        "k6 summary",
        json,
        ("\"vus_max\":", "\"dropped_iterations\":{\"values\":{\"count\":50,\"rate\":5}},\"vus_max\":"),
        "generator",
    );
    plant("k6 summary", json, ("\"avg\":6", "\"avg\":19.9"), "mean");
    plant(
        "k6 summary",
        json,
        ("\"count\":1000,\n        \"rate\":100", "\"count\":1000,\n        \"rate\":120"),
        "count",
    );
}

#[test]
fn damage_is_reported_with_its_line() {
    let lines = "{\"metric\":\"vus\",\"type\":\"Point\",\"data\":{\"time\":\"x\",\"value\":1}}\n{broken\n";
    let error = audit("output", lines.as_bytes(), &Known::default()).unwrap_err();
    assert!(matches!(error, ReadError::Damaged { line: 2, .. }), "{error}");
    let gob = b"\x5a\xff\x81\x03\x01\x01\x06Result\x01\xff\x82\x00\x01\x0a\x01\x06Attack\x01\x0c\x00\x01\x07Latency\x01";
    let error = audit("output", gob.as_slice(), &Known::default()).unwrap_err();
    assert!(error.hint().contains("vegeta encode"), "{error}");
}
