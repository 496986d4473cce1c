//! Figures of loads that are sent while they run, as a receiver reads them. What they are is tested in
//! `knee_k6::output::interval`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;

use crate::program::{Finished, Home, Knee};
use crate::server::{Seen, Server};

mod wire;

use wire::Point;

/// The same command with an endpoint of OpenTelemetry.
fn to(knee: Knee, endpoint: &Server) -> Knee {
    knee.env("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf")
        .env("K6_OTEL_HTTP_EXPORTER_ENDPOINT", endpoint.address().to_string())
        .env("K6_OTEL_HTTP_EXPORTER_INSECURE", "true")
}

/// The same command with an endpoint of Prometheus that gets what there is as often as it can.
fn to_prometheus(knee: Knee, url: &str) -> Knee {
    knee.env("K6_PROMETHEUS_RW_SERVER_URL", url).env("K6_PROMETHEUS_RW_PUSH_INTERVAL", "10ms")
}

/// The flag for a database of InfluxDB there.
fn influxdb(endpoint: &Server) -> String {
    format!("--out influxdb={}", endpoint.url("/db"))
}

fn has(seen: &Seen, text: &str) -> bool {
    seen.body.windows(text.len()).any(|part| part == text.as_bytes())
}

/// The points that a server of InfluxDB got.
fn points(endpoint: &Server) -> Vec<Point> {
    let writes = endpoint.seen().into_iter().filter(|seen| seen.path.starts_with("/write?"));
    writes.flat_map(|seen| wire::influxdb(&seen.body)).collect()
}

/// The sum of a metric's values, by the value of a tag.
fn sums(points: &[Point], metric: &str, tag: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for point in points.iter().filter(|point| point.name == metric) {
        *sums.entry(point.tag(tag).to_owned()).or_default() += point.value();
    }
    sums
}

/// The last value of each series of a metric that a server of Prometheus got.
fn last_of_series(endpoint: &Server, metric: &str) -> Vec<Point> {
    let mut series = BTreeMap::new();
    for point in endpoint.seen().iter().flat_map(|seen| wire::remote_write(&seen.body)) {
        if point.name == metric && !point.value().is_nan() {
            series.insert(point.tags.clone(), point);
        }
    }
    series.into_values().collect()
}

fn count(server: &Server) -> f64 {
    server.count() as f64
}

fn went_well(finished: &Finished) {
    assert!(!finished.stderr.contains("warning: "), "{}", finished.stderr);
}

#[test]
fn a_load_on_a_url_sends_its_figures_to_opentelemetry() {
    let (home, target, endpoint) = (Home::new(), Server::start(), Server::start());
    let knee = home.knee(&format!("{} -n 40 -c 2 --out opentelemetry", target.url("/path")));
    let finished = to(knee, &endpoint).run();
    assert_eq!(target.count(), 40, "{}", finished.stderr);
    let pushes = endpoint.seen();
    let last = pushes.last().unwrap_or_else(|| panic!("nothing was sent: {}", finished.stderr));
    assert_eq!((last.method.as_str(), last.path.as_str()), ("POST", "/v1/metrics"));
    for name in ["http_reqs", "http_req_duration", "response_time", "data_received", "/path"] {
        assert!(has(last, name), "{name} is missing");
    }
    let sums = sums(&wire::opentelemetry(&last.body), "http_reqs", "status");
    assert_eq!(sums, BTreeMap::from([("200".to_owned(), 40.0)]));
    went_well(&finished);
}

#[test]
fn a_load_on_a_url_writes_points_of_its_intervals_to_influxdb() {
    let (home, target, endpoint) = (Home::new(), Server::start(), Server::start());
    let line = format!("{} -n 40 -c 2 {}", target.url("/path"), influxdb(&endpoint));
    let finished = home.knee(&line).run();
    let points = points(&endpoint);
    assert_eq!(sums(&points, "http_reqs", "status"), BTreeMap::from([("200".to_owned(), 40.0)]));
    let times: Vec<&Point> = points.iter().filter(|point| point.name == "response_time").collect();
    assert!(!times.is_empty(), "{points:?}");
    for point in times {
        let field = |name: &str| point.fields[name];
        assert!(field("count") > 0.0 && field("min") <= field("p50") && field("p50") <= field("p99"));
        assert!(field("p99") <= field("max") && !point.fields.contains_key("value"), "{point:?}");
    }
    went_well(&finished);
}

