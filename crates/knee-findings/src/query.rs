//! The statements of a PostgreSQL server with what they cost, and the tables that they name.
//!
//! Calculates, and judges nothing.

use knee_core::observation::SourceKind;

use crate::evidence::Evidence;
use crate::finding::{Subject, SubjectKind};
use crate::lack::Lack;
use crate::statement::{self, IndexShape, Statement};
use crate::watched::Watched;

/// A statement below this share of the execution time is not looked at: `PgHero` and pganalyze rank by total time.
pub(crate) const TIME_SHARE: f64 = 0.1;

/// What makes one row of many. A name that ends like this is rare, and makes a rule silent, not wrong.
const CONDENSING: [&str; 12] = [
    "count(",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "_agg(",
    "bool_or(",
    "bool_and(",
    "group by",
    "distinct",
    "over(",
    "recursive",
];

/// One statement during the measured time; figures are per call unless they say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Query<'a> {
    pub id: &'a str,
    pub text: &'a str,
    pub statement: Statement,
    /// Calls per complete response of the load.
    pub per_request: f64,
    /// Calls per second.
    pub per_second: f64,
    /// Share of the execution time of all statements, 0 to 1.
    pub time_share: f64,
    /// Mean execution time in seconds.
    pub seconds: f64,
    pub rows: f64,
    /// Blocks of 8 KiB, from the cache or from the system.
    pub blocks: f64,
    pub temp_blocks: f64,
}

impl Query<'_> {
    /// Execution time per complete response, in seconds.
    pub(crate) fn seconds_per_request(&self) -> f64 {
        self.seconds * self.per_request
    }

    /// Blocks read per row returned; a call without rows counts as one row.
    pub(crate) fn blocks_per_row(&self) -> f64 {
        self.blocks / self.rows.max(1.0)
    }

    /// Whether it changes rows.
    pub(crate) fn changes_rows(&self) -> bool {
        self.statement.changes_rows()
    }

    /// Whether it only reads: it changes no rows, locks none, and takes no number of a sequence. A statement that
    /// names no table can call a function that writes, and counts as none that only reads.
    pub(crate) fn only_reads(&self) -> bool {
        let text = self.text.to_lowercase();
        let words = words(&text);
        let locks = words
            .windows(2)
            .any(|two| two[0] == "for" && matches!(two[1], "update" | "share" | "no" | "key"));
        let numbers = |word: &&str| matches!(*word, "nextval" | "setval" | "into");
        self.statement.is_read() && !locks && !self.statement.tables.is_empty() && !words.iter().any(numbers)
    }

    /// Whether it looks for rows, to return them or to change them, also by a common table expression. A statement that
    /// adds rows does not.
    pub(crate) fn searches(&self) -> bool {
        // Of a text that was cut off within its common table expressions, these are known.
        let searches = matches!(self.statement.verb.as_str(), "select" | "update" | "delete" | "with");
        searches && !self.statement.adds_rows()
    }

    /// Whether it makes, changes, empties or drops a table or something else that the catalogs have rows for.
    pub(crate) fn changes_catalogs(&self) -> bool {
        let text = self.text.to_lowercase();
        match self.statement.verb.as_str() {
            "create" | "alter" | "truncate" | "drop" => true,
            "select" => self.statement.is_read() && words(&text).contains(&"into"),
            _ => false,
        }
    }

    /// Whether it makes few rows of many on purpose: it counts, sums, groups or drops what is the same.
    pub(crate) fn condenses(&self) -> bool {
        condenses(self.text)
    }

    /// Whether it returns a part of its rows in an order: `ORDER BY` and `LIMIT`, both of the outermost statement.
    pub(crate) fn is_page(&self) -> bool {
        let outer = outermost(self.text);
        outer.contains("order by") && (outer.contains(" limit ") || outer.contains(" fetch "))
    }

    /// Rows returned or changed per second; a call without rows counts as one row.
    pub(crate) fn rows_per_second(&self) -> f64 {
        self.rows.max(1.0) * self.per_second
    }

    /// Whether it names this table.
    pub(crate) fn names(&self, server: &Watched<'_>, table: &Table<'_>) -> bool {
        let mut tables = self.statement.tables.iter().filter_map(|named| self::table(server, named));
        tables.any(|named| named.name == table.name)
    }

    /// The statement as the subject of a finding.
    pub(crate) fn subject(&self, server: &Watched<'_>) -> Subject {
        Subject::of(SubjectKind::Statement, self.text, Some(&server.source.name))
    }
}

