//! From a finished run to the figures that a study compares.
//!
//! Uses the run's own figures. Does not judge and does not inspect processes. A percentile that the sample does not
//! support is absent. In the response times an unsuccessful request ranks slower than each successful one.

use std::collections::BTreeMap;

use knee_core::estimate::samples_needed;
use knee_core::histogram::Histogram;
use knee_core::outcome::Outcome;
use knee_core::record::Run;
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;

use super::times::ResponseTimes;
use super::trial::ENDPOINTS_MAX;
use super::{Figure, Measured, OfEndpoint, OfStatement, Placement, TrialWarning};
use crate::metric::Metric;
use crate::statistics::share::Counted;
use crate::statistics::warm_up::{self, WarmUp};
use crate::sweep::StepResult;

/// Cost of the measured requests: CPU time spent within the window over which rates are computed.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// CPU time of the service.
    pub service: Option<Nanos>,
    /// CPU time of databases and caches.
    pub stores: Option<Nanos>,
    /// CPU time of this program, which sends the requests.
    pub generator: Option<Nanos>,
    /// Highest memory use of the service while it was under load, in bytes.
    pub memory: Option<u64>,
    /// Blocks that the databases accessed; only if the study asks for them.
    pub blocks: Option<u64>,
    /// Bytes that the databases wrote to their write-ahead log; only if the study asks for them.
    pub wal_bytes: Option<u64>,
    /// Executions of the statements that the study names; empty if they were not counted.
    pub statements: BTreeMap<String, StatementWork>,
}

/// Executions of a statement while requests were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatementWork {
    /// How many ended.
    pub calls: u64,
    /// How long they took together.
    pub time: Nanos,
    /// For which share of the window they were counted, above 0.
    pub share: f64,
}

/// A service that answers at least this share of the due requests keeps up: requests in flight at the end of a short
/// trial are not a backlog. A judgement.
const KEEPS_UP: f64 = 0.95;

impl Measured {
    /// The measurement of a run, in a study's terms. `record` is the name of its record, if it was saved.
    pub fn of(run: &Run, spent: &Spent, record: Option<String>) -> Self {
        let books = run.measured.accounting();
        let tally = run.measured.all();
        let ok = &tally.outcomes[Outcome::Ok as usize].response;
        let mut figures = response_times(ok, books.planned);
        let window = StepResult::of(run, 1.0);
        figures.insert(Metric::Goodput, Figure::from(window.goodput));
        figures.insert(Metric::Throughput, Figure::from(window.achieved));
        figures.insert(Metric::Errors, Figure::from(window.failed()));
        let planned = books.planned;
        // Not those that came due in it: where answers take longer than the window, others end there.
        let ended = window.achieved * window.seconds;
        let per_request = |cpu: Nanos| Figure::from(cpu.as_nanos() as f64 / ended);
        if ended > 0.0 {
            figures.extend(spent.service.map(|cpu| (Metric::CpuPerRequest, per_request(cpu))));
            figures.extend(spent.stores.map(|cpu| (Metric::StoreCpuPerRequest, per_request(cpu))));
            figures.extend(spent.generator.map(|cpu| (Metric::GeneratorCpuPerRequest, per_request(cpu))));
            let each = |count: u64| Figure::from(count as f64 / ended);
            figures.extend(spent.blocks.map(|blocks| (Metric::BlocksPerRequest, each(blocks))));
            figures.extend(spent.wal_bytes.map(|bytes| (Metric::WalPerRequest, each(bytes))));
        }
        let counted = |work: &StatementWork| OfStatement {
            calls: work.calls,
            time: work.time,
            requests: ended * work.share,
        };
        figures.extend(spent.memory.map(|bytes| (Metric::Memory, Figure::from(bytes as f64))));
        let streams = run.measured.endpoints.iter().filter(|tally| is_streamed(tally));
        figures.extend(events(&tally, streams.map(|tally| tally.planned).sum(), window.seconds));
        figures.extend(response_size(&tally).map(|bytes| (Metric::ResponseSize, Figure::from(bytes))));
        Self {
            figures,
            requests: planned,
            times: Some(ResponseTimes::of(ok, planned.saturating_sub(ok.count()))),
            responses: Some(responses(&window)),
            endpoints: by_endpoint(run),
            resources: BTreeMap::new(),
            statements: spent.statements.iter().map(|(name, work)| (name.clone(), counted(work))).collect(),
            validity: run.validity.validity,
            warnings: run
                .validity
                .warnings
                .iter()
                .map(|warning| TrialWarning::new(&warning.code, &warning.message))
                .collect(),
            steady: steady(run),
            kept_up: run.head.plan.is_open().then(|| window.share() >= KEEPS_UP),
            host_busy: window.host_busy,
            record,
            placement: Placement::default(),
        }
    }
}

