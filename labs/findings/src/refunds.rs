//! Refunds that are open, scans of parcels by page, and the newest readings of meters, in PostgreSQL.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Meters, each of which has a newest reading.
pub const METERS: usize = 20;

/// The oldest open refunds. The state is in the text, so each plan knows it, and the index of the open ones serves it.
pub const OPEN: &str = "SELECT id, note FROM refunds WHERE state = 'open' ORDER BY id LIMIT 10";
/// The oldest refunds of a state. From the sixth execution on, PostgreSQL plans for a state that it does not know: it
/// expects half of all refunds to have it, so that the first ten by their numbers seem to be near.
pub const OF_STATE: &str = "SELECT id, note FROM refunds WHERE state = $1 ORDER BY id LIMIT 10";

/// The scans behind one, by their minute and number. The comparison of rows is where a scan of the index begins.
pub const BEHIND: &str =
    "SELECT minute, id, text FROM scans WHERE (minute, id) > ($1, $2) ORDER BY minute, id LIMIT 20";
/// The same with OR, which only filters what a scan of the index reads from its beginning.
pub const BEHIND_OR: &str = "SELECT minute, id, text FROM scans WHERE minute > $1 OR (minute = $1 AND id > $2) \
                             ORDER BY minute, id LIMIT 20";

/// The newest reading of each meter: one search in the index for each.
pub const NEWEST: &str = "SELECT m.id, r.id, r.amount, r.note FROM meters m CROSS JOIN LATERAL \
                          (SELECT id, amount, note FROM readings WHERE meter = m.id ORDER BY id DESC LIMIT 1) r \
                          ORDER BY m.id";
/// The same out of all readings, which are sorted for it.
pub const DISTINCT: &str =
    "SELECT DISTINCT ON (meter) meter, id, amount, note FROM readings ORDER BY meter, id DESC";

/// The oldest open refunds. The defect sends the state as a parameter.
///
/// # Errors
/// PostgreSQL fails.
pub async fn open(shop: &Shop) -> Result<Value, Refusal> {
    let rows = if shop.has(Defect::ValueAsParameter) {
        shop.database.query(OF_STATE, &[&"open"]).await?
    } else {
        shop.database.query(OPEN, &[]).await?
    };
    Ok(rows.iter().map(|row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect())
}

/// A page of scans: those behind the last one of the page before.
///
/// # Errors
/// PostgreSQL fails.
pub async fn scans(shop: &Shop, minute: i32, id: i64) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::KeysetOr) { BEHIND_OR } else { BEHIND };
    let rows = shop.database.query(sql, &[&minute, &id]).await?;
    let one = |row: &Row| json!([row.get::<_, i32>(0), row.get::<_, i64>(1), row.get::<_, &str>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// The newest reading of each meter.
///
/// # Errors
/// PostgreSQL fails.
pub async fn readings(shop: &Shop) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::DistinctOn) { DISTINCT } else { NEWEST };
    let rows = shop.database.query(sql, &[]).await?;
    let one = |row: &Row| {
        let (meter, id, amount) = (row.get::<_, i32>(0), row.get::<_, i64>(1), row.get::<_, i32>(2));
        json!([meter, id, amount, row.get::<_, &str>(3)])
    };
    Ok(rows.iter().map(one).collect())
}