/// The words of a text.
fn words(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect()
}

/// Whether a statement makes few rows of many on purpose: it counts, sums, groups or drops what is the same.
pub(crate) fn condenses(text: &str) -> bool {
    let text = text.to_lowercase().replace(" (", "(");
    CONDENSING.iter().any(|part| text.contains(part))
}

/// Every observed server with its statements, the most expensive first.
///
/// # Errors
/// If there is no server, or none with `pg_stat_statements`.
pub(crate) fn servers<'s>(evidence: &'s Evidence<'_>) -> Result<Vec<(Watched<'s>, Vec<Query<'s>>)>, Lack> {
    let servers = evidence.needed(SourceKind::Postgres)?;
    let with: Vec<_> = servers.into_iter().map(|server| (server, queries(evidence, &server))).collect();
    if with.iter().all(|(_, queries)| queries.is_empty()) {
        return Err(Lack::of("statements: pg_stat_statements is not installed, or saw none"));
    }
    Ok(with)
}

/// A statement in small letters with single blanks, without what stands in parentheses.
fn outermost(text: &str) -> String {
    let mut depth = 0_usize;
    let mut outer = String::new();
    for c in text.to_lowercase().chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            c if c.is_whitespace() => outer.push(' '),
            c => outer.push(c),
        }
    }
    outer.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a server is a replica.
pub(crate) fn is_replica(server: &Watched<'_>) -> bool {
    server.most("replica", "").is_some_and(|level| level >= 0.5)
}

/// The statements that take [`TIME_SHARE`] of the execution time.
pub(crate) fn heavy<'q, 'a>(queries: &'q [Query<'a>]) -> impl Iterator<Item = &'q Query<'a>> {
    queries.iter().filter(|query| query.time_share >= TIME_SHARE)
}

fn queries<'a>(evidence: &Evidence<'_>, server: &Watched<'a>) -> Vec<Query<'a>> {
    let times = server.rises("statement.exec_time");
    let shown: f64 = times.iter().map(|(_, rise)| rise.amount).sum();
    let all = server.rise("statements.exec_time", "").map_or(shown, |rise| rise.amount.max(shown));
    let query = |(id, time): &(&'a str, crate::watched::Rise)| {
        let calls = server.rise("statement.calls", id).filter(|calls| calls.amount > 0.0)?;
        let per_call = |name: &str| server.rise(name, id).map_or(0.0, |rise| rise.amount / calls.amount);
        let text = server.text("statement.text", id)?;
        Some(Query {
            id,
            text,
            statement: statement::read(text),
            per_request: evidence.per_request(calls)?,
            per_second: calls.per_second()?,
            time_share: if all > 0.0 { time.amount / all } else { 0.0 },
            seconds: time.amount / calls.amount,
            rows: per_call("statement.rows"),
            blocks: per_call("statement.blocks.hit") + per_call("statement.blocks.read"),
            temp_blocks: per_call("statement.temp_blocks.written"),
        })
    };
    times.iter().filter_map(query).collect()
}

/// A table of a server during the measured time.
#[derive(Clone, Debug)]
pub(crate) struct Table<'a> {
    /// Schema and name.
    pub name: &'a str,
    /// The table that was named: the partitioned one, if `name` is a partition that stands for it.
    pub whole: &'a str,
    pub live_rows: f64,
    /// Sequential scans per second, and rows that one reads.
    pub seq_scans: f64,
    pub rows_per_seq_scan: f64,
    /// Index scans per second, and rows that one fetches.
    pub index_scans: f64,
    pub rows_per_index_scan: f64,
    /// The most entries that a scan of one of its indexes reads; rows that an index alone can answer are not fetched.
    pub entries_per_index_scan: f64,
    /// Entries of its indexes that all scans read per second.
    pub entries_per_second: f64,
    /// Columns with the number of their distinct values, as far as statistics know it.
    pub columns: Vec<(&'a str, Option<f64>)>,
    pub indexes: Vec<IndexShape>,
}

