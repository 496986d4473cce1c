//! Registers that are read line by line, and permits with a number of their own, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_postgres::SimpleQueryMessage;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Lines of a register.
pub const LINES: usize = 300;
/// Lines that a healthy shop fetches at a time.
const AT_ONCE: usize = 1000;

/// How long another server takes to check an application, while its transaction is open.
const CHECK: Duration = Duration::from_millis(20);

const NUMBER: &str = "UPDATE districts SET issued = issued + 1 WHERE id = $1 RETURNING issued";
const ASK: &str = "SELECT ask_elsewhere($1)";
const ISSUE: &str = "INSERT INTO permits (district, number) VALUES ($1, $2)";
/// Keeps all others from writing to the table, as where the next number was once read from it.
const LOCK: &str = "LOCK TABLE permits IN EXCLUSIVE MODE";

/// The lines of a register, by a cursor. The defect fetches each line by itself.
///
/// # Errors
/// PostgreSQL fails.
pub async fn register(shop: &Shop, book: i32) -> Result<Value, Refusal> {
    let at_once = if shop.has(Defect::FetchOne) { 1 } else { AT_ONCE };
    let declare = format!(
        "DECLARE lines NO SCROLL CURSOR FOR SELECT id, text FROM register_lines WHERE book = {book} ORDER BY id"
    );
    let fetch = format!("FETCH FORWARD {at_once} FROM lines");
    let mut client = shop.database.client().await?;
    let transaction = client.transaction().await?;
    transaction.batch_execute(&declare).await?;
    let mut lines = Vec::new();
    loop {
        let before = lines.len();
        for message in transaction.simple_query(&fetch).await? {
            if let SimpleQueryMessage::Row(row) = message {
                lines.push(json!([row.get(0), row.get(1)]));
            }
        }
        if lines.len() - before < at_once {
            break;
        }
    }
    transaction.commit().await?;
    Ok(lines.into())
}

/// Issues a permit with the next number of its district, in a transaction in which another server is asked. A healthy
/// shop locks the row of the district; the defect locks the table of all permits, too.
///
/// # Errors
/// PostgreSQL fails; there is no such district.
pub async fn issue(shop: &Shop, district: i32) -> Result<Value, Refusal> {
    let mut client = shop.database.client().await?;
    let number = client.prepare_cached(NUMBER).await?;
    let ask = client.prepare_cached(ASK).await?;
    let issue = client.prepare_cached(ISSUE).await?;
    let transaction = client.transaction().await?;
    if shop.has(Defect::TableLock) {
        transaction.batch_execute(LOCK).await?;
    }
    let row = transaction.query_opt(&number, &[&district]).await?.ok_or(Refusal::Missing)?;
    let issued: i64 = row.get(0);
    transaction.query_one(&ask, &[&CHECK.as_secs_f64()]).await?;
    transaction.execute(&issue, &[&district, &issued]).await?;
    transaction.commit().await?;
    Ok(json!({"district": district, "number": issued}))
}
