//! A page of sorted rows for which many rows are read and sorted, because no index has its order.
//!
//! Needs the statements of a PostgreSQL server, with the definitions of indexes. Does not look at statements whose
//! condition has no index at all: that is `missing_index`. Where an index has the order and rows are skipped, it is
//! `deep_offset`.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Unit};
use crate::plan;
use crate::query::{self, Query, Table};
use crate::statement::{IndexShape, Ordered};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "sort_mismatch",
    finds: "a sort of many rows for a few, because no index has the order of the statement",
    needs: "a PostgreSQL server with pg_stat_statements, and the definitions of its indexes",
    limits: "a statement with ORDER BY, LIMIT and 10 % of the execution time reads 20 blocks per row, or with each call 90 % of a table of 100 blocks or more; scans of its table read 20 times the rows that it returns; the plan sorts 20 times the rows that it returns; it writes temporary blocks. If the statement has a condition, an index begins with its columns; none has them, all before it, and then the order with its directions and places of NULLs. If the statement has OFFSET, no index begins with its order behind compared columns. Nothing if its plan is known and sorts nothing, although no index seems to have the order. If the planner was asked about the index (HypoPG): as with `missing_index`",
    source: "Reading 20 rows to return one is where an index in the order of the statement pays in PgHero and pganalyze.",
    cause: "A sort must read all rows before it returns the first. DESC NULLS LAST, the usual wish, is not the reverse of an ascending index. An index that has the order alone leads past the rows that the condition leaves out: the newest of all are read to find the newest of one owner.",
    remedy: "Create an index with the compared columns first, then the columns of the order with the same directions and places of NULLs.",
    explains: &["wasted_reads", "condensed_rows", "table_growth"],
    check,
};

const TIMES: f64 = 20.0;
/// Share of a table that a call reads, and blocks that are worth a finding: `missing_index` has the same.
const WHOLE: f64 = 0.9;
const BLOCKS: f64 = 100.0;
/// Size of a block, as PostgreSQL is built everywhere.
const BLOCK_BYTES: f64 = 8_192.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let pages = query::heavy(&queries).filter(|query| {
            let statement = &query.statement;
            let is_page = statement.limit && !statement.order.is_empty();
            is_page && (!statement.offset || is_unordered(&server, query))
        });
        for query in pages {
            drafts.extend(
                query.statement.tables.iter().find_map(|named| sorted(evidence, &server, query, named)),
            );
        }
    }
    Ok(drafts)
}

/// Whether a statement asks for an order of columns of one table of which no index has even the first: then all rows
/// are read and sorted for every page, the first one too.
pub(super) fn is_unordered(server: &Watched<'_>, query: &Query<'_>) -> bool {
    let order = &query.statement.order;
    let ordered = query.statement.tables.iter().find_map(|named| {
        let table = query::table(server, named)?;
        has_order(&table, named, order).then_some((named, table))
    });
    ordered.is_some_and(|(named, table)| {
        let equals = query::equality_columns(&query.statement, &table, named);
        // The columns behind the first are sorted in groups (Incremental Sort).
        !table.indexes.iter().any(|index| follows(index, &equals, &order[..1]))
    })
}

/// Whether a table has all columns of an order; not of none.
fn has_order(table: &Table<'_>, named: &str, order: &[Ordered]) -> bool {
    let here = |ordered: &Ordered| ordered.column.table.as_ref().is_none_or(|of| of == named);
    !order.is_empty() && order.iter().all(|ordered| here(ordered) && table.has(&ordered.column.name))
}

