//! Todos of members, and summaries of order lines: what a replica of PostgreSQL is read for.
//!
//! Does not parse HTTP. Without a replica, the primary is read.

#![expect(clippy::disallowed_methods, reason = "a service has a clock of its own; nothing is measured here")]

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::database::Database;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// How long the todos of a member are read on the primary after one was added: longer than the replica is behind.
const OWN: Duration = Duration::from_secs(3);

const ADD: &str = "INSERT INTO todos (member, text) VALUES ($1, 'what is left to do') RETURNING id";
const ONE: &str = "SELECT text FROM todos WHERE member = $1 AND id = $2";
const NEWEST: &str = "SELECT id, text FROM todos WHERE member = $1 ORDER BY id DESC LIMIT 20";
/// How many of 25,000 order lines have which amount.
const AMOUNTS: &str =
    "SELECT amount, count(*) FROM order_lines WHERE id > $1 AND id <= $1 + 25000 GROUP BY amount";

/// When members added their last todo, as long as it matters.
#[derive(Default)]
pub struct Writers(Mutex<HashMap<i64, Instant>>);

impl Writers {
    fn note(&self, member: i64) {
        let mut last = self.last();
        last.retain(|_, at| at.elapsed() < OWN);
        last.insert(member, Instant::now());
    }

    fn has(&self, member: i64) -> bool {
        self.last().get(&member).is_some_and(|at| at.elapsed() < OWN)
    }

    fn last(&self) -> MutexGuard<'_, HashMap<i64, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where lists are read: on the replica, or on the primary with the defect.
fn reader(shop: &Shop) -> &Database {
    match &shop.replica {
        Some(replica) if !shop.has(Defect::ReadsOnPrimary) => replica,
        _ => &shop.database,
    }
}

/// Where the todos of a member are read. The replica can lack one that was just added; the defect asks it nevertheless.
fn reader_of(shop: &Shop, member: i64) -> &Database {
    let must_be_new = shop.writers.has(member) && !shop.has(Defect::StaleReplica);
    if must_be_new { &shop.database } else { reader(shop) }
}

/// Adds a todo to those of a member, and returns its number.
///
/// # Errors
/// PostgreSQL fails.
pub async fn add(shop: &Shop, member: i64) -> Result<i64, Refusal> {
    let id: i64 = shop.database.row(ADD, &[&member]).await?.get(0);
    shop.writers.note(member);
    Ok(id)
}

/// A todo of a member.
///
/// # Errors
/// PostgreSQL fails; the member has no such todo.
pub async fn one(shop: &Shop, member: i64, id: i64) -> Result<Value, Refusal> {
    let row = reader_of(shop, member).row(ONE, &[&member, &id]).await?;
    Ok(json!({"id": id, "text": row.get::<_, &str>(0)}))
}

/// The newest todos of a member.
///
/// # Errors
/// PostgreSQL fails.
pub async fn newest(shop: &Shop, member: i64) -> Result<Value, Refusal> {
    let rows = reader_of(shop, member).query(NEWEST, &[&member]).await?;
    let one = |row: &Row| json!({"id": row.get::<_, i64>(0), "text": row.get::<_, &str>(1)});
    Ok(rows.iter().map(one).collect())
}

/// How many of the order lines after this one have which amount.
///
/// # Errors
/// PostgreSQL fails.
pub async fn amounts(shop: &Shop, after: i64) -> Result<Value, Refusal> {
    let rows = reader(shop).query(AMOUNTS, &[&after]).await?;
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, i64>(1)]);
    Ok(rows.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_member_who_added_a_todo_is_a_writer() {
        let writers = Writers::default();
        writers.note(7);
        assert!(writers.has(7) && !writers.has(8));
    }
}
