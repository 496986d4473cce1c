//! What the SQLite connections of a service did, as `knee-sqlite` shows it on a page of metrics.
//!
//! Calculates, and judges nothing. Reads no file of SQLite; observers of files have their own figures.

use knee_core::observation::{SourceKind, sqlite_statement};

use crate::evidence::Evidence;
use crate::finding::{Subject, SubjectKind};
use crate::lack::Lack;
use crate::statement::{self, Statement};
use crate::watched::{Rise, Watched};

/// Where the figures come from.
pub(crate) const SOURCE: &str = "the service: knee-sqlite";

/// A statement below this share of the time of all statements is not looked at, as with PostgreSQL.
pub(crate) const TIME_SHARE: f64 = 0.1;

const CONNECTION_CALLS: &str = "connection_calls_total";
const CONNECTION_SECONDS: &str = "connection_seconds_total";
const CALLS: &str = "statement_calls_total";
const SECONDS: &str = "statement_seconds_total";
const SCAN_STEPS: &str = "statement_fullscan_steps_total";
const SORTS: &str = "statement_sorts_total";
const INDEX_ROWS: &str = "statement_autoindex_rows_total";

/// The name of a figure as the observer of pages has it.
fn series(name: &str) -> String {
    format!("prometheus.knee_sqlite_{name}")
}

/// The page of one service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a>(Watched<'a>);

/// One statement during the measured time; figures are per call unless they say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// With literals masked.
    pub text: String,
    pub statement: Statement,
    /// Calls per complete response of the load.
    pub per_request: f64,
    /// Time per complete response, in seconds.
    pub seconds_per_request: f64,
    /// Share of the time of all statements, 0 to 1.
    pub time_share: f64,
    /// Rows that it stepped over in scans from end to end.
    pub scan_steps: f64,
    pub sorts: f64,
    /// Rows that it put into automatic indexes.
    pub index_rows: f64,
    /// The steps of its plan on a copy of the database; none without a plan.
    pub plan: Vec<String>,
}

/// How the service used one connection, or those that had its number one after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// Statements that ended, per complete response of the load.
    pub per_request: f64,
    /// Share of the time in which it ran one, 0 to 1.
    pub busy: f64,
}

/// The observed pages that have figures of SQLite, at least one.
///
/// # Errors
/// No page is observed, or none has them.
pub(crate) fn pages<'s>(evidence: &'s Evidence<'_>) -> Result<Vec<Page<'s>>, Lack> {
    let pages = evidence.needed(SourceKind::Prometheus)?.into_iter().map(Page);
    let pages: Vec<_> = pages.filter(|page| page.0.series(&series("busy_total"), "").is_some()).collect();
    if pages.is_empty() {
        return Err(Lack::of("a page of metrics with those of the library knee-sqlite"));
    }
    Ok(pages)
}

impl<'a> Page<'a> {
    /// How much a counter rose that has no label.
    pub(crate) fn rise(&self, name: &str) -> Option<Rise> {
        self.0.rise(&series(name), "")
    }

    /// How much it rose per second.
    pub(crate) fn per_second(&self, name: &str) -> Option<f64> {
        self.rise(name)?.per_second()
    }

    /// The connections on which statements ended; `None` if the page does not count that.
    pub(crate) fn used(&self, evidence: &Evidence<'_>) -> Option<Vec<Used>> {
        let all = self.0.rises(&series(CONNECTION_CALLS));
        let used = all.iter().filter(|(_, calls)| calls.amount > 0.0).filter_map(|(label, calls)| {
            let seconds = self.0.rise(&series(CONNECTION_SECONDS), label)?;
            Some(Used { per_request: evidence.per_request(*calls)?, busy: seconds.per_second()? })
        });
        (!all.is_empty()).then(|| used.collect())
    }

    /// How it is called in reports.
    pub(crate) fn name(&self) -> &'a str {
        &self.0.source.name
    }

    /// The statements that take some of the time of all, the most expensive first.
    pub(crate) fn heavy(&self, evidence: &Evidence<'_>) -> Vec<Call> {
        let times = self.0.rises(&series(SECONDS));
        let all: f64 = times.iter().map(|(_, rise)| rise.amount).sum();
        let calls = times.iter().filter_map(|(label, time)| {
            let time_share = Some(time.amount / all).filter(|share| *share >= TIME_SHARE)?;
            let calls = self.0.rise(&series(CALLS), label).filter(|calls| calls.amount >= 1.0)?;
            let per_call =
                |name: &str| self.0.rise(&series(name), label).map_or(0.0, |rise| rise.amount) / calls.amount;
            let text = sqlite_statement(label)?;
            let plan = self.0.text("statement.plan", label).unwrap_or_default();
            Some(Call {
                statement: statement::read(&text),
                per_request: evidence.per_request(calls)?,
                seconds_per_request: evidence.per_request(*time)?,
                time_share,
                scan_steps: per_call(SCAN_STEPS),
                sorts: per_call(SORTS),
                index_rows: per_call(INDEX_ROWS),
                plan: plan.lines().map(|step| step.trim_start().to_owned()).collect(),
                text,
            })
        });
        calls.collect()
    }

    /// A statement as the subject of a finding.
    pub(crate) fn subject(&self, call: &Call) -> Subject {
        Subject::of(SubjectKind::Statement, call.text.as_str(), Some(self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RATE, Scene};

    #[test]
    fn a_statement_has_its_figures_per_call_and_small_ones_are_left_out() {
        let mut scene = Scene::steady();
        let page = scene.sqlite_page();
        scene.sqlite_statement(page, "SELECT title FROM posts WHERE author = ?", 2.0, 0.001, 700.0);
        scene.sqlite_statement(page, "SELECT ?", 1.0, 0.000_001, 0.0);
        let (run, observations) = scene.finish();
        let evidence = Evidence::of(&run, &observations);
        let pages = pages(&evidence).unwrap();
        let heavy = pages[0].heavy(&evidence);
        assert_eq!(heavy.len(), 1, "{heavy:?}");
        let call = &heavy[0];
        assert!((call.per_request - 2.0).abs() < 0.01 && (call.scan_steps - 700.0).abs() < 0.01, "{call:?}");
        assert!((call.seconds_per_request - 0.002).abs() < 1e-5, "{call:?}");
        assert_eq!(call.statement.tables, ["posts"]);
    }

    #[test]
    fn connections_are_used_as_much_as_their_statements_say_and_unused_ones_are_left_out() {
        let mut scene = Scene::steady();
        let page = scene.sqlite_page();
        scene.sqlite_connection(page, "1", 0.5, 0.001);
        scene.sqlite_connection(page, "2", 0.0, 0.0);
        let (run, observations) = scene.finish();
        let evidence = Evidence::of(&run, &observations);
        let pages = pages(&evidence).unwrap();
        let used = pages[0].used(&evidence).unwrap();
        assert_eq!(used.len(), 1, "{used:?}");
        assert!((used[0].per_request - 0.5).abs() < 0.01 && (used[0].busy - 0.5).abs() < 0.01, "{used:?}");
    }

    #[test]
    fn a_page_of_other_metrics_is_lacking_those_of_sqlite() {
        let mut scene = Scene::steady();
        let page = scene.source(SourceKind::Prometheus, "http://127.0.0.1/metrics");
        scene.counter(page, "prometheus.http_requests_total", "", RATE as f64);
        let lacks = scene.lacks("sqlite_busy").unwrap();
        assert_eq!(lacks, "a page of metrics with those of the library knee-sqlite");
    }
}
