//! A sequential scan that will hurt: a statement that scans a table from end to end while the table grows, so that it
//! reads more with each row that is added.
//!
//! Needs the statements of a PostgreSQL server, and a table that grows during the run itself. A run over data that stay
//! as they are says nothing about more data; a study with `growth` does. What the statement takes with ten times the
//! rows is extrapolated, and said to be. Workers of a parallel scan count as scans of their own, so that a scan that
//! gets more of them seems to grow less than it does. Does not say why the table is scanned: `missing_index` and others
//! do.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::lack::Lack;
use crate::plan::{self, Node};
use crate::query::{self, Query, Table};
use crate::watched::{Rise, Watched};

pub(super) const RULE: Rule = Rule {
    code: "table_growth",
    finds: "a statement that scans a growing table, and becomes slower with the number of its rows",
    needs: "a PostgreSQL server with pg_stat_statements, and readings of its tables before and after the first and the last third of the run (tables are read every 5 intervals)",
    limits: "from the first to the last third of the run, the rows per sequential scan of a table grow by 20 %, and its live rows by 10 %. A statement other than INSERT names the table and takes 10 % of the execution time; in each third, it has 5 calls, and the table has half as many sequential scans or more; in the last, a call takes 1 ms and a scan reads 1,000 rows. Its plan scans the table; if no plan is known, the blocks per call must grow. With the rows grow by 10 %: the time per call, or the blocks per call. One of the two, or nothing. What ten times the rows take is said if the time grows at most as the rows to the power of 2.5, and if the load does not grow by 10 %",
    source: "Runs differ by less than 10 % in what a call takes. A scan of fewer rows, or one that takes less than 1 ms, costs its service no more than the round trip to the database, and planners prefer it to an index on purpose. A scan is linear in the rows of its table, a sort of what it read nearly so, and a join of two scans quadratic: a time that grows faster has another cause, such as more load.",
    cause: "No index serves the statement, or it asks for all rows: a count, a sum, a list without a limit, a search for what is not done yet among all that is done. The load itself adds rows, as use does in production.",
    remedy: "Read fewer rows: an index for the condition, a page with a limit, a total that is kept where it is written; or delete, archive or partition what is old. Fill the table with the rows that it will have, and run the load again.",
    explains: &[],
    check,
};

/// Growth of the rows per scan, and of the live rows of the table.
const ROWS_GROWTH: f64 = 0.2;
const LIVE_GROWTH: f64 = 0.1;
/// Growth of the time and of the blocks per call.
const COST_GROWTH: f64 = 0.1;
/// Calls in each third.
const CALLS_MIN: f64 = 5.0;
/// Sequential scans per call of the statement.
const SCANS_PER_CALL: f64 = 0.5;
/// Seconds per call, and rows per scan, in the last third.
const SECONDS_MIN: f64 = 0.001;
const ROWS_MIN: f64 = 1_000.0;
/// A greater power of the rows is that of something else.
const POWER_MAX: f64 = 2.5;
/// Growth of the load with which calls wait for each other more.
const LOAD_GROWTH: f64 = 0.1;
/// For how many times the rows the time is extrapolated.
const TIMES: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    if !servers.iter().any(|(server, _)| is_read_in_thirds(server)) {
        return Err(Lack::of(
            "readings of the tables before and after the first and the last third of the run: it is too short",
        ));
    }
    let mut drafts = Vec::new();
    for (server, queries) in &servers {
        let queries = query::heavy(queries).filter(|query| query.statement.verb != "insert");
        drafts.extend(queries.filter_map(|query| growing(evidence, server, query)));
    }
    Ok(drafts)
}

fn is_read_in_thirds(server: &Watched<'_>) -> bool {
    server.rises("table.seq_scans").iter().any(|(table, _)| thirds(server, table).is_some())
}

/// The sequential scans of a table between the readings around the first and around the last third of the measured
/// time; `None` if these are not apart.
fn thirds(server: &Watched<'_>, table: &str) -> Option<[Rise; 2]> {
    let first = server.first_third().rise("table.seq_scans", table)?;
    let last = server.last_third().rise("table.seq_scans", table)?;
    (first.to <= last.from).then_some([first, last])
}

/// The finding about the first table that the statement scans and that grows.
fn growing(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>) -> Option<Draft> {
    query.statement.tables.iter().find_map(|named| {
        let table = query::table(server, named)?;
        let scans = thirds(server, table.name)?;
        let first = third(evidence, server, query, &table, scans[0])?;
        let last = third(evidence, server, query, &table, scans[1])?;
        let is_large = last.seconds >= SECONDS_MIN && last.rows >= ROWS_MIN;
        let is_growing = is_large && live_growth(server, &table, scans)? >= LIVE_GROWTH;
        let signals = is_growing.then(|| signals(server, query, &table, first, last)).flatten()?;
        Some(draft(evidence, server, query, &table, signals, first, last))
    })
}

