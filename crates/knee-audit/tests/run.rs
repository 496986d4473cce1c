//! The figures of one run mean the same for every tool, whatever its units and words. Two runs share what both have.
//!
//! The outputs are written here, in the layouts of the tools.

use knee_audit::number::Range;
use knee_audit::pair::{differences, figures, is_enough};
use knee_audit::run::{Quantity, RunError, Value};
use knee_audit::{Known, Run, examine};

fn read(output: &str) -> Result<Run, RunError> {
    let examined = examine("output", output.as_bytes(), &Known::default());
    Run::of(&examined.unwrap_or_else(|error| panic!("{error}\n{output}")).document)
}

fn run(output: &str) -> Run {
    read(output).unwrap_or_else(|error| panic!("{error}\n{output}"))
}

/// Fails unless the run has these figures.
fn has(run: &Run, expected: &[(Quantity, f64)]) {
    for (quantity, expected) in expected {
        let value = run.value(*quantity).map(|value| value.value);
        let is_near = value.is_some_and(|value| (value - expected).abs() <= 1e-6 * expected.abs().max(1e-6));
        assert!(is_near, "{}: {value:?} instead of {expected}\n{run:#?}", quantity.name());
    }
}

const K6: &str = r#"{"metrics":{
"http_req_duration":{"type":"trend","contains":"time","values":{"avg":50,"min":10,"med":40,"max":200,"p(90)":90,"p(95)":120}},
"http_reqs":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}},
"http_req_failed":{"type":"rate","contains":"default","values":{"rate":0.02,"passes":20,"fails":980}},
"iteration_duration":{"type":"trend","contains":"time","values":{"avg":60,"min":20,"med":50,"max":210}},
"iterations":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}},
"vus_max":{"type":"gauge","contains":"default","values":{"value":10,"min":10,"max":10}}},
"state":{"testRunDurationMs":10000}}"#;

const OHA: &str = r#"{"summary":{"successRate":1.0,"total":10.0,"slowest":0.2,"fastest":0.01,"average":0.05,
"requestsPerSec":100.0,"totalData":1000,"sizePerRequest":1,"sizePerSec":100.0},
"responseTimeHistogram":{"0.01":1,"0.1":900,"0.2":49},
"latencyPercentiles":{"p50":0.04,"p95":0.12,"p99":0.18},
"statusCodeDistribution":{"200":900,"500":50},
"errorDistribution":{"connection refused":30,"aborted due to deadline":20}}"#;

const VEGETA: &str = r#"{"latencies":{"total":50000000000,"mean":50000000,"50th":40000000,"90th":90000000,
"95th":120000000,"99th":180000000,"max":200000000,"min":10000000},"duration":8000000000,"wait":2000000000,"requests":1000,
"rate":125,"throughput":96,"success":0.96,"status_codes":{"0":10,"200":960,"503":30}}"#;

const WRK: &str = "Running 10s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n  Thread Stats   Avg      \
     Stdev     Max   +/- Stdev\n    Latency     1.00ms    0.50ms  12.92ms   93.69%\n  Latency Distribution\n     50%    \
     0.90ms\n     99%    3.00ms\n  1000 requests in 10.00s, 1.00MB read\n  Socket errors: connect 0, read 25, write 0, \
     timeout 3\n  Non-2xx or 3xx responses: 100\nRequests/sec:    100.00\n";

const AB: &str = "Concurrency Level:      10\nTime taken for tests:   10.000 seconds\nComplete requests:      1000\nFailed \
     requests:        70\n   (Connect: 0, Receive: 20, Length: 50, Exceptions: 0)\nNon-2xx responses:      30\nRequests per \
     second:    100.00 [#/sec] (mean)\nTime per request:       100.000 [ms] (mean)\n\nConnection Times (ms)\n              \
     min  mean[+/-sd] median   max\nTotal:          1    2   0.5      2      12\n\nPercentage of the requests served within a \
     certain time (ms)\n  50%      2\n  95%      3\n";

#[test]
fn milliseconds_seconds_and_nanoseconds_become_the_same_times() {
    let alike = [
        (Quantity::Mean, 0.05),
        (Quantity::Percentile(0.5), 0.04),
        (Quantity::Percentile(0.95), 0.12),
        (Quantity::Max, 0.2),
        (Quantity::Throughput, 100.0),
    ];
    for output in [K6, OHA, VEGETA] {
        has(&run(output), &alike);
    }
    has(&run(WRK), &[(Quantity::Mean, 0.001), (Quantity::Percentile(0.99), 0.003)]);
    has(&run(AB), &[(Quantity::Mean, 0.002), (Quantity::Percentile(0.95), 0.003)]);
}

