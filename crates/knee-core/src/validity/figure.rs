//! Formats figures for the messages of rules and notes.
//!
//! Does not choose which figures are named.

/// A share as text, with three digits at the most.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        value if value < 1.0 => format!("{value:.2} %"),
        value if value < 10.0 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

/// A count as text, with commas between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares_are_written_as_people_read_them() {
        let counts = [0, 999, 1_000, 5_018, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "5,018", "1,234,567"]);
        assert_eq!([0.001_23, 0.023_4, 0.5].map(percent), ["0.12 %", "2.3 %", "50 %"]);
    }
}
