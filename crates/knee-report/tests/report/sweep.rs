//! The report of a sweep, in every form, for services made up by formulas.

use knee_core::estimate::Distribution;
use knee_core::outcome::Outcome;
use knee_core::record::{Build, Machine};
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;
use knee_core::validity::{Validity, Warning};
use knee_report::SweepView;
use knee_report::clean::is_hostile;
use knee_report::sweep::{About, json, markdown, svg, text};
use knee_report::text::{Style, ink};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::cost::Assumptions;
use knee_study::sweep::{Config, Ladder, LoadKind, Report, Step, StepLoad, StepResult, Sweep};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/reference/sweep.schema.json");

/// Requests per second that the made-up service can do.
const LIMIT: f64 = 4_000.0;
/// Seconds that it takes for one.
const TIME: f64 = 2e-3;

fn about() -> About {
    About {
        title: "http://127.0.0.1:8080/".to_owned(),
        build: Build { version: "0.1.0".to_owned(), commit: None, optimized: true },
        machine: Machine { cores: 2, cpu: Some("Test CPU".to_owned()), ..Machine::default() },
        started: Nanos::from_secs(1_795_000_000),
        co_located: Some(true),
    }
}

fn config(slo: &[&str]) -> Config {
    Config {
        kind: LoadKind::Requests,
        ladder: Ladder::Auto,
        ceiling: None,
        seconds: 10.0,
        slos: slo.iter().map(|text| text.parse().unwrap()).collect(),
        errors_max: 0.001,
        precision: 0.05,
        in_flight_max: 1_000,
        seconds_max: None,
        seed: 1,
    }
}

/// What the service does under a step: waits as M/M/1 below its limit, and a backlog above it.
fn measured(step: &Step, generator_most: f64) -> StepResult {
    let (offered, mean) = match step.load {
        StepLoad::Connections(count) => {
            let rate = (f64::from(count) / TIME).min(LIMIT);
            (rate, f64::from(count) / rate)
        }
        StepLoad::ArrivalRate(rate) if rate < LIMIT => (rate, TIME + rate / LIMIT / (LIMIT - rate)),
        StepLoad::ArrivalRate(rate) => (rate, (rate / LIMIT - 1.0) * step.seconds / 2.0 + TIME),
    };
    let achieved = offered.min(LIMIT).min(generator_most);
    let count = (achieved * step.seconds) as u64;
    let mut tally = EndpointTally { planned: count, ..EndpointTally::default() };
    let ok = &mut tally.outcomes[Outcome::Ok as usize];
    for position in 0..count {
        // Exponential times at evenly spaced shares.
        let share = (position as f64 + 0.5) / count as f64;
        ok.response.record(Nanos::from_secs_f64(-(1.0 - share).ln() * mean));
        ok.service.record(Nanos::from_secs_f64(mean));
    }
    let late = achieved < offered && generator_most < LIMIT;
    let reason = Warning {
        code: "worker_cpu".to_owned(),
        validity: Validity::Invalid,
        message: "a worker of knee used over 90 % of its CPU in 80 % of the intervals".to_owned(),
        hint: String::new(),
    };
    StepResult {
        seconds: step.seconds,
        took: step.seconds + step.warm_up,
        offered,
        achieved,
        goodput: achieved,
        requests_per_arrival: 1.0,
        books: tally.accounting(),
        response: Distribution::response(&tally),
        service: Distribution::service(&tally),
        waiting: (1..=10).map(|t| (f64::from(t), (offered - achieved) * f64::from(t))).collect(),
        in_flight_max: 64,
        in_flight_cap: 1_000,
        queued: 0,
        state: if late { Validity::Invalid } else { Validity::Valid },
        reasons: late.then_some(reason).into_iter().collect(),
        cpu: Some(achieved * 4e-4 * (step.seconds + step.warm_up)),
        host_busy: Some(0.8),
        interrupted: false,
        record: Some(format!("step-{}.knee", step.number)),
    }
}

fn report(config: Config, generator_most: f64) -> Report {
    let mut sweep = Sweep::new(config);
    while let Some(step) = sweep.next() {
        sweep.record_result(measured(&step, generator_most));
    }
    let assumptions =
        Assumptions { host: "20/month".parse().ok(), per_user: "300/month".parse().ok(), peak_factor: 10.0 };
    sweep.conclude(Facts { cores: Some(2.0), assumptions: Some(assumptions) })
}

fn healthy() -> Report {
    report(config(&["p99<50ms"]), f64::INFINITY)
}

#[test]
fn a_sweep_as_text() {
    let (report, about) = (healthy(), about());
    insta::assert_snapshot!(text::render(&SweepView::of(&report, &about), &Style::default()));
}

