//! Statements that PostgreSQL compiles for each call, although they are short without that.
//!
//! Needs the statements of a PostgreSQL server of version 15 or newer: older ones do not count this time.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::lack::Lack;
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "jit_compile",
    finds: "statements that PostgreSQL compiles for each call",
    needs: "a PostgreSQL server of version 15 or newer, with pg_stat_statements",
    limits: "a statement takes 10 % of the execution time; 30 % of its own time, and 1 ms of each call, is spent on compiling; compiling is 10 % of the mean service time per response; without compiling, a call takes less than 1 s. All of them, or nothing",
    source: "PostgreSQL compiles (jit) if it expects a cost of jit_above_cost, and compiles again for each call. That pays off for statements that take seconds; of one that takes milliseconds, it is most of the time.",
    cause: "The cost of the statement is overestimated: a recursion, a function that returns rows, old statistics, many partitions.",
    remedy: "Set jit = off for the service, or raise jit_above_cost above the cost of its statements.",
    explains: &[],
    check,
};

const OF_STATEMENT: f64 = 0.3;
const OF_RESPONSE: f64 = 0.1;
/// Seconds per call.
const COMPILE: f64 = 0.001;
/// Seconds per call, without compiling, from which on it can pay off.
const LONG: f64 = 1.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let servers = query::servers(evidence)?;
    if servers.iter().all(|(server, _)| server.rises("statement.jit_time").is_empty()) {
        return Err(Lack::of("a PostgreSQL server of version 15 or newer"));
    }
    let drafts = servers.iter().flat_map(|(server, queries)| {
        query::heavy(queries).filter_map(move |query| compiled(evidence, server, query))
    });
    Ok(drafts.collect())
}

fn compiled(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>) -> Option<Draft> {
    let calls = server.rise("statement.calls", query.id)?.amount;
    let compile = server.rise("statement.jit_time", query.id)?.amount / calls.max(1.0);
    if compile < COMPILE || query.seconds - compile >= LONG {
        return None;
    }
    let per_request = compile * query.per_request;
    let of_statement = Signal::at_least(
        "time of compiling, of the execution time of the statement",
        Unit::Share,
        Some(compile / query.seconds.max(compile)),
        OF_STATEMENT,
        "pg_stat_statements: jit times",
    )?;
    let of_response = Signal::at_least(
        "time of compiling per response, of the mean service time",
        Unit::Share,
        evidence.service_mean().map(|mean| per_request / mean),
        OF_RESPONSE,
        "the run: service time",
    )?;
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "PostgreSQL compiles a statement for each call: {} of its {} ({})",
            seconds(compile),
            seconds(query.seconds.max(compile)),
            percent(of_statement.figure)
        ),
        signals: vec![of_statement, of_response],
        remedy: Remedy::setting("PostgreSQL", "jit", "off"),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(per_request),
            format!("compiling takes {} per request", seconds(per_request)),
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};
    use crate::{Confidence, Remedy};

    /// A statement of 3 ms per request, of which so many are spent on compiling.
    fn shop(compile_ms: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "WITH RECURSIVE up AS (SELECT id, parent FROM groups WHERE id = $1) SELECT * FROM up";
        scene.statement(server, "2", text, &Costs { seconds: 0.003, ..Costs::default() });
        scene.counter(server, "statement.jit_time", "2", RATE as f64 * compile_ms / 1_000.0);
        scene
    }

    #[test]
    fn a_short_statement_that_is_compiled_each_time_is_found_with_the_setting_that_ends_it() {
        let finding = shop(2.4).found("jit_compile").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(
            finding.remedy,
            Remedy::Setting { of: "PostgreSQL".into(), name: "jit".into(), value: "off".into() }
        );
        assert!(finding.statement.contains("2.40 ms of its 3.00 ms (80 %)"), "{}", finding.statement);
    }

    #[test]
    fn compiling_that_is_a_small_part_is_healthy_and_old_servers_do_not_count_it() {
        assert_eq!(shop(0.6).found("jit_compile"), None);
        let mut old = Scene::steady();
        old.postgres();
        assert_eq!(old.lacks("jit_compile").unwrap(), "a PostgreSQL server of version 15 or newer");
    }
}