impl Table<'_> {
    /// Whether it has a column of this name; true if its columns are unknown.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.is_empty() || self.columns.iter().any(|(name, _)| *name == column)
    }

    /// Rows read per scan of any kind.
    pub(crate) fn rows_per_scan(&self) -> Option<f64> {
        let scans = self.seq_scans + self.index_scans;
        let rows = self.seq_scans * self.rows_per_seq_scan + self.index_scans * self.rows_per_index_scan;
        (scans > 0.0).then(|| rows / scans)
    }

    /// Rows that scans of any kind read per second. An index alone can answer, and then fetches no row: its entries count.
    pub(crate) fn rows_read_per_second(&self) -> f64 {
        let by_index = (self.index_scans * self.rows_per_index_scan).max(self.entries_per_second);
        self.seq_scans * self.rows_per_seq_scan + by_index
    }

    /// The number of different values of a column, if statistics know it.
    pub(crate) fn distinct(&self, column: &str) -> Option<f64> {
        self.columns.iter().find(|(name, _)| *name == column)?.1
    }
}

/// The table that a statement calls `named`; `None` if it is not observed.
pub(crate) fn table<'a>(server: &Watched<'a>, named: &str) -> Option<Table<'a>> {
    let levels = server.means("table.live_rows");
    let is_it = |label: &str| label == named || is_same_table(named, label);
    let itself = levels.iter().find(|(label, _)| is_it(label)).map(|(label, rows)| (*label, *label, *rows));
    let (name, whole, live_rows) = itself.or_else(|| most_read_partition(server, &levels, is_it))?;
    let scans = |scans: &str, rows: &str| {
        let scans = server.rise(scans, name).filter(|rise| rise.amount > 0.0);
        let rows = server.rise(rows, name).map_or(0.0, |rise| rise.amount);
        scans.map_or((0.0, 0.0), |scans| (scans.per_second().unwrap_or(0.0), rows / scans.amount))
    };
    let (seq_scans, rows_per_seq_scan) = scans("table.seq_scans", "table.seq_rows");
    let (index_scans, rows_per_index_scan) = scans("table.index_scans", "table.index_rows");
    let indexes = indexes(server, name);
    let entries = |index: &str| {
        let scans = server.rise("index.scans", index).filter(|rise| rise.amount > 0.0)?;
        Some(server.rise("index.rows_read", index)?.amount / scans.amount)
    };
    Some(Table {
        name,
        whole,
        live_rows,
        seq_scans,
        rows_per_seq_scan,
        index_scans,
        rows_per_index_scan,
        entries_per_second: indexes
            .iter()
            .filter_map(|(label, _)| server.per_second("index.rows_read", label))
            .sum(),
        entries_per_index_scan: indexes.iter().filter_map(|(label, _)| entries(label)).fold(0.0, f64::max),
        columns: columns(server.text("table.columns", name).unwrap_or(""), live_rows),
        indexes: indexes.into_iter().map(|(_, index)| index).collect(),
    })
}

/// The valid indexes of a table, with their labels.
pub(crate) fn indexes<'a>(server: &Watched<'a>, table: &str) -> Vec<(&'a str, IndexShape)> {
    let valid = server.texts("index.definition").filter(|(_, text)| !text.contains("-- invalid"));
    valid
        .filter_map(|(label, text)| Some((label, statement::read_index(text)?)))
        .filter(|(_, index)| index.table == table || is_same_table(&index.table, table))
        .collect()
}

/// The partition of a table that stands for it, because the table has no rows of its own: the one of which most rows are
/// read. Its name, that of the table, and its rows.
fn most_read_partition<'a>(
    server: &Watched<'a>,
    levels: &[(&'a str, f64)],
    is_it: impl Fn(&str) -> bool,
) -> Option<(&'a str, &'a str, f64)> {
    let read = |label: &str| {
        let rows = |name: &str| server.rise(name, label).map_or(0.0, |rise| rise.amount);
        rows("table.seq_rows") + rows("table.index_rows")
    };
    let partitions = levels.iter().filter_map(|(label, rows)| {
        let whole = server.text("table.partition_of", label).filter(|whole| is_it(whole))?;
        Some((*label, whole, *rows))
    });
    partitions.max_by(|(one, ..), (other, ..)| read(one).total_cmp(&read(other)))
}

/// A foreign key: rows of `table` refer to rows of `target` by `columns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKey<'a> {
    pub table: &'a str,
    pub columns: Vec<&'a str>,
    pub target: &'a str,
}

