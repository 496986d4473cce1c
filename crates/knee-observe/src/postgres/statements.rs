//! The statements of a database, from `pg_stat_statements`: those that took most time since the first reading.
//!
//! Reads all rows without their texts, and texts only of those that are reported. Never resets the statistics. The
//! observer's own statements are known by a comment in their texts, and do not count.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::observation::Figure;
use knee_core::unit::Nanos;
use tokio_postgres::{SimpleQueryRow, Statement};

use super::group::{Column, column};
use super::plan;
use crate::figures::{Bytes, Count, Counter, Figures, Gauge, Seconds, figure};
use crate::session::{Answer, Refusal, Session};
use crate::sql::mask;

/// Statements that are reported per reading, and in all.
const SHOWN_MAX: usize = 200;
const CHOSEN_MAX: usize = 400;

/// Most plans, and plans per reading.
const PLANS_MAX: usize = 10;
const PLANS_AT_ONCE: usize = 2;

/// Most bytes of a statement that are asked for.
const TEXT_MAX: usize = 16 << 10;

/// The oldest minor version of the extension whose columns are known: that of PostgreSQL 13.
const EXTENSION_MIN: u32 = 8;

/// Figures of one statement, in the order of [`COLUMNS`] of this version.
type Work = Vec<f64>;

/// Places in [`Work`] that have a meaning here.
const CALLS: usize = 0;
const TIME: usize = 1;

/// By minor version of the extension: 1.8 of PostgreSQL 13, 1.9 of 14, 1.10 of 15 and 16, 1.11 of 17, 1.12 of 18.
static COLUMNS: [Column; 17] = [
    column("statement.calls", "calls", Count, Counter),
    column("statement.exec_time", "total_exec_time / 1000", Seconds, Counter),
    column("statement.rows", "rows", Count, Counter),
    column("statement.plan_time", "total_plan_time / 1000", Seconds, Counter),
    column("statement.exec_time.max", "max_exec_time / 1000", Seconds, Gauge),
    column("statement.blocks.hit", "shared_blks_hit", Count, Counter),
    column("statement.blocks.read", "shared_blks_read", Count, Counter),
    column("statement.blocks.dirtied", "shared_blks_dirtied", Count, Counter),
    column("statement.blocks.written", "shared_blks_written", Count, Counter),
    column("statement.temp_blocks.read", "temp_blks_read", Count, Counter),
    column("statement.temp_blocks.written", "temp_blks_written", Count, Counter),
    column("statement.read_time", "blk_read_time / 1000", Seconds, Counter).until(10),
    column("statement.read_time", "shared_blk_read_time / 1000", Seconds, Counter).since(11),
    column("statement.wal.records", "wal_records", Count, Counter),
    column("statement.wal.images", "wal_fpi", Count, Counter),
    column("statement.wal.bytes", "wal_bytes", Bytes, Counter),
    column(
        "statement.jit_time",
        "(jit_generation_time + jit_inlining_time + jit_optimization_time + jit_emission_time) / 1000",
        Seconds,
        Counter,
    )
    .since(10),
];

/// What a session can be asked.
#[derive(Debug)]
struct Source {
    /// The schema of the extension, quoted.
    schema: String,
    rows: Statement,
    columns: Vec<&'static Column>,
    has_info: bool,
}

/// Follows the statements of a database.
#[derive(Debug, Default)]
pub(super) struct Statements {
    source: Option<Source>,
    missing: Option<String>,
    /// What statements had done at the first reading, and when that was.
    base: Option<(Nanos, BTreeMap<i64, Work>)>,
    last: BTreeMap<i64, Work>,
    /// Calls and time of all statements together.
    totals: [f64; 2],
    chosen: BTreeSet<i64>,
    own: BTreeSet<i64>,
    /// Texts as the server has them; never reported.
    texts: BTreeMap<i64, String>,
    /// Texts that were seen while the statement ran.
    running: BTreeSet<i64>,
    planned: BTreeSet<i64>,
    left_out: u64,
}