#[test]
fn failures_are_counted_alike_and_the_goodput_leaves_them_out() {
    for (output, requests, errors, goodput) in [
        (K6, 1000.0, 0.02, 98.0),
        // Without those that oha itself gave up at its deadline; its rate has them.
        (OHA, 980.0, 80.0 / 980.0, 90.0),
        // A status 0 is a request without a response.
        (VEGETA, 1000.0, 0.04, 96.0),
        // wrk counts responses only; a request that was lost is none.
        (WRK, 1025.0, 125.0 / 1025.0, 90.0),
        // Responses of another length are no failures, those outside 2xx are.
        (AB, 1000.0, 0.05, 95.0),
    ] {
        let run = run(output);
        let expected =
            [(Quantity::Requests, requests), (Quantity::Errors, errors), (Quantity::Goodput, goodput)];
        has(&run, &expected);
    }
    assert!(run(WRK).notes.iter().any(|note| note.starts_with("3 time-outs")), "{:?}", run(WRK).notes);
}

#[test]
fn percentiles_of_single_requests_are_computed_and_unknown_failures_give_no_goodput() {
    let mut csv =
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
            .to_owned();
    for row in 0..100 {
        let (seconds, status) = if row < 90 { (0.1, 200) } else { (0.3, 500) };
        let sent = f64::from(row) * 0.1;
        csv.push_str(&[format!("{seconds},0,0,0,{seconds},0,{status},{sent:.1}"), "\n".to_owned()].concat());
    }
    let run = run(&csv);
    has(&run, &[(Quantity::Requests, 100.0), (Quantity::Mean, 0.12)]);
    let near = |quantity, expected: f64| {
        let value: Value = run.value(quantity).unwrap();
        assert!((value.value / expected - 1.0).abs() < 0.03, "{value:?} instead of {expected}");
    };
    near(Quantity::Percentile(0.5), 0.1);
    near(Quantity::Percentile(0.95), 0.3);
    near(Quantity::Throughput, 10.0);
    assert!(run.value(Quantity::Errors).is_none() && run.value(Quantity::Goodput).is_none());
    assert!(run.missing.iter().any(|gap| gap.contains("hey's CSV leaves out")), "{:?}", run.missing);
    assert!(run.notes.iter().any(|note| note.starts_with("10 of the responses")), "{:?}", run.notes);
}

#[test]
fn a_single_request_gives_no_rate() {
    let text = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n\
         0.5,0,0,0,0.5,0,200,0.0\n";
    let run = run(text);
    assert!(run.value(Quantity::Throughput).is_none(), "{run:#?}");
}

#[test]
fn a_service_that_falls_behind_does_not_have_the_rate_at_which_vegeta_sends() {
    let text = "Requests      [total, rate, throughput]         1000, 100.00, 33.33\n\
         Duration      [total, attack, wait]             30s, 10s, 20s\n\
         Latencies     [min, mean, 50, 90, 95, 99, max]  1ms, 10s, 10s, 18s, 19s, 19.8s, 20s\n\
         Success       [ratio]                           100.00%\n";
    let run = run(text);
    has(&run, &[(Quantity::Throughput, 1000.0 / 30.0)]);
    let goodput = run.value(Quantity::Goodput).unwrap().value;
    assert!((goodput - 1000.0 / 30.0).abs() < 0.1, "{goodput}");
    assert_eq!(run.load.words().join(", "), "100 scheduled requests/s, for 10.0 s");
}

#[test]
fn hey_beyond_its_limit_has_no_share_of_failures() {
    let text = "Summary:\n  Total:\t100.0000 secs\n  Slowest:\t0.1000 secs\n  Fastest:\t0.0010 secs\n  \
         Average:\t0.0010 secs\n  Requests/sec:\t99000.0000\n\nStatus code distribution:\n  [200]\t1000000 \
         responses\n\nError distribution:\n  [100000]\tGet \"http://x\": connection refused\n";
    let run = run(text);
    for quantity in [Quantity::Requests, Quantity::Errors, Quantity::Goodput] {
        assert!(run.value(quantity).is_none(), "{}: {run:#?}", quantity.name());
    }
    assert!(run.missing.iter().any(|gap| gap.contains("first 1,000,000 responses")), "{:?}", run.missing);
}

