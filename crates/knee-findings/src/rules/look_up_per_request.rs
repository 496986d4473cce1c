//! One row that is read by its key before every request, whatever the request asks for: a session, a tenant, settings.
//!
//! Needs the statements of a PostgreSQL server and a load of several endpoints: that all of them cause the same read shows
//! that it is not what they are about. Does not look at Redis, where one GET per request is what a healthy cache has. Round
//! trips are not in the figures, so the gain is that of the execution alone.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::lack::Lack;
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "look_up_per_request",
    finds: "a row that is read by its key for every request, whatever the request asks for",
    needs: "a load of 3 endpoints with a tenth of the requests each, and a PostgreSQL server with pg_stat_statements",
    limits: "a SELECT of at most one row, which compares a column with a value and reads 50 blocks at most, is called once per response of all endpoints together, within 5 %; its table is scanned as often; it has 25 % of the execution time of all statements, and other statements on tables are called once for every second response. All of them, or nothing",
    source: "What one endpoint reads follows its share of the requests; that three endpoints read the same to 95 % can only be the same for each of them. A quarter of the time of the database is what is gained if it is read once per some seconds and key.",
    cause: "A session, a token, a tenant or settings are read from the database in front of each request, which also waits for this round trip.",
    remedy: "Keep the row in the process for some seconds, with an upper limit of rows; or sign what it says and let the client send it (a token).",
    explains: &[],
    check,
};

const ENDPOINTS_MIN: usize = 3;
const OF_REQUESTS: f64 = 0.1;
/// Calls per response differ from one by this much at most.
const WITHIN: f64 = 0.05;
/// Rows and blocks per call of a read by key.
const ROWS_MIN: f64 = 0.5;
const ROWS_MAX: f64 = 1.05;
const BLOCKS_MAX: f64 = 50.0;
const OF_STATEMENTS: f64 = 0.25;
/// Calls of other statements per response.
const OTHERS: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    if !is_mixed(evidence) {
        let lacks = format!("a load of {ENDPOINTS_MIN} endpoints with a tenth of the requests each");
        return Err(Lack::of(lacks));
    }
    Ok(servers.iter().filter_map(|(server, queries)| looked_up(evidence, server, queries)).collect())
}

/// Whether several endpoints have so many requests that none of them decides what is called once per response.
fn is_mixed(evidence: &Evidence<'_>) -> bool {
    let least = OF_REQUESTS * evidence.all().planned as f64;
    let large = evidence.run.measured.endpoints.iter().filter(|tally| tally.planned as f64 >= least);
    large.filter(|tally| tally.planned > 0).count() >= ENDPOINTS_MIN
}

fn looked_up(evidence: &Evidence<'_>, server: &Watched<'_>, queries: &[Query<'_>]) -> Option<Draft> {
    let query = queries.iter().find(|query| is_look_up(query))?;
    let others = queries.iter().filter(|other| other.id != query.id && !other.statement.tables.is_empty());
    if others.map(|other| other.per_request).sum::<f64>() < OTHERS {
        return None;
    }
    let named = query.statement.tables.first()?;
    let table = query::table(server, named)?;
    let scans = |name: &str| server.rise(name, table.name).and_then(|rise| evidence.per_request(rise));
    let scans = scans("table.index_scans").unwrap_or(0.0) + scans("table.seq_scans").unwrap_or(0.0);
    let calls = Signal::at_least(
        "calls per response, of all endpoints together",
        Unit::Count,
        Some(query.per_request),
        1.0 - WITHIN,
        "pg_stat_statements",
    )?;
    let scans = Signal::at_least(
        format!("scans of {named} per response"),
        Unit::Count,
        Some(scans),
        1.0 - WITHIN,
        "pg_stat_user_tables",
    )?;
    let each = query.seconds_per_request();
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "each request, of whichever endpoint, reads one row of {named} by its key: {} of the database's time, {} \
             without the round trip",
            percent(query.time_share),
            seconds(each)
        ),
        signals: vec![calls, scans],
        remedy: Remedy::advice(
            "if the same keys come again, keep the row in the process for some seconds; or sign what it says and let the \
             client send it",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(each),
            "the executions of this statement; their round trips are saved as well",
        ),
    })
}

