//! What the planner of a server said about an index that a finding proposes: a signal more, or another remedy.
//!
//! The answers are texts of the record, so that every report of it weighs the same. Asks nothing.

use knee_core::observation::{PLANNED_INDEXES, PlannedIndex, SourceKind};

use crate::definition::Draft;
use crate::evidence::Evidence;
use crate::finding::{Remedy, Signal, Unit};
use crate::watched::Watched;

/// The most that the plan with the index costs, as a part of the plan without: the bar of `dexter`.
const COST: f64 = 0.5;

/// A plan that expects more than so many times the rows that the statement returns is that of other values.
const ROWS: f64 = 10.0;

/// Where signals of plans come from: of plans as they are, and of those with an index.
const PLAN: &str = "EXPLAIN";
const PLAN_WITH: &str = "EXPLAIN with HypoPG";

/// A draft with what the planner said about its index, if it was asked.
pub(crate) fn weighed(evidence: &Evidence<'_>, draft: Draft) -> Draft {
    let Some((planned, rows)) = answer(evidence, &draft) else { return draft };
    if planned.used {
        return supported(draft, &planned);
    }
    // A plan for any value does not know that a value is rare, or that a page is short: with them, the index can be used.
    let is_of_these_values = rows.is_some_and(|rows| planned.rows <= ROWS * rows.max(1.0));
    if is_of_these_values { refused(draft) } else { draft }
}

/// What the planner said about the index of a draft, and the rows that a call of the statement returns.
fn answer(evidence: &Evidence<'_>, draft: &Draft) -> Option<(PlannedIndex, Option<f64>)> {
    let index = draft.remedy.sql()?;
    let source = draft.subject.source.as_deref()?;
    let statement = draft.subject.name.as_str();
    let servers = evidence.sources(SourceKind::Postgres);
    servers.iter().filter(|server| server.source.name == source).find_map(|server| {
        server.texts(PLANNED_INDEXES).find_map(|(id, text)| {
            let is_about = server.text("statement.text", id) == Some(statement);
            let planned = PlannedIndex::read(text).into_iter().find(|one| is_about && one.index == index)?;
            Some((planned, rows_per_call(server, id)))
        })
    })
}

fn rows_per_call(server: &Watched<'_>, id: &str) -> Option<f64> {
    let calls = server.rise("statement.calls", id)?.amount;
    let rows = server.rise("statement.rows", id)?.amount;
    (calls > 0.0).then(|| rows / calls)
}

/// A draft whose index the planner would use. Both signals of plans are estimates of one planner, so that there is one.
fn supported(mut draft: Draft, planned: &PlannedIndex) -> Draft {
    let signal = Signal::at_most(
        "cost of the plan with the index, as a part of the cost without",
        Unit::Share,
        Some(planned.cost_with / planned.cost),
        COST,
        PLAN_WITH,
    );
    if let Some(signal) = signal {
        draft.signals.retain(|known| known.source != PLAN);
        draft.signals.push(signal);
    }
    draft
}

/// A draft whose index the planner would not use: what it gains is unknown, and so is a change.
fn refused(draft: Draft) -> Draft {
    let statement = format!("{}; its planner would not use {}", draft.statement, draft.remedy);
    let remedy = Remedy::advice(
        "run ANALYZE, and look at the plan with the values of a slow call (auto_explain): for the planner, the condition \
         keeps too many rows for this index",
    );
    Draft { statement, remedy, gain: None, ..draft }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Costs, RATE, Scene};
    use crate::{Confidence, Finding};

    const INDEX: &str = r#"CREATE INDEX ON "public"."products" ("shop")"#;

    /// A statement that scans 50,000 rows for 20, and what the planner said about an index.
    fn scanning(answer: Option<&PlannedIndex>, plan: Option<&str>) -> Finding {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs =
            Costs { per_request: 0.2, seconds: 0.015, rows: 20.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", "SELECT id, name FROM products WHERE shop = $1", &costs);
        let calls = 0.2 * RATE as f64;
        scene.table(server, "public.products", 50_000.0, [calls, calls * 50_000.0], [1_000.0, 1_000.0]);
        if let Some(answer) = answer {
            let text = PlannedIndex::text(std::slice::from_ref(answer));
            scene.text(server, PLANNED_INDEXES, "2", &text);
        }
        if let Some(plan) = plan {
            scene.text(server, "statement.plan", "2", plan);
        }
        scene.found("missing_index").unwrap()
    }

    fn answer(cost_with: f64, rows: f64, used: bool) -> PlannedIndex {
        PlannedIndex { index: INDEX.to_owned(), cost: 1_800.0, cost_with, rows, used }
    }

    #[test]
    fn an_index_that_the_planner_would_use_for_half_of_the_cost_is_one_signal_more() {
        let without = scanning(None, None);
        assert_eq!((without.confidence, without.evidence.len()), (Confidence::Likely, 2));
        let with = scanning(Some(&answer(90.0, 20.0, true)), None);
        assert_eq!((with.confidence, with.evidence.len()), (Confidence::Strong, 3));
        let signal = &with.evidence[2];
        assert_eq!(signal.source, "EXPLAIN with HypoPG");
        assert!((signal.figure - 0.05).abs() < 1e-9, "{signal:?}");
        assert_eq!((with.statement, with.remedy), (without.statement, without.remedy));
    }

    #[test]
    fn an_index_that_the_planner_would_use_for_most_of_the_cost_changes_nothing() {
        assert_eq!(scanning(Some(&answer(1_200.0, 20.0, true)), None), scanning(None, None));
    }

    #[test]
    fn two_plans_of_one_planner_are_one_signal() {
        let plan = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 20,
            "Filter": "(shop = $1)"}}]"#;
        let finding = scanning(Some(&answer(90.0, 20.0, true)), Some(plan));
        let sources: Vec<&str> = finding.evidence.iter().map(|signal| signal.source).collect();
        assert_eq!(sources, ["pg_stat_statements", "pg_stat_user_tables", "EXPLAIN with HypoPG"]);
    }

    #[test]
    fn an_index_that_the_planner_would_not_use_is_named_and_not_proposed() {
        let finding = scanning(Some(&answer(1_800.0, 60.0, false)), None);
        let end = "no index begins with shop; its planner would not use an index on public.products (shop)";
        assert!(finding.statement.ends_with(end), "{}", finding.statement);
        assert_eq!((finding.remedy.change(), finding.gain), (None, None));
        assert!(matches!(finding.remedy, Remedy::Advice { .. }));
    }

    #[test]
    fn a_plan_that_expects_far_more_rows_than_are_returned_does_not_speak_against_the_index() {
        assert_eq!(scanning(Some(&answer(1_800.0, 17_000.0, false)), None), scanning(None, None));
    }

    #[test]
    fn an_answer_about_another_index_changes_nothing() {
        let other = INDEX.replace("shop", "name");
        let answer = PlannedIndex { index: other, ..answer(90.0, 20.0, true) };
        assert_eq!(scanning(Some(&answer), None), scanning(None, None));
    }

    #[test]
    fn a_damaged_answer_changes_nothing_and_no_figure_is_infinite() {
        let free = PlannedIndex { cost: 0.0, ..answer(90.0, 20.0, true) };
        assert_eq!(scanning(Some(&free), None), scanning(None, None));
    }
}