#[test]
fn failures_that_are_counted_otherwise_than_by_the_tool_are_said() {
    let notes = run(&AB.replace("Non-2xx responses:      30\n", "")).notes;
    assert_eq!(notes, ["50 responses have another length than the first; they are not failed here"]);
    let notes = run(WRK).notes;
    assert!(notes.iter().any(|note| note.starts_with("25 errors of connections")), "{notes:?}");
}

#[test]
fn shares_and_numbers_that_are_none_are_left_out() {
    let run = run(&K6.replace("\"p(90)\"", "\"p(-5)\""));
    assert!(run.value(Quantity::Percentile(-0.05)).is_none(), "{run:#?}");
    let text = "metric_name,timestamp,metric_value\nhttp_req_duration,1,50\nhttp_req_failed,1,NaN\n";
    let run = read(text).unwrap();
    assert!(run.figures.iter().all(|figure| figure.value.value.is_finite()), "{run:#?}");
    assert!(run.value(Quantity::Errors).is_none() && run.value(Quantity::Mean).is_some(), "{run:#?}");
}

#[test]
fn users_rates_and_durations_are_known_where_the_output_has_them() {
    let known = run(K6).load.words().join(", ");
    assert_eq!(known, "10 users, for 10.0 s");
    assert_eq!(run(VEGETA).load.words().join(", "), "125 scheduled requests/s, for 8.00 s");
    assert!(run(OHA).missing.iter().any(|gap| gap == "connections or users"), "{:?}", run(OHA).missing);
    assert!(run(OHA).load.places.is_none());
}

#[test]
fn several_runs_and_tables_are_not_one_run() {
    assert_eq!(read(&format!("{WRK}\n{WRK}")).unwrap_err(), RunError::Several(2));
    let table = "# x\n\n| Change | rps | p95 (ms) |\n|---|---|---|\n| a | 300 | 762 |\n";
    assert_eq!(read(table).unwrap_err(), RunError::None);
}

#[test]
fn two_runs_share_the_figures_that_both_have() {
    let (a, b) = (run(K6), run(OHA));
    let both = figures(&a, &b);
    let names: Vec<String> = both.iter().map(|figure| figure.quantity.name()).collect();
    assert_eq!(
        names,
        ["requests", "throughput", "goodput", "errors", "mean", "min", "p50", "p95", "max"],
        "p90 and p99 are each in one of them"
    );
    let of = |quantity: Quantity| both.iter().find(|figure| figure.quantity.is(quantity)).unwrap();
    assert!((of(Quantity::Goodput).change.unwrap() - (90.0 / 98.0 - 1.0)).abs() < 1e-6);
    assert!((of(Quantity::Errors).change.unwrap() - (80.0 / 980.0 - 0.02)).abs() < 1e-6, "a difference");
    assert!(is_enough(&both));
    let same: Vec<String> = differences(&a, &b);
    assert!(
        same.iter()
            .any(|line| line == "the tools differ: k6 and oha; each can time another part of a request")
    );
}

#[test]
fn a_change_that_the_printed_digits_hide_is_marked() {
    let (a, b) =
        (run(AB), run(&AB.replace("  50%      2", "  50%      3").replace("  95%      3", "  95%     30")));
    let both = figures(&a, &b);
    let marked = |share: f64| {
        both.iter().find(|figure| figure.quantity.is(Quantity::Percentile(share))).unwrap().within_rounding
    };
    assert!(marked(0.5) && !marked(0.95), "{both:#?}");
    let range: Range = a.value(Quantity::Percentile(0.5)).unwrap().range;
    assert!(range.low < range.high);
}

#[test]
fn different_loads_are_said() {
    let other = WRK
        .replace("10 connections", "50 connections")
        .replace("1000 requests in 10.00s", "2000 requests in 20.00s");
    let found = differences(&run(WRK), &run(&other));
    assert_eq!(
        found,
        [
            "the numbers of users or connections differ: 10 connections and 50 connections",
            "the durations differ: 10.0 s and 20.0 s"
        ]
    );
    assert!(differences(&run(WRK), &run(WRK)).is_empty());
    let measured = VEGETA.replace("\"rate\":125", "\"rate\":125.0137");
    assert_eq!(differences(&run(VEGETA), &run(&measured)), [""; 0], "vegeta measures its rate");
    let faster = VEGETA.replace("\"rate\":125", "\"rate\":150");
    assert_eq!(
        differences(&run(VEGETA), &run(&faster)),
        ["the scheduled rates differ: 125/s and 150/s"],
        "{faster}"
    );
    let models = differences(&run(WRK), &run(VEGETA));
    assert!(models.iter().any(|line| line.starts_with("the load models differ")), "{models:?}");
}