/// What a statement reads and takes in a part of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Third {
    /// Rows per sequential scan of the table.
    rows: f64,
    /// Seconds per call.
    seconds: f64,
    /// Blocks per call.
    blocks: f64,
    /// Complete responses of the load per second.
    load: f64,
}

/// The figures between the readings that `scans` spans; `None` if the statement can hardly be what scans the table.
fn third(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    table: &Table<'_>,
    scans: Rise,
) -> Option<Third> {
    let rose = |name: &str, label: &str| server.rose(name, label, scans.from, scans.to);
    let calls = rose("statement.calls", query.id).filter(|calls| *calls >= CALLS_MIN)?;
    if scans.amount < SCANS_PER_CALL * calls {
        return None;
    }
    let blocks = |name: &str| rose(name, query.id).unwrap_or(0.0);
    let responses = Rise { amount: evidence.answered_within(scans.from, scans.to), ..scans };
    Some(Third {
        rows: rose("table.seq_rows", table.name)? / scans.amount,
        seconds: rose("statement.exec_time", query.id)? / calls,
        blocks: (blocks("statement.blocks.hit") + blocks("statement.blocks.read")) / calls,
        load: responses.per_second()?,
    })
}

/// By which share the live rows of a table grow from the first to the last third: between the same readings as its
/// scans, because there can be none within a third.
fn live_growth(server: &Watched<'_>, table: &Table<'_>, [first, last]: [Rise; 2]) -> Option<f64> {
    let mean = |scans: Rise| server.spanning(scans).mean("table.live_rows", table.name);
    growth(mean(first)?, mean(last)?)
}

fn growth(first: f64, last: f64) -> Option<f64> {
    (first > 0.0).then(|| last / first - 1.0)
}

/// The rows that a scan reads, and what grows with them; `None` if nothing does, or if another statement scans.
fn signals(
    server: &Watched<'_>,
    query: &Query<'_>,
    table: &Table<'_>,
    first: Third,
    last: Third,
) -> Option<Vec<Signal>> {
    let signal = |what: &str, figure: fn(Third) -> f64, limit: f64, source: &'static str| {
        Signal::at_least(what, Unit::Share, growth(figure(first), figure(last)), limit, source)
    };
    let scan = format!("growth of the rows per sequential scan of {}", table.name);
    let rows = signal(&scan, |third| third.rows, ROWS_GROWTH, "pg_stat_user_tables")?;
    let time = signal(
        "growth of the time per call",
        |third| third.seconds,
        COST_GROWTH,
        "pg_stat_statements: times",
    );
    let blocks = signal(
        "growth of the blocks read per call",
        |third| third.blocks,
        COST_GROWTH,
        "pg_stat_statements: blocks",
    );
    let is_it = plan_scans(server, query, table).unwrap_or(blocks.is_some());
    let signals: Vec<Signal> = [Some(rows), time, blocks].into_iter().flatten().collect();
    (is_it && signals.len() >= 2).then_some(signals)
}

/// Whether the plan of a statement scans a table; `None` if no plan is known.
fn plan_scans(server: &Watched<'_>, query: &Query<'_>, table: &Table<'_>) -> Option<bool> {
    let nodes = plan::nodes(server.text("statement.plan", query.id)?);
    let bare = table.name.rsplit('.').next()?;
    let scans = |node: &Node| node.kind == "Seq Scan" && node.table.as_deref() == Some(bare);
    (!nodes.is_empty()).then(|| nodes.iter().any(scans))
}

/// The power of the rows as which the time per call grows; `None` where the figures do not say.
fn power(first: Third, last: Third) -> Option<f64> {
    let power = (last.seconds / first.seconds).ln() / (last.rows / first.rows).ln();
    Some(power).filter(|power| power.is_finite() && *power > 0.0)
}

/// How the time grows, and what that makes of ten times the rows; empty where something else can make calls slower.
fn outlook(first: Third, last: Third) -> String {
    let has_more_load = growth(first.load, last.load).is_none_or(|growth| growth >= LOAD_GROWTH);
    let is_slower = growth(first.seconds, last.seconds).is_some_and(|growth| growth >= COST_GROWTH);
    let power = power(first, last).filter(|power| is_slower && !has_more_load && *power <= POWER_MAX);
    power.map_or_else(String::new, |power| {
        format!(
            ", as the rows to the power of {}; with {} times the rows of the last third that makes {} (extrapolated, not \
             measured)",
            number(power),
            number(TIMES),
            seconds(last.seconds * TIMES.powf(power)),
        )
    })
}

