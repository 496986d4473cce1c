//! A PgBouncer, through its admin console.
//!
//! Only `SHOW` is asked. Columns are found by name, because versions differ.

use knee_core::unit::Nanos;
use tokio_postgres::SimpleQueryRow;
use url::Url;

use crate::address::Address;
use crate::figures::{Count, Counter, Figures, Gauge, Seconds};
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::session::{OWN_NAME, Refusal, Session};
use crate::text::label;

/// The database whose connections are the admin console.
const CONSOLE: &str = "pgbouncer";

/// Most rows of an answer.
const ROWS_MAX: usize = 100;

/// A PgBouncer.
pub(crate) struct PgBouncer {
    address: Result<Address, String>,
    session: Option<Session>,
    about: About,
}

impl PgBouncer {
    /// The PgBouncer at this URL.
    pub(crate) fn new(url: &Url) -> Self {
        let address = Address::new(url, |config| {
            config.application_name(OWN_NAME).dbname(CONSOLE);
        });
        Self { address, session: None, about: About::default() }
    }

    /// The rows of a `SHOW`; none if the user must not ask.
    fn show(&mut self, what: &str) -> Result<Vec<SimpleQueryRow>, Unreadable> {
        let Some(session) = &self.session else { return Ok(Vec::new()) };
        match session.texts(&format!("SHOW {what}")) {
            Ok(rows) => Ok(rows),
            Err(Refusal::Over(reason)) => Err(Unreadable(reason)),
            Err(Refusal::Never(reason) | Refusal::Now(reason)) => {
                let words = format!("SHOW {what}: {reason}");
                if !self.about.without.contains(&words) {
                    self.about.without.push(words);
                }
                Ok(Vec::new())
            }
        }
    }
}

impl Sampler for PgBouncer {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let address = self.address.as_ref().map_err(|reason| Unreadable(reason.clone()))?;
        self.session = Some(Session::begin(address)?);
        self.about = About::default();
        let rows = self.show("VERSION")?;
        self.about.version = rows.first().and_then(|row| row.get(0)).map(label);
        Ok(())
    }

    fn read(&mut self, _: Nanos, depth: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        for row in self.show("POOLS")?.iter().take(ROWS_MAX) {
            put_pool(row, figures);
        }
        for row in self.show("STATS")?.iter().take(ROWS_MAX) {
            put_statistics(row, figures);
        }
        if depth == Depth::Interval {
            return Ok(());
        }
        for row in self.show("DATABASES")?.iter().take(ROWS_MAX) {
            let database = label(text(row, "name"));
            figures.put("pgbouncer.pool_size", &database, Count, Gauge, number(row, "pool_size"));
        }
        for row in &self.show("CONFIG")? {
            let key = text(row, "key");
            if matches!(key, "pool_mode" | "default_pool_size" | "max_client_conn") {
                figures.text("setting", key, label(text(row, "value")));
            }
        }
        Ok(())
    }

    fn about(&self) -> About {
        self.about.clone()
    }

    fn disconnect(&mut self) {
        self.session = None;
    }
}

fn put_pool(row: &SimpleQueryRow, figures: &mut Figures) {
    let pool = label(&format!("{}/{}", text(row, "database"), text(row, "user")));
    for (name, state, column) in [
        ("pgbouncer.clients", "active", "cl_active"),
        ("pgbouncer.clients", "waiting", "cl_waiting"),
        ("pgbouncer.servers", "active", "sv_active"),
        ("pgbouncer.servers", "idle", "sv_idle"),
        ("pgbouncer.servers", "used", "sv_used"),
    ] {
        figures.put(name, &format!("{pool} {state}"), Count, Gauge, number(row, column));
    }
    let wait = number(row, "maxwait").map(|seconds| seconds + number(row, "maxwait_us").unwrap_or(0.0) / 1e6);
    figures.put("pgbouncer.wait", &pool, Seconds, Gauge, wait);
}

fn put_statistics(row: &SimpleQueryRow, figures: &mut Figures) {
    let database = label(text(row, "database"));
    for (name, column) in
        [("pgbouncer.queries", "total_query_count"), ("pgbouncer.transactions", "total_xact_count")]
    {
        figures.put(name, &database, Count, Counter, number(row, column));
    }
    for (name, column) in [
        ("pgbouncer.query_time", "total_query_time"),
        ("pgbouncer.transaction_time", "total_xact_time"),
        ("pgbouncer.wait_time", "total_wait_time"),
    ] {
        let time = number(row, column).map(|micros| micros / 1e6);
        figures.put(name, &database, Seconds, Counter, time);
    }
}

/// A column by name; empty if this version has it not.
fn text<'a>(row: &'a SimpleQueryRow, column: &str) -> &'a str {
    row.try_get(column).ok().flatten().unwrap_or_default()
}

fn number(row: &SimpleQueryRow, column: &str) -> Option<f64> {
    text(row, column).parse().ok()
}
