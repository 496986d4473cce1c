//! Conditions that no index can serve as they stand: one that converts the column, an OR over two tables, and one whose
//! value has another type than the plan supposes.
//!
//! Reads the plan: the text of a statement does not have the types. Says nothing without a plan. What shows the scan itself
//! is in [`super::scan`].

use crate::definition::Draft;
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::Remedy;
use crate::plan::{self, Node};
use crate::query::{self, Query, Table};
use crate::watched::Watched;

use super::scan::{BLOCKS, SCANS_PER_CALL, draft, kept};

/// Types to which a `varchar` is converted without a change of its bytes: an index on it still serves the comparison.
const SAME_BYTES: [&str; 2] = ["text", "character varying"];

/// The finding for a statement whose table is scanned for one of these reasons.
pub(super) fn condition(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    queries: &[Query<'_>],
    query: &Query<'_>,
) -> Option<Draft> {
    let nodes = plan::nodes(server.text("statement.plan", query.id)?);
    converted(evidence, server, query, &nodes)
        .or_else(|| either(evidence, server, query, &nodes))
        .or_else(|| unplanned(evidence, server, queries, query, &nodes))
}

/// A table that is scanned although an index begins with a column of the condition: the condition converts the column.
fn converted(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    nodes: &[Node],
) -> Option<Draft> {
    nodes.iter().filter(|node| node.kind == "Seq Scan").find_map(|node| {
        let filter = node.filter.as_deref()?;
        let table = query::table(server, node.table.as_deref()?)?;
        let (column, made) = indexed(&table).find_map(|column| Some((column, conversion(filter, column)?)))?;
        let statement = format!(
            "a statement scans {} ({} rows) for {} rows, {} of the database's time: it compares {made}, and the index \
             contains {column}",
            table.name,
            number(table.live_rows),
            number(query.rows),
            percent(query.time_share),
        );
        let remedy = Remedy::advice(format!(
            "compare {column} with a value of its own type, without a function around it; where the conversion is \
             meant, index ({made})"
        ));
        draft(evidence, server, query, &table, kept(server, query, &table), statement, remedy)
    })
}

/// The first column of each whole index of a table.
fn indexed<'t>(table: &'t Table<'_>) -> impl Iterator<Item = &'t str> {
    let whole = table.indexes.iter().filter(|index| !index.partial);
    whole.filter_map(|index| Some(index.columns.first()?.column.name.as_str()))
}

/// What a condition makes of a column before it compares it, such as `(id)::numeric` or `lower(email)`. PostgreSQL writes
/// conditions in one form: a converted column stands in parentheses of its own, with the alias of its table if there are
/// several.
fn conversion(condition: &str, column: &str) -> Option<String> {
    condition.match_indices(column).find_map(|(at, _)| {
        let (mut from, mut to) = whole_name(condition, at, at + column.len())?;
        if !is_enclosed(condition, from, to) {
            return None;
        }
        (from, to) = (from - 1, to + 1);
        let kind = condition[to..].strip_prefix("::").map(type_name);
        match kind {
            Some(kind) if !SAME_BYTES.contains(&kind) => return Some(format!("({column})::{kind}")),
            Some(kind) => {
                to += 2 + kind.len();
                if !is_enclosed(condition, from, to) {
                    return None;
                }
                from -= 1;
            }
            None => {}
        }
        Some(format!("{}({column})", function_before(&condition[..from])?))
    })
}

/// From where to where a name reaches whose last part is at this place: with quotes, and the alias before it. `None` if
/// the place is within another name.
fn whole_name(text: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let (mut from, mut to) = (from, to);
    if text[..from].ends_with('"') && text[to..].starts_with('"') {
        (from, to) = (from - 1, to + 1);
    }
    let before = text[..from].trim_end_matches(|c: char| is_of_name(c) || matches!(c, '.' | '"'));
    let alias = &text[before.len()..from];
    let is_whole = (alias.is_empty() || alias.ends_with('.')) && !text[to..].starts_with(is_of_name);
    is_whole.then_some((before.len(), to))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether nothing else stands in the parentheses around this part.
fn is_enclosed(text: &str, from: usize, to: usize) -> bool {
    text[..from].ends_with('(') && text[to..].starts_with(')')
}

/// The name of a type at the beginning of a text, such as `double precision`. The operator behind it is no word.
fn type_name(text: &str) -> &str {
    let end = text.find(|c| !(is_of_name(c) || c == ' ')).unwrap_or(text.len());
    text[..end].trim_end()
}

/// The function whose arguments begin behind a text.
fn function_before(text: &str) -> Option<&str> {
    let name = &text[text.trim_end_matches(is_of_name).len()..];
    let is_function = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(name, "ANY" | "ALL" | "NOT" | "AND" | "OR");
    is_function.then_some(name)
}

/// A join that reads its tables whole, because an OR compares columns of both.
fn either(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, nodes: &[Node]) -> Option<Draft> {
    let is_join = |node: &Node| node.kind.ends_with("Join") || node.kind == "Nested Loop";
    let has_or = |filter: &Option<String>| filter.as_ref().is_some_and(|filter| filter.contains(" OR "));
    // That of an outer join is a filter of the node.
    let mut joins = nodes.iter().filter(|node| is_join(node));
    let join = joins.find(|node| has_or(&node.join_filter) || has_or(&node.filter))?;
    let scanned = nodes.iter().filter(|node| node.kind == "Seq Scan" && node.filter.is_none());
    let tables = scanned.filter_map(|node| query::table(server, node.table.as_deref()?));
    let largest = tables.max_by(|one, other| one.live_rows.total_cmp(&other.live_rows))?;
    let kept = (largest.live_rows > 0.0).then(|| join.rows / largest.live_rows);
    let statement = format!(
        "a statement reads all {} rows of {} for {} rows, {} of the database's time: its OR compares columns of two \
         tables, which no index can serve",
        number(largest.live_rows),
        largest.name,
        number(query.rows),
        percent(query.time_share),
    );
    let remedy = Remedy::advice(
        "make one statement for each side of the OR and a UNION of them, with an index on the column of each",
    );
    draft(evidence, server, query, &largest, kept, statement, remedy)
}

/// A table that is scanned once per call although the plan for any value has an index: what is sent differs from what is
/// planned. Only if no other statement of weight names the table, whose scans these could be, and if the plan itself does
/// not scan the table in another place, as the steps of a recursion do.
fn unplanned(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    queries: &[Query<'_>],
    query: &Query<'_>,
    nodes: &[Node],
) -> Option<Draft> {
    let mut by_index =
        nodes.iter().filter(|node| node.kind.contains("Index") || node.kind == "Bitmap Heap Scan");
    let (node, table) =
        by_index.find_map(|node| Some((node, query::table(server, node.table.as_deref()?)?)))?;
    let of_table = |node: &Node| {
        let named = node.table.as_deref().and_then(|named| query::table(server, named));
        named.is_some_and(|named| named.name == table.name)
    };
    if nodes.iter().any(|node| node.kind == "Seq Scan" && of_table(node)) {
        return None;
    }
    let is_other = |other: &Query<'_>| other.id != query.id && other.blocks >= BLOCKS;
    if queries.iter().any(|other| is_other(other) && other.names(server, &table)) {
        return None;
    }
    let statement = format!(
        "a statement scans {} ({} rows) for {} rows, {} of the database's time, and its plan for any value has an index",
        table.name,
        number(table.live_rows),
        number(query.rows),
        percent(query.time_share),
    );
    let remedy = Remedy::advice(
        "look at the type that the driver sends: a value of another type than the column cannot use its index; then at \
         the plan with the values of a slow call (auto_explain)",
    );
    let scans = table.seq_scans >= SCANS_PER_CALL * query.per_second;
    // What the plan keeps is no signal of a scan that it does not have; a count can be a report over most rows.
    let kept = Some(node.rows / table.live_rows).filter(|_| query.condenses() && table.live_rows > 0.0);
    draft(evidence, server, query, &table, kept, statement, remedy).filter(|_| scans)
}

#[cfg(test)]
mod tests {
    use super::conversion;
    use crate::Confidence;
    use crate::testing::{Costs, RATE, Scene};

    /// A table of 50,000 rows that is scanned for one row.
    fn scanned(text: &str, plan: &str) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs =
            Costs { per_request: 0.2, seconds: 0.015, rows: 1.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        let calls = 0.2 * RATE as f64;
        scene.table(server, "public.products", 50_000.0, [calls, calls * 50_000.0], [1_000.0, 1_000.0]);
        scene.text(server, "statement.plan", "2", plan);
        scene
    }

    const BY_ID: &str = "SELECT name FROM products WHERE id = $1";

    #[test]
    fn a_conversion_in_the_text_keeps_the_index_out_and_is_named() {
        let text = "SELECT name FROM products WHERE id = $1::numeric";
        let plan = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 250,
            "Filter": "((id)::numeric = $1)"}}]"#;
        let finding = scanned(text, plan).found("missing_index").unwrap();
        assert_eq!(finding.confidence, Confidence::Strong);
        assert!(finding.statement.ends_with("it compares (id)::numeric, and the index contains id"));
    }

    #[test]
    fn a_scan_that_the_plan_explains_otherwise_says_nothing() {
        for filter in ["(id = $1)", "((name)::text = $1)", "(id = ANY ($1))"] {
            let plan = format!(
                r#"[{{"Plan": {{"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 250,
                "Filter": "{filter}"}}}}]"#
            );
            assert_eq!(scanned(BY_ID, &plan).found("missing_index"), None, "{filter}");
        }
    }

    #[test]
    fn a_scan_that_another_part_of_the_plan_has_is_no_scan_in_spite_of_the_plan() {
        let index = r#"{"Node Type": "Index Scan", "Relation Name": "products", "Plan Rows": 1,
            "Index Cond": "(id = $1)"}"#;
        let scan = r#"{"Node Type": "Hash Join", "Plan Rows": 90, "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 50000}]}"#;
        let of = |parts: &str| {
            let plan = format!(
                r#"[{{"Plan": {{"Node Type": "Recursive Union", "Plan Rows": 91, "Plans": [{parts}]}}}}]"#
            );
            scanned(BY_ID, &plan).found("missing_index")
        };
        assert!(of(index).is_some(), "what is sent differs from what is planned");
        assert_eq!(
            of(&format!("{index}, {scan}")),
            None,
            "the steps of a recursion join with the whole table"
        );
    }

    #[test]
    fn an_or_over_two_tables_is_found_and_an_or_within_one_is_not() {
        let text =
            "SELECT p.id FROM products p JOIN shops s ON s.id = p.shop WHERE p.name = $1 OR s.name = $1";
        let join = |filter: &str| {
            format!(
                r#"[{{"Plan": {{"Node Type": "Hash Join", {filter} "Plans": [
                {{"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 50000}},
                {{"Node Type": "Seq Scan", "Relation Name": "shops", "Plan Rows": 200}}]}}}}]"#
            )
        };
        let either = join(r#""Join Filter": "((p.name = $1) OR (s.name = $1))","#);
        let finding = scanned(text, &either).found("missing_index").unwrap();
        assert!(
            finding.statement.starts_with("a statement reads all 50,000 rows of public.products for 1 rows")
        );
        assert_eq!(scanned(text, &join("")).found("missing_index"), None);
    }

    #[test]
    fn a_join_that_returns_many_rows_of_few_blocks_each_has_the_plan_as_its_second_signal() {
        let text =
            "SELECT p.id FROM products p JOIN shops s ON s.id = p.shop WHERE p.name = $1 OR s.name = $1";
        let plan = r#"[{"Plan": {"Node Type": "Hash Join", "Plan Rows": 31,
            "Join Filter": "((p.name = $1) OR (s.name = $1))", "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 50000},
            {"Node Type": "Seq Scan", "Relation Name": "shops", "Plan Rows": 200}]}}]"#;
        let mut scene = scanned(text, plan);
        let costs =
            Costs { per_request: 0.2, seconds: 0.015, rows: 40.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(0, "2", text, &costs);
        assert_eq!(scene.found("missing_index").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn a_scan_per_call_although_the_plan_has_an_index_points_at_the_type_of_the_value() {
        let plan = r#"[{"Plan": {"Node Type": "Index Scan", "Relation Name": "products", "Plan Rows": 1,
            "Index Cond": "(id = $1)"}}]"#;
        let finding = scanned(BY_ID, plan).found("missing_index").unwrap();
        assert!(
            finding.statement.ends_with("and its plan for any value has an index"),
            "{}",
            finding.statement
        );
        let mut other = scanned(BY_ID, plan);
        let costs = Costs { per_request: 0.2, seconds: 0.02, rows: 9e4, blocks: 1_200.0, ..Costs::default() };
        other.statement(0, "3", "SELECT sum(price) FROM products", &costs);
        assert_eq!(other.found("missing_index"), None, "the scans can be those of the report");
        let mut healthy = scanned(BY_ID, plan);
        healthy.table(0, "public.products", 50_000.0, [0.0, 0.0], [1_200.0, 1_200.0]);
        assert_eq!(healthy.found("missing_index"), None);
    }

    #[test]
    fn a_conversion_is_found_in_all_forms_in_which_postgresql_writes_it() {
        for (condition, expected) in [
            ("((id)::numeric = $1)", Some("(id)::numeric")),
            ("(lower(id) = $1)", Some("lower(id)")),
            ("(lower((id)::text) = lower($1))", Some("lower(id)")),
            ("((p.id)::numeric = $1)", Some("(id)::numeric")),
            ("(lower((p.id)::text) = $1)", Some("lower(id)")),
            ("((p.\"id\")::numeric = $1)", Some("(id)::numeric")),
            ("((id)::text = $1)", None),
            ("((id)::bpchar = $1)", Some("(id)::bpchar")),
            ("((id)::double precision > $1)", Some("(id)::double precision")),
            ("(id = $1)", None),
            ("(NOT (id))", None),
            ("(id = ANY (id))", None),
            ("((other_id)::numeric = $1)", None),
            ("((id_of)::numeric = $1)", None),
            ("id", None),
            ("(\u{e9}id)::numeric", None),
        ] {
            assert_eq!(conversion(condition, "id").as_deref(), expected, "{condition}");
        }
    }
}
