//! A statement of SQLite that scans a table from end to end, because no index serves its condition, its order or its
//! join.
//!
//! Needs the service to count this with `knee-sqlite`. It does not know how many rows a statement returned; what the
//! responses can hold says that it cannot have been all. How many rows a statement changed is not known either; there, its
//! time is the second signal. Where observers planned the statement on a copy of its database, the plan names the steps. A
//! plan is for any values, so it decides nothing. Proposes columns, and does not weigh what an index costs writes.

use std::collections::BTreeSet;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query;
use crate::sqlite::{self, Call, Page, SOURCE};

pub(super) const RULE: Rule = Rule {
    code: "sqlite_scan",
    finds: "a statement of SQLite that scans a table from end to end, or makes an index for each call",
    needs: "a page of metrics with those of the library `knee-sqlite`",
    limits: "a statement with 10 % of the time of all statements steps over 1,000 rows per call in scans from end to end, and over 0.2 rows per byte of the responses or, if it changes rows, takes 10 % of the mean response time; it has a condition, or sorts to return a page, and does not count, sum or group. Or it puts 1,000 rows per call into an automatic index, and takes 10 % of the mean response time. Two of them, or nothing. The steps of its plan that scan, sort or make an index are one signal more, if the file of the database is observed too",
    source: "A row takes 5 bytes of a response at least, also compressed: a statement that reads more rows than that does not return them. 1,000 rows are some dozen pages of the file, of which a search by an index reads two or three. SQLite makes automatic indexes where a scan per row would cost more, and forgets them when the statement ends.",
    cause: "No index begins with the column that is compared, ordered or joined, or a function stands around it, so each call reads the whole table, and its time grows with the table.",
    remedy: "Create an index on the columns that are compared, then those of the order; EXPLAIN QUERY PLAN says SEARCH instead of SCAN then. A function around a column needs an index on the same expression, or a condition without it. A pattern that begins with anything needs FTS5.",
    explains: &[],
    check,
};

const STEPS: f64 = 1_000.0;
const PER_BYTE: f64 = 0.2;
const INDEX_ROWS: f64 = 1_000.0;
const OF_RESPONSE: f64 = 0.1;
/// Most steps of a plan that are named.
const STEPS_NAMED: usize = 3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for page in sqlite::pages(evidence)? {
        drafts.extend(page.heavy(evidence).iter().filter_map(|call| scanning(evidence, &page, call)));
    }
    Ok(drafts)
}

fn scanning(evidence: &Evidence<'_>, page: &Page<'_>, call: &Call) -> Option<Draft> {
    let mean = evidence.response_mean().filter(|mean| *mean > 0.0)?;
    let per_byte = evidence.bytes_per_response().map(|bytes| call.scan_steps * call.per_request / bytes);
    let steps = Signal::at_least(
        "rows that each call steps over in scans from end to end",
        Unit::Count,
        Some(call.scan_steps).filter(|_| is_search(call)),
        STEPS,
        "the service: knee-sqlite, SQLITE_STMTSTATUS_FULLSCAN_STEP",
    );
    let unreturned = steps.as_ref().filter(|_| !changes(call)).and_then(|_| {
        Signal::at_least("such rows per byte of the responses", Unit::Count, per_byte, PER_BYTE, "the run")
    });
    let indexed = Signal::at_least(
        "rows that each call puts into an automatic index",
        Unit::Count,
        Some(call.index_rows),
        INDEX_ROWS,
        "the service: knee-sqlite, SQLITE_STMTSTATUS_AUTOINDEX",
    );
    let time = Signal::at_least(
        "time in the statement per response, of its time",
        Unit::Share,
        Some(call.seconds_per_request / mean),
        OF_RESPONSE,
        SOURCE,
    );
    // Rows that a statement changes are in no response.
    let is_scan = unreturned.is_some() || changes(call) && steps.is_some() && time.is_some();
    let is_found = is_scan || indexed.is_some() && time.is_some();
    let signals: Vec<Signal> =
        [steps.filter(|_| is_scan), unreturned, indexed, time, planned(call)].into_iter().flatten().collect();
    is_found.then(|| Draft {
        subject: page.subject(call),
        statement: said(call, is_scan),
        signals,
        remedy: remedy(call),
        gain: Gain::saves(
            Some(mean),
            Some(call.seconds_per_request),
            format!("the statement takes {} per response", seconds(call.seconds_per_request)),
        ),
    })
}