impl Statements {
    /// Finds the extension.
    pub(super) fn prepare(&mut self, session: &Session, version: u32) -> Answer<()> {
        (self.source, self.missing) = (None, None);
        let rows = session.texts(
            "SELECT /* knee-observe */ extversion, quote_ident(nspname) FROM pg_extension \
             JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_stat_statements'",
        )?;
        let Some(row) = rows.first() else {
            self.missing = Some("pg_stat_statements is not installed in this database".to_owned());
            return Ok(());
        };
        let minor = minor_version(row.get(0).unwrap_or_default());
        if minor < EXTENSION_MIN {
            let reason = "pg_stat_statements is older than 1.8: ALTER EXTENSION pg_stat_statements UPDATE";
            self.missing = Some(reason.to_owned());
            return Ok(());
        }
        let schema = row.get(1).unwrap_or_default().to_owned();
        let columns: Vec<_> = COLUMNS.iter().filter(|column| column.is_in(minor)).collect();
        match session.prepare(&rows_question(&schema, &columns)) {
            Ok(rows) => {
                self.source = Some(Source { schema, rows, columns, has_info: version >= 14 && minor >= 9 });
            }
            Err(Refusal::Never(reason)) => self.missing = Some(format!("statements: {reason}")),
            Err(refusal) => return Err(refusal),
        }
        Ok(())
    }

