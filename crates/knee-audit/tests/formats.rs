//! Every format is recognised by its content, a sound output of it is consistent, and a planted defect is found.
//!
//! The outputs are written here, in the layouts of the tools.

use knee_audit::finding::Grade;
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
    let steady: String = (0..6000).map(|at| point(f64::from(at) / 100.0, 10.0)).collect();
    let report = checked(&steady);
    assert_eq!((report.format.as_str(), report.consistent), ("k6 JSON lines", true));
    let stalled: String = (0..5).map(|_| point(66.0, 6000.0)).collect();
    let report = checked(&format!("{steady}{stalled}"));
    assert_eq!(report.findings[0].check, "omission", "{report:?}");
}

/// A line of k6 for a request of some ms that ended at a second.
fn point(second: f64, ms: f64) -> String {
    let (minute, second) = ((second / 60.0) as u64, second % 60.0);
    format!(
        "{{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{{\"time\":\
         \"2026-01-02T10:{minute:02}:{second:09.6}Z\",\"value\":{ms},\"tags\":{{\"status\":\"200\"}}}}}}\n"
    )
}

/// Ten users who send a request at each full second and sleep in step; it takes 4 to 13 ms.
fn in_step(seconds: std::ops::Range<u32>) -> String {
    let times = seconds.flat_map(|second| (4..14).map(move |ms| (f64::from(second), f64::from(ms))));
    times.map(|(second, ms)| point(second + ms / 1e3, ms)).collect()
}

#[test]
fn one_slow_request_of_users_who_sleep_in_step_is_no_stall() {
    for ms in [1200.0, 1900.0, 3500.0] {
        let slow = point(30.005 + ms / 1e3, ms);
        assert_eq!(alarms(&format!("{}{slow}", in_step(0..60))), [""; 0], "{ms}");
        // Several can be slow without a stall, too, and lie in different parts of the run.
        let more = format!("{slow}{slow}{}", point(50.005 + ms / 1e3, ms));
        assert_eq!(alarms(&format!("{}{more}", in_step(0..60))), [""; 0], "{ms}");
    }
    // One user who waits for one slow request says nothing about the server.
    let alone: String = (0..600).map(|at| point(f64::from(at) / 10.0, 5.0)).collect();
    assert_eq!(alarms(&format!("{alone}{}", point(66.0, 6000.0))), [""; 0]);
}

#[test]
fn a_stall_is_found_among_users_who_sleep_in_step() {
    let stalled: String = (0..10).map(|user| point(65.0 + f64::from(user) / 1e3, 5000.0)).collect();
    let output = format!("{}{stalled}{}", in_step(0..60), in_step(66..120));
    assert_eq!(alarms(&output), ["omission"]);
    // The second stall of a run is no less of one.
    let before: String = (0..10).map(|user| point(25.0 + f64::from(user) / 1e3, 4900.0)).collect();
    let output = format!("{}{before}{}{stalled}{}", in_step(0..20), in_step(26..60), in_step(66..300));
    assert_eq!(alarms(&output), ["omission"]);
}

/// The end of a test of k6, with these figures of a trend.
fn k6_text(trend: &str) -> String {
    format!(
        "running (0m30.0s), 00/10 VUs, 300 complete and 0 interrupted iterations\n\n\
         \u{20}    http_req_duration..............: {trend}\n\
         \u{20}    http_reqs......................: 300 10/s\n\
         \u{20}    iteration_duration.............: avg=1s min=1s med=1s max=1s p(90)=1s p(95)=1s\n\
         \u{20}    iterations.....................: 300 10/s\n\
         \u{20}    vus_max........................: 10 min=10 max=10\n"
    )
}