/// The steps of its plan that explain it: one more signal, which finds nothing by itself.
fn planned(call: &Call) -> Option<Signal> {
    let steps = costly(call);
    let names = named(&steps)?;
    Signal::at_least(
        format!("steps of its plan that read a whole table, sort or make an index: {names}"),
        Unit::Count,
        Some(steps.len() as f64),
        1.0,
        "EXPLAIN QUERY PLAN on a copy of the database",
    )
}

/// The steps of its plan that cost more the more rows there are.
fn costly(call: &Call) -> Vec<&str> {
    // What a subquery or a common table expression makes is no table, and has steps of its own.
    let is_made = |step: &str| {
        let scanned = step.strip_prefix("SCAN ");
        scanned.is_some_and(|name| call.plan.iter().any(|other| made(other) == Some(name)))
    };
    call.plan.iter().map(String::as_str).filter(|step| is_costly(step) && !is_made(step)).collect()
}

/// The name of what a step makes for the steps after it.
fn made(step: &str) -> Option<&str> {
    step.strip_prefix("CO-ROUTINE ").or_else(|| step.strip_prefix("MATERIALIZE "))
}

/// Whether a step reads a table from end to end, sorts, or makes an index for this call.
fn is_costly(step: &str) -> bool {
    // A virtual table is asked by what its module understands of a condition. What is in parentheses is no table.
    let is_table = |scanned: &str| {
        !(scanned.starts_with('(') || scanned.contains("CONSTANT ROW") || scanned.contains(" VIRTUAL TABLE "))
    };
    let is_scan = step.strip_prefix("SCAN ").is_some_and(is_table);
    is_scan || step.starts_with("USE TEMP B-TREE FOR ") || step.contains(" USING AUTOMATIC ")
}

/// The first steps in a row; `None` if there are none.
fn named(steps: &[&str]) -> Option<String> {
    let named = steps.iter().take(STEPS_NAMED).copied().collect::<Vec<_>>().join(", ");
    let others = steps.len().saturating_sub(STEPS_NAMED);
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{named}{more}"))
}

/// Whether it looks for some rows of many: those of a condition, or the first ones of an order.
fn is_search(call: &Call) -> bool {
    let statement = &call.statement;
    // Also a condition that is not understood, such as `date(at) = ?`: what it lets through is known by the responses.
    let compares = compares(call) || has(call, "where");
    let is_page = statement.limit && !statement.order.is_empty() && call.sorts > 0.0;
    (compares || is_page) && !query::condenses(&call.text)
}

/// Whether it compares columns with values, as far as its conditions are understood.
fn compares(call: &Call) -> bool {
    let statement = &call.statement;
    !(statement.equals.is_empty() && statement.ranges.is_empty() && statement.patterns.is_empty())
}

/// Whether it changes rows, and returns none of them.
fn changes(call: &Call) -> bool {
    call.statement.changes_rows() && !has(call, "returning")
}

/// Whether this word stands in its text, in letters of any case.
fn has(call: &Call, wanted: &str) -> bool {
    let mut words = call.text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| word.eq_ignore_ascii_case(wanted))
}

