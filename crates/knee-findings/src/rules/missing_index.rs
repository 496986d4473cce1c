//! A statement that reads a large table from end to end for few rows, because no index fits its condition.
//!
//! Needs the statements of a PostgreSQL server. Proposes an index of one table: columns compared for equality, the most
//! selective first, then a range or the order; trigrams for a pattern; the columns of a foreign key for a deletion. Where
//! an index is there and the condition is in its way, [`unfit`] says what is. Does not weigh what an index costs writes.

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::Remedy;
use crate::query::{self, ForeignKey, Query, Table};
use crate::statement::IndexShape;
use crate::watched::Watched;

mod scan;
mod unfit;

use scan::{BLOCKS, draft, kept};

pub(super) const RULE: Rule = Rule {
    code: "missing_index",
    finds: "a statement that scans a large table because no index fits its condition",
    needs: "a PostgreSQL server with pg_stat_statements",
    limits: "a statement with 10 % of the execution time reads 100 blocks per call and 50 per row; the table has sequential scans of 10,000 rows each, at least half as many as the statement has calls; the plan keeps 5 % of the rows at most. Two of them, or nothing; nothing if the plan keeps more, unless the statement returns fewer or is a page in an order; and nothing for counts, sums and groups if it is unknown what the plan keeps. No index begins with a compared column, unless it is partial; for a pattern, no index of trigrams does. For a deletion or an update of keys, the table is one that refers to the changed one, and no index begins with its foreign key. Or: the plan scans the table because the condition converts a column with which an index begins, or because an OR compares columns of two tables; or the plan has an index for every value, and the table is scanned all the same. If the planner was asked about the index (HypoPG), a plan of half the cost at most counts instead of what the plan keeps, and an index that it would not use is not proposed, unless its plan expects more than ten times the rows that the statement returns",
    source: "10,000 rows are PgHero's bar for a sequential scan that matters; 5 % is where planners prefer an index; half of the cost is the bar of dexter.",
    cause: "Each call reads the whole table to return a few rows, so its time grows with the table. A pattern with a leading wildcard cannot use an ordinary index; a deletion looks for rows that refer to the deleted one. An index does not serve a column that is converted, nor a value of another type, as some drivers send it. An OR over two tables can only be checked on the rows of both.",
    remedy: "Create the index (CONCURRENTLY on a live database); or compare the column with a value of its own type, or make two statements of the OR and a UNION of them. Run the load again and compare.",
    explains: &["count_per_request", "cache_miss", "wasted_reads", "condensed_rows", "table_growth"],
    check,
};

fn check(evidence: &Evidence<'_>) -> Checked {
    let mut drafts = Vec::new();
    for (server, queries) in query::servers(evidence)? {
        let keys = query::foreign_keys(&server);
        for query in query::heavy(&queries).filter(|query| query.blocks >= BLOCKS) {
            let named = || query.statement.tables.iter().filter(|_| !query.statement.either);
            let searched = named().find_map(|named| searched(evidence, &server, query, named));
            let unfit = || unfit::condition(evidence, &server, &queries, query);
            drafts.extend(searched.or_else(|| referring(evidence, &server, query, &keys)).or_else(unfit));
        }
    }
    Ok(drafts)
}

/// A table that the statement searches without an index.
fn searched(evidence: &Evidence<'_>, server: &Watched<'_>, query: &Query<'_>, named: &str) -> Option<Draft> {
    let table = query::table(server, named)?;
    let (remedy, first) = remedy(query, &table, named)?;
    let statement = format!(
        "a statement scans {} ({} rows) for {} rows, {} of the database's time; {}",
        table.name,
        number(table.live_rows),
        number(query.rows),
        percent(query.time_share),
        missing(&table, &first),
    );
    let kept = kept(server, query, &table);
    draft(evidence, server, query, &table, kept, statement, remedy)
}

