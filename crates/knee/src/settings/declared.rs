//! The load of a request that a study declares: the same plan, settings and requests as from the flags of the
//! one-liner.
//!
//! Does not read a command line, and shows nothing while the load runs.

use knee_core::plan::{Executor, Scenario, Stop};
use knee_core::schedule::{Arrivals, Curve};
use knee_driver::Times;
use knee_engine::http::settings::{EventSettings, Settings};
use knee_study::definition::{self, Request};

use super::amount::{self, Amount};
use super::output::{self, Output, Progress};
use super::{Load, Parts, Surroundings, request};
use crate::args::OutputFlags;
use crate::problem::Problem;

/// Resolves a request of a study, which is sent to the service at `address`.
///
/// # Errors
///
/// If the address, the method or a header is malformed, or the host cannot be loaded.
pub fn load(
    declared: &Request,
    address: &str,
    times: Times,
    surroundings: &Surroundings,
) -> Result<Load, Problem> {
    let urls = request::urls(Some(&format!("{address}{}", declared.path)), None)?;
    let (requests, names) = request::declared(declared, &urls)?;
    let parts = Parts {
        amount: amount_of(declared, times, surroundings.cpus),
        http: http_of(declared),
        urls,
        requests,
        names,
        allowed_hosts: Vec::new(),
        ceiling: None,
        observe: Vec::new(),
        output: Output { progress: Progress::None, ..output::output(&OutputFlags::default(), surroundings)? },
        notes: Vec::new(),
    };
    parts.load(surroundings.resolve)
}

fn http_of(declared: &Request) -> Settings {
    let until = declared.until.as_deref().map(|text| text.as_bytes().into());
    Settings {
        request_timeout: declared.timeout,
        decode: !declared.stream,
        events: declared.stream.then_some(EventSettings { until }),
        ..Settings::default()
    }
}

fn amount_of(declared: &Request, times: Times, cpus: u16) -> Amount {
    let connections = declared.connections;
    let executor = match declared.arrival_rate {
        Some(rate) => Executor::Open {
            rate: Curve::constant(rate),
            arrivals: match declared.arrivals {
                definition::Arrivals::Poisson => Arrivals::Poisson { seed: times.seed },
                definition::Arrivals::Uniform => Arrivals::Uniform,
            },
            users_max: connections,
        },
        None => Executor::Closed { vus: Curve::constant(f64::from(connections)) },
    };
    let end = times.settle.saturating_add(times.measure);
    let scenario = Scenario::new("default", executor, Stop::At(end));
    let workers = amount::workers_for(scenario.users_max(), cpus);
    Amount {
        scenario,
        streams: 1,
        warm_up: times.settle,
        grace: amount::GRACE,
        workers,
        seed: times.seed,
        share: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use knee_core::unit::Nanos;

    use super::*;
    use crate::args::{self, Invocation};
    use crate::settings;

    fn request() -> Request {
        Request {
            path: "/benchmarking/post_create?a=b".to_owned(),
            method: "POST".to_owned(),
            headers: BTreeMap::from([("X-Mark".to_owned(), "1: 2".to_owned())]),
            body: Some("a=1".to_owned()),
            connections: 20,
            arrival_rate: Some(150.0),
            arrivals: definition::Arrivals::Poisson,
            timeout: Some(Nanos::from_secs(5)),
            stream: false,
            until: None,
        }
    }

    const TIMES: Times = Times { settle: Nanos::from_secs(1), measure: Nanos::from_secs(5), seed: 7 };

    /// The load of this command line.
    fn typed(line: &[&str]) -> Load {
        let Ok(Invocation::Load(args)) = args::parse(line.iter().map(Into::into)) else {
            panic!("{line:?} is no load");
        };
        settings::resolve(&args, &Surroundings::read()).unwrap()
    }

    fn assert_same(declared: &Request, line: &[&str]) {
        let load = load(declared, "http://127.0.0.1:9", TIMES, &Surroundings::read()).unwrap();
        let typed = typed(line);
        assert_eq!(format!("{:?}", load.plan), format!("{:?}", typed.plan));
        assert_eq!(format!("{:?}", load.requests), format!("{:?}", typed.requests));
        assert_eq!((load.seed, load.title), (typed.seed, typed.title));
        assert_eq!(load.http.request_timeout, typed.http.request_timeout);
        assert_eq!((load.http.events, load.http.decode), (typed.http.events, typed.http.decode));
    }

    #[test]
    fn a_declared_request_is_the_same_load_as_the_one_liner_with_the_same_values() {
        let url = "http://127.0.0.1:9/benchmarking/post_create?a=b";
        let start = ["knee", url, "-m", "POST", "-H", "X-Mark: 1: 2", "-d", "a=1", "-t", "5s", "-c", "20"];
        let times = ["-z", "5s", "--warm-up", "1s", "--seed", "7"];
        let line = |rest: &[&'static str]| [&start[..], &times, rest].concat();
        assert_same(&request(), &line(&["-q", "150", "--arrivals", "poisson"]));
        let uniform = Request { arrivals: definition::Arrivals::Uniform, ..request() };
        assert_same(&uniform, &line(&["-q", "150", "--arrivals", "uniform"]));
        assert_same(&Request { arrival_rate: None, ..request() }, &line(&[]));
        let stream =
            Request { stream: true, until: Some("[DONE]".to_owned()), arrival_rate: None, ..request() };
        assert_same(&stream, &line(&["--stream", "--until", "[DONE]"]));
    }

    #[test]
    fn a_trial_measures_for_the_declared_time_after_its_warm_up() {
        let load = load(&request(), "http://127.0.0.1:9", TIMES, &Surroundings::read()).unwrap();
        assert_eq!(load.plan.warm_up, Nanos::from_secs(1));
        assert_eq!(load.plan.scenarios[0].stop, Stop::At(Nanos::from_secs(6)));
    }

    #[test]
    fn a_header_that_could_become_two_is_refused() {
        let headers = BTreeMap::from([("X-Mark".to_owned(), "1\r\nx: y".to_owned())]);
        let problem =
            load(&Request { headers, ..request() }, "http://127.0.0.1:9", TIMES, &Surroundings::read());
        assert!(problem.is_err());
    }
}
