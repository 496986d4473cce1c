//! Figures of a load on a URL that are sent while it runs. What they are is tested in `knee_k6::output::interval`.

use crate::program::{Home, Knee};
use crate::server::{Seen, Server};

/// The same command with an endpoint of OpenTelemetry.
fn to(knee: Knee, endpoint: &Server) -> Knee {
    knee.env("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf")
        .env("K6_OTEL_HTTP_EXPORTER_ENDPOINT", endpoint.address().to_string())
        .env("K6_OTEL_HTTP_EXPORTER_INSECURE", "true")
}

fn has(seen: &Seen, text: &str) -> bool {
    seen.body.windows(text.len()).any(|part| part == text.as_bytes())
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
    assert!(!finished.stderr.contains("lack intervals"), "{}", finished.stderr);
}

#[test]
fn an_endpoint_that_is_not_there_is_said_and_the_load_goes_on() {
    let (home, target) = (Home::new(), Server::start());
    let knee = home.knee(&format!("{} -n 10 -c 2 --out experimental-prometheus-rw", target.url("/")));
    let finished = knee.env("K6_PROMETHEUS_RW_SERVER_URL", "http://127.0.0.1:1/api/v1/write").run();
    assert_eq!(target.count(), 10);
    assert!(finished.stderr.contains("Prometheus"), "{}", finished.stderr);
}

#[test]
fn outputs_of_single_samples_are_refused_because_a_load_on_a_url_has_none() {
    let home = Home::new();
    for kind in ["json=x.json", "csv", "influxdb=http://127.0.0.1:1/k6", "nothing"] {
        let finished = home.knee(&format!("http://127.0.0.1:1/ --out {kind}")).run();
        assert_eq!(finished.code, Some(104), "{kind}: {}", finished.stderr);
        assert!(finished.stderr.contains("experimental-prometheus-rw"), "{kind}: {}", finished.stderr);
    }
}
