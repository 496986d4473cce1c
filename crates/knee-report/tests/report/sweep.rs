//! The report of a sweep, in every form, for services made up by formulas. What it says of the limit is in `limit`.

use knee_core::estimate::Distribution;
use knee_core::outcome::Outcome;
use knee_core::record::{Build, Machine};
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;
use knee_core::validity::{Validity, Warning};
use knee_report::clean::is_hostile;
use knee_report::sweep::{About, json, markdown, svg, text};
use knee_report::text::{Style, ink};
use knee_report::{SweepView, html};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::cost::Assumptions;
use knee_study::sweep::knee::Basis;
use knee_study::sweep::{Config, Ladder, LoadKind, Purpose, Report, Step, StepLoad, StepResult, Sweep, rule};
use serde_json::Value;

use super::page::Page;

mod limit;

mod stops;

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
        shared_cpus: vec![0, 1],
        division: None,
        again: Some("knee http://127.0.0.1:8080/".to_owned()),
        with_options: false,
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
        connections_min: 1,
        resets: false,
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
        rejected: 0,
        requests_per_arrival: 1.0,
        books: tally.accounting(),
        response: Distribution::response(&tally),
        service: Distribution::service(&tally),
        first_event: Distribution::default(),
        longest_gap: Distribution::default(),
        waiting: (1..=10).map(|t| (f64::from(t), (offered - achieved) * f64::from(t))).collect(),
        in_flight_max: 64,
        in_flight_cap: 1_000,
        queued: 0,
        state: if late { Validity::Invalid } else { Validity::Valid },
        reasons: late.then_some(reason).into_iter().collect(),
        cpu: Some(achieved * 4e-4 * (step.seconds + step.warm_up)),
        host_busy: Some(0.8),
        programs: Vec::new(),
        resources: Vec::new(),
        generator_delay: None,
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
    sweep.conclude(Facts { cores: Some(2.0), shared_cpus: Some(2), assumptions: Some(assumptions) })
}

fn healthy() -> Report {
    report(config(&["p99<50ms"]), f64::INFINITY)
}

/// A sweep as a page, as text, as Markdown and as JSON, with its name.
pub fn printed() -> Vec<(&'static str, String, String, String, String)> {
    let (report, about) = (healthy(), about());
    let (view, style) = (SweepView::of(&report, &about), Style::default());
    vec![(
        "sweep",
        html::sweep(&view, &style),
        text::render(&view, &style),
        markdown::render(&view, &style),
        json::render(&view),
    )]
}

/// Pages of sweeps, with their names.
pub fn pages() -> Vec<(String, String)> {
    let reports = [
        ("sweep", healthy()),
        ("sweep at the generator's limit", report(config(&[]), 2_000.0)),
        ("sweep without steps", Sweep::new(config(&[])).conclude(Facts::default())),
    ];
    let bitten = About { title: "http://a/\u{1b}[2J<script>|\u{202e}".to_owned(), ..about() };
    let page = |report: &Report, about: &About| html::sweep(&SweepView::of(report, about), &Style::default());
    let mut pages: Vec<(String, String)> =
        reports.iter().map(|(name, report)| ((*name).to_owned(), page(report, &about()))).collect();
    pages.push(("sweep of a hostile name".to_owned(), page(&reports[0].1, &bitten)));
    pages
}

#[test]
fn the_page_of_a_sweep_answers_as_the_terminal_does_and_shows_every_step() {
    let (report, about) = (healthy(), about());
    let view = SweepView::of(&report, &about);
    let page = Page::read(&html::sweep(&view, &Style::default()));
    assert_eq!(page.of_class("answer")[0].text, view.headline);
    assert_eq!(page.of_class("verdict")[0].text.trim(), "✓ Validity: valid, no warnings");
    let limits = &page.of_class("limits")[0].text;
    assert!(limits.contains("mostly CPU-bound"), "what bounds the service is on the first screen: {limits}");
    let steps = page.all("table").into_iter().find(|table| table.text.contains("purpose")).unwrap();
    let rows = page.all("th").into_iter().filter(|cell| cell.get("scope") == Some("row")).count();
    assert_eq!(rows, report.trials.len(), "{}", steps.text);
    let wide = page.elements.iter().position(|one| one.has_class("wide")).unwrap();
    let narrow = page.elements.iter().position(|one| one.has_class("narrow")).unwrap();
    let dots = page.elements[wide..narrow].iter().filter(|one| one.has_class("disc")).count();
    assert!(dots >= 2 * report.ladder().count() - 12, "{dots} dots");
    for mark in ["knee 2,630 to 3,550", "capacity 3,880 to 4,270", "breaking point 3,880 to 4,270"] {
        assert!(page.all("text").iter().any(|one| one.text == mark), "{mark} is not named");
    }
}

