//! Numbers of JSON, as integers and fractions.
//!
//! A number is an integer if its value is one, however it is written: `1e3` and `20.0` are.

/// Digits of the largest integer.
const DIGITS_MAX: i64 = 20;

/// Whether a letter can be in a word or a number, so that neither ends before it.
pub fn is_in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '+' | '.' | '_')
}

/// The length of the number at the start of a text, if there is one. What follows can be anything but a letter of a word.
pub fn prefix(text: &str) -> Option<usize> {
    let digits = |from: usize| text.bytes().skip(from).take_while(u8::is_ascii_digit).count();
    let byte = |at: usize| text.as_bytes().get(at).copied();
    let mut at = usize::from(byte(0) == Some(b'-'));
    at += match (byte(at), digits(at)) {
        (_, 0) => return None,
        (Some(b'0'), _) => 1,
        (_, count) => count,
    };
    if byte(at) == Some(b'.') {
        at += match digits(at + 1) {
            0 => return None,
            count => count + 1,
        };
    }
    if matches!(byte(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(byte(at + 1), Some(b'+' | b'-')));
        at += match digits(at + 1 + sign) {
            0 => return None,
            count => count + 1 + sign,
        };
    }
    let ends = !text[at..].starts_with(is_in_word);
    ends.then_some(at)
}

/// The number in the text of a string, of which k6 reads no more than the first number: `"1,5"` is 1.
pub fn in_text(text: &str) -> Option<&str> {
    if text.trim().len() != text.len() {
        return None;
    }
    prefix(text).map(|length| &text[..length])
}

/// The value of a number, if it is an integer of at most 64 bits.
pub fn integer(number: &str) -> Option<i128> {
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let exponent = i64::from(exponent.parse::<i32>().ok()?);
    let zeros = exponent - fraction.len() as i64 + (digits.len() - significant.len()) as i64;
    if zeros < 0 || exponent.max(0) + whole.len() as i64 > DIGITS_MAX {
        return None;
    }
    let scale = 10_i128.checked_pow(u32::try_from(zeros).ok()?)?;
    let value = significant.parse::<i128>().ok()?.checked_mul(scale)?;
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_an_integer_by_its_value() {
        let integers = [("0", 0), ("-0.0", 0), ("1e3", 1000), ("20.0", 20), ("1.50e1", 15), ("100e-2", 1)];
        for (number, value) in integers {
            assert_eq!(integer(number), Some(value), "{number}");
        }
        for number in ["0.5", "1e-1", "10.5e-1", "1e30", "1e99999999999", "123456789012345678901"] {
            assert_eq!(integer(number), None, "{number}");
        }
        assert_eq!(integer("18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!(integer("-9223372036854775808"), Some(i128::from(i64::MIN)));
    }

    #[test]
    fn numbers_follow_the_grammar_of_json() {
        for (text, length) in [("0", 1), ("-1.5e+3,", 7), ("10]", 2), ("1 2", 1)] {
            assert_eq!(prefix(text), Some(length), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "1a", "0x10", "NaN"] {
            assert_eq!(prefix(text), None, "{text}");
        }
    }
}