    /// Why there are no statements, if there are none.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.as_deref().into_iter()
    }

    /// Statements that worked and are not reported.
    pub(super) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether the text of a statement was reported.
    pub(super) fn has_text(&self, id: i64) -> bool {
        self.texts.contains_key(&id) || self.running.contains(&id) || self.own.contains(&id)
    }

    /// Adds the figures and texts of the statements.
    pub(super) fn read(&mut self, session: &Session, now: Nanos, figures: &mut Figures) -> Answer<()> {
        let Some(source) = &self.source else { return Ok(()) };
        let rows = match session.rows(&source.rows) {
            Err(Refusal::Never(reason)) => {
                // Such as: it must be loaded by shared_preload_libraries.
                self.missing = Some(format!("statements: {reason}"));
                self.source = None;
                return Ok(());
            }
            rows => rows?,
        };
        let mut seen: BTreeMap<i64, Work> = BTreeMap::new();
        for row in &rows {
            // Without an id: it is of another user, and hidden from this one.
            let Some(id) = row.try_get::<_, Option<i64>>(0).unwrap_or_default() else { continue };
            let figure =
                |place: usize| row.try_get::<_, Option<f64>>(place + 1).unwrap_or_default().unwrap_or(0.0);
            let work: Work = (0..source.columns.len()).map(figure).collect();
            add(seen.entry(id).or_insert_with(|| vec![0.0; work.len()]), &work, &source.columns);
        }
        let (columns, tracked) = (source.columns.clone(), rows.len());
        let info = source.has_info.then(|| info_question(&source.schema));
        let new = self.choose(&seen);
        self.read_texts(session, &new, figures)?;
        figures.gauge("statements.tracked", Count, tracked as f64);
        if let Some(info) = info {
            let evicted = session.texts(&info)?.first().and_then(|row| row.get(0)?.parse::<f64>().ok());
            figures.counter("statements.evicted", Count, evicted);
        }
        self.follow(now, seen, &new, &columns, figures);
        Ok(())
    }

    /// Adds the texts of running statements that no other view has.
    pub(super) fn read_running(
        &mut self,
        session: &Session,
        ids: &[i64],
        figures: &mut Figures,
    ) -> Answer<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT /* knee-observe */ DISTINCT ON (query_id) query_id, left(query, {TEXT_MAX}) \
             FROM pg_stat_activity WHERE query_id IN ({}) AND query <> '<insufficient privilege>'",
            list(ids)
        );
        for row in session.texts(&sql)? {
            let Some(id) = row.get(0).and_then(|id| id.parse().ok()) else { continue };
            self.running.insert(id);
            figures.text("statement.text", id.to_string(), mask(row.get(1).unwrap_or_default()));
        }
        Ok(())
    }

    /// Adds some plans of the statements that take most time.
    pub(super) fn read_plan(&mut self, session: &Session, version: u32, figures: &mut Figures) -> Answer<()> {
        let mut by_time: Vec<(i64, f64)> = self.chosen.iter().map(|id| (*id, self.rise(*id, TIME))).collect();
        by_time.sort_by(|one, other| other.1.total_cmp(&one.1));
        let left = PLANS_MAX.saturating_sub(self.planned.len());
        let new = by_time.into_iter().map(|(id, _)| id).filter(|id| !self.planned.contains(id));
        for id in new.take(left.min(PLANS_AT_ONCE)).collect::<Vec<_>>() {
            self.planned.insert(id);
            let Some(text) = self.texts.get(&id) else { continue };
            match plan::plan(session, version, id, text) {
                Ok(plan) => {
                    figures.texts.extend(plan.map(|plan| ("statement.plan", id.to_string(), plan)));
                }
                // That one statement cannot be planned says nothing about the others.
                Err(Refusal::Never(_) | Refusal::Now(_)) => {}
                Err(over) => return Err(over),
            }
        }
        Ok(())
    }

    /// How much a figure of a statement has risen since the first reading.
    fn rise(&self, id: i64, place: usize) -> f64 {
        let figure = |works: &BTreeMap<i64, Work>| works.get(&id).and_then(|work| work.get(place)).copied();
        let base = self.base.as_ref().and_then(|(_, base)| figure(base)).unwrap_or(0.0);
        let last = figure(&self.last).unwrap_or(0.0);
        if last >= base { last - base } else { last }
    }

    /// The statements that are to be reported from now on.
    fn choose(&mut self, seen: &BTreeMap<i64, Work>) -> Vec<i64> {
        let Some((_, base)) = &self.base else { return Vec::new() };
        let rise = |id: &i64, work: &Work, place: usize| {
            let before = base.get(id).and_then(|work| work.get(place)).copied().unwrap_or(0.0);
            let now = work.get(place).copied().unwrap_or(0.0);
            if now >= before { now - before } else { now }
        };
        let worked = seen.iter().filter(|(id, work)| !self.own.contains(*id) && rise(id, work, CALLS) > 0.0);
        let mut by_time: Vec<(i64, f64)> = worked.map(|(id, work)| (*id, rise(id, work, TIME))).collect();
        by_time.sort_by(|one, other| other.1.total_cmp(&one.1));
        self.left_out = by_time.len().saturating_sub(SHOWN_MAX) as u64;
        let room = CHOSEN_MAX.saturating_sub(self.chosen.len());
        let top = by_time.into_iter().take(SHOWN_MAX).map(|(id, _)| id);
        top.filter(|id| !self.chosen.contains(id)).take(room).collect()
    }

    /// Reads the texts of new statements, and finds the observer's own.
    fn read_texts(&mut self, session: &Session, new: &[i64], figures: &mut Figures) -> Answer<()> {
        let Some(source) = &self.source else { return Ok(()) };
        if new.is_empty() && !self.own.is_empty() {
            return Ok(());
        }
        for row in session.texts(&texts_question(&source.schema, new))? {
            let Some(id) = row.get(0).and_then(|id| id.parse::<i64>().ok()) else { continue };
            let text = row.get(1).unwrap_or_default();
            if text.contains("/* knee-observe */") {
                self.own.insert(id);
            } else if self.texts.insert(id, text.to_owned()).is_none() {
                figures.text("statement.text", id.to_string(), mask(text));
            }
        }
        Ok(())
    }

    /// Adds the figures of this reading, and those of the first one for statements that are new.
    fn follow(
        &mut self,
        now: Nanos,
        seen: BTreeMap<i64, Work>,
        new: &[i64],
        columns: &[&'static Column],
        figures: &mut Figures,
    ) {
        for (id, work) in seen.iter().filter(|(id, _)| !self.own.contains(*id)) {
            for (total, place) in self.totals.iter_mut().zip([CALLS, TIME]) {
                let (now, before) = (work[place], self.last.get(id).map_or(0.0, |last| last[place]));
                *total += if now >= before { now - before } else { now };
            }
        }
        self.last = seen;
        figures.counter("statements.calls", Count, self.totals[CALLS]);
        figures.counter("statements.exec_time", Seconds, self.totals[TIME]);
        let (began, base) = self.base.get_or_insert_with(|| (now, self.last.clone()));
        for id in new.iter().filter(|id| !self.own.contains(*id)) {
            let nothing = vec![0.0; columns.len()];
            let mut first = of_statement(*id, base.get(id).unwrap_or(&nothing), columns);
            // The slowest execution of all is no figure of the time before.
            first.retain(|figure| figure.kind == Counter);
            figures.earlier.push((*began, first));
            self.chosen.insert(*id);
        }
        for id in &self.chosen {
            figures
                .now
                .extend(self.last.get(id).into_iter().flat_map(|work| of_statement(*id, work, columns)));
        }
    }
}