/// A table that refers to the one from which the statement deletes, and has no index to find the rows that do.
fn referring(
    evidence: &Evidence<'_>,
    server: &Watched<'_>,
    query: &Query<'_>,
    keys: &[ForeignKey<'_>],
) -> Option<Draft> {
    if !matches!(query.statement.verb.as_str(), "delete" | "update") {
        return None;
    }
    let changed = query::table(server, query.statement.tables.first()?)?;
    let without_index = |key: &&ForeignKey<'_>| {
        let begins = |index: &IndexShape| {
            !index.partial
                && key.columns.iter().zip(&index.columns).all(|(one, other)| *one == other.column.name)
        };
        let of_table = query::table(server, key.table);
        [changed.name, changed.whole].contains(&key.target)
            && of_table.is_some_and(|table| !table.indexes.iter().any(begins))
    };
    keys.iter().filter(without_index).find_map(|key| {
        let table = query::table(server, key.table)?;
        let statement = format!(
            "each {} of {} scans {} ({} rows) for rows that refer to it, {} of the database's time; {}",
            query.statement.verb,
            changed.name,
            table.name,
            number(table.live_rows),
            percent(query.time_share),
            missing(&table, key.columns.first()?)
        );
        let columns = key.columns.iter().map(|column| (*column).to_owned()).collect();
        let remedy = Remedy::Index { table: table.whole.to_owned(), columns };
        draft(evidence, server, query, &table, None, statement, remedy)
    })
}

/// What there is not. A partial index serves statements with its condition alone.
fn missing(table: &Table<'_>, column: &str) -> String {
    let begins = |index: &IndexShape| index.columns.first().is_some_and(|first| first.column.name == column);
    let is_there = table.indexes.iter().any(|index| index.partial && begins(index));
    if is_there {
        format!("only a partial index begins with {column}")
    } else {
        format!("no index begins with {column}")
    }
}

/// The index that the statement needs, and its first column.
fn remedy(query: &Query<'_>, table: &Table<'_>, named: &str) -> Option<(Remedy, String)> {
    let of_pattern = || {
        let of_table = |of: &Option<String>| of.as_ref().is_none_or(|of| of == named);
        let mut patterns = query.statement.patterns.iter();
        let column = &patterns.find(|column| of_table(&column.table) && table.has(&column.name))?.name;
        let has = |index: &IndexShape| {
            let begins = index.columns.first().is_some_and(|first| first.column.name == *column);
            begins && matches!(index.method.as_str(), "gin" | "gist")
        };
        let remedy = Remedy::Trigrams { table: table.whole.to_owned(), column: column.clone() };
        (!table.indexes.iter().any(has)).then(|| (remedy, column.clone()))
    };
    let of_values = || {
        let columns = columns(query, table, named)?;
        let first = columns.first()?.clone();
        Some((Remedy::Index { table: table.whole.to_owned(), columns }, first))
    };
    of_values().or_else(of_pattern)
}