/// The loads of the steps that a sweep printed: the given ones, and those that it went on to by itself, which depend on
/// how fast the machine is.
fn loads_of_steps(finished: &Finished) -> BTreeSet<String> {
    let steps = finished.stderr.lines().filter(|line| line.starts_with("step "));
    let loads: BTreeSet<String> =
        steps.filter_map(|line| Some(line.split_whitespace().nth(3)?.to_owned())).collect();
    assert!(loads.is_superset(&["1", "2"].map(String::from).into()), "{}", finished.stderr);
    loads
}

#[test]
fn a_sweep_sends_the_requests_of_each_step_with_its_load() {
    let (home, target, endpoint) = (Home::new(), Server::start(), Server::start());
    let line = "sweep --connections 1,2 --step 300ms --errors 5% --out experimental-prometheus-rw";
    let knee = home.knee(line).arg(target.url("/path"));
    let finished = to_prometheus(knee, &endpoint.url("/api/v1/write")).run();
    let series = last_of_series(&endpoint, "k6_http_reqs_total");
    let by_load = sums(&series, "k6_http_reqs_total", "connections");
    assert_eq!(
        by_load.keys().cloned().collect::<BTreeSet<_>>(),
        loads_of_steps(&finished),
        "{}",
        finished.stderr
    );
    assert_eq!(by_load.values().sum::<f64>().to_bits(), count(&target).to_bits(), "{by_load:?}");
    went_well(&finished);
}

#[test]
fn a_sweep_of_a_script_sends_requests_and_does_not_take_each_for_an_iteration() {
    let (home, target, endpoint) = (Home::new(), Server::start(), Server::start());
    let script = "import http from 'k6/http'; export default () => { http.get(__ENV.T); http.get(__ENV.T); }";
    home.file("two.js", script);
    let line = format!(
        "sweep --rates 20 --step 500ms --errors 5% -e T={} {} two.js",
        target.url("/path"),
        influxdb(&endpoint)
    );
    let finished = home.knee(&line).folder(&home.path("")).run();
    let points = points(&endpoint);
    let by_rate = sums(&points, "http_reqs", "arrival_rate");
    assert_eq!(by_rate, BTreeMap::from([("20".to_owned(), count(&target))]), "{}", finished.stderr);
    assert!(points.iter().all(|point| point.name != "iterations"), "{points:?}");
}

#[test]
fn a_comparison_sends_the_requests_of_both_sides_with_side_block_and_trial() {
    let (home, a, b, endpoint) = (Home::new(), Server::start(), Server::start(), Server::start());
    let flags = "--blocks 2 -z 200ms --warm-up 100ms -c 2";
    let line = format!("compare {} {} {flags} {}", a.url("/"), b.url("/"), influxdb(&endpoint));
    let finished = home.knee(&line).run();
    let points = points(&endpoint);
    let by_side = sums(&points, "http_reqs", "variant");
    let expected = [("A".to_owned(), count(&a)), ("B".to_owned(), count(&b))];
    assert_eq!(by_side, BTreeMap::from(expected), "{}", finished.stderr);
    let blocks: Vec<String> = sums(&points, "http_reqs", "block").into_keys().collect();
    assert_eq!(blocks, ["1", "2"]);
    let trials: Vec<String> = sums(&points, "http_reqs", "trial").into_keys().collect();
    assert_eq!(trials, ["1", "2", "3", "4"]);
    went_well(&finished);
}

#[test]
fn a_study_sends_the_requests_of_each_trial_and_the_port_of_the_service_is_in_no_tag() {
    let (home, endpoint, folder) = (Home::new(), Server::start(), tempfile::tempdir().unwrap());
    crate::study::study_of_the_demo_server(folder.path());
    let line = format!("study --blocks 1 --output-format json {}", influxdb(&endpoint));
    let finished = home.knee(&line).arg(folder.path()).run();
    let conclusion: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let points = points(&endpoint);
    let by_variant = sums(&points, "http_reqs", "variant");
    assert_eq!(by_variant.keys().collect::<Vec<_>>(), ["blue", "red"], "{}", finished.stderr);
    let measured = conclusion["trials"].as_array().unwrap().iter();
    let measured: u64 = measured.map(|entry| entry["result"]["measured"]["requests"].as_u64().unwrap()).sum();
    // Those of the warm-ups are among them.
    assert!(by_variant.values().sum::<f64>() >= measured as f64, "{by_variant:?}, {measured}");
    let requests = points.iter().filter(|point| point.name == "http_reqs");
    let names: Vec<(&str, &str)> = requests.map(|point| (point.tag("name"), point.tag("workload"))).collect();
    assert!(names.iter().all(|one| *one == ("/", "page")), "{names:?}");
}