/// The texts of these statements as the server has them, by id. `schema` is that of the extension, quoted.
pub(super) fn texts(session: &Session, schema: &str, ids: &[i64]) -> Answer<BTreeMap<i64, String>> {
    let rows = session.texts(&texts_question(schema, ids))?;
    let text = |row: &SimpleQueryRow| Some((row.get(0)?.parse::<i64>().ok()?, row.get(1)?.to_owned()));
    Ok(rows.iter().filter_map(text).collect())
}

fn of_statement(id: i64, work: &[f64], columns: &[&'static Column]) -> Vec<Figure> {
    let id = id.to_string();
    let pairs = columns.iter().zip(work);
    pairs.map(|(column, value)| figure(column.name, &id, column.unit, column.kind, *value)).collect()
}

/// Adds the work of the same statement by another user, or within a function.
fn add(all: &mut [f64], more: &[f64], columns: &[&'static Column]) {
    for ((all, more), column) in all.iter_mut().zip(more).zip(columns) {
        *all = if column.kind == Counter { *all + more } else { all.max(*more) };
    }
}

/// 10 of `1.10`.
fn minor_version(version: &str) -> u32 {
    match version.split_once('.') {
        Some(("1", minor)) => minor.parse().unwrap_or(0),
        Some(_) => u32::MAX,
        None => 0,
    }
}

const OF_DATABASE: &str = "WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";

fn rows_question(schema: &str, columns: &[&'static Column]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| format!(", ({})::float8", column.sql)).collect();
    let columns = columns.concat();
    format!(
        "SELECT /* knee-observe */ queryid{columns} FROM {schema}.pg_stat_statements(false) {OF_DATABASE}"
    )
}

fn texts_question(schema: &str, ids: &[i64]) -> String {
    format!(
        "SELECT /* knee-observe */ DISTINCT ON (queryid) queryid, left(query, {TEXT_MAX}) \
         FROM {schema}.pg_stat_statements(true) {OF_DATABASE} \
         AND (query LIKE '%/* knee-observe */%' OR queryid IN ({}))",
        list(ids)
    )
}

fn info_question(schema: &str) -> String {
    format!("SELECT /* knee-observe */ dealloc FROM {schema}.pg_stat_statements_info")
}

/// Numbers for `IN`; `NULL` if there are none.
fn list(ids: &[i64]) -> String {
    if ids.is_empty() {
        return "NULL".to_owned();
    }
    ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<&'static Column> {
        COLUMNS.iter().filter(|column| column.is_in(10)).collect()
    }

    /// Calls and seconds of a statement.
    fn work(calls: f64, time: f64) -> Work {
        let mut work = vec![0.0; columns().len()];
        (work[CALLS], work[TIME]) = (calls, time);
        work
    }

    fn read(statements: &mut Statements, second: u64, seen: &[(i64, Work)]) -> Figures {
        let mut figures = Figures::default();
        let seen: BTreeMap<i64, Work> = seen.iter().cloned().collect();
        let new = statements.choose(&seen);
        statements.follow(Nanos::from_secs(second), seen, &new, &columns(), &mut figures);
        figures
    }

    #[test]
    fn a_statement_that_works_is_reported_with_what_it_had_done_before() {
        let mut statements = Statements::default();
        let first = read(&mut statements, 1, &[(7, work(100.0, 5.0)), (8, work(10.0, 1.0))]);
        assert!(
            first.now.iter().all(|figure| !figure.name.starts_with("statement.")),
            "nothing has worked yet"
        );
        assert_eq!(first.value("statements.calls", ""), Some(110.0));
        let next =
            read(&mut statements, 6, &[(7, work(150.0, 9.0)), (8, work(10.0, 1.0)), (9, work(1.0, 0.5))]);
        assert_eq!(next.value("statement.calls", "7"), Some(150.0));
        assert_eq!(next.value("statement.calls", "8"), None);
        assert_eq!(next.value("statements.calls", ""), Some(161.0));
        let before: Vec<(Nanos, f64)> =
            next.earlier.iter().map(|(at, figures)| (*at, figures[CALLS].value)).collect();
        assert_eq!(before, [(Nanos::from_secs(1), 100.0), (Nanos::from_secs(1), 0.0)]);
    }

    #[test]
    fn the_total_does_not_fall_when_the_server_forgets_a_statement() {
        let mut statements = Statements::default();
        read(&mut statements, 1, &[(7, work(100.0, 5.0)), (8, work(10.0, 1.0))]);
        read(&mut statements, 6, &[(8, work(12.0, 1.0))]);
        let last = read(&mut statements, 11, &[(7, work(3.0, 0.1)), (8, work(12.0, 1.0))]);
        assert_eq!(last.value("statements.calls", ""), Some(115.0));
    }

    #[test]
    fn of_ten_thousand_statements_those_with_most_time_are_reported() {
        let mut statements = Statements::default();
        read(&mut statements, 1, &[]);
        let many: Vec<(i64, Work)> = (0..10_000).map(|id| (id, work(1.0, id as f64))).collect();
        let figures = read(&mut statements, 6, &many);
        assert!(figures.value("statement.calls", "9999").is_some());
        assert!(figures.value("statement.calls", "9000").is_none());
        assert_eq!(statements.left_out(), 9_800);
    }

    #[test]
    fn the_observers_own_statements_do_not_count() {
        let mut statements = Statements::default();
        statements.own.insert(7);
        read(&mut statements, 1, &[(7, work(1.0, 1.0))]);
        let figures = read(&mut statements, 6, &[(7, work(9.0, 9.0)), (8, work(1.0, 1.0))]);
        assert_eq!(figures.value("statement.calls", "7"), None);
        assert_eq!(figures.value("statements.calls", ""), Some(1.0));
    }

    #[test]
    fn versions_of_the_extension_have_their_columns() {
        let sql = |minor: u32| {
            let columns: Vec<_> = COLUMNS.iter().filter(|column| column.is_in(minor)).collect();
            rows_question("public", &columns)
        };
        assert!(sql(8).contains("(blk_read_time") && !sql(8).contains("jit_"));
        assert!(sql(11).contains("shared_blk_read_time") && !sql(11).contains("(blk_read_time"));
        assert_eq!([minor_version("1.10"), minor_version("1.8"), minor_version("x")], [10, 8, 0]);
    }
}
