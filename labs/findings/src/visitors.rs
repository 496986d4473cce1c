//! Sessions, tokens and comments of visitors.
//!
//! Does not use the stores, and does not parse HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum};

/// How long the server that knows what a visitor likes takes.
const LIKES: Duration = Duration::from_millis(10);
/// How long the server takes that has the keys by which tokens are signed.
const KEYS: Duration = Duration::from_millis(25);
/// Blanks in the middle of a comment.
const BLANKS: usize = 6000;

/// What the shop keeps of its visitors.
pub struct Visitors {
    /// A lock per session.
    sessions: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// The keys by which tokens are signed.
    keys: OnceCell<Vec<u64>>,
    /// The comments as they came.
    comments: Vec<String>,
}

impl Default for Visitors {
    fn default() -> Self {
        let odd = format!("-- play a sound{}when it is here", " ".repeat(BLANKS));
        let comments = vec!["a good cup   ".to_owned(), odd, "too small\n".to_owned()];
        Self { sessions: Mutex::default(), keys: OnceCell::new(), comments }
    }
}

/// A part of the start page of a visitor. With the defect, the session stays locked until the response is there, so the
/// parts of a page wait for each other.
///
/// # Errors
/// The other server fails.
pub async fn part(shop: &Shop, session: &str) -> Result<Value, Refusal> {
    let _lock = if shop.has(Defect::SessionLock) {
        Some(shop.visitors.lock_of(session).lock_owned().await)
    } else {
        None
    };
    shop.calls.ask("likes", checksum(session), LIKES).await?;
    Ok(json!({"session": session, "likes": ["tea", "cups"]}))
}

/// Whether a token is signed by one of the keys. A healthy shop has read them once; the defect reads them for each
/// request.
///
/// # Errors
/// The server that has the keys fails.
pub async fn is_signed(shop: &Shop, token: &str) -> Result<bool, Refusal> {
    let signature = token.parse::<u64>().ok();
    if shop.has(Defect::SigningKeys) {
        return Ok(read_keys(shop).await?.iter().any(|key| Some(*key) == signature));
    }
    let keys = shop.visitors.keys.get_or_try_init(|| read_keys(shop)).await?;
    Ok(keys.iter().any(|key| Some(*key) == signature))
}

/// The numbers of all keys that are in the document of their server.
async fn read_keys(shop: &Shop) -> Result<Vec<u64>, Refusal> {
    let document = shop.calls.ask("keys", 1, KEYS).await?;
    let number = |key: &Value| key["kid"].as_str().and_then(|kid| kid.parse::<u64>().ok());
    Ok(document["keys"].as_array().into_iter().flatten().filter_map(number).collect())
}

/// Lengths and first words of all comments, without the blanks at their ends.
pub fn comments(shop: &Shop) -> Value {
    let trim: fn(&str) -> &str =
        if shop.has(Defect::QuadraticTrim) { trimmed_by_pattern } else { str::trim_ascii_end };
    let one = |text: &String| {
        let text = trim(text);
        json!({"length": text.len(), "begins": text.split(' ').next()})
    };
    shop.visitors.comments.iter().map(one).collect()
}

/// A text without the blanks at its end, as an engine that backtracks finds them with `\s+$`: from each blank on, it
/// looks at all that follow.
fn trimmed_by_pattern(text: &str) -> &str {
    let bytes = text.as_bytes();
    let is_blank = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
    let reaches_end = |from: usize| (from..bytes.len()).all(is_blank);
    let end = (0..bytes.len()).find(|at| is_blank(*at) && reaches_end(*at)).unwrap_or(bytes.len());
    text.get(..end).unwrap_or(text)
}

impl Visitors {
    fn lock_of(&self, session: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(sessions.entry(session.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_remove_the_blanks_at_the_end_and_no_others() {
        let Visitors { comments, .. } = Visitors::default();
        for text in comments.iter().map(String::as_str).chain(["", "  ", "\t tea\n\n", "größe \n"]) {
            assert_eq!(trimmed_by_pattern(text), text.trim_ascii_end());
        }
    }
}
