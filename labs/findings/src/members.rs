//! Members, their mailboxes and their invoices, in PostgreSQL.
//!
//! Does not parse HTTP.

#![expect(clippy::disallowed_methods, reason = "a service has a clock of its own; nothing is measured here")]

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// The member who signs in with an address, however it is spelled.
pub const SIGN_IN: &str = "SELECT id, name FROM members WHERE lower(email) = lower($1)";
/// The newest messages of a mailbox.
pub const NEWEST: &str = "SELECT id, title FROM messages WHERE mailbox = $1 ORDER BY id DESC LIMIT 20";

const PROFILE: &str = "SELECT id, name, email FROM members WHERE id = $1";
const SEEN: &str = "UPDATE members SET seen_at = now() WHERE id = $1";
const USED: &str = "UPDATE tokens SET used_at = now() WHERE member = $1";

const LINES: &str = "SELECT id, label FROM invoice_lines WHERE invoice = $1 ORDER BY id";
const PAYMENTS: &str = "SELECT id, label FROM payments WHERE invoice = $1 ORDER BY id";
/// Every pair of a line and a payment: what two lists make that are read with the object that has them.
const PAIRS: &str = "SELECT i.id, l.id, l.label, p.id, p.label FROM invoices i \
                     LEFT JOIN invoice_lines l ON l.invoice = i.id LEFT JOIN payments p ON p.invoice = i.id \
                     WHERE i.id = $1 ORDER BY i.id, l.id, p.id";

/// The member with this address.
///
/// # Errors
/// PostgreSQL fails; there is none.
pub async fn sign_in(shop: &Shop, email: &str) -> Result<Value, Refusal> {
    let row = shop.database.row(SIGN_IN, &[&email]).await?;
    Ok(json!({"id": row.get::<_, i64>(0), "name": row.get::<_, &str>(1)}))
}

/// The newest messages of a mailbox.
///
/// # Errors
/// PostgreSQL fails.
pub async fn mailbox(shop: &Shop, mailbox: i32) -> Result<Value, Refusal> {
    let rows = shop.database.query(NEWEST, &[&mailbox]).await?;
    Ok(rows.iter().map(labelled).collect())
}

/// A member, who was seen by this request. A healthy shop notes the time in Redis, and the defect writes it to the rows of
/// the member and of the token.
///
/// # Errors
/// A store fails; there is no such member.
pub async fn profile(shop: &Shop, id: i64) -> Result<Value, Refusal> {
    if shop.has(Defect::SeenPerRequest) {
        shop.database.execute(USED, &[&id]).await?;
        shop.database.execute(SEEN, &[&id]).await?;
    } else {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let _: i64 = shop.cache.send(redis::cmd("ZADD").arg("seen").arg(now).arg(id)).await?;
    }
    let row = shop.database.row(PROFILE, &[&id]).await?;
    Ok(json!({"id": id, "name": row.get::<_, &str>(1), "email": row.get::<_, &str>(2)}))
}

/// The lines and the payments of an invoice: a statement for each list, or one for all pairs with the defect.
///
/// # Errors
/// PostgreSQL fails.
pub async fn invoice(shop: &Shop, id: i64) -> Result<Value, Refusal> {
    if shop.has(Defect::DoubleJoin) {
        let pairs = shop.database.query(PAIRS, &[&id]).await?;
        return Ok(json!({"lines": distinct(&pairs, 1), "payments": distinct(&pairs, 3)}));
    }
    let lines = shop.database.query(LINES, &[&id]).await?;
    let payments = shop.database.query(PAYMENTS, &[&id]).await?;
    let list = |rows: &[Row]| rows.iter().map(labelled).collect::<Value>();
    Ok(json!({"lines": list(&lines), "payments": list(&payments)}))
}

/// The different entries of one list among all pairs; its number is in this column, its label in the next.
fn distinct(pairs: &[Row], column: usize) -> Value {
    let mut entries = BTreeMap::new();
    for pair in pairs {
        // A list without entries is a row of nulls.
        if let Some(id) = pair.get::<_, Option<i64>>(column) {
            entries.insert(id, pair.get::<_, String>(column + 1));
        }
    }
    entries.into_iter().map(|(id, label)| json!([id, label])).collect()
}

fn labelled(row: &Row) -> Value {
    json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])
}
