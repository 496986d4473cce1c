//! Notes, lists and documents in PostgreSQL.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

const NOTE: &str = "SELECT title, body FROM notes WHERE id = $1";
/// Removes a list and, through the foreign key, its notes.
pub const DELETE_LIST: &str = "DELETE FROM lists WHERE id = $1";
const UPDATE: &str = "UPDATE documents SET changes = changes + 1 WHERE id = $1 RETURNING id, changes";
const UPDATE_WIDE: &str = "UPDATE documents SET changes = changes + 1 WHERE id = $1 RETURNING *";

/// A note.
///
/// # Errors
/// PostgreSQL fails; there is no such note.
pub async fn note(shop: &Shop, id: i64) -> Result<Value, Refusal> {
    let row = if shop.has(Defect::ConnectionPerRequest) {
        shop.database.connect().await?.query_opt(NOTE, &[&id]).await?.ok_or(Refusal::Missing)?
    } else {
        shop.database.row(NOTE, &[&id]).await?
    };
    if shop.has(Defect::DebugLog) {
        crate::log::debug_request("GET /notes/{id}", id);
    }
    Ok(json!({"id": id, "title": row.get::<_, &str>(0), "body": row.get::<_, &str>(1)}))
}

/// Removes a list with its notes.
///
/// # Errors
/// PostgreSQL fails; there is no such list.
pub async fn delete_list(shop: &Shop, id: i64) -> Result<(), Refusal> {
    if shop.database.execute(DELETE_LIST, &[&id]).await? == 0 { Err(Refusal::Missing) } else { Ok(()) }
}

/// Notes a change of a document. With the defect, the response has the whole document.
///
/// # Errors
/// PostgreSQL fails; there is no such document.
pub async fn change_document(shop: &Shop, id: i64) -> Result<Value, Refusal> {
    if !shop.has(Defect::WideRows) {
        let row = shop.database.row(UPDATE, &[&id]).await?;
        return Ok(json!({"id": id, "changes": row.get::<_, i32>(1)}));
    }
    let row = shop.database.row(UPDATE_WIDE, &[&id]).await?;
    let (title, body): (&str, &str) = (row.get(1), row.get(3));
    Ok(json!({"id": id, "title": title, "changes": row.get::<_, i32>(2), "body": body}))
}