#[test]
fn a_sweep_as_text() {
    let (report, about) = (healthy(), about());
    insta::assert_snapshot!(text::render(&SweepView::of(&report, &about), &Style::default()));
}

#[test]
fn a_service_that_sheds_load_is_called_that_in_the_first_line() {
    let mut sweep = Sweep::new(config(&[]));
    while let Some(step) = sweep.next() {
        let mut result = measured(&step, f64::INFINITY);
        // What comes on top of its limit is turned away at once.
        let rejected = ((result.offered - result.achieved).max(0.0) * result.seconds) as u64;
        result.rejected = rejected;
        result.achieved = result.offered;
        result.waiting.iter_mut().for_each(|(_, waiting)| *waiting = 5.0);
        let mut tally =
            EndpointTally { planned: result.books.planned + rejected, ..EndpointTally::default() };
        tally.outcomes[Outcome::Ok as usize].response.record_many(Nanos(1), result.books.planned);
        tally.outcomes[Outcome::HttpError as usize].response.record_many(Nanos(1), rejected);
        result.books = tally.accounting();
        sweep.record_result(result);
    }
    let (report, about) = (sweep.conclude(Facts::default()), about());
    let view = SweepView::of(&report, &about);
    let text = text::render(&view, &Style { width: 400, ..Style::default() });
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("Capacity: ") && first.contains("The service sheds load beyond "), "{first}");
    assert!(first.contains("keeps serving 4,000 requests/s."), "{first}");
    assert!(!text.contains("no step was overloaded"), "{text}");
    let knee = text.lines().find(|line| line.trim_start().starts_with("knee  "));
    assert_eq!(knee, None, "rejections end the waiting: {text}");
    assert!(text.contains("under overload"), "{text}");
    let document: Value = serde_json::from_str(&json::render(&view)).unwrap();
    assert_eq!(document["shedding"]["goodput"], 4_000.0);
    assert_eq!(document["saturation"]["goodput"], 4_000.0);
    assert_eq!(document["knee"], Value::Null);
}

#[test]
fn the_knee_of_a_service_without_noise_is_limited_by_the_tested_levels_alone_and_says_so() {
    let report = healthy();
    let knee = report.knee.unwrap();
    assert_eq!(knee.basis, Basis::Grid);
    // Two rungs of the ladder are 1.82 apart.
    assert!(knee.interval.high / knee.interval.low < 1.4, "{knee:?}");
    let about = about();
    let text = text::render(&SweepView::of(&report, &about), &Style { width: 400, ..Style::default() });
    assert!(
        text.contains("between two tested levels; 5 levels from 1,950 to 3,550 were each tried 3 times"),
        "{text}"
    );
}

/// A sweep of two levels whose responses are streams: the first event after 20 ms, the longest gap 80 ms.
fn streamed() -> Report {
    let levels = Ladder::List(vec![100.0, 200.0]);
    let mut sweep = Sweep::new(Config { ladder: levels, ..config(&["first_event p95<500ms"]) });
    while let Some(step) = sweep.next() {
        let mut tally = EndpointTally::default();
        for (phase, millis) in [(Phase::FirstEvent, 20), (Phase::LongestGap, 80)] {
            tally.phases[phase as usize].record_many(Nanos::from_millis(millis), 5_000);
        }
        let first_event = Distribution::first_event(&tally);
        let longest_gap = Distribution::exact(&tally.phases[Phase::LongestGap as usize]);
        sweep.record_result(StepResult { first_event, longest_gap, ..measured(&step, f64::INFINITY) });
    }
    sweep.conclude(Facts::default())
}

