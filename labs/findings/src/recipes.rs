//! Recipes with their tags, and passbooks with a balance after each line, in PostgreSQL.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Recipes with a tag, and lines of a passbook.
pub const TAGGED: usize = 60;
/// Lines of a recipe's method.
pub const LINES: usize = 100;

/// The recipes with a tag: the index on the tags has the containment of arrays.
pub const CONTAINS: &str = "SELECT id, title FROM recipes WHERE tags @> ARRAY[$1]::text[] ORDER BY id";
/// The same as a comparison with each tag of the array, which that index does not have.
pub const ANY: &str = "SELECT id, title FROM recipes WHERE $1 = ANY(tags) ORDER BY id";

/// The lines of a passbook. The balance of the view is computed per account, so a condition on the account is applied
/// before.
pub const BY_ACCOUNT: &str = "SELECT id, cents, balance FROM passbook_lines WHERE account = $1 ORDER BY id";
/// The same by the number of its card: the balances of all accounts are computed before its lines are chosen.
pub const BY_CARD: &str = "SELECT id, cents, balance FROM passbook_lines WHERE card = $1 ORDER BY id";

/// The recipes with a tag.
///
/// # Errors
/// PostgreSQL fails.
pub async fn tagged(shop: &Shop, tag: &str) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::AnyOfArray) { ANY } else { CONTAINS };
    let rows = shop.database.query(sql, &[&tag]).await?;
    Ok(rows.iter().map(|row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect())
}

/// The lines of a passbook with the balance after each. The defect asks the view for them by another column than the
/// one by which it adds up.
///
/// # Errors
/// PostgreSQL fails.
pub async fn passbook(shop: &Shop, account: i32) -> Result<Value, Refusal> {
    let rows = if shop.has(Defect::WindowView) {
        let card = format!("card {account}");
        shop.database.query(BY_CARD, &[&card]).await?
    } else {
        shop.database.query(BY_ACCOUNT, &[&account]).await?
    };
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, i32>(1), row.get::<_, i64>(2)]);
    Ok(rows.iter().map(one).collect())
}
