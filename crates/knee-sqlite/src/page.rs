//! The counts as a page of metrics, in the text format of Prometheus, version 0.0.4.
//!
//! Figures of the whole come first, because a reader can have a limit of series. Does not serve the page. Source of the
//! format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write as _;

use crate::connections::Sum;
use crate::counts::Work;

/// The page.
pub(crate) fn of(sum: &Sum) -> String {
    let mut page = Page::default();
    page.totals(sum);
    page.connections(sum);
    let statements: Vec<(String, &Work)> =
        sum.counts.by_text(&sum.texts).map(|(text, work)| (escaped(text), work)).collect();
    page.statements(&statements);
    page.0
}

/// What a family of samples shows of the work of a statement.
type Figure = fn(&Work) -> f64;

#[derive(Default)]
struct Page(String);

impl Page {
    fn totals(&mut self, sum: &Sum) {
        let locks = &sum.counts.locks;
        self.begin("connections", "gauge", "Open connections that are watched.");
        self.sample("connections", "", sum.open as f64);
        for (name, help, value) in [
            ("busy_total", "Statements that found a lock held by another connection.", locks.busy as f64),
            ("busy_wait_seconds_total", "Time that they waited for it.", locks.wait.as_secs_f64()),
            ("busy_timeouts_total", "Waits that reached their limit: SQLITE_BUSY.", locks.timeouts as f64),
            (
                "busy_timeout_wait_seconds_total",
                "Time that these had waited.",
                locks.timeout_wait.as_secs_f64(),
            ),
            ("write_transactions_total", "Transactions that held the write lock.", locks.writes as f64),
            ("write_seconds_total", "Time that they held it.", locks.write_time.as_secs_f64()),
            ("upgrades_total", "Transactions that read first and then wrote.", locks.upgrades as f64),
            (
                "upgrades_refused_total",
                "Those whose first write was refused at once.",
                locks.upgrades_refused as f64,
            ),
            (
                "upgrades_rolled_back_total",
                "Those that ended with ROLLBACK.",
                locks.upgrades_rolled_back as f64,
            ),
        ] {
            self.begin(name, "counter", help);
            self.sample(name, "", value);
        }
    }

    fn connections(&mut self, sum: &Sum) {
        let label = |connection: &dyn std::fmt::Display| format!("{{connection=\"{connection}\"}}");
        self.begin("connection_calls_total", "counter", "Statements that ended, by connection.");
        for (connection, load) in sum.by_connection() {
            self.sample("connection_calls_total", &label(&connection), load.calls as f64);
        }
        self.begin("connection_seconds_total", "counter", "Time from their first step to their last.");
        for (connection, load) in sum.by_connection() {
            self.sample("connection_seconds_total", &label(&connection), load.time.as_secs_f64());
        }
    }

    fn statements(&mut self, statements: &[(String, &Work)]) {
        let families: [(&str, &str, Figure); 5] = [
            ("statement_calls_total", "Statements that ended.", |work| work.calls as f64),
            ("statement_seconds_total", "Time from their first step to their last.", |work| {
                work.time.as_secs_f64()
            }),
            ("statement_fullscan_steps_total", "Rows that they stepped over in full scans.", |work| {
                work.scan_steps as f64
            }),
            ("statement_sorts_total", "Sorts.", |work| work.sorts as f64),
            ("statement_autoindex_rows_total", "Rows put into automatic indexes.", |work| {
                work.index_rows as f64
            }),
        ];
        for (place, (name, help, value)) in families.into_iter().enumerate() {
            self.begin(name, "counter", help);
            // Few statements scan or sort: the others would be half of the page. All have calls and a time.
            let shown = statements.iter().filter(|(_, work)| place < 2 || value(work) > 0.0);
            for (text, work) in shown {
                self.sample(name, &format!("{{statement=\"{text}\"}}"), value(work));
            }
        }
    }

    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        // Writing into a String cannot fail.
        let _ = writeln!(self.0, "# HELP knee_sqlite_{name} {help}\n# TYPE knee_sqlite_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.0, "knee_sqlite_{name}{labels} {value}");
    }
}

/// A text between the quotes of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::counts::Counts;
    use crate::counts::Load;

    #[test]
    fn a_page_has_totals_first_and_only_the_scans_and_sorts_that_there_were() {
        let mut counts = Counts::default();
        counts.add_pause(true, Duration::from_millis(1_500));
        let work = Work { calls: 3, time: Duration::from_millis(20), ..Work::default() };
        counts.add_work(1, &work);
        counts.add_work(2, &Work { scan_steps: 700, ..work });
        let texts = ["SELECT \"a\\b\"", "SELECT c FROM d"].map(Arc::<str>::from).to_vec();
        let used = vec![Load::default(), Load { calls: 6, time: Duration::from_millis(40) }];
        let page = of(&Sum { open: 2, counts, texts, used });
        for line in [
            "knee_sqlite_connections 2",
            "# TYPE knee_sqlite_busy_total counter",
            "knee_sqlite_busy_total 1",
            "knee_sqlite_busy_wait_seconds_total 1.5",
            r#"knee_sqlite_connection_calls_total{connection="2"} 6"#,
            r#"knee_sqlite_connection_seconds_total{connection="2"} 0.04"#,
            r#"knee_sqlite_statement_calls_total{statement="SELECT \"a\\b\""} 3"#,
            r#"knee_sqlite_statement_seconds_total{statement="SELECT c FROM d"} 0.02"#,
            r#"knee_sqlite_statement_fullscan_steps_total{statement="SELECT c FROM d"} 700"#,
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in:\n{page}");
        }
        assert_eq!(page.matches("fullscan_steps_total{").count(), 1);
        assert!(!page.contains("sorts_total{"));
        assert_eq!(page.matches("connection_calls_total{").count(), 1, "the other one was not used");
    }
}