#[test]
fn where_the_cpus_of_the_machine_are_full_nothing_is_concluded_from_a_service_that_uses_few() {
    let cpu = |host_busy: Option<f64>| {
        let mut sweep = Sweep::new(config(&[]));
        while let Some(step) = sweep.next() {
            sweep.record_result(StepResult { host_busy, ..measured(&step, f64::INFINITY) });
        }
        let (report, about) = (sweep.conclude(Facts { cores: Some(2.0), assumptions: None }), about());
        let view = SweepView::of(&report, &about);
        let document: Value = serde_json::from_str(&json::render(&view)).unwrap();
        (
            text::render(&view, &Style { width: 400, ..Style::default() }),
            document["cpu"]["is_the_limit"].clone(),
        )
    };
    let (text, is_the_limit) = cpu(Some(0.975));
    assert!(text.contains("no conclusion") && text.contains("CPUs 97.5 % busy"), "{text}");
    assert!(!text.contains("locks") && is_the_limit.is_null(), "{text}");
    let (text, is_the_limit) = cpu(Some(0.6));
    assert!(text.contains("not CPU-bound: check locks") && is_the_limit == false, "{text}");
    let (text, is_the_limit) = cpu(None);
    assert!(text.contains("no conclusion") && is_the_limit.is_null(), "{text}");
}

#[test]
fn a_sweep_as_markdown() {
    let (report, about) = (healthy(), about());
    insta::assert_snapshot!(markdown::render(&SweepView::of(&report, &about), &Style::default()));
}

#[test]
fn a_limit_that_few_requests_break_is_reported_as_counted_with_the_step_that_would_do() {
    let slow = Config { ladder: Ladder::List(vec![20.0, 30.0]), ..config(&["p99<3ms"]) };
    let (report, about) = (report(slow, f64::INFINITY), about());
    let text = text::render(&SweepView::of(&report, &about), &Style { width: 400, ..Style::default() });
    assert!(text.contains(" of 200 over 3.00 ms"), "{text}");
    assert!(!text.contains("p99 4") && !text.contains("p99 9"), "no percentile that is not shown: {text}");
    let needed = "p99 needs 10,000 requests per step: `--step 500s` at 20 requests/s.";
    assert!(text.contains(needed), "{text}");
}

#[test]
fn a_sweep_that_was_limited_by_the_generator_names_no_capacity() {
    let (report, about) = (report(config(&[]), 2_000.0), about());
    let text = text::render(&SweepView::of(&report, &about), &Style::default());
    assert!(text.contains("Capacity unknown"), "{text}");
    assert!(text.contains("Validity: invalid"), "{text}");
    assert!(text.contains("a worker of knee used over 90 %"), "{text}");
}

#[test]
fn a_sweep_as_json_is_as_its_schema_says_and_tells_what_the_text_tells() {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for report in
        [healthy(), report(config(&[]), 2_000.0), Sweep::new(config(&[])).conclude(Facts::default())]
    {
        let about = about();
        let document: Value = serde_json::from_str(&json::render(&SweepView::of(&report, &about))).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
        assert_eq!(document["steps"].as_array().unwrap().len(), report.trials.len());
        assert_eq!(document["capacity"]["low"].as_f64(), report.capacity.low());
    }
}

#[test]
fn the_picture_shows_the_curve_and_names_what_is_marked() {
    let (report, about) = (healthy(), about());
    let picture = svg::render(&SweepView::of(&report, &about));
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
    for text in
        ["knee sweep of http://127.0.0.1:8080/", "capacity ", "knee ", "breaking point ", "requests/s"]
    {
        assert!(picture.contains(text), "{text} is missing");
    }
    let circles = picture.matches("<circle").count();
    assert!(circles >= 2 * report.ladder().count(), "{circles} dots");
    // Without steps there is a picture all the same.
    let empty = Sweep::new(config(&[])).conclude(Facts::default());
    assert!(svg::render(&SweepView::of(&empty, &about)).contains("too few steps"));
}

#[test]
fn no_line_is_too_long_and_nothing_that_others_wrote_reaches_the_terminal_unescaped() {
    let report = healthy();
    let about = About { title: "http://a/\u{1b}[2J<script>|".to_owned(), ..about() };
    let view = SweepView::of(&report, &about);
    for columns in [60, 80, 120] {
        let text = text::render(&view, &Style { width: columns, ..Style::default() });
        for line in text.lines() {
            assert!(ink::width(line) <= columns, "{} > {columns}: {line}", ink::width(line));
        }
        assert!(!text.chars().any(|c| c != '\n' && is_hostile(c)), "{text}");
    }
    assert!(!svg::render(&view).contains("<script>"));
    assert!(!json::render(&view).contains('\u{1b}'));
}
