//! One statement many times per request: N + 1 queries.
//!
//! Needs the statements of a PostgreSQL server.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query;

pub(super) const RULE: Rule = Rule {
    code: "many_statements",
    finds: "one short statement many times per request (N + 1)",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "5 calls of one statement per response, of 1 ms each at most; 5 scans of its table per response",
    source: "A page needs a handful of statements. With five of the same, a loop stands around it.",
    cause: "Each row of a list is completed by a statement of its own, each with a round trip.",
    remedy: "Read them together: a join, `= ANY($1)`, or the eager loading of the ORM.",
    explains: &["many_commits"],
    check,
};

const CALLS: f64 = 5.0;
const SCANS: f64 = 5.0;
/// Seconds.
const SHORT: f64 = 0.001;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let often = queries.iter().filter(|query| {
            query.per_request >= CALLS && query.seconds < SHORT && query.statement.verb == "select"
        });
        for query in often {
            let Some(named) = query.statement.tables.first() else { continue };
            let scans = query::table(&server, named).and_then(|table| {
                let per_second = table.seq_scans + table.index_scans;
                evidence.throughput().map(|throughput| per_second / throughput)
            });
            let signals = [
                Signal::at_least(
                    "calls per response",
                    Unit::Count,
                    Some(query.per_request),
                    CALLS,
                    "pg_stat_statements",
                ),
                Signal::at_least(
                    format!("scans of {named} per response"),
                    Unit::Count,
                    scans,
                    SCANS,
                    "pg_stat_user_tables",
                ),
            ];
            let saved = query.seconds_per_request() * (1.0 - 1.0 / query.per_request);
            drafts.push(Draft {
                subject: query.subject(&server),
                statement: format!(
                    "each request executes the same statement on {named} {} times, {} in all without round trips",
                    number(query.per_request),
                    seconds(query.seconds_per_request())
                ),
                signals: signals.into_iter().flatten().collect(),
                remedy: Remedy::advice("read the rows together: a join, `= ANY($1)`, or the eager loading of the ORM"),
                gain: Gain::saves(
                    evidence.response_mean(),
                    Some(saved),
                    "all but one of these executions; their round trips come on top",
                ),
            });
        }
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    fn called(times: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "SELECT name FROM authors WHERE id = $1";
        scene.statement(server, "2", text, &Costs { per_request: times, ..Costs::default() });
        scene.table(server, "public.authors", 5_000.0, [0.0, 0.0], [1_000.0 * times, 1_000.0 * times]);
        scene
    }

    #[test]
    fn twenty_authors_of_a_page_are_found_and_three_lookups_are_not() {
        let finding = called(20.0).found("many_statements").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("on authors 20 times"), "{}", finding.statement);
        assert_eq!(called(3.0).found("many_statements"), None);
    }
}
