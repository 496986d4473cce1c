//! A page of sorted rows for which many rows are read and sorted, because an index has another order.
//!
//! Needs the statements of a PostgreSQL server, with the definitions of indexes. Does not look at statements whose
//! condition has no index at all: that is `missing_index`.

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
    limits: "a statement with ORDER BY, LIMIT and 10 % of the execution time reads 20 blocks per row; scans of its table read 20 times the rows that it returns; the plan sorts 20 times the rows of the limit; it writes temporary blocks. An index begins with its columns, but has another order, direction or place of NULLs",
    source: "Reading 20 rows to return one is where an index in the order of the statement pays in PgHero and pganalyze.",
    cause: "A sort must read all rows before it returns the first. DESC NULLS LAST, the usual wish, is not the reverse of an ascending index.",
    remedy: "Create an index with the compared columns first, then the columns of the order with the same directions and places of NULLs.",
    explains: &[],
    check,
};

const TIMES: f64 = 20.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let pages = query::heavy(&queries).filter(|query| {
            query.statement.limit && !query.statement.order.is_empty() && !query.statement.offset
        });
        for query in pages {
            drafts.extend(
                query.statement.tables.iter().find_map(|named| sorted(evidence, &server, query, named)),
            );
        }
    }
    Ok(drafts)
}

fn sorted(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, named: &str) -> Option<Draft> {
    let table = query::table(server, named)?;
    let equals = query::equality_columns(&query.statement, &table, named);
    let order = &query.statement.order;
    let here = |ordered: &Ordered| ordered.column.table.as_ref().is_none_or(|of| of == named);
    if !order.iter().all(|ordered| here(ordered) && table.has(&ordered.column.name))
        || !is_mismatched(&table, &equals, order)
    {
        return None;
    }
    let read = table.rows_per_scan().map(|rows| rows / query.rows.max(1.0));
    let signals: Vec<Signal> = [
        Signal::at_least(
            "blocks read per row returned",
            Unit::Count,
            Some(query.blocks_per_row()),
            TIMES,
            "pg_stat_statements",
        ),
        Signal::at_least(
            format!("rows per scan of {} per row returned", table.name),
            Unit::Count,
            read,
            TIMES,
            "pg_stat_user_tables",
        ),
        Signal::at_least(
            "rows that the plan sorts per row of the limit",
            Unit::Count,
            sorted_rows(server, query),
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
    ]
    .into_iter()
    .flatten()
    .collect();
    if signals.len() < 2 {
        return None;
    }
    let in_order: Vec<String> = order.iter().map(Ordered::in_index).collect();
    Some(Draft {
        subject: query.subject(server),
        statement: format!(
            "a statement reads and sorts many rows of {} to return {}, {} of the database's time: no index has its order ({})",
            table.name,
            number(query.rows),
            percent(query.time_share),
            in_order.join(", ")
        ),
        signals,
        remedy: Remedy::Index {
            table: table.name.to_owned(),
            columns: equals.into_iter().chain(in_order).collect(),
        },
        gain: Gain::saves(
            evidence.response_mean(),
            Some(query.seconds_per_request()),
            format!("the statement takes {} per request", seconds(query.seconds_per_request())),
        ),
    })
}

/// Whether some index begins with the compared columns or with a column of the order, and none has both as asked for.
fn is_mismatched(table: &Table<'_>, equals: &[String], order: &[Ordered]) -> bool {
    let begins = |index: &IndexShape| {
        index.columns.first().is_some_and(|first| {
            equals.contains(&first.column.name)
                || order.iter().any(|ordered| ordered.column.name == first.column.name)
        })
    };
    let serves = |index: &IndexShape| {
        let rest = index.columns.iter().skip_while(|column| equals.contains(&column.column.name));
        let rest: Vec<&Ordered> = rest.collect();
        let in_order = |backwards: bool| {
            rest.len() >= order.len()
                && order.iter().zip(&rest).all(|(wanted, has)| wanted.is_served_by(has, backwards))
        };
        !index.columns.is_empty() && (in_order(false) || in_order(true))
    };
    table.indexes.iter().any(begins) && !table.indexes.iter().any(serves)
}

/// Rows that a sort under a limit receives per row of the limit.
fn sorted_rows(server: &Watched<'_>, query: &Query<'_>) -> Option<f64> {
    let nodes = plan::nodes(server.text("statement.plan", query.id)?);
    let sort = nodes
        .iter()
        .find(|node| node.under_limit && matches!(node.kind.as_str(), "Sort" | "Incremental Sort"))?;
    (sort.rows_above > 0.0).then(|| sort.rows / sort.rows_above)
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
    fn an_index_in_the_order_of_the_statement_is_healthy() {
        let healthy = page("organization_id, last DESC NULLS LAST", 54.0, 50.0);
        assert_eq!(healthy.found("sort_mismatch"), None);
        let few_rows = page("organization_id", 60.0, 60.0);
        assert_eq!(few_rows.found("sort_mismatch"), None);
    }
}
