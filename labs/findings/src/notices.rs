//! Notices to tenants, and what branches have taken per day, in PostgreSQL.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Days of a branch.
pub const DAYS: usize = 30;

/// Whether there is a notice that was not seen: the first one that is found is enough.
const EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM notices WHERE tenant = $1 AND NOT seen)";
/// The same out of their number, as many mappers of objects ask.
const COUNT: &str = "SELECT count(*) FROM notices WHERE tenant = $1 AND NOT seen";

/// What a branch took on each day, as it was added up when the day ended.
const BY_DAY: &str = "SELECT day, cents FROM daily_takings WHERE branch = $1 ORDER BY day";
/// The same out of all single takings.
const SUMS: &str = "SELECT day, sum(cents)::bigint FROM takings WHERE branch = $1 GROUP BY day ORDER BY day";

/// Whether a tenant has notices that were not seen. The defect counts them.
///
/// # Errors
/// PostgreSQL fails.
pub async fn unseen(shop: &Shop, tenant: i32) -> Result<Value, Refusal> {
    let has_unseen = if shop.has(Defect::ExistenceCount) {
        shop.database.row(COUNT, &[&tenant]).await?.get::<_, i64>(0) > 0
    } else {
        shop.database.row(EXISTS, &[&tenant]).await?.get::<_, bool>(0)
    };
    Ok(json!({"tenant": tenant, "has_unseen": has_unseen}))
}

/// What a branch took on each day. The defect adds it up for each request.
///
/// # Errors
/// PostgreSQL fails.
pub async fn takings(shop: &Shop, branch: i32) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::SumsPerRequest) { SUMS } else { BY_DAY };
    let rows = shop.database.query(sql, &[&branch]).await?;
    Ok(rows.iter().map(|row: &Row| json!([row.get::<_, i32>(0), row.get::<_, i64>(1)])).collect())
}
