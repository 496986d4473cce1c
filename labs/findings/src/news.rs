//! Articles: lists, pages and searches.
//!
//! Views are in [`crate::views`]. Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// The newest articles of a section.
pub const SECTION: &str =
    "SELECT id, title FROM articles WHERE section = $1 ORDER BY published_at DESC LIMIT 20";
const COUNT: &str = "SELECT count(*) FROM articles";
const BEFORE: &str = "SELECT id, title FROM articles WHERE id < $1 ORDER BY id DESC LIMIT 20";
const OFFSET: &str = "SELECT id, title FROM articles ORDER BY id DESC LIMIT 20 OFFSET $1";
const WITH_AUTHORS: &str = "SELECT a.id, a.title, w.name FROM articles a JOIN authors w ON w.id = a.author \
                            WHERE a.id < $1 ORDER BY a.id DESC LIMIT 20";
const WITHOUT_AUTHORS: &str =
    "SELECT id, title, author FROM articles WHERE id < $1 ORDER BY id DESC LIMIT 20";
const AUTHOR: &str = "SELECT name FROM authors WHERE id = $1";
/// A search that the index of words serves.
pub const WORDS: &str = "SELECT id, title FROM articles \
                         WHERE to_tsvector('simple', title) @@ plainto_tsquery('simple', $1) LIMIT 20";
/// A search that no index serves.
pub const LIKE: &str = "SELECT id, title FROM articles WHERE title LIKE '%' || $1 || '%' LIMIT 20";

fn listed(rows: &[Row]) -> Value {
    rows.iter().map(|row| json!({"id": row.get::<_, i64>(0), "title": row.get::<_, &str>(1)})).collect()
}

/// The newest articles of a section.
///
/// # Errors
/// PostgreSQL fails.
pub async fn section(shop: &Shop, section: i32) -> Result<Value, Refusal> {
    Ok(listed(&shop.database.query(SECTION, &[&section]).await?))
}

/// A page of the archive: its number, and the first article that is too new for it.
///
/// # Errors
/// PostgreSQL fails.
pub async fn page(shop: &Shop, page: i64, before: i64) -> Result<Value, Refusal> {
    let rows = if shop.has(Defect::DeepOffset) {
        shop.database.query(OFFSET, &[&(page * 20)]).await?
    } else {
        shop.database.query(BEFORE, &[&before]).await?
    };
    let mut response = json!({"articles": listed(&rows)});
    if shop.has(Defect::CountPerPage) {
        response["total"] = shop.database.row(COUNT, &[]).await?.get::<_, i64>(0).into();
    }
    Ok(response)
}

/// Articles with the names of their authors.
///
/// # Errors
/// PostgreSQL fails.
pub async fn with_authors(shop: &Shop, before: i64) -> Result<Value, Refusal> {
    if !shop.has(Defect::AuthorPerArticle) {
        let rows = shop.database.query(WITH_AUTHORS, &[&before]).await?;
        let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, &str>(2)]);
        return Ok(rows.iter().map(one).collect());
    }
    let mut articles = Vec::new();
    for row in shop.database.query(WITHOUT_AUTHORS, &[&before]).await? {
        let author = shop.database.row(AUTHOR, &[&row.get::<_, i64>(2)]).await?;
        articles.push(json!([row.get::<_, i64>(0), row.get::<_, &str>(1), author.get::<_, &str>(0)]));
    }
    Ok(articles.into())
}

/// Articles with a word in their title.
///
/// # Errors
/// PostgreSQL fails.
pub async fn search(shop: &Shop, word: &str) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::LikeSearch) { LIKE } else { WORDS };
    Ok(listed(&shop.database.query(sql, &[&word]).await?))
}
