//! Reads that a replica answers before it has what the client just wrote.
//!
//! Needs a PostgreSQL primary and its replica, and responses of 404. A response that is old but complete is not seen. That a
//! load asks for what was deleted, or for what never was, is not known either: such loads must expect their 404.

use std::collections::BTreeMap;

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::plan::EndpointId;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::query;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "stale_reads",
    finds: "reads that a replica answers before it has what the client just wrote",
    needs: "a PostgreSQL primary and its replica, with pg_stat_statements, and 200 responses",
    limits: "the replica replays 20 ms late as a mean; 0.5 % of the responses to a GET have status 404, and 20 of them, which the load did not expect. Both, or nothing; nothing if the load writes nothing, if 99 % of the responses to the GET are 404, if the replica executes 20 reads at most, or if commits wait for it (remote_apply). Names of endpoints that differ in parts with digits count as one; without POST, PUT, PATCH or DELETE in any name, every request can be one that writes",
    source: "A replica that keeps up is 1 to 10 ms late; a client asks for what it wrote after a round trip. Below 20 ms it is unknown whether a 404 is one of a replica that is late.",
    cause: "All reads go to the replica, those of rows that the same client has just written as well.",
    remedy: "Read what a client has just written from the primary, for some seconds or until the replica has replayed its position (pg_last_wal_replay_lsn); or wait with the commit until it has (synchronous_commit = remote_apply).",
    explains: &[],
    check,
};

/// Seconds.
const LATE: f64 = 0.02;
const MISSING: f64 = 0.005;
const MISSING_MIN: u64 = 20;
/// From this share on, what the endpoint reads is nowhere.
const ALL: f64 = 0.99;
const RESPONSES_MIN: u64 = 200;
const READS_MIN: f64 = 20.0;
const NOT_FOUND: u16 = 404;
const WRITES: [&str; 4] = ["POST ", "PUT ", "PATCH ", "DELETE "];

/// The responses of the endpoints of one kind.
#[derive(Default)]
struct Responses {
    all: u64,
    missing: u64,
}

impl Responses {
    fn share(&self) -> f64 {
        self.missing as f64 / self.all.max(1) as f64
    }
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    let is_read = servers.iter().any(|(server, queries)| {
        let reads = queries.iter().filter(|query| query.only_reads());
        let calls: f64 = reads.map(|query| query.per_second).sum();
        query::is_replica(server) && calls * evidence.seconds() > READS_MIN
    });
    let servers = evidence.needed(SourceKind::Postgres)?;
    let lack = || Lack::of("a PostgreSQL primary and its replica");
    let (server, replica, late) = least_late(&servers).ok_or_else(lack)?;
    if !servers.iter().any(query::is_replica) {
        return Err(lack());
    }
    if evidence.answered() < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let setting = |name: &str| server.text("setting", name).unwrap_or_default();
    let waits =
        setting("synchronous_commit") == "remote_apply" && !setting("synchronous_standby_names").is_empty();
    let found = misses(evidence).filter(|_| is_read && !waits);
    let Some((endpoint, responses)) = found else { return Ok(Vec::new()) };
    let signals = [
        Signal::at_least(
            "responses that have status 404, of those of the endpoint",
            Unit::Share,
            Some(responses.share()),
            MISSING,
            "the run: status codes",
        ),
        Signal::at_least(
            "mean delay of the replay",
            Unit::Seconds,
            Some(late),
            LATE,
            "pg_stat_replication: replay_lag",
        ),
    ];
    let [Some(missing), Some(delayed)] = signals else { return Ok(Vec::new()) };
    Ok(vec![Draft {
        statement: format!(
            "{endpoint} does not find {} of what it reads, while the replica {replica} replays {} late",
            percent(responses.share()),
            seconds(late)
        ),
        subject: Subject::of(SubjectKind::Endpoint, endpoint, Some(&server.source.name)),
        signals: vec![missing, delayed],
        remedy: Remedy::advice(
            "read what a client has just written from the primary until the replica has it",
        ),
        gain: None,
    }])
}

/// The replica that is the least late: of several, it is unknown which one is read.
fn least_late<'s, 'a>(servers: &'s [Watched<'a>]) -> Option<(&'s Watched<'a>, &'a str, f64)> {
    let late = servers.iter().flat_map(|server| {
        let means = server.means("replication.replay_lag");
        means.into_iter().map(move |(replica, late)| (server, replica, late))
    });
    late.min_by(|one, other| one.2.total_cmp(&other.2))
}

