//! Yearbooks, which are computed from many lines, and reviews with those who wrote them.
//!
//! Does not use the stores, and does not parse HTTP.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum};

/// Lines of a yearbook.
const LINES: u64 = 1_000_000;
/// Lines between two pauses, and the pause: a healthy shop leaves room for requests while it computes.
const PORTION: u64 = 4000;
const PAUSE: Duration = Duration::from_millis(4);
/// Reviews of a product, and authors who wrote them.
pub const REVIEWS: u64 = 120;
const AUTHORS: u64 = 2;
/// Badges of an author.
const BADGES: u64 = 24;

/// Yearbooks that were computed.
#[derive(Default)]
pub struct Yearbooks {
    /// The checksum of each year.
    sums: Mutex<BTreeMap<u64, u64>>,
}

/// A page of a yearbook, which takes next to no time.
pub fn page(number: u64) -> Value {
    json!({"page": number, "text": line(number)})
}

/// Begins to compute a whole yearbook. No request waits for its end. A healthy shop computes it on a thread of its own,
/// portion by portion; with the defect, the one thread that serves does, and all requests wait.
pub fn begin(shop: Arc<Shop>, year: u64) {
    tokio::spawn(async move {
        let sum = if shop.has(Defect::ExportOnLoop) {
            Some(compute(year, LINES, None))
        } else {
            // What fails is left to the next time.
            tokio::task::spawn_blocking(move || compute(year, LINES, Some(PAUSE))).await.ok()
        };
        if let Some(sum) = sum {
            let sums = &shop.yearbooks.sums;
            sums.lock().unwrap_or_else(PoisonError::into_inner).insert(year, sum);
        }
    });
}

/// The checksum of a yearbook.
///
/// # Errors
/// It was not computed yet.
pub fn yearbook(shop: &Shop, year: u64) -> Result<Value, Refusal> {
    let sums = shop.yearbooks.sums.lock().unwrap_or_else(PoisonError::into_inner);
    let sum = sums.get(&year).ok_or(Refusal::Missing)?;
    Ok(json!({"year": year, "sum": format!("{sum:016x}")}))
}

fn compute(year: u64, lines: u64, pause: Option<Duration>) -> u64 {
    let (mut text, mut sum) = (String::new(), year);
    for number in 0..lines {
        text.clear();
        // Writing to a text cannot fail.
        let _ = write!(text, "{year};{number};{}", line(number));
        sum = sum.rotate_left(1) ^ checksum(&text);
        if let Some(pause) = pause
            && number.is_multiple_of(PORTION)
        {
            thread::sleep(pause);
        }
    }
    sum
}

fn line(number: u64) -> String {
    format!("class {}, seat {}", number % 40, number * 7919 % 1000)
}

/// Reviews of a product. A healthy shop names the author of each by a number, and has the authors once; with the
/// defect, each review has its whole author in it.
pub fn reviews(product: u64, is_nested: bool) -> Value {
    let authors: Vec<Value> = (0..AUTHORS).map(|place| author(product + place)).collect();
    let review = |(number, of): (u64, &Value)| {
        let author = if is_nested { of.clone() } else { of["id"].clone() };
        json!({"number": number, "stars": 1 + number % 5, "author": author})
    };
    let reviews: Vec<Value> = (0..REVIEWS).zip(authors.iter().cycle()).map(review).collect();
    if is_nested { json!({"reviews": reviews}) } else { json!({"authors": authors, "reviews": reviews}) }
}

fn author(id: u64) -> Value {
    let badge = |number: u64| {
        let day = 1 + (id + number * 7) % 28;
        let (badge, since) = (format!("reader of {number} books"), format!("2025-01-{day:02}"));
        let many = number * 11 + id;
        let note = format!("given to member {id} for {many} good reviews in a row, and many thanks");
        json!({"badge": badge, "since": since, "note": note})
    };
    let badges: Vec<Value> = (0..BADGES).map(badge).collect();
    json!({"id": id, "name": format!("Member {id}"), "badges": badges})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_in_each_review_only_with_the_defect() {
        let (healthy, defect) = (reviews(7, false), reviews(7, true));
        let times = |all: &Value| all.to_string().matches("\"name\":\"Member 8\"").count() as u64;
        assert_eq!((times(&healthy), times(&defect)), (1, REVIEWS / AUTHORS));
        // What a healthy response has is small; that of the defect is 20 times as long and more.
        let (small, large) = (healthy.to_string().len(), defect.to_string().len());
        assert!(small < 16 << 10 && large > 20 * small, "{small}, {large}");
        assert_eq!(defect["reviews"][1]["author"], healthy["authors"][1]);
    }

    #[test]
    fn a_yearbook_has_all_its_lines() {
        assert_eq!(compute(2025, 10, None), compute(2025, 10, Some(PAUSE)));
        assert_ne!(compute(2025, 10, None), compute(2025, 11, None));
        assert_eq!(page(3)["text"], "class 3, seat 757");
    }
}