#[test]
fn times_of_k6_are_read_beside_figures_that_are_none() {
    let sound = "avg=50ms min=10ms med=40ms max=200ms p(90)=90ms p(95)=120ms";
    for trend in [format!("{sound} count=300"), format!("count=300 {sound}"), format!("{sound} p(99)=-")] {
        let report = checked(&k6_text(&trend));
        assert!(report.consistent, "{}", knee_audit::report::text(&[report]));
        assert_eq!(report.figures, 19, "{trend}");
        assert_eq!(alarms(&k6_text(&trend.replace("p(95)=120ms", "p(95)=220ms"))), ["order"], "{trend}");
    }
    // A metric of numbers has no times: 12.5 is not "12.5 min".
    let numbers =
        "     http_reqs....: 300 10/s\n     my_trend.....: avg=12.5 min=1 med=12 max=20 p(90)=15 p(95)=18\n";
    let text = format!(
        "{}{numbers}",
        k6_text(sound).replace("     http_reqs......................: 300 10/s\n", "")
    );
    assert_eq!(alarms(&text), [""; 0]);
    assert_eq!(checked(&text).figures, 19);
}

#[test]
fn requests_without_any_time_are_named() {
    let report = checked(&k6_text("count=300"));
    assert!(report.consistent);
    assert!(report.findings.iter().any(|one| one.says.contains("no time of 300 requests")), "{report:?}");
    let json = r#"{"metrics":{"http_reqs":{"count":300,"rate":10},"http_req_duration":{"count":300}}}"#;
    let says = checked(json).findings.iter().map(|one| one.says.clone()).collect::<String>();
    assert!(says.contains("no time of 300 requests"), "{says}");
    let report = checked(&k6_text("avg=50ms min=10ms med=40ms max=200ms p(90)=90ms p(95)=120ms"));
    assert!(report.findings.is_empty(), "{report:?}");
}

#[test]
fn a_line_or_a_metric_that_cannot_be_read_hides_no_other() {
    let text = "\nSummary:\n  Total:\t-\n  Slowest:\t0.2000 secs\n  Fastest:\t0.0001 secs\n  Average:\t0.3000 secs\n  \
        Requests/sec:\t10.0000\n";
    assert_eq!(alarms(text), ["mean"]);
    let json = r#"{"metrics":{"broken":null,"http_reqs":{"count":1000,"rate":100},"http_req_duration":{"avg":30,
        "min":1,"max":20}}}"#;
    assert_eq!(alarms(json), ["mean"]);
}

#[test]
fn a_negative_time_in_the_summary_of_k6_hides_no_other() {
    let json = r#"{"metrics":{"http_reqs":{"count":1000,"rate":100},"http_req_duration":{"avg":9,"min":-1,"med":14,
        "max":20,"p(90)":9,"p(95)":12}}}"#;
    assert_eq!(alarms(json), ["order"]);
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

/// Names of the checks that find more than a note.
fn alarms(output: &str) -> Vec<&'static str> {
    let findings = checked(output).findings;
    findings.iter().filter(|one| one.grade != Grade::Note).map(|one| one.check).collect()
}

/// A text with a table of one row.
fn table(titles: &str, cells: &str) -> String {
    format!("# Results\n\n| {titles} |\n|{}\n| {cells} |\n", "---|".repeat(titles.split('|').count()))
}

