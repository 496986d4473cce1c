//! What holds for all rules together: order, texts, silence on healthy evidence, and no harm by any evidence.
//!
//! Tests of single rules are in their files.

use std::fmt::Write as _;

use knee_core::metric::{Contains, Key, Kind, Sink};
use knee_core::observation::{FigureUnit, Series, SeriesKind, SourceKind, SourceState, Text};
use knee_core::schedule::{Curve, Stage};
use knee_core::unit::Nanos;
use knee_core::validity::note::NOTES;
use knee_core::validity::{Validity, rule};
use proptest::prelude::*;

use crate::testing::{Costs, RATE, Scene};
use crate::{Evidence, Gain, RULES, Remedy, examine};

/// Everything observed, and nothing wrong.
fn healthy() -> Scene {
    let mut scene = Scene::steady();
    scene.host(4.0);
    scene.process("shop (pid 7)");
    scene.postgres();
    scene.redis();
    scene.source(SourceKind::Sqlite, "news.db");
    scene.sqlite_page();
    scene.pgbouncer();
    let nginx = scene.source(SourceKind::Nginx, "nginx:http://127.0.0.1/status");
    scene.counter(nginx, "nginx.accepts", "", 10.0);
    scene.counter(nginx, "nginx.handled", "", 10.0);
    scene
}

#[test]
fn a_healthy_service_has_no_finding_and_no_hint() {
    let report = healthy().report();
    assert_eq!(report.findings, []);
    assert!(report.ran.len() >= 28, "{:?}", report.could_not_run);
}

#[test]
fn nothing_is_found_in_a_run_of_errors_alone() {
    let failing = |share: f64| {
        let mut scene = Scene::with(move |sample, _, dice| {
            if dice.share() < share {
                sample.status = 404;
            }
        });
        let host = scene.host(2.0);
        scene.counter(host, "host.cpu.time", "user", 1.99);
        scene.report()
    };
    let report = failing(1.0);
    assert_eq!(report.findings, []);
    assert_eq!(report.ran, ["rate_limit"]);
    let lacks = &report.could_not_run.first().unwrap().lacks;
    assert_eq!(lacks, "OK responses: 0 of 30000 requests were answered OK");
    assert!(failing(0.5).ran.len() > 5, "half of the responses say something");
}

#[test]
fn a_source_that_refused_the_observer_is_named_and_not_taken_for_idle() {
    let mut scene = Scene::steady();
    let server = scene.source(SourceKind::Postgres, "postgres://shop");
    scene.observations.sources[server].state = SourceState::Refused { reason: "no password".to_owned() };
    let lacks = scene.lacks("lock_wait").unwrap();
    assert_eq!(lacks, "postgres://shop to be read: it refused the observer");
}

#[test]
fn sockets_and_streams_have_a_connection_each_and_are_no_fault_of_keep_alive() {
    let opened = |sockets: f64| {
        let mut scene = Scene::with(|sample, _, _| sample.connect = Some(0.002));
        let (contains, mut sink) = (Contains::Default, Sink::new(Kind::Counter));
        sink.add(sockets, 0);
        let key = Key { metric: "ws_sessions".to_owned(), ..Key::default() };
        scene.run.metrics.series.insert(key, knee_core::metric::Series { contains, adds: None, sink });
        scene.found("no_keep_alive").map(|finding| finding.confidence)
    };
    assert_eq!(opened(30_000.0), None);
    assert!(opened(100.0).is_some(), "a hundred of 30,000 connections are sockets");
}