/// Figures of the response times of `planned` requests, of which those in `ok` succeeded. A figure that the others
/// decide is a lower bound: they took longer than the slowest success.
fn response_times(ok: &Histogram, planned: u64) -> BTreeMap<Metric, Figure> {
    let mut figures = BTreeMap::new();
    let (Some(mean), Some(max)) = (ok.mean(), ok.max()) else { return figures };
    let max = max.as_nanos() as f64;
    let unsuccessful = planned.saturating_sub(ok.count());
    let at_least = unsuccessful > 0;
    for metric in Metric::ALL {
        let Some(q) = metric.quantile().filter(|q| planned >= samples_needed(*q)) else { continue };
        let rank = (q * planned as f64).ceil();
        // Half a rank less, so that rounding does not pass on to the next.
        let value = ok.quantile((rank - 0.5) / ok.count() as f64).filter(|_| rank <= ok.count() as f64);
        let bound = Figure { value: max, at_least: true };
        figures.insert(metric, value.map_or(bound, |value| Figure::from(value.as_nanos() as f64)));
    }
    let all = planned.max(1) as f64;
    let mean = (mean * ok.count() as f64 + max * unsuccessful as f64) / all;
    figures.insert(Metric::Mean, Figure { value: mean, at_least });
    figures.insert(Metric::Max, Figure { value: max, at_least });
    figures
}

/// Whether responses of an endpoint are streams of events. A script can have other requests beside them, which wait for
/// no event.
fn is_streamed(tally: &EndpointTally) -> bool {
    [Phase::FirstEvent, Phase::NoEvent].iter().any(|phase| tally.phases[*phase as usize].count() > 0)
}

/// Figures of the events of `planned` streams in so many seconds; none without an event. A stream without one took longer
/// than the slowest first event.
fn events(tally: &EndpointTally, planned: u64, seconds: f64) -> BTreeMap<Metric, Figure> {
    let [first, gap, longest] =
        [Phase::FirstEvent, Phase::EventGap, Phase::LongestGap].map(|phase| &tally.phases[phase as usize]);
    let mut figures = BTreeMap::new();
    let (Some(mean), Some(max)) = (first.mean(), first.max()) else { return figures };
    let without = planned.saturating_sub(first.count()) as f64;
    let sum = mean * first.count() as f64 + max.as_nanos() as f64 * without;
    let value = sum / planned.max(1) as f64;
    figures.insert(Metric::FirstEvent, Figure { value, at_least: without > 0.0 });
    figures.extend(gap.mean().map(|mean| (Metric::EventGap, Figure::from(mean))));
    figures.extend(longest.mean().map(|mean| (Metric::LongestGap, Figure::from(mean))));
    if seconds > 0.0 {
        let count = first.count().saturating_add(gap.count()) as f64;
        figures.insert(Metric::Events, Figure::from(count / seconds));
    }
    figures
}

/// Mean bytes of a complete response's body; `None` without a response.
fn response_size(tally: &EndpointTally) -> Option<f64> {
    let answered = answered(tally);
    (answered > 0).then(|| tally.bytes_body as f64 / answered as f64)
}

/// Complete responses, with any status.
fn answered(tally: &EndpointTally) -> u64 {
    tally.status.iter().map(|(_, count)| count).sum()
}

