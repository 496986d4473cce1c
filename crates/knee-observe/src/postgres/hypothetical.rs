//! Plans of statements with indexes that do not exist, by the extension HypoPG.
//!
//! Such an index is in the memory of the session: nothing is written, no other session sees it, and only `EXPLAIN` uses
//! it. A read-only session can make one. Does not choose indexes, and installs no extension.

use std::collections::BTreeMap;

use knee_core::observation::{PlannedIndex, Proposal};
use serde_json::Value;
use tokio_postgres::SimpleQueryRow;

use super::{plan, statements};
use crate::session::{Answer, Refusal, Session};
use crate::text::harmless;

/// Most indexes that a server is asked about.
const ASKED_MAX: usize = 5;

/// The extensions that are needed: one has the indexes, the other the texts of the statements as they were sent.
const HYPOTHETICAL: &str = "hypopg";
const COUNTING: &str = "pg_stat_statements";

/// What was learned of a server.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Learned {
    /// What its planner does with the indexes, by the id of the statement.
    pub(crate) planned: BTreeMap<String, Vec<PlannedIndex>>,
    /// What it could not be asked, in words.
    pub(crate) without: Vec<String>,
}

/// Asks about indexes, one by one, as long as there is time. Statements that write and those that the server has
/// forgotten are left out, and so are all if it lacks an extension.
pub(super) fn ask(
    session: &Session,
    version: u32,
    proposals: &[Proposal],
    has_time: impl Fn() -> bool,
) -> Answer<Learned> {
    let mut learned = Learned::default();
    let schemas = schemas(session)?;
    let (Some(schema), Some(counting)) = (schemas.get(HYPOTHETICAL), schemas.get(COUNTING)) else {
        return Ok(learned);
    };
    let ids: Vec<i64> = proposals.iter().filter_map(|proposal| proposal.statement.parse().ok()).collect();
    let texts = statements::texts(session, counting, &ids)?;
    let server = Planner { session, version, schema };
    for (number, proposal) in (0_i64..).zip(proposals.iter().take(ASKED_MAX)) {
        if !has_time() {
            learned.miss(proposal, "there was no time");
            continue;
        }
        let id = proposal.statement.parse::<i64>().ok();
        let Some(text) = id.and_then(|id| texts.get(&id)) else { continue };
        match server.plan_with(number, text, &proposal.index) {
            Ok(planned) => learned.add(proposal, planned),
            Err(Refusal::Never(reason) | Refusal::Now(reason)) => learned.miss(proposal, &reason),
            Err(Refusal::Over(reason)) => {
                learned.miss(proposal, &reason);
                break;
            }
        }
    }
    Ok(learned)
}

impl Learned {
    fn add(&mut self, proposal: &Proposal, planned: Option<PlannedIndex>) {
        if let Some(planned) = planned {
            self.planned.entry(proposal.statement.clone()).or_default().push(planned);
        }
    }

    fn miss(&mut self, proposal: &Proposal, reason: &str) {
        self.without.push(format!("the plan with {}: {reason}", proposal.index));
    }
}

/// The schemas of the extensions, quoted, by extension; without those that the database does not have.
fn schemas(session: &Session) -> Answer<BTreeMap<String, String>> {
    let rows = session.texts(&format!(
        "SELECT /* knee-observe */ extname, quote_ident(nspname) FROM pg_extension \
         JOIN pg_namespace n ON n.oid = extnamespace WHERE extname IN ('{HYPOTHETICAL}', '{COUNTING}')"
    ))?;
    let text = |row: &SimpleQueryRow, place: usize| row.get(place).unwrap_or_default().to_owned();
    Ok(rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
}

/// The planner of a server, for one session.
struct Planner<'a> {
    session: &'a Session,
    version: u32,
    /// The schema of HypoPG, quoted.
    schema: &'a str,
}

impl Planner<'_> {
    /// The plan of a statement with an index beside that without; `None` for a statement that is not planned. Each index
    /// of a session has a `number` of its own.
    fn plan_with(&self, number: i64, statement: &str, index: &str) -> Answer<Option<PlannedIndex>> {
        let Some(without) = plan::plan(self.session, self.version, 2 * number, statement)? else {
            return Ok(None);
        };
        let created = self.session.texts(&creation(self.schema, index))?;
        let name = created.first().and_then(|row| row.get(0)).map(str::to_owned);
        let with = plan::plan(self.session, self.version, 2 * number + 1, statement);
        // Also if there is no plan: the next index is planned without this one.
        self.session.texts(&format!("SELECT /* knee-observe */ {}.hypopg_reset()", self.schema))?;
        Ok(name.zip(with?).and_then(|(name, with)| planned(index, &name, &without, &with)))
    }
}

