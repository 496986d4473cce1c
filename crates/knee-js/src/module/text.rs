//! Texts of scripts as Rust reads them.
//!
//! A text is lent by QuickJS where that is possible, so that a long one is not copied. Halves of pairs of letters, which
//! JavaScript allows and Rust does not, become the replacement character, as under k6.

use std::ops::Deref;

use rquickjs::{CString, Error, Result, String as JsString};

/// A text of a script.
pub struct Text<'js> {
    lent: CString<'js>,
    /// The same with replacement characters, if it needs them.
    made: Option<String>,
}

impl<'js> Text<'js> {
    /// The text of a string.
    pub fn of(string: JsString<'js>) -> Result<Self> {
        // It fails if there is no memory, and QuickJS has thrown that already.
        let lent = string.to_cstring().map_err(|_| Error::Exception)?;
        let bytes: &[u8] = lent.as_ref();
        let made = std::str::from_utf8(bytes).is_err().then(|| well_formed(bytes));
        Ok(Self { lent, made })
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.made.as_deref().unwrap_or_else(|| self.lent.as_str())
    }
}

/// UTF-8 in which halves of pairs are written as if they were letters, as QuickJS does it.
fn well_formed(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let (whole, broken) = rest.split_at(error.valid_up_to());
        text.push_str(&String::from_utf8_lossy(whole));
        text.push(char::REPLACEMENT_CHARACTER);
        let is_half = matches!(broken, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]);
        rest = broken.get(if is_half { 3 } else { 1 }..).unwrap_or_default();
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_of_a_pair_becomes_one_replacement_character() {
        assert_eq!(well_formed(b"a\xed\xa0\x80b\xed\xbf\xbf\xed\xa0\x80"), "a\u{fffd}b\u{fffd}\u{fffd}");
        assert_eq!(well_formed(b"\xff\xed"), "\u{fffd}\u{fffd}");
        assert_eq!(well_formed("whole \u{1f600}".as_bytes()), "whole \u{1f600}");
    }
}