/// All foreign keys of a server that are known.
pub(crate) fn foreign_keys<'a>(server: &Watched<'a>) -> Vec<ForeignKey<'a>> {
    let of_table = |(table, text): (&'a str, &'a str)| {
        text.lines().filter_map(move |line| {
            let mut parts = line.split('\t');
            let columns = parts.next().filter(|columns| !columns.is_empty())?.split(',').collect();
            Some(ForeignKey { table, columns, target: parts.next()? })
        })
    };
    server.texts("table.foreign_keys").flat_map(of_table).collect()
}

fn is_same_table(named: &str, label: &str) -> bool {
    !named.contains('.') && label.rsplit('.').next() == Some(named)
}

/// Names and distinct values by the lines of the text `table.columns`. Negative numbers are shares of the rows.
fn columns(text: &str, rows: f64) -> Vec<(&str, Option<f64>)> {
    let distinct = |line: &str| -> Option<f64> {
        let distinct: f64 = line.split('\t').nth(2)?.parse().ok()?;
        Some(if distinct < 0.0 { -distinct * rows } else { distinct })
    };
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.filter_map(|line| Some((line.split('\t').next()?, distinct(line)))).collect()
}

/// The columns of this table that a statement compares with values for equality, the most selective first.
pub(crate) fn equality_columns(statement: &Statement, table: &Table<'_>, named: &str) -> Vec<String> {
    let only = statement.tables.len() == 1;
    let of_table = |column: &&statement::Column| match &column.table {
        Some(of) => of == named,
        None => only || !table.columns.is_empty(),
    };
    let here = statement.equals.iter().filter(of_table).filter(|column| table.has(&column.name));
    let mut columns: Vec<String> = Vec::new();
    here.for_each(|column| {
        if !columns.contains(&column.name) {
            columns.push(column.name.clone());
        }
    });
    let distinct = |name: &String| table.distinct(name).unwrap_or(0.0);
    columns.sort_by(|one, other| distinct(other).total_cmp(&distinct(one)));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query<'_> {
        Query {
            id: "1",
            text,
            statement: statement::read(text),
            per_request: 1.0,
            per_second: 1.0,
            time_share: 1.0,
            seconds: 0.001,
            rows: 1.0,
            blocks: 1.0,
            temp_blocks: 0.0,
        }
    }

    #[test]
    fn a_statement_with_a_common_table_expression_searches_unless_it_adds_rows() {
        for text in [
            "SELECT id FROM notes WHERE id = $1",
            "WITH old AS MATERIALIZED (SELECT id FROM notes) SELECT id FROM old WHERE id = $1",
            "WITH next AS (SELECT id FROM jobs LIMIT $1) UPDATE jobs SET taken = $2 FROM next",
        ] {
            assert!(query(text).searches(), "{text}");
        }
        for text in [
            "INSERT INTO notes SELECT * FROM drafts",
            "WITH new AS (INSERT INTO notes (title) VALUES ($1) RETURNING id) SELECT id FROM new",
        ] {
            assert!(!query(text).searches(), "{text}");
        }
    }

    #[test]
    fn statements_that_make_or_empty_tables_change_the_catalogs() {
        for text in [
            "CREATE TEMP TABLE picked (id bigint) ON COMMIT DROP",
            "SELECT id INTO TEMP picked FROM notes",
            "TRUNCATE picked",
        ] {
            assert!(query(text).changes_catalogs(), "{text}");
        }
        for text in ["INSERT INTO notes (title) VALUES ($1)", "SELECT into_stock FROM notes"] {
            assert!(!query(text).changes_catalogs(), "{text}");
        }
    }

    #[test]
    fn statements_that_lock_write_or_call_a_function_alone_are_no_reads() {
        let only_reads = |text: &str| query(text).only_reads();
        assert!(only_reads("SELECT id FROM notes WHERE for_sale = $1"));
        assert!(only_reads(
            "WITH newest AS (SELECT id FROM notes LIMIT $1) SELECT * FROM newest JOIN notes USING (id)"
        ));
        for text in [
            "SELECT id FROM notes WHERE id = $1 FOR UPDATE SKIP LOCKED",
            "SELECT id FROM notes WHERE id = $1 FOR NO KEY UPDATE",
            "WITH old AS (DELETE FROM notes WHERE id = $1 RETURNING id) SELECT count(*) FROM old",
            "SELECT create_order($1)",
            "SELECT nextval('ids') FROM notes",
            "UPDATE notes SET title = $1",
        ] {
            assert!(!only_reads(text), "{text}");
        }
    }
}
