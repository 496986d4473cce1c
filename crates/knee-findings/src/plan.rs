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
    /// Rows that the node above it is expected to return; those of the plan at its top.
    pub rows_above: f64,
    /// Whether a `Limit` lies directly above it.
    pub under_limit: bool,
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
        rows_above: above.map_or(rows, |above| above.rows),
        under_limit: above.is_some_and(|above| above.kind == "Limit"),
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
        assert!(nodes[1].under_limit && nodes[1].kind == "Sort");
        assert_eq!((nodes[1].rows, nodes[1].rows_above), (9_000.0, 50.0));
        assert_eq!(nodes[2].filter.as_deref(), Some("(x = $1)"));
        assert_eq!(nodes[2].table.as_deref(), Some("tasks"));
    }

    #[test]
    fn what_is_no_plan_has_no_nodes() {
        for text in ["", "[]", "{}", "[{\"Plan\": 3}]", "nonsense"] {
            assert!(nodes(text).iter().all(|node| node.kind.is_empty()), "{text}");
        }
    }
}
