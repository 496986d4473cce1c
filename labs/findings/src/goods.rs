//! Goods with properties in JSON, and a tree of categories, in PostgreSQL.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// The goods of a maker, by containment, which the index on the JSON serves.
pub const CONTAINS: &str =
    "SELECT id, data->>'name' FROM goods WHERE data @> jsonb_build_object('maker', $1::text)";
/// The same goods, by a field of the JSON, which the index does not serve.
pub const ARROW: &str = "SELECT id, data->>'name' FROM goods WHERE data->>'maker' = $1::text";

/// The categories below another one, with the number of their goods and the last of their names. PostgreSQL expects ten
/// times as many rows from each step of a recursion, so the estimated cost is far above the real one.
pub const BELOW: &str = "WITH RECURSIVE below AS (\
                         SELECT id, name FROM categories WHERE parent = $1::bigint \
                         UNION ALL SELECT c.id, c.name FROM categories c JOIN below ON c.parent = below.id) \
                         SELECT id, name, (SELECT count(*) FROM goods WHERE category = below.id), \
                         (SELECT max(g.data->>'name') FROM goods g WHERE g.category = below.id) \
                         FROM below ORDER BY id";

/// The statement that finds the goods of a maker.
pub fn by_maker(defect: Defect) -> &'static str {
    if defect == Defect::JsonArrow { ARROW } else { CONTAINS }
}

/// The goods of a maker.
///
/// # Errors
/// PostgreSQL fails.
pub async fn of_maker(shop: &Shop, maker: &str) -> Result<Value, Refusal> {
    let rows = shop.database.query(by_maker(shop.defect), &[&maker]).await?;
    Ok(rows.iter().map(|row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect())
}

/// The categories below this one. Connections of a healthy shop do not compile statements; with the defect, PostgreSQL
/// compiles this one each time, because of its estimated cost.
///
/// # Errors
/// PostgreSQL fails.
pub async fn below(shop: &Shop, category: i64) -> Result<Value, Refusal> {
    let rows = shop.database.query(BELOW, &[&category]).await?;
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, i64>(2)]);
    Ok(rows.iter().map(one).collect())
}
