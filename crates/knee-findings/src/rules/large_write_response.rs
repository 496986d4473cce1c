//! Requests that change something and get much more back than they sent.
//!
//! Needs sampled responses; that a statement gives the rows back is the second signal. Does not look at what readers ask
//! for.

use knee_core::sampled::Looks;

use super::no_compression::SAMPLED_MIN;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::query;

pub(super) const RULE: Rule = Rule {
    code: "large_write_response",
    finds: "writes whose responses are much larger than their requests",
    needs: "20 sampled responses to PUT, PATCH or POST; a PostgreSQL server with pg_stat_statements for more than a hint, and for POST at all",
    limits: "the mean response of an endpoint has 8 KiB, and 4 times what its request sent; a write with `RETURNING *`, or of 5 columns, runs for half of all responses",
    source: "The client has what it wrote. 8 KiB are more than a confirmation needs, and a value of more than 2 KiB lies outside of its row and is read for the response (PostgreSQL documentation, TOAST).",
    cause: "The service, or its ORM, reads the whole row back (`RETURNING *`) and sends it.",
    remedy: "Return what changed: the key, a version, computed columns. `Prefer: return=minimal` (RFC 7240) lets the client say so.",
    explains: &[],
    check,
};

const BODY: f64 = 8_192.0;
const TIMES: f64 = 4.0;
const CALLS: f64 = 0.5;
const COLUMNS: usize = 5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let endpoints = &evidence.sampled()?.endpoints;
    let calls = Signal::at_least(
        "writes that return whole rows per response",
        Unit::Count,
        returning(evidence),
        CALLS,
        "pg_stat_statements",
    );
    let large = endpoints.iter().filter_map(|(id, looks)| {
        // A POST can be a question.
        let is_write = looks.writes > 0 || calls.is_some();
        Some((evidence.endpoint_name(*id), body_of_writes(looks).filter(|_| is_write)?))
    });
    let largest = large.max_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((name, body)) = largest else { return Ok(Vec::new()) };
    let bodies = Signal::at_least(
        "mean response to a write",
        Unit::Bytes,
        Some(body),
        BODY,
        "the run: sampled responses",
    );
    Ok(vec![Draft {
        subject: Subject::of(SubjectKind::Endpoint, name, None),
        statement: format!("each write gets {} KiB back, much more than it sent", number(body / 1024.0)),
        signals: [bodies, calls].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "return only what the client does not have: the key, a version, computed columns",
        ),
        gain: None,
    }])
}

/// The mean body of the responses of an endpoint that only writes, if it is large.
fn body_of_writes(looks: &Looks) -> Option<f64> {
    let mean = |bytes: u64| bytes as f64 / looks.responses as f64;
    let (body, sent) = (mean(looks.body_bytes), mean(looks.sent_bytes));
    let writes = looks.writes.saturating_add(looks.posts);
    (writes >= SAMPLED_MIN && writes == looks.responses && body >= BODY && body >= TIMES * sent)
        .then_some(body)
}

/// How often a write that returns whole rows runs per response; `None` if no server is observed.
fn returning(evidence: &Evidence<'_>) -> Option<f64> {
    let servers = query::servers(evidence).ok()?;
    let queries = servers.iter().flat_map(|(_, queries)| queries);
    let returning = queries.filter(|query| {
        ["insert", "update", "merge"].contains(&query.statement.verb.as_str()) && returns_rows(query.text)
    });
    returning.map(|query| query.per_request).reduce(f64::max)
}

/// Whether a statement ends in RETURNING with all columns, or with many.
fn returns_rows(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some((_, columns)) = lower.rsplit_once("returning") else { return false };
    columns.contains('*') || columns.matches(',').count() + 1 >= COLUMNS
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;

    use super::*;
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    const UPDATE: &str = "UPDATE documents SET changes = changes + $1 WHERE id = $2 RETURNING *";

    fn writes(body: u64, sent: u64) -> Scene {
        let mut scene = Scene::steady();
        let (body_bytes, sent_bytes) = (40 * body, 40 * sent);
        let looks = Looks { responses: 40, writes: 40, body_bytes, sent_bytes, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
        scene
    }

    #[test]
    fn a_write_that_gives_back_the_whole_document_is_found_with_the_statement_that_reads_it() {
        let mut scene = writes(60_000, 0);
        assert_eq!(scene.found("large_write_response").unwrap().confidence, Confidence::Hint);
        let server = scene.postgres();
        scene.statement(server, "2", UPDATE, &Costs { per_request: 1.0, rows: 1.0, ..Costs::default() });
        let finding = scene.found("large_write_response").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(finding.statement, "each write gets 58.6 KiB back, much more than it sent");
    }

    #[test]
    fn a_question_that_is_posted_and_an_insert_that_returns_its_key_are_healthy() {
        let mut scene = writes(60_000, 200);
        let looks = scene.run.sampled.endpoints.get_mut(&EndpointId(0)).unwrap();
        (looks.writes, looks.posts) = (0, 40);
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, rows: 1.0, ..Costs::default() };
        scene.statement(server, "2", "INSERT INTO audit (what) VALUES ($1) RETURNING id, made", &costs);
        assert_eq!(scene.found("large_write_response"), None);
        scene.statement(server, "2", UPDATE, &costs);
        assert!(scene.found("large_write_response").is_some());
    }

    #[test]
    fn small_responses_echoes_of_large_requests_and_reads_are_healthy() {
        assert_eq!(writes(300, 0).found("large_write_response"), None);
        assert_eq!(writes(60_000, 50_000).found("large_write_response"), None);
        let mut reads = writes(60_000, 0);
        reads.run.sampled.endpoints.get_mut(&EndpointId(0)).unwrap().writes = 0;
        assert_eq!(reads.found("large_write_response"), None);
    }
}