/// What was measured of each endpoint that was called, if there are several, and few enough to store.
fn by_endpoint(run: &Run) -> BTreeMap<String, OfEndpoint> {
    let mut all = BTreeMap::new();
    // Those of the plan alone would be none of a script: it names its endpoints only while it runs.
    for (endpoint, tally) in run.endpoints.iter().zip(&run.measured.endpoints) {
        // Two on different ports have one name: such a run stores neither.
        if tally.planned > 0 && all.insert(without_host(&endpoint.name), of_endpoint(tally)).is_some() {
            return BTreeMap::new();
        }
    }
    if (2..=ENDPOINTS_MAX).contains(&all.len()) { all } else { BTreeMap::new() }
}

/// `GET /todos` for `GET http://127.0.0.1:4711/todos`: services get another port with each start.
fn without_host(endpoint: &str) -> String {
    let Some((method, url)) = endpoint.split_once(' ') else { return endpoint.to_owned() };
    let Some((_, rest)) = url.split_once("://") else { return endpoint.to_owned() };
    let path = rest.find('/').map_or("/", |slash| &rest[slash..]);
    format!("{method} {path}")
}

fn of_endpoint(tally: &EndpointTally) -> OfEndpoint {
    let count = |outcome: Outcome| tally.outcomes[outcome as usize].response.count();
    let ok = &tally.outcomes[Outcome::Ok as usize].response;
    let failed = count(Outcome::HttpError) + count(Outcome::TransportError) + count(Outcome::Timeout);
    OfEndpoint {
        times: ResponseTimes::of(ok, tally.planned.saturating_sub(ok.count())),
        responses: Counted { failed, of: failed + ok.count() },
        body_bytes: tally.bytes_body,
    }
}

/// The responses within the window, and the errors among them.
fn responses(window: &StepResult) -> Counted {
    let count =
        |outcomes: &[Outcome]| outcomes.iter().map(|outcome| window.books.count(*outcome)).sum::<u64>();
    let failed = count(&[Outcome::HttpError, Outcome::TransportError, Outcome::Timeout]);
    Counted { failed, of: failed + count(&[Outcome::Ok]) }
}

/// Whether the medians of the intervals became steady, over the whole intervals between warm-up and end. It needs ten
/// intervals, so a trial of less than ten seconds is too short and gives `None`.
fn steady(run: &Run) -> Option<bool> {
    // Beyond the window answers still come in, of fewer and fewer requests.
    let end = Nanos(run.head.measured_from.as_nanos() + run.window().as_nanos());
    let inside = run.series.iter().filter(|point| !point.warm_up && point.to <= end);
    let medians: Vec<f64> = inside.filter_map(|point| Some(point.response?[0].as_nanos() as f64)).collect();
    match warm_up::cut(&medians) {
        WarmUp::Until(_) => Some(true),
        WarmUp::NeverSteady => Some(false),
        WarmUp::TooShort => None,
    }
}

#[cfg(test)]
mod tests {
    use knee_core::interval::Interval;
    use knee_core::outcome::Outcome;
    use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
    use knee_core::record::run::RunBuilder;
    use knee_core::record::{Build, Ending, Head, Machine};
    use knee_core::schedule::Curve;
    use knee_core::tally::Tally;

    use super::*;

    /// Users who never pause, for three seconds; the first is warm-up.
    fn head() -> Head {
        let users = Executor::Closed { vus: Curve::constant(100.0) };
        let plan = Plan {
            scenarios: vec![Scenario::new("default", users, Stop::At(Nanos::from_secs(3)))],
            endpoints: vec![Endpoint { name: "GET /".into() }],
            warm_up: Nanos::from_secs(1),
            grace: Nanos::from_secs(30),
            request_timeout: None,
            connect_timeout: Nanos::from_secs(5),
            workers: 1,
            interval: Nanos::from_secs(1),
        };
        let build = Build { version: "0".into(), commit: None, optimized: true };
        let machine =
            Machine { system: String::new(), arch: String::new(), cpu: None, cores: 2, memory_bytes: None };
        Head {
            measured_from: plan.warm_up,
            plan,
            title: "slow".into(),
            started: Nanos::ZERO,
            build,
            machine,
            co_located: Some(true),
            segment: None,
            fleet: None,
            http2_streams: None,
        }
    }

