//! Statements whose text has a list of many values, which were mostly read by a statement before.
//!
//! Needs the statements of a PostgreSQL server. Each length of the list is a statement of its own for the server, so they are
//! added together here. From version 18 on the server shortens such lists itself, and nothing is found.

use std::collections::BTreeMap;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::query::{self, Query};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "long_list",
    finds: "statements with a list of many values in their text",
    needs: "a PostgreSQL server with pg_stat_statements, up to version 17",
    limits: "statements that are alike up to an IN list of 500 values or more have 10 % of the execution time; the server counts 5 lengths of the list as different statements; another statement with as many calls, within a factor of 2, returns as many rows as the list has values, within a factor of 2. Two of the three, or nothing",
    source: "Each value is parsed and planned with every call; drivers and mappers cut lists at 500 to 1,000 values for this reason.",
    cause: "The service reads keys with one statement and sends them back in the text of the next. The text is long, no two are alike, and neither a plan nor statistics are kept.",
    remedy: "Join both statements; or send the keys as one array: `= ANY($1)`.",
    explains: &["wasted_reads", "condensed_rows"],
    check,
};

const VALUES: usize = 500;
const TIME_SHARE: f64 = 0.1;
const LENGTHS: f64 = 5.0;
/// Values of the list per row of the statement that read the keys, and calls of one per call of the other: between this
/// and its inverse.
const ALIKE: f64 = 0.5;

/// Statements that differ by the length of their list, with that length.
type Form<'q, 'a> = Vec<(usize, &'q Query<'a>)>;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let mut forms: BTreeMap<String, Form<'_, '_>> = BTreeMap::new();
        for query in &queries {
            let Some((before, values)) = list(query.text).filter(|(_, values)| *values >= VALUES) else {
                continue;
            };
            forms.entry(before).or_default().push((values, query));
        }
        drafts.extend(forms.values().filter_map(|form| long(evidence, &server, &queries, form)));
    }
    Ok(drafts)
}

fn long(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    queries: &[Query<'_>],
    form: &Form<'_, '_>,
) -> Option<Draft> {
    let (least, first) = form.iter().min_by_key(|(values, _)| *values)?;
    let sum = |of: fn(&Query<'_>) -> f64| form.iter().map(|(_, query)| of(query)).sum::<f64>();
    let (time_share, per_request) = (sum(|query| query.time_share), sum(|query| query.per_request));
    let seconds: f64 = form.iter().map(|(_, query)| query.seconds_per_request()).sum();
    let is_alike = |one: f64, other: f64| (ALIKE..=1.0 / ALIKE).contains(&(one / other));
    let others = queries.iter().filter(|query| form.iter().all(|(_, own)| own.id != query.id));
    let read = others
        .filter(|query| is_alike(query.per_request, per_request) && is_alike(query.rows, *least as f64))
        .map(|query| query.rows)
        .reduce(f64::max);
    let beside: Vec<Signal> = [
        Signal::at_least(
            "share of the execution time of all statements",
            Unit::Share,
            Some(time_share),
            TIME_SHARE,
            "pg_stat_statements",
        ),
        Signal::at_least(
            "lengths of the list that count as statements of their own",
            Unit::Count,
            Some(form.len() as f64),
            LENGTHS,
            "pg_stat_statements",
        ),
        Signal::at_least(
            "rows that another statement returns as often",
            Unit::Count,
            read,
            VALUES as f64 * ALIKE,
            "pg_stat_statements",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (beside.len() >= 2).then(|| Draft {
        subject: first.subject(server),
        statement: format!(
            "{} statements per response have at least {} values in a list, with {} of the database's time",
            number(per_request),
            number(*least as f64),
            percent(time_share),
        ),
        signals: beside,
        remedy: Remedy::advice(
            "join this statement with the one that reads the values, or send them as an array: `= ANY($1)`",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(seconds),
            "the time of these statements per request, without parsing and planning them",
        ),
    })
}

/// What stands before the first `IN` list of a statement, and how many values the list has as far as the text goes.
fn list(text: &str) -> Option<(String, usize)> {
    let lower = text.to_ascii_lowercase();
    let at = [" in (", " in("].iter().filter_map(|opening| lower.find(opening)).min()?;
    let open = at + lower[at..].find('(')? + 1;
    let inside = &lower[open..];
    let inside = &inside[..inside.find(')').unwrap_or(inside.len())];
    let values = inside.split(',').filter(|value| value.trim().starts_with(['$', '?', '\''])).count();
    (values > 0).then(|| (lower[..at].to_owned(), values))
}

#[cfg(test)]
mod tests {
    use super::list;
    use crate::testing::{Costs, Scene};

    /// A service that reads keys and sends this many of them back.
    fn sent_back(values: usize) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let read = "SELECT id FROM parcels WHERE route = $1";
        let costs = Costs { per_request: 1.0, seconds: 0.001, rows: values as f64, ..Costs::default() };
        scene.statement(server, "2", read, &costs);
        for length in 0..6 {
            let list: Vec<String> = (1..=values + length).map(|number| format!("${number}")).collect();
            let text = format!("SELECT sum(weight) FROM parcels WHERE id IN ({})", list.join(", "));
            let costs = Costs { per_request: 0.2, seconds: 0.006, rows: 1.0, ..Costs::default() };
            scene.statement(server, &format!("1{length}"), &text, &costs);
        }
        scene
    }

    #[test]
    fn a_list_of_keys_that_were_read_before_is_found_and_a_page_of_them_is_not() {
        let finding = sent_back(2_000).found("long_list").unwrap();
        assert!(finding.statement.contains("at least 2,000 values in a list"), "{}", finding.statement);
        assert_eq!(finding.evidence.len(), 3);
        assert_eq!(sent_back(50).found("long_list"), None);
    }

    #[test]
    fn short_lists_with_one_long_one_among_them_are_healthy() {
        let mut scene = sent_back(40);
        let list: Vec<String> = (1..=600).map(|number| format!("${number}")).collect();
        let text = format!("SELECT sum(weight) FROM parcels WHERE id IN ({})", list.join(", "));
        scene.statement(0, "99", &text, &Costs { per_request: 0.001, seconds: 0.006, ..Costs::default() });
        assert_eq!(scene.found("long_list"), None);
    }

    #[test]
    fn lists_are_counted_as_far_as_the_text_goes() {
        for (text, expected) in [
            ("SELECT a FROM t WHERE id IN ($1, $2,$3) AND b = $4", Some(("select a from t where id", 3))),
            ("select a from t where id in(?, ?, ?", Some(("select a from t where id", 3))),
            ("select a from t where id in (select id from u where b = $1)", None),
            ("select a from t", None),
        ] {
            let expected = expected.map(|(before, values)| (before.to_owned(), values));
            assert_eq!(list(text), expected, "{text}");
        }
    }
}