/// The columns of the index; `None` if there is nothing to search by, or if an index begins with such a column.
fn columns(query: &Query<'_>, table: &Table<'_>, named: &str) -> Option<Vec<String>> {
    let statement = &query.statement;
    let mut columns = query::equality_columns(statement, table, named);
    let of_table = |of: &Option<String>| of.as_ref().is_none_or(|of| of == named);
    let range = statement.ranges.iter().find(|column| of_table(&column.table) && table.has(&column.name));
    let order = statement
        .order
        .iter()
        .all(|ordered| of_table(&ordered.column.table) && table.has(&ordered.column.name));
    if columns.is_empty() {
        columns.push(range?.name.clone());
    } else if statement.limit && order && !statement.order.is_empty() {
        columns.extend(statement.order.iter().map(crate::statement::Ordered::in_index));
    } else {
        columns.extend(range.map(|column| column.name.clone()));
    }
    let compared = || statement.equals.iter().chain(&statement.ranges);
    let searched = |name: &str| compared().any(|column| of_table(&column.table) && column.name == name);
    let fits = |index: &IndexShape| {
        !index.partial && index.columns.first().is_some_and(|first| searched(&first.column.name))
    };
    (!table.indexes.iter().any(fits)).then_some(columns)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Costs, RATE, Scene};
    use crate::{Confidence, Remedy, SubjectKind};

    const LIST: &str = "SELECT id, name FROM products WHERE shop = $1 ORDER BY name LIMIT 20";

    fn scanning(text: &str) -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let costs =
            Costs { per_request: 0.2, seconds: 0.015, rows: 20.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        let calls = 0.2 * RATE as f64;
        scene.table(server, "public.products", 50_000.0, [calls, calls * 50_000.0], [1_000.0, 1_000.0]);
        scene
    }

    #[test]
    fn a_scan_for_twenty_rows_is_found_with_the_index_that_it_needs() {
        let finding = scanning(LIST).found("missing_index").unwrap();
        assert_eq!((finding.confidence, finding.subject.kind), (Confidence::Likely, SubjectKind::Statement));
        let columns = vec!["shop".to_owned(), "name".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.products".into(), columns });
        assert!(finding.gain.unwrap().share() > 0.5);
    }

    #[test]
    fn a_condition_with_an_or_beside_the_compared_column_does_not_hide_it() {
        let text = "UPDATE products SET seen = $2 WHERE shop = $1 AND (seen IS NULL OR seen < $2)";
        let finding = scanning(text).found("missing_index").unwrap();
        let columns = vec!["shop".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.products".into(), columns });
        let either = "UPDATE products SET seen = $2 WHERE shop = $1 OR name = $3";
        assert_eq!(scanning(either).found("missing_index"), None);
    }

    #[test]
    fn a_partitioned_table_is_found_by_the_partition_that_is_read_and_gets_the_index_itself() {
        let mut scene = scanning("SELECT id, name FROM goods WHERE shop = $1 ORDER BY name LIMIT 20");
        assert_eq!(scene.found("missing_index"), None, "nothing is known about the table");
        scene.text(0, "table.partition_of", "public.products", "public.goods");
        scene.table(0, "public.products_old", 900_000.0, [0.0, 0.0], [0.0, 0.0]);
        scene.text(0, "table.partition_of", "public.products_old", "public.goods");
        let finding = scene.found("missing_index").unwrap();
        let columns = vec!["shop".to_owned(), "name".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.goods".into(), columns });
        assert!(finding.statement.contains("scans public.products (50,000 rows)"), "{}", finding.statement);
    }

    #[test]
    fn a_plan_is_one_signal_more() {
        let mut scene = scanning(LIST);
        scene.text(0, "statement.plan", "2", r#"[{"Plan": {"Node Type": "Limit", "Plan Rows": 20, "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": 250, "Filter": "(shop = $1)"}]}}]"#);
        assert_eq!(scene.found("missing_index").unwrap().confidence, Confidence::Strong);
    }

    fn plan(kept: u32) -> String {
        format!(
            r#"[{{"Plan": {{"Node Type": "Aggregate", "Plan Rows": 1, "Plans": [
            {{"Node Type": "Seq Scan", "Relation Name": "products", "Plan Rows": {kept},
            "Filter": "(shop = $1)"}}]}}}}]"#
        )
    }

    /// A statement that returns 20 rows, with a plan that keeps 60 %.
    fn keeping_many(text: &str) -> Scene {
        let mut scene = scanning(text);
        scene.text(0, "statement.plan", "2", &plan(30_000));
        scene
    }

    #[test]
    fn a_scan_that_keeps_many_rows_is_healthy_because_no_planner_would_use_an_index() {
        let some = "SELECT id, name FROM products WHERE shop = $1 LIMIT 20";
        assert!(scanning(some).found("missing_index").is_some());
        assert_eq!(keeping_many(some).found("missing_index"), None);
    }

    #[test]
    fn a_page_in_an_order_and_a_value_that_is_rare_need_few_rows_although_the_plan_keeps_many() {
        assert_eq!(keeping_many(LIST).found("missing_index").unwrap().confidence, Confidence::Likely);
        let rare = "SELECT id, name FROM products WHERE shop = $1";
        assert_eq!(keeping_many(rare).found("missing_index").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn a_count_is_no_report_over_most_rows_only_if_the_plan_says_so() {
        let mut scene = scanning("SELECT count(*) FROM products WHERE shop = $1");
        assert_eq!(scene.found("missing_index"), None, "it can count most rows");
        scene.text(0, "statement.plan", "2", &plan(30_000));
        assert_eq!(scene.found("missing_index"), None);
        scene.text(0, "statement.plan", "2", &plan(250));
        assert_eq!(scene.found("missing_index").unwrap().confidence, Confidence::Strong);
    }

    #[test]
    fn a_column_of_the_same_name_in_another_table_of_a_join_is_another_column() {
        let text =
            "SELECT p.id FROM products p JOIN shops c ON c.id = p.shop WHERE c.id = $1 AND p.name = $2";
        let finding = scanning(text).found("missing_index").unwrap();
        let columns = vec!["name".to_owned()];
        assert_eq!(finding.remedy, Remedy::Index { table: "public.products".into(), columns });
        let own = "SELECT p.id FROM products p JOIN shops c ON c.id = p.shop WHERE p.id = $1 AND p.name = $2";
        assert_eq!(scanning(own).found("missing_index"), None);
    }

    #[test]
    fn an_index_of_some_rows_is_named_as_what_is_there() {
        let mut scene = scanning(LIST);
        let partial = "CREATE INDEX p ON public.products USING btree (shop) WHERE (name IS NULL)";
        scene.text(0, "index.definition", "public.p", partial);
        let finding = scene.found("missing_index").unwrap();
        assert!(
            finding.statement.ends_with("only a partial index begins with shop"),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn a_search_for_a_pattern_needs_trigrams_and_an_ordinary_index_does_not_help_it() {
        let mut scene = scanning("SELECT id FROM products WHERE name ILIKE $1 LIMIT 20");
        scene.text(0, "index.definition", "public.n", "CREATE INDEX n ON public.products USING btree (name)");
        let finding = scene.found("missing_index").unwrap();
        let (table, column) = ("public.products".to_owned(), "name".to_owned());
        assert_eq!(finding.remedy, Remedy::Trigrams { table, column });
        let trigrams = "CREATE INDEX t ON public.products USING gin (name gin_trgm_ops)";
        scene.text(0, "index.definition", "public.t", trigrams);
        assert_eq!(scene.found("missing_index"), None);
    }

    #[test]
    fn a_deletion_that_scans_a_referring_table_needs_an_index_on_its_foreign_key() {
        let mut scene = scanning("DELETE FROM shops WHERE id = $1");
        scene.table(0, "public.shops", 3_000.0, [0.0, 0.0], [200.0, 200.0]);
        scene.text(0, "table.columns", "public.shops", "id\tbigint\t-1\t0");
        scene.text(
            0,
            "index.definition",
            "public.s",
            "CREATE UNIQUE INDEX s ON public.shops USING btree (id)",
        );
        assert_eq!(scene.found("missing_index"), None, "no table is known to refer to it");
        scene.text(0, "table.foreign_keys", "public.products", "shop\tpublic.shops\tid");
        let finding = scene.found("missing_index").unwrap();
        let (table, columns) = ("public.products".to_owned(), vec!["shop".to_owned()]);
        assert_eq!(finding.remedy, Remedy::Index { table, columns });
        assert!(
            finding.statement.contains("each delete of public.shops scans public.products"),
            "{}",
            finding.statement
        );
        scene.text(
            0,
            "index.definition",
            "public.k",
            "CREATE INDEX k ON public.products USING btree (shop, id)",
        );
        assert_eq!(scene.found("missing_index"), None);
    }

    #[test]
    fn with_an_index_on_the_column_nothing_is_missing() {
        let mut scene = scanning(LIST);
        scene.text(
            0,
            "index.definition",
            "public.i",
            "CREATE INDEX i ON public.products USING btree (shop, id)",
        );
        assert_eq!(scene.found("missing_index"), None);
    }

    #[test]
    fn a_report_over_the_whole_table_a_small_table_and_a_rare_statement_are_healthy() {
        assert_eq!(scanning("SELECT sum(price) FROM products").found("missing_index"), None);
        let mut small = scanning(LIST);
        small.table(0, "public.products", 800.0, [200.0, 160_000.0], [1_000.0, 1_000.0]);
        assert_eq!(small.found("missing_index"), None);
        let mut rare = scanning(LIST);
        rare.statement(
            0,
            "2",
            LIST,
            &Costs { per_request: 0.0001, seconds: 0.015, blocks: 1_200.0, ..Costs::default() },
        );
        assert_eq!(rare.found("missing_index"), None);
    }
}