#[test]
fn steps_do_not_wait_for_an_endpoint_that_hangs_and_the_end_says_how_many_pushes_were_left_out() {
    let (home, target, endpoint) = (Home::new(), Server::start(), Server::start());
    let line = "sweep --connections 1,2,3,4,5,6 --step 100ms --errors 5% --out experimental-prometheus-rw";
    let knee = home.knee(line).arg(target.url("/"));
    let mut running = to_prometheus(knee, &endpoint.url("/after")).start();
    let step = running.wait_for("step  2");
    assert_eq!(endpoint.count(), 1, "the first push is not answered, and the load goes on: {step}");
    // Its end is what the endpoint waits for.
    drop(TcpStream::connect(endpoint.address()).unwrap());
    let finished = running.finish();
    assert!(finished.stderr.contains("pushes to Prometheus were left out"), "{}", finished.stderr);
    let by_load = sums(&last_of_series(&endpoint, "k6_http_reqs_total"), "k6_http_reqs_total", "connections");
    assert_eq!(
        by_load.values().sum::<f64>().to_bits(),
        count(&target).to_bits(),
        "no sum is lost: {by_load:?}"
    );
}

#[test]
fn an_endpoint_that_is_not_there_is_said_and_the_load_goes_on() {
    let (home, target) = (Home::new(), Server::start());
    let lines = [
        format!("{} -n 10 -c 2", target.url("/")),
        format!("sweep {} --connections 1,2 --step 100ms --errors 5%", target.url("/")),
        format!("compare {0} {0} --blocks 1 -z 100ms --warm-up 0s -c 1", target.url("/")),
    ];
    for line in lines {
        let before = target.count();
        let knee = home.knee(&format!("{line} --out experimental-prometheus-rw"));
        let finished = to_prometheus(knee, "http://127.0.0.1:1/api/v1/write").run();
        assert!(target.count() >= before + 2, "{}", finished.stderr);
        let said = finished.stderr.matches("cannot send series to http://127.0.0.1:1/").count();
        assert_eq!(said, 1, "once while the load runs: {}", finished.stderr);
        assert!(finished.stderr.contains("pushes to Prometheus failed"), "{}", finished.stderr);
    }
}

#[test]
fn outputs_of_single_samples_are_refused_because_only_scripts_have_them() {
    let home = Home::new();
    for kind in ["json=x.json", "csv", "nothing"] {
        for command in [
            "http://127.0.0.1:1/",
            "sweep http://127.0.0.1:1/",
            "compare http://127.0.0.1:1/ http://127.0.0.1:1/",
        ] {
            let finished = home.knee(&format!("{command} --out {kind}")).run();
            assert_eq!(finished.code, Some(104), "{command} {kind}: {}", finished.stderr);
            assert!(finished.stderr.contains("experimental-prometheus-rw"), "{kind}: {}", finished.stderr);
        }
    }
}

#[test]
fn two_saved_runs_send_nothing_and_neither_does_a_report() {
    let (home, target, folder) = (Home::new(), Server::start(), tempfile::tempdir().unwrap());
    home.knee(&format!("{} -n 5 --record one.knee", target.url("/"))).folder(&home.path("")).run();
    let line = "compare one.knee one.knee --out opentelemetry";
    let finished = home.knee(line).folder(&home.path("")).run();
    assert_eq!(finished.code, Some(104), "{}", finished.stderr);
    crate::study::study_of_the_demo_server(folder.path());
    let finished = home.knee("study --report-only --out opentelemetry").arg(folder.path()).run();
    assert_eq!(finished.code, Some(104), "{}", finished.stderr);
}
