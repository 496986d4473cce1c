//! Surveys that members answer, and boards with figures of all tills, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Value, json};

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Figures of a board, which are read at the same time.
pub const FIGURES: i64 = 8;
/// How long another server needs for one.
const FIGURE: Duration = Duration::from_millis(5);
/// Tills that there are.
const TILLS: i64 = 100;
/// Idle connections that the pool of the defect keeps, which is the default of a widespread library.
const KEPT: usize = 2;

const ANSWER: &str = "UPDATE surveys SET answers = answers + 1 WHERE id = $1";
/// What a mapper of objects does that does not know what has changed: it reads the row, and writes all its columns.
const READ: &str = "SELECT answers, data::text FROM surveys WHERE id = $1";
const SAVE: &str = "UPDATE surveys SET answers = $2, data = $3::text::jsonb WHERE id = $1";

const TILL: &str = "SELECT cents, ask_elsewhere($2) FROM tills WHERE id = $1";

/// Counts an answer to a survey. The defect writes the whole survey, whose questions have not changed.
///
/// # Errors
/// PostgreSQL fails; there is no such survey.
pub async fn answer(shop: &Shop, id: i64) -> Result<(), Refusal> {
    let changed = if shop.has(Defect::WholeRowSave) {
        let row = shop.database.row(READ, &[&id]).await?;
        let (answers, data) = (row.get::<_, i64>(0) + 1, row.get::<_, &str>(1));
        shop.database.execute(SAVE, &[&id, &answers, &data]).await?
    } else {
        shop.database.execute(ANSWER, &[&id]).await?
    };
    if changed == 1 { Ok(()) } else { Err(Refusal::Missing) }
}

/// A board: what is in eight tills. Each figure has a connection of its own.
///
/// # Errors
/// PostgreSQL fails.
pub async fn board(shop: &Shop, first: i64) -> Result<Value, Refusal> {
    let figures = (0..FIGURES).map(|place| figure(shop, 1 + (first + place).rem_euclid(TILLS)));
    let cents = try_join_all(figures).await?;
    Ok(json!({"board": first, "cents": cents}))
}

/// What is in a till. With the defect, the pool closes all idle connections but two when one is given back.
async fn figure(shop: &Shop, till: i64) -> Result<i64, Refusal> {
    let client = shop.database.client().await?;
    let statement = client.prepare_cached(TILL).await?;
    let row = client.query_one(&statement, &[&till, &FIGURE.as_secs_f64()]).await?;
    if shop.has(Defect::TwoIdle) {
        shop.database.give_back(client, KEPT);
    }
    Ok(row.get(0))
}