fn draft(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    table: &Table<'_>,
    signals: Vec<Signal>,
    first: Third,
    last: Third,
) -> Draft {
    Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement scans {}, which grows: {} rows per scan in the first third of the run, {} in the last; a call took \
             {}, then {}{}",
            table.name,
            number(first.rows),
            number(last.rows),
            seconds(first.seconds),
            seconds(last.seconds),
            outlook(first, last),
        ),
        signals,
        remedy: Remedy::advice(
            "read fewer rows with an index for the condition, a limit or a total that is kept; or delete, archive or \
             partition what is old",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    }
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SeriesKind;
    use knee_core::outcome::Outcome;
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;
    use proptest::prelude::*;

    use super::{TIMES, Third, power};
    use crate::Confidence;
    use crate::testing::Scene;

    const ALL: &str = "SELECT id, state FROM orders";
    const SCAN: &str = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "orders", "Plan Rows": 9}}]"#;
    const LOOK_UP: &str =
        r#"[{"Plan": {"Node Type": "Index Scan", "Relation Name": "orders", "Plan Rows": 9}}]"#;
    const CALLS: f64 = 10.0;

    /// Seconds per call, and blocks per call, of so many rows.
    type Cost = fn(f64) -> f64;

    const LINEAR: Cost = |rows| rows * 1e-6;
    const STEADY: Cost = |_| 0.014;
    const FULL_BLOCKS: Cost = |rows| rows / 100.0;
    const FEW_BLOCKS: Cost = |_| 4.0;

    /// 30 seconds in which a statement scans a table ten times per second, which has so many rows in each of them.
    fn scanning(text: &str, rows: impl Fn(u64) -> f64 + Copy, time: Cost, blocks: Cost) -> Scene {
        let mut scene = Scene::sized(30, |_| 40, Curve::constant(4.0), |_, _, _| {});
        let server = scene.postgres();
        scene.counter(server, "statement.exec_time", "1", 0.000_5);
        scene.text(server, "statement.text", "2", text);
        scene.counter(server, "statement.calls", "2", CALLS);
        scene.counter(server, "statement.rows", "2", 20.0 * CALLS);
        scene.stepped(server, "statement.exec_time", "2", |second| CALLS * time(rows(second)));
        scene.stepped(server, "statement.blocks.hit", "2", |second| CALLS * blocks(rows(second)));
        scene.table(server, "public.orders", 1.0, [CALLS, 0.0], [0.0, 0.0]);
        scene.stepped(server, "table.seq_rows", "public.orders", |second| CALLS * rows(second));
        let levels = (0..=30).map(|second| (Nanos::from_secs(second), rows(second))).collect();
        scene.points(server, "table.live_rows", "public.orders", SeriesKind::Gauge, levels);
        scene
    }

    /// 14,500 rows as a mean of the first third, and 34,500 as that of the last.
    fn grows(second: u64) -> f64 {
        10_000.0 + 1_000.0 * second as f64
    }

    #[test]
    fn a_scan_of_a_table_that_grows_is_found_with_the_power_of_the_rows_and_what_ten_times_as_many_take() {
        let finding = scanning(ALL, grows, LINEAR, FULL_BLOCKS).found("table_growth").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Strong, ALL));
        assert_eq!(
            finding.statement,
            "a statement scans public.orders, which grows: 14,500 rows per scan in the first third of the run, 34,500 in \
             the last; a call took 14.5 ms, then 34.5 ms, as the rows to the power of 1; with 10 times the rows of the last \
             third that makes 345 ms (extrapolated, not measured)"
        );
    }

    #[test]
    fn a_time_that_varies_leaves_the_blocks_as_the_second_signal_and_nothing_is_extrapolated() {
        let finding = scanning(ALL, grows, STEADY, FULL_BLOCKS).found("table_growth").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(finding.evidence[1].what, "growth of the blocks read per call");
        assert!(finding.statement.ends_with("a call took 14.0 ms, then 14.0 ms"), "{}", finding.statement);
    }

    #[test]
    fn a_plan_says_which_statement_scans_and_without_one_the_blocks_must_grow() {
        let planned = |plan: Option<&str>, blocks: Cost| {
            let mut scene = scanning(ALL, grows, LINEAR, blocks);
            if let Some(plan) = plan {
                scene.text(0, "statement.plan", "2", plan);
            }
            scene.found("table_growth").map(|finding| finding.confidence)
        };
        assert_eq!(planned(Some(SCAN), FEW_BLOCKS), Some(Confidence::Likely));
        assert_eq!(planned(None, FEW_BLOCKS), None, "another statement can be what scans");
        assert_eq!(planned(Some(LOOK_UP), FULL_BLOCKS), None);
    }

    #[test]
    fn index_scans_a_rare_statement_and_what_inserts_the_rows_are_healthy() {
        let mut by_index = scanning(ALL, grows, LINEAR, FULL_BLOCKS);
        by_index.table(0, "public.orders", 20_000.0, [0.1, 2_000.0], [CALLS, 20.0 * CALLS]);
        assert_eq!(by_index.found("table_growth"), None);
        let mut rare = scanning(ALL, grows, LINEAR, FULL_BLOCKS);
        rare.counter(0, "statement.calls", "2", 0.3);
        assert_eq!(rare.found("table_growth"), None, "three calls in a third");
        let adds = "INSERT INTO orders (id, state) VALUES ($1, $2)";
        assert_eq!(scanning(adds, grows, LINEAR, FULL_BLOCKS).found("table_growth"), None);
    }

    #[test]
    fn a_time_that_grows_without_rows_and_one_that_stays_short_are_healthy() {
        let mut slower = scanning(ALL, |_| 20_000.0, STEADY, FULL_BLOCKS);
        slower.stepped(0, "statement.exec_time", "2", |second| CALLS * 0.001 * (10 + second) as f64);
        assert_eq!(slower.found("table_growth"), None);
        let short: Cost = |rows| rows * 2e-8;
        assert_eq!(scanning(ALL, grows, short, FULL_BLOCKS).found("table_growth"), None, "0.7 ms");
        let few = |second: u64| grows(second) / 50.0;
        let slow: Cost = |rows| rows * 1e-4;
        assert_eq!(scanning(ALL, few, slow, FULL_BLOCKS).found("table_growth"), None, "700 rows");
    }

    #[test]
    fn a_load_that_grows_with_the_table_leaves_the_power_unknown() {
        let mut scene = scanning(ALL, grows, LINEAR, FULL_BLOCKS);
        for (second, point) in (0..).zip(&mut scene.run.series) {
            point.by_outcome[Outcome::Ok as usize] += 2 * second;
        }
        let finding = scene.found("table_growth").unwrap();
        assert!(!finding.statement.contains("extrapolated"), "{}", finding.statement);
    }

    #[test]
    fn a_run_that_is_too_short_for_readings_of_tables_is_named_as_such() {
        let mut scene = scanning(ALL, grows, LINEAR, FULL_BLOCKS);
        for series in &mut scene.observations.series {
            if series.name.starts_with("table.") {
                series.points.retain(|(at, _)| *at == Nanos::ZERO || *at == Nanos::from_secs(30));
            }
        }
        assert!(scene.lacks("table_growth").unwrap().ends_with("it is too short"));
    }

    #[test]
    fn readings_of_tables_around_a_third_count_if_there_are_none_within_it() {
        let mut scene = scanning(ALL, grows, LINEAR, FULL_BLOCKS);
        scene.run.head.measured_from = Nanos::from_secs(1);
        for series in &mut scene.observations.series {
            if series.name.starts_with("table.") {
                series.points.retain(|(at, _)| [0, 15, 30].map(Nanos::from_secs).contains(at));
            }
        }
        let finding = scene.found("table_growth").unwrap();
        let rows = "17,000 rows per scan in the first third of the run, 32,000 in the last";
        assert!(finding.statement.contains(rows), "{}", finding.statement);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn the_power_of_the_rows_is_the_one_as_which_the_time_grows(
            rows in 100.0f64..1e7, times in 1.2f64..20.0, exponent in 0.2f64..3.0,
        ) {
            let of = |rows: f64| Third { rows, seconds: 1e-9 * rows.powf(exponent), blocks: 0.0, load: 0.0 };
            let power = power(of(rows), of(rows * times)).unwrap();
            prop_assert!((power - exponent).abs() < 1e-6, "{power}");
            let (measured, extrapolated) = (of(rows * TIMES).seconds, of(rows).seconds * TIMES.powf(power));
            prop_assert!((extrapolated / measured - 1.0).abs() < 1e-5);
        }

        #[test]
        fn a_scan_is_found_from_the_stated_growth_on_and_not_below_whatever_the_size(
            rows in 5_000.0f64..1e6, growth in 0.0f64..4.0,
        ) {
            // Along a line, the means of the first and of the last third lie two thirds of its growth apart.
            let line = move |second: u64| rows * (1.0 + growth * second as f64 / 30.0);
            let mean = |from: u64| (from..from + 10).map(line).sum::<f64>() / 10.0;
            let grown = mean(20) / mean(0) - 1.0;
            let found = scanning(ALL, line, LINEAR, FULL_BLOCKS).found("table_growth");
            prop_assume!((grown - 0.2).abs() > 1e-6);
            prop_assert_eq!(found.is_some(), grown > 0.2, "{}", grown);
        }
    }
}