/// Whether a statement reads at most one row by its key, once per response, and costs a part of the database's time.
fn is_look_up(query: &Query<'_>) -> bool {
    (query.per_request - 1.0).abs() <= WITHIN
        && query.time_share >= OF_STATEMENTS
        && (ROWS_MIN..=ROWS_MAX).contains(&query.rows)
        && query.blocks <= BLOCKS_MAX
        && query.only_reads()
        && !query.condenses()
        && !query.statement.equals.is_empty()
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, RATE, Scene};

    const SESSION: &str = "SELECT member, expires_at FROM sessions WHERE token = $1";

    const LIST: &str = "SELECT id, name FROM products WHERE shop = $1";

    /// Requests for so many endpoints, each of which causes so many reads of a session that cost so many seconds each, and
    /// a list.
    fn shop(endpoints: u32, calls: f64, seconds: f64) -> Scene {
        let mut next = 0;
        let mut scene = Scene::with(move |sample, _, _| {
            next += 1;
            sample.endpoint = next % endpoints;
        });
        let server = scene.postgres();
        scene.statement(server, "1", LIST, &Costs { rows: 20.0, ..Costs::default() });
        let costs = Costs { per_request: calls, seconds, ..Costs::default() };
        scene.statement(server, "2", SESSION, &costs);
        let scans = calls * RATE as f64;
        scene.table(server, "public.sessions", 20_000.0, [0.0, 0.0], [scans, scans]);
        scene
    }

    #[test]
    fn a_session_that_is_read_before_each_request_is_found_with_what_it_costs() {
        let finding = shop(3, 1.0, 0.000_05).found("look_up_per_request").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        let says = "each request, of whichever endpoint, reads one row of sessions by its key: 50 % of the database's time, \
                    50.0 us without the round trip";
        assert_eq!(finding.statement, says);
        assert!(finding.gain.unwrap().share() < 0.02, "a small gain stands behind larger ones");
    }

    #[test]
    fn a_row_that_some_endpoints_read_or_that_costs_little_is_healthy() {
        assert_eq!(shop(3, 0.9, 0.000_05).found("look_up_per_request"), None, "not all of them");
        assert_eq!(shop(3, 1.1, 0.000_05).found("look_up_per_request"), None, "some read another one");
        assert_eq!(shop(3, 1.0, 0.000_01).found("look_up_per_request"), None, "a sixth of the time");
    }

    #[test]
    fn a_read_that_is_all_that_the_database_does_is_no_look_up_before_it() {
        let mut scene = shop(3, 1.0, 0.000_05);
        scene.statement(0, "1", LIST, &Costs { per_request: 0.4, rows: 20.0, ..Costs::default() });
        assert_eq!(scene.found("look_up_per_request"), None);
    }

    #[test]
    fn lists_counts_locks_and_expensive_reads_are_no_look_ups() {
        let of = |text: &str, rows: f64, blocks: f64| {
            let mut scene = shop(3, 1.0, 0.000_05);
            scene.statement(0, "2", text, &Costs { rows, blocks, ..Costs::default() });
            scene.found("look_up_per_request").is_some()
        };
        assert!(of(SESSION, 1.0, 4.0));
        assert!(!of("SELECT id FROM sessions WHERE member = $1", 3.0, 4.0));
        assert!(!of("SELECT count(*) FROM sessions WHERE member = $1", 1.0, 4.0));
        assert!(!of("SELECT member FROM sessions WHERE token = $1 FOR UPDATE", 1.0, 4.0));
        assert!(!of("SELECT member FROM sessions ORDER BY token LIMIT $1", 1.0, 4.0));
        assert!(!of(SESSION, 1.0, 60.0), "no read by a key");
    }

    #[test]
    fn a_table_that_is_scanned_less_often_contradicts_it() {
        let mut scene = shop(3, 1.0, 0.000_05);
        let scans = 0.9 * RATE as f64;
        scene.table(0, "public.sessions", 20_000.0, [0.0, 0.0], [scans, scans]);
        assert_eq!(scene.found("look_up_per_request"), None);
    }

    #[test]
    fn a_load_of_two_endpoints_cannot_say() {
        let lacks = shop(2, 1.0, 0.000_05).lacks("look_up_per_request");
        assert_eq!(lacks.unwrap(), "a load of 3 endpoints with a tenth of the requests each");
    }
}