#[test]
fn healthy_loads_of_other_shapes_have_no_finding_either() {
    let slow = Scene::sized(
        30,
        |_| 20,
        Curve::constant(10.0),
        |sample, _, dice| sample.wait = dice.exponential(0.5),
    );
    let mixed = Scene::with(|sample, _, dice| {
        sample.endpoint = u32::from(dice.share() < 0.3);
        sample.wait *= 1.0 + 9.0 * f64::from(sample.endpoint);
        sample.body = 300 + (4_000.0 * dice.share()) as u64;
    });
    let failing = Scene::with(|sample, _, dice| {
        if dice.share() < 0.02 {
            sample.status = 500;
        }
    });
    // Heavy-tailed: one in some thousand takes a hundred times as long.
    let tailed = Scene::with(|sample, _, dice| sample.wait = 0.001 * dice.share().powf(-0.6));
    let fast = Scene::with(|sample, _, dice| sample.wait = 0.000_05 + dice.exponential(0.000_02));
    for (name, scene) in
        [("slow", slow), ("mixed", mixed), ("failing", failing), ("tailed", tailed), ("fast", fast)]
    {
        assert_eq!(scene.report().findings, [], "{name}");
    }
}

#[test]
fn codes_are_unique_and_stand_for_nothing_else_in_reports() {
    let mut codes: Vec<_> = RULES.iter().map(|rule| rule.code).collect();
    codes.extend(rule::RULES.iter().map(|rule| rule.code));
    codes.extend(NOTES.iter().map(|note| note.code));
    let all = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), all);
}

#[test]
fn every_rule_says_what_it_needs_its_limits_their_source_a_cause_and_a_remedy() {
    for rule in RULES {
        for sentence in [rule.source, rule.cause, rule.remedy] {
            assert!(sentence.ends_with('.') && !sentence.contains("  "), "{}: {sentence}", rule.code);
        }
        for phrase in [rule.finds, rule.needs, rule.limits] {
            assert!(!phrase.is_empty() && !phrase.ends_with('.'), "{}: {phrase}", rule.code);
        }
        for explained in rule.explains {
            assert!(RULES.iter().any(|other| other.code == *explained), "{explained}");
        }
    }
}

#[test]
fn nothing_found_says_which_rules_ran_and_what_the_others_lack() {
    let report = Scene::steady().report();
    assert_eq!(report.ran.len() + report.could_not_run.len(), RULES.len());
    let lack = report.could_not_run.iter().find(|rule| rule.code == "missing_index").unwrap();
    assert_eq!(lack.lacks, "a PostgreSQL server (`--observe postgres://...`)");
}

#[test]
fn no_rule_runs_on_an_invalid_run() {
    let mut scene = Scene::with(|sample, _, dice| sample.receive = 0.040 + 0.003 * dice.share());
    assert!(!scene.report().findings.is_empty());
    scene.run.validity.validity = Validity::Invalid;
    let report = scene.report();
    assert_eq!((report.findings.len(), report.could_not_run.len()), (0, RULES.len()));
}

/// A list of tasks whose index is missing, in a fifth of the requests.
fn list_without_index(scene: &mut Scene, server: usize) {
    let list = "SELECT id FROM tasks WHERE organization_id = $1 ORDER BY inserted_at DESC LIMIT 50";
    let costs = Costs { per_request: 0.2, seconds: 0.055, rows: 50.0, blocks: 4_000.0, ..Costs::default() };
    scene.statement(server, "2", list, &costs);
    let scans = 0.2 * RATE as f64;
    scene.table(server, "public.tasks", 240_000.0, [scans, scans * 240_000.0], [0.0, 0.0]);
}

/// A service with several defects: an N + 1, a missing index that costs most, and a hint from outside.
fn several() -> Scene {
    let mut scene = Scene::with(|sample, _, dice| {
        sample.wait =
            if dice.share() < 0.2 { 0.06 + dice.exponential(0.01) } else { 0.004 + dice.exponential(0.001) };
    });
    scene.host(4.0);
    let server = scene.postgres();
    list_without_index(&mut scene, server);
    let author = "SELECT name FROM authors WHERE id = $1";
    scene.statement(server, "3", author, &Costs { per_request: 12.0, ..Costs::default() });
    scene.table(server, "public.authors", 5_000.0, [0.0, 0.0], [12.0 * RATE as f64, 12.0 * RATE as f64]);
    scene
}

