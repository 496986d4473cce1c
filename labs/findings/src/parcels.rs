//! Parcels, their customers and their routes, in PostgreSQL.
//!
//! Does not parse HTTP, and does not load parcels: [`crate::prepare`] does.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// The waiting parcels of a customer. An index on customers and one on states can both serve it.
pub const WAITING: &str =
    "SELECT id, code FROM parcels WHERE customer = $1 AND state = 'waiting' ORDER BY id LIMIT 20";

const BY_KEY: &str = "SELECT code, state FROM parcels WHERE id = $1";
/// The parameter is numeric, so PostgreSQL casts the column, and the index on it is of no use.
const BY_NUMERIC: &str = "SELECT code, state FROM parcels WHERE id = $1::bigint::numeric";

const EACH_TABLE: &str = "SELECT p.id, p.code, c.email FROM parcels p JOIN customers c ON c.id = p.customer \
                          WHERE p.code = $1 \
                          UNION SELECT p.id, p.code, c.email FROM parcels p JOIN customers c ON c.id = p.customer \
                          WHERE c.email = $1 ORDER BY 1";
const BOTH_TABLES: &str = "SELECT p.id, p.code, c.email FROM parcels p JOIN customers c ON c.id = p.customer \
                           WHERE p.code = $1 OR c.email = $1 ORDER BY 1";

const OF_ROUTE: &str = "SELECT state, count(*), sum(weight)::bigint FROM parcels WHERE route = $1 \
                        GROUP BY state ORDER BY state";
const IDS_OF_ROUTE: &str = "SELECT id FROM parcels WHERE route = $1";

/// The statement that finds a parcel by its key.
pub fn by_key(defect: Defect) -> &'static str {
    if defect == Defect::NumericKey { BY_NUMERIC } else { BY_KEY }
}

/// The statement that searches for a text.
pub fn search(defect: Defect) -> &'static str {
    if defect == Defect::OrAcrossTables { BOTH_TABLES } else { EACH_TABLE }
}

/// The waiting parcels of a customer.
///
/// # Errors
/// PostgreSQL fails.
pub async fn waiting(shop: &Shop, customer: i64) -> Result<Value, Refusal> {
    let rows = shop.database.query(WAITING, &[&customer]).await?;
    Ok(rows.iter().map(|row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect())
}

/// A parcel.
///
/// # Errors
/// PostgreSQL fails; there is no such parcel.
pub async fn parcel(shop: &Shop, id: i64) -> Result<Value, Refusal> {
    let row = shop.database.row(by_key(shop.defect), &[&id]).await?;
    Ok(json!({"id": id, "code": row.get::<_, &str>(0), "state": row.get::<_, &str>(1)}))
}

/// Parcels with this code, or of the customer with this address.
///
/// # Errors
/// PostgreSQL fails.
pub async fn found(shop: &Shop, text: &str) -> Result<Value, Refusal> {
    let rows = shop.database.query(search(shop.defect), &[&text]).await?;
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, &str>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// Number and weight of the parcels of a route, by state. With the defect, the numbers of the parcels are read first, and
/// sent back in the text of a second statement.
///
/// # Errors
/// PostgreSQL fails.
pub async fn route(shop: &Shop, route: i32) -> Result<Value, Refusal> {
    let rows = if shop.has(Defect::IdList) {
        let ids = shop.database.query(IDS_OF_ROUTE, &[&route]).await?;
        if ids.is_empty() {
            return Ok(json!([]));
        }
        shop.database.client().await?.query(of_list(&ids).as_str(), &[]).await?
    } else {
        shop.database.query(OF_ROUTE, &[&route]).await?
    };
    let one = |row: &Row| json!([row.get::<_, &str>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// The statement with all numbers in its text.
fn of_list(ids: &[Row]) -> String {
    let mut text = "SELECT state, count(*), sum(weight)::bigint FROM parcels WHERE id IN (".to_owned();
    for (number, row) in ids.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        // Writing to a text cannot fail.
        let _ = write!(text, "{comma}{}", row.get::<_, i64>(0));
    }
    text.push_str(") GROUP BY state ORDER BY state");
    text
}