/// The GET with the largest share of 404 that the load did not expect, if other requests write.
fn misses(evidence: &Evidence<'_>) -> Option<(String, Responses)> {
    let mut kinds: BTreeMap<String, Responses> = BTreeMap::new();
    let (mut names_writes, mut has_written) = (false, false);
    for (place, tally) in evidence.run.measured.endpoints.iter().enumerate() {
        let name = evidence.endpoint_name(EndpointId(place as u32));
        let is_ok = |one: &(u16, u64)| (200..300).contains(&one.0) && one.1 > 0;
        if WRITES.iter().any(|verb| name.starts_with(verb)) {
            names_writes = true;
            has_written |= tally.status.iter().any(is_ok);
            continue;
        }
        let count = |code: u16| tally.status.iter().find(|one| one.0 == code).map_or(0, |one| one.1);
        let kind = kinds.entry(without_digits(name)).or_default();
        kind.all = kind.all.saturating_add(tally.status.iter().map(|(_, count)| count).sum());
        kind.missing = kind.missing.saturating_add(count(NOT_FOUND).min(tally.count(Outcome::HttpError)));
    }
    let often = kinds
        .into_iter()
        .filter(|(_, responses)| responses.missing >= MISSING_MIN && responses.share() < ALL);
    often.filter(|_| has_written || !names_writes).max_by(|a, b| a.1.share().total_cmp(&b.1.share()))
}

/// A name whose parts with digits are left open: `GET /notes/17` and `GET /notes/18` are of one kind.
fn without_digits(name: &str) -> String {
    let part = |part: &str| {
        if part.contains(|c: char| c.is_ascii_digit()) { "{}".to_owned() } else { part.to_owned() }
    };
    // The host can have digits, too; it is the same for all.
    let Some((head, path)) = name.split_once("://").and_then(|(_, rest)| rest.split_once('/')) else {
        return name.split('/').map(part).collect::<Vec<_>>().join("/");
    };
    let verb = name.split_once(' ').map_or("", |(verb, _)| verb);
    format!("{verb} {head}/{}", path.split('/').map(part).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    /// Every second request writes a note, and the next one reads it from the replica: this share is not there yet. The
    /// replica replays this late.
    fn notes(missing: f64, late: f64) -> Scene {
        let mut scene = Scene::with(move |sample, _, dice| {
            sample.endpoint = u32::from(dice.share() < 0.5);
            sample.status = match sample.endpoint {
                0 => 201,
                _ if dice.share() < missing => 404,
                _ => 200,
            };
        });
        scene.run.endpoints[0].name = "POST /notes".into();
        scene.run.endpoints[1].name = "GET /notes/{id}".into();
        let primary = scene.postgres();
        scene.gauge(primary, "replication.replay_lag", "walreceiver", late);
        let replica = scene.postgres();
        scene.gauge(replica, "replica", "", 1.0);
        scene
    }

    #[test]
    fn notes_that_are_read_before_the_replica_has_them_are_found() {
        let finding = notes(0.3, 0.4).found("stale_reads").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.starts_with("GET /notes/{id} does not find "), "{}", finding.statement);
    }

    #[test]
    fn a_replica_that_keeps_up_and_notes_that_are_found_are_healthy() {
        assert_eq!(notes(0.3, 0.004).found("stale_reads"), None, "it is unknown why");
        assert_eq!(notes(0.0, 0.4).found("stale_reads"), None);
        assert_eq!(notes(1.0, 0.4).found("stale_reads"), None, "these notes are nowhere");
    }

    #[test]
    fn a_load_that_writes_nothing_or_expects_its_404_has_no_stale_reads() {
        let mut reads = notes(0.3, 0.4);
        reads.run.endpoints[0].name = "GET /lists".into();
        assert!(
            reads.found("stale_reads").is_some(),
            "any request can write if no name has a verb that does"
        );
        reads.run.endpoints[0].name = "POST /notes".into();
        reads.run.measured.endpoints[0].status = vec![(500, 10_000)];
        assert_eq!(reads.found("stale_reads"), None);
        let mut expects = notes(0.3, 0.4);
        let tally = &mut expects.run.measured.endpoints[1];
        tally.outcomes[Outcome::HttpError as usize] = knee_core::tally::OutcomeTally::default();
        assert_eq!(expects.found("stale_reads"), None);
    }

    #[test]
    fn a_replica_that_nothing_reads_has_no_part_in_it_and_neither_has_one_that_commits_wait_for() {
        let mut unread = notes(0.3, 0.4);
        unread.statement(1, "1", "SELECT $1", &Costs::default());
        assert_eq!(unread.found("stale_reads"), None);
        let mut waited = notes(0.3, 0.4);
        waited.text(0, "setting", "synchronous_commit", "remote_apply");
        assert!(waited.found("stale_reads").is_some(), "without a synchronous replica, no commit waits");
        waited.text(0, "setting", "synchronous_standby_names", "*");
        assert_eq!(waited.found("stale_reads"), None);
    }

    #[test]
    fn urls_that_differ_in_their_ids_are_one_endpoint() {
        assert_eq!(without_digits("GET http://127.0.0.1:8080/notes/17"), "GET 127.0.0.1:8080/notes/{}");
        assert_eq!(without_digits("GET /notes/17/text"), "GET /notes/{}/text");
    }
}
