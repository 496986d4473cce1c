//! A PostgreSQL plan in the format of `EXPLAIN (FORMAT JSON)`, as far as rules need it.
//!
//! Does not judge a plan.

use serde_json::Value;

/// One node of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    /// `Seq Scan`, `Sort`, `Limit`, …
    pub kind: String,
    /// The table that it reads, without schema.
    pub table: Option<String>,
    /// The condition by which it leaves out rows that it has read.
    pub filter: Option<String>,
    /// The condition of a join that nothing but reading both sides can check.
    pub join_filter: Option<String>,
    /// Rows that it is expected to return.
    pub rows: f64,
    /// Whether a `Limit` lies above it, with nothing between them but nodes that pass rows on in their order.
    pub under_limit: bool,
}

impl Node {
    /// Whether it sorts.
    pub(crate) fn is_sort(&self) -> bool {
        matches!(self.kind.as_str(), "Sort" | "Incremental Sort")
    }

    /// Whether what lies below it is limited by a limit above it.
    fn passes_limit_on(&self) -> bool {
        let passes = matches!(
            self.kind.as_str(),
            "Gather Merge" | "Merge Append" | "LockRows" | "Subquery Scan" | "Result"
        );
        self.kind == "Limit" || (self.under_limit && passes && self.filter.is_none())
    }
}

/// All nodes, from the top down; empty if the text is no plan.
pub(crate) fn nodes(text: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let first = value.get(0).unwrap_or(&value);
        if let Some(plan) = first.get("Plan") {
            collect(plan, None, &mut nodes);
        }
    }
    nodes
}

fn collect(plan: &Value, above: Option<&Node>, nodes: &mut Vec<Node>) {
    let text = |key: &str| plan.get(key).and_then(Value::as_str).map(str::to_owned);
    let rows = plan.get("Plan Rows").and_then(Value::as_f64).unwrap_or(0.0);
    let node = Node {
        kind: text("Node Type").unwrap_or_default(),
        table: text("Relation Name"),
        filter: text("Filter"),
        join_filter: text("Join Filter"),
        rows,
        under_limit: above.is_some_and(Node::passes_limit_on),
    };
    nodes.push(node.clone());
    for below in plan.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        collect(below, Some(&node), nodes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_under_a_limit_is_found_with_the_rows_of_both() {
        let text = r#"[{"Plan": {"Node Type": "Limit", "Plan Rows": 50, "Plans": [
            {"Node Type": "Sort", "Plan Rows": 9000, "Sort Key": ["a DESC"], "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "tasks", "Plan Rows": 9000, "Filter": "(x = $1)"}]}]}}]"#;
        let nodes = nodes(text);
        assert_eq!(nodes.len(), 3);
        assert!(nodes[1].under_limit && nodes[1].is_sort() && !nodes[2].under_limit);
        assert!((nodes[1].rows - 9_000.0).abs() < f64::EPSILON);
        assert_eq!(nodes[2].filter.as_deref(), Some("(x = $1)"));
        assert_eq!(nodes[2].table.as_deref(), Some("tasks"));
    }

    #[test]
    fn a_sort_below_the_workers_of_a_parallel_plan_is_under_the_limit_too_and_one_below_a_filter_is_not() {
        let plan = |between: &str| {
            let text = format!(
                r#"[{{"Plan": {{"Node Type": "Limit", "Plan Rows": 5, "Plans": [
                {{{between}, "Plan Rows": 90, "Plans": [{{"Node Type": "Sort", "Plan Rows": 90}}]}}]}}}}]"#
            );
            nodes(&text)[2].under_limit
        };
        assert!(plan(r#""Node Type": "Gather Merge""#));
        assert!(!plan(r#""Node Type": "Subquery Scan", "Filter": "(a > 1)""#));
        assert!(!plan(r#""Node Type": "Aggregate""#));
    }

    #[test]
    fn what_is_no_plan_has_no_nodes() {
        for text in ["", "[]", "{}", "[{\"Plan\": 3}]", "nonsense"] {
            assert!(nodes(text).iter().all(|node| node.kind.is_empty()), "{text}");
        }
    }
}
