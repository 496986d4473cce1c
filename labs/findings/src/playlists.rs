//! Playlists that members put in another order, and complaints without an answer, in PostgreSQL.
//!
//! Does not parse HTTP.

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Songs of a playlist.
pub const SONGS: i32 = 80;
/// Complaints of a branch that have no answer.
pub const OPEN: usize = 5;

const ALL_SONGS: &str = "UPDATE songs SET place = n.place \
                         FROM unnest($1::bigint[], $2::int[]) AS n (id, place) WHERE songs.id = n.id";
const ONE_SONG: &str = "UPDATE songs SET place = $2 WHERE id = $1";

/// The complaints of a branch that have no answer: an index finds the answer of each.
pub const WITHOUT: &str = "SELECT c.id, c.text FROM complaints c WHERE c.branch = $1 \
                           AND NOT EXISTS (SELECT FROM answers a WHERE a.complaint = c.id) ORDER BY c.id";
/// The same with NOT IN, for which all answers are read.
pub const NOT_IN: &str = "SELECT id, text FROM complaints WHERE branch = $1 \
                          AND id NOT IN (SELECT complaint FROM answers) ORDER BY id";

/// Gives all songs of a playlist new places in one transaction: by one statement, or by one per song with the defect.
///
/// # Errors
/// PostgreSQL fails; there is no such playlist.
pub async fn reorder(shop: &Shop, playlist: i32) -> Result<(), Refusal> {
    let first = i64::from(playlist) * i64::from(SONGS);
    let ids: Vec<i64> = (1..=SONGS).map(|number| first + i64::from(number)).collect();
    let turned = fastrand::i32(0..SONGS);
    let places: Vec<i32> = (0..SONGS).map(|place| (place + turned) % SONGS).collect();
    let changed = if shop.has(Defect::UpdatePerSong) {
        place_each(shop, &ids, &places).await?
    } else {
        shop.database.execute(ALL_SONGS, &[&ids, &places]).await?
    };
    if changed > 0 { Ok(()) } else { Err(Refusal::Missing) }
}

async fn place_each(shop: &Shop, ids: &[i64], places: &[i32]) -> Result<u64, Refusal> {
    let mut client = shop.database.client().await?;
    let one = client.prepare_cached(ONE_SONG).await?;
    let transaction = client.transaction().await?;
    let mut changed = 0;
    for (id, place) in ids.iter().zip(places) {
        changed += transaction.execute(&one, &[id, place]).await?;
    }
    transaction.commit().await?;
    Ok(changed)
}

/// The complaints of a branch that have no answer.
///
/// # Errors
/// PostgreSQL fails.
pub async fn complaints(shop: &Shop, branch: i32) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::NotIn) { NOT_IN } else { WITHOUT };
    let rows = shop.database.query(sql, &[&branch]).await?;
    Ok(rows.iter().map(|row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1)])).collect())
}