    /// Answers that took two seconds.
    fn answered(part: &mut Tally, count: u64) {
        let outcome = &mut part.endpoint_mut(EndpointId(0)).outcomes[Outcome::Ok as usize];
        for _ in 0..count {
            outcome.response.record(Nanos::from_secs(2));
            outcome.service.record(Nanos::from_secs(2));
        }
    }

    /// A hundred came due in the warm-up and were answered in the window; 300 came due there and were answered later.
    fn slow() -> Run {
        let mut seconds: Vec<Interval> = (0..5)
            .map(|second| Interval {
                from: Nanos::from_secs(second),
                to: Nanos::from_secs(second + 1),
                ..Interval::default()
            })
            .collect();
        seconds[0].warm_up.endpoint_mut(EndpointId(0)).planned = 100;
        seconds[1].measured.endpoint_mut(EndpointId(0)).planned = 300;
        answered(&mut seconds[2].warm_up, 100);
        answered(&mut seconds[4].measured, 300);
        let mut builder = RunBuilder::new(head());
        for second in &seconds {
            builder.add(second);
        }
        builder.end(Ending::Completed)
    }

    #[test]
    fn cpu_time_of_the_window_is_shared_by_the_requests_that_ended_in_it() {
        let spent = Spent { service: Some(Nanos::from_millis(200)), ..Spent::default() };
        let measured = Measured::of(&slow(), &spent, None);
        assert_eq!(
            (measured.requests, measured.kept_up),
            (300, None),
            "users who wait ask for what they get"
        );
        let cost = measured.figures[&Metric::CpuPerRequest].value;
        assert!((cost - 2e6).abs() < 1.0, "200 ms and 100 answers, but {cost} ns");
    }

    #[test]
    fn a_percentile_of_few_requests_is_absent_and_its_times_are_stored() {
        let measured = Measured::of(&slow(), &Spent::default(), None);
        assert!(measured.figures.contains_key(&Metric::P50) && !measured.figures.contains_key(&Metric::P99));
        assert_eq!(measured.times.unwrap().requests(), 300);
        assert_eq!(measured.responses, Some(Counted { failed: 0, of: 300 }));
    }

    /// 900 answers of 1, 2, … us, and as many failures at once as are left of `planned`.
    fn with_failures(planned: u64) -> BTreeMap<Metric, Figure> {
        let mut ok = Histogram::new();
        (1..=900).for_each(|micros| ok.record(Nanos::from_micros(micros)));
        response_times(&ok, planned)
    }

    #[test]
    fn a_fast_failure_improves_no_percentile_and_no_mean() {
        let (clean, failing) = (with_failures(900), with_failures(1_800));
        let p50 = |figures: &BTreeMap<Metric, Figure>| figures[&Metric::P50];
        assert!((p50(&clean).value / 450e3 - 1.0).abs() < 0.002 && !p50(&clean).at_least);
        // The 900th of 1,800 is the slowest success; the 901st failed.
        assert!((p50(&failing).value / 900e3 - 1.0).abs() < 0.002 && !p50(&failing).at_least);
        let more = with_failures(1_802);
        assert!(p50(&more).at_least && (p50(&more).value - 900e3).abs() < 1.0, "{more:?}");
        let mean = |figures: &BTreeMap<Metric, Figure>| figures[&Metric::Mean];
        // (450.5 + 900) / 2 us at least.
        assert!((mean(&failing).value - 675.25e3).abs() < 1.0 && mean(&failing).at_least);
        assert!(!mean(&clean).at_least && !clean[&Metric::Max].at_least && failing[&Metric::Max].at_least);
    }

    #[test]
    fn a_failed_response_is_throughput_and_no_goodput() {
        let mut second =
            Interval { from: Nanos::from_secs(1), to: Nanos::from_secs(2), ..Interval::default() };
        second.measured.endpoint_mut(EndpointId(0)).planned = 100;
        answered(&mut second.measured, 20);
        let failed = &mut second.measured.endpoint_mut(EndpointId(0)).outcomes[Outcome::HttpError as usize];
        failed.response.record_many(Nanos::from_millis(5), 80);
        failed.service.record_many(Nanos::from_millis(5), 80);
        let mut builder = RunBuilder::new(head());
        builder.add(&second);
        let measured = Measured::of(&builder.end(Ending::Completed), &Spent::default(), None);
        let rates = [Metric::Goodput, Metric::Throughput].map(|metric| measured.figures[&metric]);
        assert_eq!(rates, [Figure::from(20.0), Figure::from(100.0)]);
    }