fn sorted(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, named: &str) -> Option<Draft> {
    let table = query::table(server, named)?;
    let equals = query::equality_columns(&query.statement, &table, named);
    let order = &query.statement.order;
    let conditions = &query.statement;
    let has_condition =
        conditions.alternatives || !conditions.equals.is_empty() || !conditions.ranges.is_empty();
    if !has_order(&table, named, order) || !is_mismatched(&table, has_condition, &equals, order) {
        return None;
    }
    let signals = signals(server, query, &table);
    if signals.len() < 2 {
        return None;
    }
    let in_order: Vec<String> = order.iter().map(Ordered::in_index).collect();
    let is_sorted = !table.indexes.iter().any(|index| follows(index, &equals, order));
    if is_sorted && plans_no_sort(server, query) {
        return None;
    }
    let compared = match &equals[..] {
        [one] if !is_sorted => format!("{one} before "),
        [_, _, ..] if !is_sorted => format!("all of {} before ", equals.join(", ")),
        _ => String::new(),
    };
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement reads{} many rows of {} to return {}, {} of the database's time: no index has {}its order ({})",
            if is_sorted { " and sorts" } else { "" },
            table.name,
            number(query.rows),
            percent(query.time_share),
            compared,
            in_order.join(", ")
        ),
        signals,
        remedy: Remedy::Index {
            table: table.whole.to_owned(),
            columns: equals.into_iter().chain(in_order).collect(),
        },
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    })
}

/// What shows that more rows are read than returned.
fn signals(server: &Watched<'_>, query: &Query<'_>, table: &Table<'_>) -> Vec<Signal> {
    let read = table.rows_per_scan().map(|rows| rows / query.rows.max(1.0));
    // One signal, because both count the same blocks: short rows are many to a block, so that few blocks per row can be all.
    let blocks = Signal::at_least(
        "blocks read per row returned",
        Unit::Count,
        Some(query.blocks_per_row()),
        TIMES,
        "pg_stat_statements",
    );
    let whole = || {
        Signal::at_least(
            "share of the table that each call reads",
            Unit::Share,
            share_read(server, query, table),
            WHOLE,
            "pg_stat_statements, pg_class",
        )
    };
    let signals = [
        blocks.or_else(whole),
        Signal::at_least(
            format!("rows per scan of {} per row returned", table.name),
            Unit::Count,
            read,
            TIMES,
            "pg_stat_user_tables",
        ),
        Signal::at_least(
            "rows that the plan sorts per row returned",
            Unit::Count,
            sorted_rows(server, query).map(|rows| rows / query.rows.max(1.0)),
            TIMES,
            "EXPLAIN",
        ),
        Signal::at_least(
            "temporary blocks per call",
            Unit::Count,
            Some(query.temp_blocks),
            1.0,
            "pg_stat_statements: temp_blks",
        ),
    ];
    signals.into_iter().flatten().collect()
}

/// How much of a table one call reads, 1 for all of it; `None` for a small table, one of unknown size, and a statement that
/// reads others too.
fn share_read(server: &Watched<'_>, query: &Query<'_>, table: &Table<'_>) -> Option<f64> {
    let bytes = server.mean("table.bytes", table.name).filter(|bytes| *bytes > 0.0)?;
    (query.blocks >= BLOCKS && query.statement.tables.len() == 1)
        .then(|| (query.blocks * BLOCK_BYTES / bytes).min(1.0))
}

/// Whether no index has the compared columns and the order as asked for; with a condition, some index must begin with a
/// column of either.
fn is_mismatched(table: &Table<'_>, has_condition: bool, equals: &[String], order: &[Ordered]) -> bool {
    let begins = |index: &IndexShape| {
        index.columns.first().is_some_and(|first| {
            equals.contains(&first.column.name)
                || order.iter().any(|ordered| ordered.column.name == first.column.name)
        })
    };
    let serves = |index: &IndexShape| {
        let before = index.columns.iter().take_while(|column| equals.contains(&column.column.name)).count();
        // A partial index can have the condition of a column instead of the column.
        follows(index, equals, order) && (index.partial || before >= equals.len())
    };
    (!has_condition || table.indexes.iter().any(begins)) && !table.indexes.iter().any(serves)
}