/// Makes an index that does not exist, and returns its name. Servers of all settings read the literal the same way.
fn creation(schema: &str, index: &str) -> String {
    let index = index.replace('\\', "\\\\").replace('\'', "''");
    format!("SELECT /* knee-observe */ indexname FROM {schema}.hypopg_create_index(E'{index}')")
}

/// What two plans say about an index that the second one calls `name`; `None` if one of them is no plan.
fn planned(index: &str, name: &str, without: &str, with: &str) -> Option<PlannedIndex> {
    let (without, with) = (root(without)?, root(with)?);
    Some(PlannedIndex {
        index: harmless(index),
        cost: without.get("Total Cost")?.as_f64()?,
        cost_with: with.get("Total Cost")?.as_f64()?,
        rows: with.get("Plan Rows")?.as_f64()?,
        used: uses(&with, name),
    })
}

/// The top of a plan.
fn root(plan: &str) -> Option<Value> {
    let mut plans: Value = serde_json::from_str(plan).ok()?;
    Some(plans.get_mut(0)?.get_mut("Plan")?.take())
}

/// Whether a node of a plan scans the index of this name.
fn uses(node: &Value, name: &str) -> bool {
    let below = node.get("Plans").and_then(Value::as_array);
    node.get("Index Name").and_then(Value::as_str) == Some(name)
        || below.is_some_and(|nodes| nodes.iter().any(|node| uses(node, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"CREATE INDEX ON "public"."items" ("owner")"#;

    /// The plan of PostgreSQL 15 for `SELECT name FROM items WHERE owner = $1`, 100,000 rows.
    const SCAN: &str = r#"[{"Plan": {"Node Type": "Seq Scan", "Parallel Aware": false, "Async Capable": false,
        "Relation Name": "items", "Alias": "items", "Startup Cost": 0.00, "Total Cost": 2387.00, "Plan Rows": 100,
        "Plan Width": 51, "Filter": "(owner = $1)"}}]"#;

    /// The same with an index that HypoPG made.
    const WITH: &str = r#"[{"Plan": {"Node Type": "Bitmap Heap Scan", "Parallel Aware": false,
        "Async Capable": false, "Relation Name": "items", "Alias": "items", "Startup Cost": 4.78,
        "Total Cost": 305.88, "Plan Rows": 100, "Plan Width": 51, "Recheck Cond": "(owner = $1)", "Plans": [
        {"Node Type": "Bitmap Index Scan", "Parent Relationship": "Outer", "Parallel Aware": false,
        "Async Capable": false, "Index Name": "<13543>btree_items_owner", "Startup Cost": 0.00, "Total Cost": 4.75,
        "Plan Rows": 100, "Plan Width": 0, "Index Cond": "(owner = $1)"}]}}]"#;

    #[test]
    fn an_index_that_the_plan_scans_is_used_with_the_costs_of_both_plans() {
        let answer = planned(INDEX, "<13543>btree_items_owner", SCAN, WITH).unwrap();
        let expected = PlannedIndex {
            index: INDEX.to_owned(),
            cost: 2_387.0,
            cost_with: 305.88,
            rows: 100.0,
            used: true,
        };
        assert_eq!(answer, expected);
    }

    #[test]
    fn an_index_is_not_used_if_the_plan_stays_or_scans_another_one() {
        let stays = planned(INDEX, "<13543>btree_items_owner", SCAN, SCAN).unwrap();
        assert!(!stays.used && stays.cost.to_bits() == stays.cost_with.to_bits());
        assert!(!planned(INDEX, "<13544>btree_items_name", SCAN, WITH).unwrap().used);
    }

    #[test]
    fn what_is_no_plan_is_no_answer() {
        for text in ["", "[]", "{}", r#"[{"Plan": {}}]"#, r#"[{"Plan": {"Total Cost": "1"}}]"#] {
            assert_eq!(planned(INDEX, "i", SCAN, text), None, "{text}");
            assert_eq!(planned(INDEX, "i", text, WITH), None, "{text}");
        }
    }

    #[test]
    fn a_name_of_a_column_cannot_end_the_literal_in_which_the_index_is_sent() {
        let sql = creation("public", r#"CREATE INDEX ON "t" ("a'); DROP TABLE t; --\")"#);
        let (asks, literal) = sql.split_once('(').unwrap();
        assert_eq!(asks, "SELECT /* knee-observe */ indexname FROM public.hypopg_create_index");
        assert_eq!(literal, r#"E'CREATE INDEX ON "t" ("a''); DROP TABLE t; --\\")')"#);
    }
}