    #[test]
    fn what_is_stored_of_each_endpoint_does_not_depend_on_the_port_of_the_service() {
        let mut head = head();
        head.plan.endpoints =
            ["GET http://127.0.0.1:4711/todos?limit=10", "POST http://127.0.0.1:4711/todos"]
                .map(|name| Endpoint { name: name.into() })
                .to_vec();
        let mut second = Interval { to: Nanos::from_secs(1), ..Interval::default() };
        answered(&mut second.measured, 30);
        second.measured.endpoint_mut(EndpointId(0)).planned = 31;
        second.measured.endpoint_mut(EndpointId(1)).planned = 5;
        second.measured.endpoint_mut(EndpointId(0)).status = vec![(200, 30)];
        second.measured.endpoint_mut(EndpointId(0)).bytes_body = 6_000;
        let mut builder = RunBuilder::new(head);
        builder.add(&second);
        let measured = Measured::of(&builder.end(Ending::Completed), &Spent::default(), None);
        let names: Vec<&str> = measured.endpoints.keys().map(String::as_str).collect();
        assert_eq!(names, ["GET /todos?limit=10", "POST /todos"]);
        let list = &measured.endpoints["GET /todos?limit=10"];
        assert_eq!((list.times.requests(), list.times.unsuccessful(), list.body_bytes), (31, 1, 6_000));
        assert_eq!(list.responses, Counted { failed: 0, of: 30 });
        assert_eq!(measured.figures[&Metric::ResponseSize], Figure::from(200.0));
    }

    #[test]
    fn endpoints_that_a_script_names_only_while_it_runs_are_stored_too() {
        let mut head = head();
        head.plan.endpoints.clear();
        let mut second = Interval { to: Nanos::from_secs(1), ..Interval::default() };
        for (id, name) in [(0, "GET /todos/"), (1, "POST /todos/")] {
            second.endpoints_met.push((EndpointId(id), Endpoint { name: name.into() }));
            second.measured.endpoint_mut(EndpointId(id)).planned = 5;
        }
        let mut builder = RunBuilder::new(head);
        builder.add(&second);
        let measured = Measured::of(&builder.end(Ending::Completed), &Spent::default(), None);
        let names: Vec<&str> = measured.endpoints.keys().map(String::as_str).collect();
        assert_eq!(names, ["GET /todos/", "POST /todos/"]);
    }

    #[test]
    fn only_streams_wait_for_a_first_event() {
        let mut head = head();
        head.plan.endpoints.push(Endpoint { name: "GET /changes".into() });
        let first_event = |vain: u64| {
            let mut interval =
                Interval { to: Nanos::from_secs(2), from: Nanos::from_secs(1), ..Interval::default() };
            // A script that also creates what its streams wait for.
            interval.measured.endpoint_mut(EndpointId(0)).planned = 300;
            let streams = interval.measured.endpoint_mut(EndpointId(1));
            streams.planned = 3 + vain;
            for millis in [2, 4, 6] {
                streams.phases[Phase::FirstEvent as usize].record(Nanos::from_millis(millis));
            }
            let mut builder = RunBuilder::new(head.clone());
            builder.add(&interval);
            Measured::of(&builder.end(Ending::Completed), &Spent::default(), None).figures
                [&Metric::FirstEvent]
        };
        let (all, without) = (first_event(0), first_event(1));
        assert!((all.value / 4e6 - 1.0).abs() < 0.01 && !all.at_least, "{all:?}");
        // The slowest of the others stands for the one without: (2 + 4 + 6 + 6) / 4.
        assert!((without.value / 4.5e6 - 1.0).abs() < 0.01 && without.at_least, "{without:?}");
    }

    #[test]
    fn without_a_success_there_is_no_time() {
        assert!(response_times(&Histogram::new(), 5_000).is_empty());
    }
}
