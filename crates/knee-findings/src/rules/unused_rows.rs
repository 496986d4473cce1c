//! Rows that a statement returns for each request, and that are not in its response: a page that is cut out of all rows in
//! the service, a sum or a filter in its code.
//!
//! Needs the statements of a PostgreSQL server. Does not know what the service does with the rows.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::lack::Lack;
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "unused_rows",
    finds: "rows that a statement returns for each request and that cannot be in the response",
    needs: "a PostgreSQL server with pg_stat_statements, and 50 responses",
    limits: "a SELECT with 10 % of the execution time is called for every second response at least, and returns 500 rows per call and per response; responses have at most one byte of body for each of these rows. Both, or nothing",
    source: "A row that is sent has more than one byte: its commas and quotes alone take more, also in a compressed text. 500 rows per call are what drivers and mappers take for a long list.",
    cause: "The service reads all rows and takes a page, a few of them, or a sum: a paginator that cuts a list, a filter or an aggregate in code, a lazy collection whose length is asked for.",
    remedy: "Let the database do it: LIMIT, WHERE, count, sum.",
    explains: &["cpu_per_request"],
    check,
};

const RESPONSES_MIN: u64 = 50;
/// Calls per response: what is called less can be the work of a timer.
const CALLS: f64 = 0.5;
const ROWS: f64 = 500.0;
const BYTES_PER_ROW: f64 = 1.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    let answered = evidence.answered();
    if answered < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let body = evidence.all().bytes_body as f64 / answered as f64;
    Ok(servers.iter().filter_map(|(server, queries)| unused(evidence, server, queries, body)).collect())
}

fn unused(evidence: &Evidence<'_>, server: &Watched<'_>, queries: &[Query<'_>], body: f64) -> Option<Draft> {
    let lists = query::heavy(queries)
        .filter(|query| query.only_reads() && query.per_request >= CALLS && query.rows >= ROWS);
    let most = lists.max_by(|one, other| per_response(one).total_cmp(&per_response(other)))?;
    unsent(evidence, server, most, body)
}

/// The rows that a statement returns per response.
fn per_response(query: &Query<'_>) -> f64 {
    query.rows * query.per_request
}

fn unsent(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, body: f64) -> Option<Draft> {
    let rows = per_response(query);
    let returned =
        Signal::at_least("rows returned per response", Unit::Count, Some(rows), ROWS, "pg_stat_statements")?;
    let sent = Signal::at_most(
        "bytes of body per row that was returned",
        Unit::Bytes,
        Some(body / rows),
        BYTES_PER_ROW,
        "the run: bytes",
    )?;
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement returns {} rows per response, and a response has {} bytes: most of what is read is not sent",
            number(rows),
            number(body)
        ),
        signals: vec![returned, sent],
        remedy: Remedy::advice("let the database choose or add up the rows: LIMIT, WHERE, count, sum"),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            "the time of this statement, without that in which the service reads its rows",
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    /// Responses of so many bytes, for which a statement returns so many rows and is called so often.
    fn reads(body: u64, rows: f64, per_request: f64) -> Scene {
        let mut scene = Scene::with(move |sample, _, _| sample.body = body);
        let server = scene.postgres();
        let text = "SELECT id, title FROM mailings WHERE list = $1 ORDER BY id";
        let costs = Costs { per_request, seconds: 0.004, rows, ..Costs::default() };
        scene.statement(server, "7", text, &costs);
        scene
    }

    #[test]
    fn a_page_that_is_cut_out_of_all_rows_is_found() {
        let finding = reads(900, 5_000.0, 1.0).found("unused_rows").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        let says = "a statement returns 5,000 rows per response, and a response has 900 bytes: most of what is read is not \
                    sent";
        assert_eq!(finding.statement, says);
        assert!(finding.gain.unwrap().share() > 0.3);
    }

    #[test]
    fn a_list_that_is_sent_and_a_short_one_are_healthy() {
        assert_eq!(
            reads(5_200, 5_000.0, 1.0).found("unused_rows"),
            None,
            "a byte per row can be a compressed list"
        );
        assert!(reads(4_900, 5_000.0, 1.0).found("unused_rows").is_some());
        assert_eq!(reads(100, 499.0, 1.0).found("unused_rows"), None);
    }

    #[test]
    fn what_a_timer_reads_beside_the_requests_is_healthy() {
        assert_eq!(reads(900, 50_000.0, 0.4).found("unused_rows"), None);
        assert!(reads(900, 50_000.0, 0.6).found("unused_rows").is_some());
    }

    #[test]
    fn a_statement_that_returns_one_row_each_of_many_times_is_that_of_another_rule() {
        assert_eq!(reads(900, 1.0, 2_000.0).found("unused_rows"), None);
    }

    #[test]
    fn without_statements_it_cannot_say() {
        assert!(Scene::steady().lacks("unused_rows").is_some());
    }
}