/// A scan whose rows can all be in the responses is not what is found.
fn said(call: &Call, is_scan: bool) -> String {
    let (rows, what) = if !is_scan || call.index_rows > call.scan_steps {
        (call.index_rows, "makes an index of")
    } else {
        (call.scan_steps, "scans")
    };
    let of = call.statement.tables.first().map_or_else(String::new, |table| format!(" of {table}"));
    let share = percent(call.time_share);
    let plan = named(&costly(call)).map_or_else(String::new, |steps| format!("; its plan has {steps}"));
    format!("a statement {what} {} rows{of} in each call, {share} of the time in SQLite{plan}", number(rows))
}

/// Columns for an index: those compared for equality, then a range or the order.
fn remedy(call: &Call) -> Remedy {
    let statement = &call.statement;
    let joined = "create an index on the columns by which the tables are joined and compared";
    let [table] = statement.tables.as_slice() else { return Remedy::advice(joined) };
    if has(call, "where") && !compares(call) {
        return Remedy::advice(format!(
            "create an index on {table} that serves the condition: on the expression if a function stands around \
             the column"
        ));
    }
    let mut columns: Vec<&str> = statement.equals.iter().map(|column| column.name.as_str()).collect();
    let range = statement.ranges.first().map(|column| column.name.as_str());
    let order = statement.order.iter().map(|ordered| ordered.column.name.as_str());
    match range {
        Some(range) => columns.push(range),
        None => columns.extend(order),
    }
    let mut seen = BTreeSet::new();
    columns.retain(|column| seen.insert(*column));
    if columns.is_empty() && statement.patterns.is_empty() {
        // A table that is joined with itself.
        return Remedy::advice(joined);
    }
    if columns.is_empty() {
        return Remedy::advice(format!("search {table} with a full-text index (FTS5) instead of a pattern"));
    }
    Remedy::advice(format!("create an index on {table} ({})", columns.join(", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::Scene;
    use crate::{Confidence, Finding};

    const FIND: &str = "SELECT title FROM posts WHERE author = ? ORDER BY id DESC LIMIT ?";

    /// A statement with each response: its time in seconds, and the rows that it steps over.
    fn scanning(text: &str, seconds: f64, steps: f64) -> Scene {
        let mut scene = Scene::steady();
        let page = scene.sqlite_page();
        scene.sqlite_statement(page, text, 1.0, seconds, steps);
        scene
    }

    fn found(text: &str, seconds: f64, steps: f64) -> Option<Finding> {
        scanning(text, seconds, steps).found("sqlite_scan")
    }

    #[test]
    fn a_search_that_scans_a_table_is_found_with_the_columns_of_an_index() {
        let finding = found(FIND, 0.002, 20_000.0).unwrap();
        assert_eq!((finding.evidence.len(), finding.confidence), (3, Confidence::Strong));
        assert_eq!(finding.subject.name, FIND);
        assert_eq!(finding.remedy.to_string(), "create an index on posts (author, id)");
        assert!(
            finding.statement.starts_with("a statement scans 20,000 rows of posts"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn a_service_that_computes_because_of_its_scans_is_described_by_them_and_another_by_both() {
        let codes = |seconds: f64| -> Vec<&str> {
            let mut scene = Scene::with(|sample, _, _| sample.wait = 0.008);
            let page = scene.sqlite_page();
            scene.sqlite_statement(page, FIND, 1.0, seconds, 20_000.0);
            let host = scene.host(16.0);
            scene.busy_host(host, 0.4);
            let process = scene.process("shop (pid 7)");
            scene.counter(process, "process.cpu.user", "", 6_000.0 * 0.001);
            scene.counter(process, "process.cpu.system", "", 0.01);
            scene.report().findings.iter().map(|finding| finding.code).collect()
        };
        assert_eq!(codes(0.005), ["sqlite_scan"]);
        assert_eq!(codes(0.001), ["cpu_per_request", "sqlite_scan"]);
    }

    #[test]
    fn the_plan_of_a_copy_names_the_steps_as_one_signal_more_and_finds_nothing_by_itself() {
        let mut scene = scanning(FIND, 0.002, 20_000.0);
        let label = format!("statement=\"{FIND}\"");
        scene.text(0, "statement.plan", &label, "SCAN posts\nUSE TEMP B-TREE FOR ORDER BY");
        let finding = scene.found("sqlite_scan").unwrap();
        let steps = "SCAN posts, USE TEMP B-TREE FOR ORDER BY";
        assert!(finding.statement.ends_with(&format!("; its plan has {steps}")), "{}", finding.statement);
        assert_eq!(finding.evidence.len(), 4);
        let signal = finding.evidence.last().unwrap();
        assert!(signal.what.ends_with(steps) && (signal.figure - 2.0).abs() < 1e-9, "{signal:?}");
        let mut small = scanning(FIND, 0.000_05, 120.0);
        small.text(0, "statement.plan", &label, "SCAN posts");
        assert_eq!(small.found("sqlite_scan"), None, "a small table");
    }

    #[test]
    fn a_plan_of_searches_and_scans_of_what_is_no_table_names_nothing() {
        let mut scene = scanning(FIND, 0.002, 20_000.0);
        let plan = "SEARCH posts USING INDEX by_author (author=?)\nSCAN (subquery-1)\nSCAN 2 CONSTANT ROWS\n\
                    CO-ROUTINE newest\nSCAN newest\n\
                    SCAN words VIRTUAL TABLE INDEX 0:M1";
        scene.text(0, "statement.plan", &format!("statement=\"{FIND}\""), plan);
        let finding = scene.found("sqlite_scan").unwrap();
        assert_eq!(finding.evidence.len(), 3, "{:?}", finding.evidence);
        assert!(!finding.statement.contains("plan"), "{}", finding.statement);
    }

    #[test]
    fn an_automatic_index_is_named_by_the_step_that_makes_it() {
        let join = "SELECT p.title FROM posts p JOIN users u ON p.author = u.id";
        let mut scene = scanning(join, 0.002, 0.0);
        let label = format!("statement=\"{join}\"");
        scene.counter(0, "prometheus.knee_sqlite_statement_autoindex_rows_total", &label, 5_000.0 * 1_000.0);
        let step = "SEARCH u USING AUTOMATIC COVERING INDEX (id=?)";
        scene.text(0, "statement.plan", &label, &format!("SCAN p\n{step}"));
        let finding = scene.found("sqlite_scan").unwrap();
        assert!(
            finding.statement.ends_with(&format!("; its plan has SCAN p, {step}")),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn a_pattern_needs_another_index_and_a_join_that_of_its_columns() {
        let finding = found("SELECT id FROM posts WHERE title LIKE ?", 0.002, 20_000.0).unwrap();
        assert!(finding.remedy.to_string().contains("FTS5"), "{}", finding.remedy);
        let join = "SELECT p.title FROM posts p JOIN users u ON p.author = u.id";
        let mut scene = scanning(join, 0.002, 0.0);
        let label = format!("statement=\"{join}\"");
        scene.counter(0, "prometheus.knee_sqlite_statement_autoindex_rows_total", &label, 5_000.0 * 1_000.0);
        let finding = scene.found("sqlite_scan").unwrap();
        assert!(
            finding.statement.starts_with("a statement makes an index of 5,000 rows"),
            "{}",
            finding.statement
        );
        assert_eq!(finding.evidence.len(), 2);
    }

    #[test]
    fn a_count_that_reads_all_rows_on_purpose_is_found_by_the_index_that_it_makes() {
        let join = "SELECT count(*) FROM posts p JOIN users u ON p.author = u.id";
        let mut scene = scanning(join, 0.002, 20_000.0);
        let label = format!("statement=\"{join}\"");
        scene.counter(0, "prometheus.knee_sqlite_statement_autoindex_rows_total", &label, 5_000.0 * 1_000.0);
        let finding = scene.found("sqlite_scan").unwrap();
        assert!(
            finding.statement.starts_with("a statement makes an index of 5,000 rows"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn searches_by_an_index_small_tables_and_statements_that_need_all_rows_are_healthy() {
        assert_eq!(found(FIND, 0.000_02, 0.0), None);
        assert_eq!(found(FIND, 0.000_05, 120.0), None, "a small table");
        assert_eq!(found("SELECT id, title FROM posts", 0.002, 20_000.0), None, "all rows are asked for");
        assert_eq!(found("SELECT count(*) FROM posts WHERE author = ?", 0.002, 20_000.0), None);
        assert_eq!(found("SELECT id FROM posts ORDER BY id LIMIT ? OFFSET ?", 0.002, 20_000.0), None);
        let mut rare = scanning(FIND, 0.000_1, 20_000.0);
        rare.sqlite_statement(0, "SELECT name FROM users WHERE id = ?", 50.0, 0.000_1, 0.0);
        assert_eq!(rare.found("sqlite_scan"), None, "2 % of the time in SQLite");
    }

    #[test]
    fn a_function_around_the_column_needs_an_index_on_the_expression() {
        let finding = found("SELECT id FROM posts WHERE lower(title) = ?", 0.002, 20_000.0).unwrap();
        assert!(finding.remedy.to_string().contains("on the expression"), "{}", finding.remedy);
        let page = "SELECT id FROM posts WHERE lower(title) = ? ORDER BY id LIMIT ?";
        let finding = found(page, 0.002, 20_000.0).unwrap();
        assert!(
            finding.remedy.to_string().contains("on the expression"),
            "not on the order: {}",
            finding.remedy
        );
        assert_eq!(found("SELECT id, where_bought FROM posts", 0.002, 20_000.0), None, "no condition");
    }

    #[test]
    fn a_deletion_that_scans_is_found_by_its_time_and_one_in_the_background_is_not() {
        let purge = "DELETE FROM posts WHERE datetime(at, ?) < datetime(?)";
        let finding = found(purge, 0.002, 20_000.0).unwrap();
        assert_eq!((finding.evidence.len(), finding.subject.name.as_str()), (2, purge));
        let mut seldom = scanning(purge, 0.000_000_1, 0.0);
        seldom.sqlite_statement(0, purge, 0.000_1, 0.09, 20_000.0);
        assert_eq!(seldom.found("sqlite_scan"), None, "0.2 % of the response time");
        assert_eq!(found("UPDATE posts SET seen = ?", 0.002, 20_000.0), None, "all rows are meant");
        let taken = "DELETE FROM posts WHERE author = ? RETURNING title";
        assert_eq!(
            found(taken, 0.002, 20_000.0).unwrap().evidence.len(),
            3,
            "the responses cannot hold them"
        );
        let mut scene = Scene::with(|sample, _, _| sample.body = 200_000);
        let page = scene.sqlite_page();
        scene.sqlite_statement(page, taken, 1.0, 0.002, 20_000.0);
        assert_eq!(scene.found("sqlite_scan"), None, "they can be in the responses");
    }

    #[test]
    fn rows_that_the_responses_can_hold_can_have_been_returned() {
        let mut scene = Scene::with(|sample, _, _| sample.body = 200_000);
        let page = scene.sqlite_page();
        scene.sqlite_statement(page, FIND, 1.0, 0.002, 20_000.0);
        assert_eq!(scene.found("sqlite_scan"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

        /// More rows never hide a finding, and fewer than the limit never make one.
        #[test]
        fn a_finding_needs_a_thousand_rows(steps in 0.0f64..100_000.0) {
            let is_found = found(FIND, 0.002, steps).is_some();
            if steps < 999.0 {
                prop_assert!(!is_found, "{steps}");
            }
            if steps > 1_001.0 {
                prop_assert!(is_found, "{steps}");
            }
        }
    }
}