#[test]
fn shortened_numbers_of_a_table_are_read_as_they_are_meant() {
    // 100 connections x 8 ms: 12,500 requests/s. Read as 12.5, they would leave 99 connections idle.
    let titles = "Connections | Requests/s | Average";
    for rate in ["12.5k", "12.5K req/s", "12.5 kreq/s", "12.5krps", "750k/min", "0.0125M", "12,500/sec"] {
        assert_eq!(alarms(&table(titles, &format!("100 | {rate} | 8 ms"))), [""; 0], "{rate}");
    }
    assert_eq!(alarms(&table("Connections | Requests/s (k) | Average", "100 | 12.5 | 8 ms")), [""; 0]);
    assert_eq!(alarms(&table("Connections | kreq/s | Average", "100 | 12.5 | 8 ms")), [""; 0]);
    for title in ["Requests/s, M1", "Requests/s, plan K", "Requests/s, 10k rows"] {
        assert_eq!(
            alarms(&table(&format!("Connections | {title} | Average"), "100 | 12,500 | 8 ms")),
            [""; 0]
        );
    }
    assert_eq!(
        alarms(&table("Connections | Throughput (req/min) | Average", "100 | 750,000 | 8 ms")),
        [""; 0]
    );
    // 1,000 connections x 50 ms: 20,000 requests/s. Read as one connection, they would be impossible.
    assert_eq!(alarms(&table(titles, "1k | 20k | 50 ms")), [""; 0]);
    assert_eq!(
        alarms(&table("Label | Connections | Throughput | Average", "a | 10 | 12.5/min | 47 s")),
        [""; 0]
    );
    // Still found: 12,500 requests/s of 8 ms need 100 connections.
    assert_eq!(alarms(&table(titles, "10 | 12.5k | 8 ms")), ["little"]);
    assert_eq!(alarms(&table(titles, "1k | 1.25k | 8 ms")), ["little"]);
}

#[test]
fn what_has_a_unit_of_size_is_no_rate_of_requests() {
    for (title, cell) in [
        ("Throughput (MB/s)", "2.3"),
        ("Throughput (kb/sec)", "2.3"),
        ("Throughput [mbps]", "2.3"),
        ("Throughput bit/s", "2.3"),
        ("Throughput, b/s", "2.3"),
        ("Throughput", "2.3 MB/s"),
        ("Throughput", "18 Mbit/s"),
        ("Throughput", "85 %"),
        ("Throughput", "2.3x"),
        ("Rate", "2.3 s"),
    ] {
        let text = table(&format!("Connections | {title} | Average"), &format!("100 | {cell} | 8 ms"));
        assert_eq!(alarms(&text), [""; 0], "{title}: {cell}");
    }
    // The size of a body in a title does not make its requests a size.
    let text = table("Connections | Requests/s (1 KB body) | Average", "10 | 12,500 | 8 ms");
    assert_eq!(alarms(&text), ["little"]);
}

#[test]
fn changes_and_rates_of_a_sentence_can_be_shortened() {
    let text = "# Change\n\nThroughput increased from 900 req/s to 1.2k req/s (33% better).\n";
    assert_eq!(alarms(text), [""; 0]);
    let text = "# Change\n\n- **100 concurrent**: 12.5k req/s (8ms avg response)\n";
    assert_eq!(alarms(text), [""; 0]);
    let text = "# Change\n\n- **10 concurrent**: 12.5k req/s (8ms avg response)\n";
    assert_eq!(alarms(text), ["little"]);
}

#[test]
fn users_can_pause_between_requests_but_have_no_more_than_one_at_a_time() {
    for title in [
        "Concurrent users",
        "Concurrent Virtual Users",
        "Users",
        "VUs",
        "Virtual users (max)",
        "Max VUs",
        "User count",
        "Number of users",
        "# users",
    ] {
        let titles = format!("{title} | Requests/s | Average");
        // 100 users with a pause of 1 s: 95 requests/s of 50 ms.
        assert_eq!(alarms(&table(&titles, "100 | 95 | 50 ms")), [""; 0], "{title}");
        let report = checked(&table(&titles, "4 | 95 | 50 ms"));
        assert_eq!(report.findings[0].check, "little", "{title}");
        assert!(report.findings[0].says.contains("4 users allow no more"), "{:?}", report.findings);
    }
    // A connection does not pause, even if it is that of a user.
    for title in ["Concurrent connections", "Connections (users)", "Concurrency"] {
        let text = table(&format!("{title} | Requests/s | Average"), "100 | 95 | 50 ms");
        assert_eq!(alarms(&text), ["little"], "{title}");
    }
    let text = table("Mean of 100 users | Requests/s | Connections", "50 ms | 95 | 4");
    assert_eq!(alarms(&text), ["little"]);
}