#[test]
fn the_finding_that_can_gain_most_stands_first_and_hints_stand_last() {
    let report = several().report();
    let codes: Vec<_> = report.findings.iter().map(|finding| (finding.code, finding.is_hint())).collect();
    assert_eq!(codes, [("missing_index", false), ("many_statements", false), ("two_populations", true)]);
    let Some(Gain::MeanResponse { from, to, .. }) = &report.findings[0].gain else { panic!() };
    assert!(to < from);
    let Remedy::Index { columns, .. } = &report.findings[0].remedy else { panic!() };
    assert_eq!(columns, &["organization_id", "inserted_at DESC"]);
}

#[test]
fn a_report_of_several_findings_is_as_recorded() {
    let report = several().report();
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "[{}] {} ({})", finding.code, finding.statement, finding.confidence.name());
        for signal in &finding.evidence {
            let _ = writeln!(
                text,
                "  {}: {:.3} {:?} ({})",
                signal.what, signal.figure, signal.limit, signal.source
            );
        }
        let _ = writeln!(text, "  {:?}", finding.remedy);
        let share = finding.gain.as_ref().map(Gain::share);
        let _ = writeln!(text, "  saves {:.2}", share.unwrap_or(0.0));
    }
    insta::assert_snapshot!(text);
}

/// A list without an index, and this count beside it.
fn list_and_count(count: &str, plan: Option<&str>) -> Vec<(&'static str, String)> {
    let mut scene = Scene::steady();
    let server = scene.postgres();
    list_without_index(&mut scene, server);
    scene.statement(server, "3", count, &Costs { seconds: 0.008, blocks: 1_200.0, ..Costs::default() });
    let scans = RATE as f64;
    scene.table(server, "public.orders", 50_000.0, [scans, scans * 50_000.0], [0.0, 0.0]);
    if let Some(plan) = plan {
        scene.text(server, "statement.plan", "3", plan);
    }
    let found = scene.report().findings.into_iter().map(|finding| (finding.code, finding.subject.name));
    found.collect()
}

#[test]
fn a_finding_about_one_statement_does_not_hide_one_about_another() {
    let count = "SELECT count(*) FROM orders";
    let found = list_and_count(count, None);
    let codes: Vec<_> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["missing_index", "count_per_request"]);
    assert_eq!(found[1].1, count);
}

#[test]
fn a_count_that_scans_for_want_of_an_index_is_said_once() {
    let plan = r#"[{"Plan": {"Node Type": "Aggregate", "Plan Rows": 1, "Plans": [
        {"Node Type": "Seq Scan", "Relation Name": "orders", "Plan Rows": 250, "Filter": "(owner = $1)"}]}}]"#;
    let found = list_and_count("SELECT count(*) FROM orders WHERE owner = $1", Some(plan));
    let codes: Vec<_> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["missing_index", "missing_index"]);
}

/// Names of figures that rules ask for.
const KNOWN: [&str; 75] = [
    "statement.calls",
    "statement.exec_time",
    "statement.rows",
    "statement.blocks.hit",
    "table.live_rows",
    "table.seq_scans",
    "table.seq_rows",
    "activity.samples",
    "activity.state",
    "activity.wait",
    "activity.blocked",
    "activity.blocked.lock",
    "activity.statement.wait",
    "activity.backends",
    "activity.backends.busy",
    "activity.idle_age.youngest",
    "activity.idle_age.median",
    "activity.idle_age.oldest",
    "database.commits",
    "host.cpus",
    "host.cpu.time",
    "host.disk.busy",
    "process.thread.cpu",
    "process.cpu.user",
    "process.cpu.system",
    "profile.samples",
    "redis.command.time",
    "redis.command.calls",
    "redis.cpu.main.user",
    "redis.cpu.main.system",
    "checkpoint.timed",
    "sqlite.lock.samples",
    "sqlite.lock.held",
    "replication.replay_lag",
    "replication.behind",
    "replica",
    "index.scans",
    "index.blocks.hit",
    "table.inserted",
    "table.index_blocks.hit",
    "statement.wal.records",
    "statement.wal.bytes",
    "table.updated",
    "table.toast_blocks.hit",
    "pgbouncer.clients",
    "pgbouncer.servers",
    "pgbouncer.pool_size",
    "pgbouncer.wait_time",
    "nginx.accepts",
    "nginx.handled",
    "redis.reads",
    "host.tcp.opened_active",
    "process.calls.looks",
    "process.calls.opened",
    "process.calls.sent_segments",
    "process.calls.waiting",
    "redis.keyspace.hits",
    "redis.keyspace.misses",
    "redis.clients.samples",
    "redis.clients.samples.behind",
    "prometheus.knee_sqlite_busy_total",
    "prometheus.knee_sqlite_busy_wait_seconds_total",
    "prometheus.knee_sqlite_busy_timeouts_total",
    "prometheus.knee_sqlite_busy_timeout_wait_seconds_total",
    "prometheus.knee_sqlite_write_transactions_total",
    "prometheus.knee_sqlite_write_seconds_total",
    "prometheus.knee_sqlite_upgrades_total",
    "prometheus.knee_sqlite_upgrades_refused_total",
    "prometheus.knee_sqlite_upgrades_rolled_back_total",
    "prometheus.knee_sqlite_connection_calls_total",
    "prometheus.knee_sqlite_connection_seconds_total",
    "prometheus.knee_sqlite_statement_calls_total",
    "prometheus.knee_sqlite_statement_seconds_total",
    "prometheus.knee_sqlite_statement_fullscan_steps_total",
    "prometheus.knee_sqlite_statement_autoindex_rows_total",
];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(KNOWN.to_vec()).prop_map(str::to_owned)
}

fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), 0.0f64..1e6, Just(0.0), Just(f64::NAN)]
}

fn series() -> impl Strategy<Value = Series> {
    let statement = "statement=\"SELECT a FROM b WHERE c = ?\"".to_owned();
    let label = prop_oneof![
        Just(String::new()),
        Just("1".to_owned()),
        Just("active".to_owned()),
        Just("shop/reader waiting".to_owned()),
        Just("shop/reader active".to_owned()),
        Just(statement),
        "\\PC{0,12}"
    ];
    let points = prop::collection::vec((0u64..40_000, figure()), 0..12);
    (0usize..9, name(), label, any::<bool>(), points).prop_map(|(source, name, label, counts, points)| {
        Series {
            source,
            name,
            label,
            unit: FigureUnit::Count,
            kind: if counts { SeriesKind::Counter } else { SeriesKind::Gauge },
            points: points.into_iter().map(|(at, figure)| (Nanos::from_millis(at), figure)).collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Evidence of any kind gives findings whose figures are finite and pass their limits, and never breaks a rule.
    #[test]
    fn any_evidence_gives_finite_figures_beyond_their_limits(
        all in prop::collection::vec(series(), 0..60),
        texts in prop::collection::vec((0usize..7, "\\PC{0,60}"), 0..4),
    ) {
        let grows = vec![Stage { duration: Nanos::from_secs(16), target: 8.0 }];
        let mut scene = Scene::sized(16, |_| 40, Curve { start: 2.0, stages: grows }, |_, _, _| {});
        for kind in [
            SourceKind::Host, SourceKind::Process, SourceKind::Postgres, SourceKind::Redis, SourceKind::Sqlite,
            SourceKind::PgBouncer, SourceKind::Prometheus, SourceKind::Profile, SourceKind::Nginx,
        ] {
            scene.source(kind, "any");
        }
        scene.observations.series = all;
        let text = |(source, text): (usize, String)| Text { source, name: "statement.text".into(), label: "1".into(), text };
        scene.observations.texts = texts.into_iter().map(text).collect();
        let report = examine(&Evidence::of(&scene.run, &scene.observations));
        for finding in &report.findings {
            prop_assert!(!finding.evidence.is_empty() && !finding.statement.is_empty());
            prop_assert!(finding.evidence.iter().all(|signal| signal.figure.is_finite()));
            let share = finding.gain.as_ref().map_or(0.0, Gain::share);
            prop_assert!((0.0..=1.0).contains(&share), "{share}");
        }
        prop_assert!(report.bounds.iter().all(|bound| bound.limit_per_s.is_finite() && bound.reached > 0.0));
    }
}