#[test]
fn a_sweep_of_streams_shows_the_times_of_events_of_each_step_in_every_form() {
    let (report, about, style) = (streamed(), about(), Style::default());
    let view = SweepView::of(&report, &about);
    // 5,000 streams are enough for a p95, and too few for a p99.
    let times = ["20.0 ms", "20.0 ms", "20.0 ms", "80.0 ms", "80.0 ms"];
    let text = text::render(&view, &style);
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Events ")).skip(1).collect();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(table[0]), "requests/s first event p50 p95 longest gap p95", "{text}");
    for line in &table[1..=report.trials.len()] {
        assert!(words(line).ends_with(&times.join(" ")), "{line}: {text}");
    }
    let markdown = markdown::render(&view, &style);
    let row = format!("| {} |\n", times.join(" | "));
    assert_eq!(markdown.matches(&row).count(), report.trials.len(), "{markdown}");
    let page = Page::read(&html::sweep(&view, &style));
    let tables = page.all("table");
    let events = tables.iter().find(|table| table.text.contains("longest gap")).unwrap();
    assert_eq!(events.text.matches("80.0 ms").count(), 2 * report.trials.len(), "{}", events.text);
    let document: Value = serde_json::from_str(&json::render(&view)).unwrap();
    let step = &document["steps"][0];
    let millis = [&step["first_event_ms"]["mean"], &step["longest_gap_ms"]["p90"]].map(Value::as_f64);
    assert_eq!(millis, [Some(20.0), Some(80.0)]);
    let without = healthy();
    let other: Value = serde_json::from_str(&json::render(&SweepView::of(&without, &about))).unwrap();
    assert!(other["steps"][0].get("first_event_ms").is_none(), "its responses are no streams");
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
fn a_percentile_with_two_limits_is_explained_once() {
    let slow = Config { ladder: Ladder::List(vec![20.0, 30.0]), ..config(&["p99<250ms", "p99<500ms"]) };
    let (report, about) = (report(slow, f64::INFINITY), about());
    let text = text::render(&SweepView::of(&report, &about), &Style { width: 400, ..Style::default() });
    assert_eq!(text.matches("Percentiles\n").count(), 1, "{text}");
    assert_eq!(text.matches("p99 needs 10,000 requests per step").count(), 1, "{text}");
    assert_eq!(text.matches("A step with fewer requests meets p99 ≤ 250 ms").count(), 1, "{text}");
    assert_eq!(text.matches("A step with fewer requests meets p99 ≤ 500 ms").count(), 1, "{text}");
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
    for report in [
        healthy(),
        report(config(&[]), 2_000.0),
        Sweep::new(config(&[])).conclude(Facts::default()),
        streamed(),
    ] {
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
    for text in [
        "knee sweep of http://127.0.0.1:8080/",
        "capacity ",
        "knee ",
        "breaking point ",
        "requests/s",
        "p99 ≤ 50.0 ms",
        "orange: p99",
    ] {
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
    let about = About { title: "http://a/\u{1b}[2J<script>|".to_owned(), ..about() };
    for report in [healthy(), streamed()] {
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
}

#[test]
fn the_curve_of_a_page_shows_the_percentiles_of_the_limits_and_the_limits_themselves() {
    let few = Config { seconds: 1.0, ..config(&["p99<50ms", "p90<20ms"]) };
    let (report, about) = (report(few, f64::INFINITY), about());
    let view = SweepView::of(&report, &about);
    assert_eq!(view.tails.iter().map(|tail| tail.name.as_str()).collect::<Vec<_>>(), ["p90", "p99"]);
    let html = html::sweep(&view, &Style::default());
    let page = Page::read(&html);
    let columns: Vec<&str> = page.all("th").iter().map(|cell| cell.text.as_str()).collect();
    assert!(columns.contains(&"p99") && columns.contains(&"p90"), "{columns:?}");
    for limit in ["p99 ≤ 50.0 ms", "p90 ≤ 20.0 ms"] {
        assert!(page.all("text").iter().any(|one| one.text == limit), "{limit} is not drawn");
    }
    assert!(
        html.contains("p99 is shown for steps with 10,000 requests or more."),
        "it says why p99 is missing"
    );
}

#[test]
fn a_line_of_a_curve_has_one_point_per_level_and_dots_have_the_steps() {
    let (report, about) = (healthy(), about());
    let view = SweepView::of(&report, &about);
    for percentile in &view.curve.percentiles {
        let levels = || percentile.medians.iter().map(|(level, _)| *level);
        assert!(levels().zip(levels().skip(1)).all(|(one, next)| one < next), "{percentile:?}");
        assert!(percentile.steps.len() > percentile.medians.len(), "levels repeat");
    }
}

#[test]
fn a_closed_sweep_has_whole_connections_at_its_axis() {
    let few = Config { kind: LoadKind::Connections, ladder: Ladder::List(vec![1.0, 2.0]), ..config(&[]) };
    let (report, about) = (report(few, f64::INFINITY), about());
    let html = html::sweep(&SweepView::of(&report, &about), &Style::default());
    let page = Page::read(&html);
    let ticks: Vec<&str> = page.all("text").iter().map(|one| one.text.as_str()).collect();
    assert!(ticks.contains(&"1") && ticks.contains(&"2") && !ticks.contains(&"0.5"), "{ticks:?}");
}

/// A sweep of the made-up service, which stands still for a part of some steps.
fn stalls_in(unlucky: impl Fn(&Step) -> bool) -> Report {
    let mut sweep = Sweep::new(config(&[]));
    while let Some(step) = sweep.next() {
        let mut result = measured(&step, f64::INFINITY);
        if unlucky(&step) {
            result.waiting = (1..=10).map(|t| (f64::from(t), result.offered * 0.02 * f64::from(t))).collect();
        }
        sweep.record_result(result);
    }
    sweep.conclude(Facts::default())
}

#[test]
fn a_level_below_the_capacity_that_failed_is_named_beside_the_capacity() {
    let report = stalls_in(|step| step.purpose == Purpose::Repeat && step.load.level() < 2_000.0);
    let repeats = report.failed_below().iter().map(|tried| tried.failed.len()).sum::<usize>();
    assert_eq!(repeats, 3);
    let view_about = about();
    let view = SweepView::of(&report, &view_about);
    assert!(view.headline.contains("Capacity: 3,880"), "{}", view.headline);
    let below = "Not always: at 1,950 requests/s, below it, 3 of 3 steps failed (backlog grows by 39/s).";
    assert!(view.headline.contains(below), "{}", view.headline);
    let json: Value = serde_json::from_str(&json::render(&view)).unwrap();
    assert_eq!(json["failed_below"], serde_json::json!([{"level": 1950.0, "failed": 3, "steps": 3}]));
    assert!(!SweepView::of(&healthy(), &view_about).headline.contains("Not always"));
}

#[test]
fn a_step_after_the_overload_counts_for_neither_end_of_the_capacity() {
    let report = healthy();
    let view_about = about();
    let view = SweepView::of(&report, &view_about);
    let high = report.capacity.interval().unwrap().high;
    let rows = view.rows.iter().filter(|row| row.level == knee_report::number::level(high));
    let confirm = rows.filter(|row| row.purpose == Purpose::Confirm).count();
    assert!(
        view.findings[0].remark.ends_with(&format!("{confirm} of {confirm} failed")),
        "{:?}",
        view.findings[0]
    );
}

#[test]
fn a_limit_that_is_judged_by_counting_has_a_column_of_what_was_counted() {
    let mut config = config(&["p99<50ms"]);
    config.seconds = 1.0;
    let report = report(config, f64::INFINITY);
    let view_about = about();
    let view = SweepView::of(&report, &view_about);
    assert_eq!(view.limits, ["over 50.0 ms"]);
    for row in &view.rows {
        let share: f64 = row.over[0].trim_start_matches("< ").trim_end_matches(" %").parse().unwrap();
        let ladder = row.purpose != Purpose::Probe;
        assert!(!ladder || (row.outcome == rule::Outcome::Fail) || share <= 1.0, "{row:?}");
    }
    let told = text::render(&view, &Style::default());
    assert!(told.contains("over 50.0 ms"), "{told}");
    assert!(told.lines().all(|line| ink::width(line) <= 80), "{told}");
    assert!(SweepView::of(&healthy(), &view_about).limits.is_empty());
}

#[test]
fn the_next_command_names_the_target_and_says_where_its_rate_is_from() {
    let next = |about: &About| SweepView::of(&healthy(), about).next.join(" ");
    let told = next(&about());
    assert!(told.contains("`knee http://127.0.0.1:8080/ -q"), "{told}");
    assert!(told.contains("requests/s, the knee"), "{told}");
    let with_options = next(&About { with_options: true, ..about() });
    assert!(with_options.contains("with the same options"), "{with_options}");
    assert!(!next(&About { again: None, ..about() }).contains('`'));
}