/// Whether an index has the order, forwards or backwards, behind compared columns or at its beginning.
fn follows(index: &IndexShape, equals: &[String], order: &[Ordered]) -> bool {
    let rest = index.columns.iter().skip_while(|column| equals.contains(&column.column.name));
    let rest: Vec<&Ordered> = rest.collect();
    let in_order = |backwards: bool| {
        rest.len() >= order.len()
            && order.iter().zip(&rest).all(|(wanted, has)| wanted.is_served_by(has, backwards))
    };
    !index.columns.is_empty() && (in_order(false) || in_order(true))
}

/// Whether the plan is known and has no sort: then the order is there, by an index that does not look like it.
fn plans_no_sort(server: &Watched<'_>, query: &Query<'_>) -> bool {
    let nodes = plan::nodes(server.text("statement.plan", query.id).unwrap_or_default());
    !nodes.is_empty() && nodes.iter().all(|node| !node.kind.is_empty() && !node.is_sort())
}

/// Rows that a sort under a limit is expected to receive. How many the limit lets through is often not in a plan for any
/// value.
pub(super) fn sorted_rows(server: &Watched<'_>, query: &Query<'_>) -> Option<f64> {
    let nodes = plan::nodes(server.text("statement.plan", query.id)?);
    nodes.iter().find(|node| node.under_limit && node.is_sort()).map(|sort| sort.rows)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, Scene};
    use crate::{Confidence, Remedy};

    const PAGE: &str =
        "SELECT * FROM tasks WHERE organization_id = $1 ORDER BY last DESC NULLS LAST LIMIT 50";

    fn page(index: &str, blocks: f64, rows_per_scan: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 0.15, seconds: 0.03, rows: 50.0, blocks, ..Costs::default() };
        scene.statement(server, "2", PAGE, &costs);
        scene.table(server, "public.tasks", 240_000.0, [0.0, 0.0], [150.0, 150.0 * rows_per_scan]);
        let definition = format!("CREATE INDEX i ON public.tasks USING btree ({index})");
        scene.text(server, "index.definition", "public.i", &definition);
        scene
    }

    #[test]
    fn an_ascending_index_does_not_serve_descending_nulls_last() {
        let finding = page("organization_id, last", 3_000.0, 20_000.0).found("sort_mismatch").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        let columns = vec!["organization_id".to_owned(), "last DESC NULLS LAST".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.tasks".into(), columns });
    }

    #[test]
    fn a_page_whose_plan_sorts_nothing_has_its_order_from_an_index() {
        let mut scene = page("organization_id, last", 3_000.0, 20_000.0);
        let plan = |below: &str| {
            format!(
                r#"[{{"Plan": {{"Node Type": "Limit", "Plan Rows": 50, "Plans": [
                {{"Node Type": "{below}", "Plan Rows": 9000}}]}}}}]"#
            )
        };
        scene.text(0, "statement.plan", "2", &plan("Sort"));
        assert_eq!(scene.found("sort_mismatch").unwrap().confidence, Confidence::Strong);
        scene.text(0, "statement.plan", "2", &plan("Index Scan"));
        assert_eq!(scene.found("sort_mismatch"), None);
    }

    /// A page of the newest todos, as the views of a server showed it.
    fn newest(order: &str, blocks: f64, rows_per_scan: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, seconds: 0.078, rows: 200.0, blocks, ..Costs::default() };
        let text = format!("SELECT id, name, created_at FROM todos ORDER BY {order} LIMIT $1");
        scene.statement(server, "2", &text, &costs);
        scene.table(server, "public.todos", 100_000.0, [1_000.0, 1_000.0 * rows_per_scan], [0.0, 0.0]);
        scene.gauge(server, "table.bytes", "public.todos", 834.0 * 8_192.0);
        let definition = "CREATE INDEX i ON public.todos USING btree (id)";
        scene.text(server, "index.definition", "public.i", definition);
        scene
    }

    #[test]
    fn a_page_of_short_rows_is_found_because_each_call_reads_the_whole_table() {
        for order in ["created_at DESC, id DESC", "created_at DESC"] {
            let finding = newest(order, 834.0, 100_000.0).found("sort_mismatch").unwrap();
            assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2), "{order}");
            let Remedy::Index { columns, .. } = finding.remedy else { panic!("{order}") };
            assert_eq!(columns.join(", "), order);
        }
        assert_eq!(newest("created_at DESC", 40.0, 200.0).found("sort_mismatch"), None);
    }

    /// The newest messages of one mailbox, with this index beside the primary key.
    fn mailbox(index: &str, blocks: f64, rows_per_scan: f64) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs = Costs { per_request: 1.0, seconds: 0.024, rows: 20.0, blocks, ..Costs::default() };
        let text = "SELECT id, title FROM messages WHERE mailbox = $1 ORDER BY id DESC LIMIT 20";
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.messages", 200_000.0, [0.0, 0.0], [1_000.0, 1_000.0 * rows_per_scan]);
        for (name, columns) in [("messages_pkey", "id"), ("messages_mailbox", index)] {
            let definition = format!("CREATE INDEX {name} ON public.messages USING btree ({columns})");
            scene.text(server, "index.definition", &format!("public.{name}"), &definition);
        }
        scene
    }

    #[test]
    fn an_index_that_has_the_order_alone_leads_past_the_rows_of_others() {
        let finding = mailbox("mailbox", 4_000.0, 160_000.0).found("sort_mismatch").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        let says = "a statement reads many rows of public.messages to return 20, 100 % of the database's time: no index \
                    has mailbox before its order (id DESC)";
        assert_eq!(finding.statement, says);
        let columns = vec!["mailbox".to_owned(), "id DESC".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.messages".into(), columns });
    }

    #[test]
    fn an_index_that_has_the_order_alone_is_healthy_where_the_condition_leaves_out_few_rows() {
        assert_eq!(mailbox("mailbox", 25.0, 40.0).found("sort_mismatch"), None);
        assert_eq!(mailbox("mailbox, id", 24.0, 20.0).found("sort_mismatch"), None);
        let partial = "CREATE INDEX p ON public.messages USING btree (id) WHERE (mailbox = 7)";
        let mut scene = mailbox("mailbox", 4_000.0, 160_000.0);
        scene.text(0, "index.definition", "public.p", partial);
        assert_eq!(scene.found("sort_mismatch"), None);
    }

    /// Pages of the newest todos by OFFSET, of a table with this index.
    fn skipping(index: &str) -> Scene {
        let mut scene = newest("created_at DESC, id DESC", 834.0, 100_000.0);
        let costs =
            Costs { per_request: 1.0, seconds: 0.078, rows: 200.0, blocks: 9_000.0, ..Costs::default() };
        let text = "SELECT id, name FROM todos ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2";
        scene.statement(0, "2", text, &costs);
        let definition = format!("CREATE INDEX i ON public.todos USING btree ({index})");
        scene.text(0, "index.definition", "public.i", &definition);
        scene
    }

    #[test]
    fn a_page_that_is_sorted_for_want_of_an_index_is_no_matter_of_its_offset_which_can_be_zero() {
        let scene = skipping("id");
        let Remedy::Index { columns, .. } = scene.found("sort_mismatch").unwrap().remedy else { panic!() };
        assert_eq!(columns, ["created_at DESC", "id DESC"]);
        assert_eq!(scene.found("deep_offset"), None);
    }

    #[test]
    fn a_page_whose_order_an_index_begins_with_reads_what_it_skips() {
        for index in ["created_at, id", "created_at"] {
            assert_eq!(skipping(index).found("sort_mismatch"), None, "{index}");
            assert!(skipping(index).found("deep_offset").is_some(), "{index}");
        }
    }

    #[test]
    fn an_index_in_the_order_of_the_statement_is_healthy() {
        let healthy = page("organization_id, last DESC NULLS LAST", 54.0, 50.0);
        assert_eq!(healthy.found("sort_mismatch"), None);
        let few_rows = page("organization_id", 60.0, 60.0);
        assert_eq!(few_rows.found("sort_mismatch"), None);
    }
}
