//! Almanacs that are computed for each reader who does not have them, and enquiries with their details, in memory.
//!
//! Does not use the stores, and does not parse HTTP.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum};

/// Days of an almanac, and minutes of a day for which the tide is computed.
const DAYS: u32 = 366;
const MINUTES: u32 = 1440;
/// Years that have an almanac of their own; then the tides come again.
const YEARS: u32 = 200;
/// The edition of all almanacs: another way to compute them would be another edition.
const EDITION: u32 = 1;
/// Minutes between two tides, by the moon and by the sun.
const BY_MOON: f64 = 745.2;
const BY_SUN: f64 = 720.0;

/// Bytes of the details of an enquiry, and how long another server takes for it.
const DETAILS: usize = 400 << 10;
const ENQUIRY: Duration = Duration::from_millis(5);

/// An almanac with its validator.
pub struct Almanac {
    /// The validator, with its quotation marks.
    pub validator: String,
    /// The text, unless the reader has it.
    pub text: Option<String>,
}

/// The almanac of a year for a reader who has the one with the known validator. A healthy shop makes the validator of
/// the edition; the defect makes it of the text, which it computes for that.
pub fn almanac(year: u32, known: Option<&str>, is_late: bool) -> Almanac {
    if is_late {
        let text = text(year);
        let validator = format!("\"{:016x}\"", checksum(&text));
        let is_known = known == Some(validator.as_str());
        return Almanac { validator, text: (!is_known).then_some(text) };
    }
    let validator = format!("\"{year}-{EDITION}\"");
    let is_known = known == Some(validator.as_str());
    Almanac { validator, text: (!is_known).then(|| text(year)) }
}

/// The highest tide of each day.
fn text(year: u32) -> String {
    let mut text = String::new();
    for day in 0..DAYS {
        let first = f64::from((year % YEARS * DAYS + day) * MINUTES);
        let tide = |minute: u32| {
            let at = first + f64::from(minute);
            2.0 * (TAU * at / BY_MOON).cos() + (TAU * at / BY_SUN).cos()
        };
        let highest = (0..MINUTES).map(tide).fold(f64::MIN, f64::max);
        // A text has room for a line.
        let _ = writeln!(text, "day {}: {highest:.2} m", day + 1);
    }
    text
}

/// Enquiries that have no answer yet.
#[derive(Default)]
pub struct Enquiries {
    details: Mutex<HashMap<u64, Vec<u8>>>,
}

impl Enquiries {
    fn details(&self) -> MutexGuard<'_, HashMap<u64, Vec<u8>>> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks another server, and has the details of the enquiry until it has answered. With the defect, they stay.
    async fn enquire(&self, number: u64, keeps: bool, calls: &Calls) -> Result<Value, Refusal> {
        self.details().insert(number, vec![1; DETAILS]);
        let answer = calls.ask("enquiries", number, ENQUIRY).await;
        if !keeps {
            self.details().remove(&number);
        }
        let answer = answer?;
        Ok(json!({"enquiry": number, "says": answer["says"]}))
    }
}

/// An enquiry with its details.
///
/// # Errors
/// The server fails.
pub async fn enquire(shop: &Shop, number: u64) -> Result<Value, Refusal> {
    shop.enquiries.enquire(number, shop.has(Defect::KeptDetails), &shop.calls).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_validator_is_known_before_the_text_only_without_the_defect() {
        let of_text = format!("\"{:016x}\"", checksum(&text(2004)));
        for (is_late, expected) in [(false, "\"2004-1\"".to_owned()), (true, of_text)] {
            let all = almanac(2004, None, is_late);
            assert_eq!(all.validator, expected);
            assert_eq!(all.text, Some(text(2004)), "{is_late}");
            let known = almanac(2004, Some(&expected), is_late);
            assert_eq!((&known.validator, known.text), (&expected, None), "{is_late}");
            // One of another year is none of this year.
            assert!(almanac(2005, Some(&expected), is_late).text.is_some(), "{is_late}");
        }
        assert_eq!(text(2004).lines().count(), 366);
    }

    #[tokio::test]
    async fn details_of_answered_enquiries_stay_in_memory_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (keeps, kept) in [(false, 0), (true, 5)] {
            let enquiries = Enquiries::default();
            for number in 0..5 {
                let answer = enquiries.enquire(number, keeps, &calls).await.unwrap();
                assert_eq!(answer["says"], "fine");
            }
            assert_eq!(enquiries.details().len(), kept);
        }
    }
}
