//! Base64 as k6 reads and writes it, down to the words of its errors.
//!
//! Accepts line breaks within the text and stray bits at its end, as Go does. Knows no JavaScript.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// An alphabet of base64, with or without padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`, padded.
    #[default]
    Standard,
    /// `+` and `/`, not padded.
    StandardRaw,
    /// `-` and `_`, padded.
    Url,
    /// `-` and `_`, not padded.
    UrlRaw,
}

/// A text is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {at}")]
pub struct DecodeError {
    /// The first byte that does not fit, from 0; the length of the text if something is missing.
    pub at: usize,
}

impl Alphabet {
    /// By k6's name for it; every other name means the standard one.
    pub fn by_name(name: &str) -> Self {
        match name {
            "rawstd" => Self::StandardRaw,
            "url" => Self::Url,
            "rawurl" => Self::UrlRaw,
            _ => Self::Standard,
        }
    }

    const fn is_padded(self) -> bool {
        matches!(self, Self::Standard | Self::Url)
    }

    /// The six bits a letter stands for.
    const fn bits(self, letter: u8) -> Option<u8> {
        match (letter, self) {
            (b'A'..=b'Z', _) => Some(letter - b'A'),
            (b'a'..=b'z', _) => Some(letter - b'a' + 26),
            (b'0'..=b'9', _) => Some(letter - b'0' + 52),
            (b'+', Self::Standard | Self::StandardRaw) | (b'-', Self::Url | Self::UrlRaw) => Some(62),
            (b'/', Self::Standard | Self::StandardRaw) | (b'_', Self::Url | Self::UrlRaw) => Some(63),
            _ => None,
        }
    }

    /// `bytes` as text.
    pub fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Standard => STANDARD.encode(bytes),
            Self::StandardRaw => STANDARD_NO_PAD.encode(bytes),
            Self::Url => URL_SAFE.encode(bytes),
            Self::UrlRaw => URL_SAFE_NO_PAD.encode(bytes),
        }
    }

    /// The bytes that `text` stands for.
    pub fn decode(self, text: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
        // Letters of the group that is being read, four of which are three bytes.
        let (mut group, mut letters) = (0_u32, 0_usize);
        for (at, &letter) in text.iter().enumerate().filter(|(_, letter)| !is_line_break(**letter)) {
            let Some(bits) = self.bits(letter) else {
                if letter != b'=' || !self.is_padded() || letters < 2 {
                    return Err(DecodeError { at });
                }
                check_padding(text, at, letters)?;
                push(&mut bytes, group, letters);
                return Ok(bytes);
            };
            group = group << 6 | u32::from(bits);
            letters += 1;
            if letters == 4 {
                push(&mut bytes, group, letters);
                (group, letters) = (0, 0);
            }
        }
        if letters == 1 || (letters > 0 && self.is_padded()) {
            return Err(DecodeError { at: text.len() - letters });
        }
        push(&mut bytes, group, letters);
        Ok(bytes)
    }
}

/// Whether the padding that begins at `first` is whole, and the end.
fn check_padding(text: &[u8], first: usize, letters: usize) -> Result<(), DecodeError> {
    let mut rest = text.iter().enumerate().skip(first + 1).filter(|(_, letter)| !is_line_break(**letter));
    if letters == 2 {
        match rest.next() {
            None => return Err(DecodeError { at: text.len() }),
            Some((_, b'=')) => {}
            Some((at, _)) => return Err(DecodeError { at: at - 1 }),
        }
    }
    rest.next().map_or(Ok(()), |(at, _)| Err(DecodeError { at }))
}

const fn is_line_break(letter: u8) -> bool {
    matches!(letter, b'\r' | b'\n')
}

/// The whole bytes in the last `letters` letters of a group.
fn push(bytes: &mut Vec<u8>, group: u32, letters: usize) {
    let whole = group << (6 * (4 - letters));
    bytes.extend_from_slice(&whole.to_be_bytes()[1..=letters * 3 / 4]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Alphabet; 4] = [Alphabet::Standard, Alphabet::StandardRaw, Alphabet::Url, Alphabet::UrlRaw];

    #[test]
    fn what_is_wrong_with_a_text_is_said_as_k6_says_it() {
        // Recorded from k6 1.8.1.
        for (name, text, at) in [
            ("std", "a", 0),
            ("std", "aGVsbG8", 4),
            ("std", "aGV*bG8=", 3),
            ("std", "aGVsbG8=x", 8),
            ("std", "aGVsbG8==", 8),
            ("std", "aGVs=", 4),
            ("std", "=", 0),
            ("std", "aGVs bG8=", 4),
            ("std", "Pz8-Pg==", 3),
            ("rawstd", "aGVsbG8=", 7),
            ("rawstd", "aGVsbG8xx", 8),
        ] {
            assert_eq!(
                Alphabet::by_name(name).decode(text.as_bytes()),
                Err(DecodeError { at }),
                "{name} {text}"
            );
        }
    }

    #[test]
    fn line_breaks_and_stray_bits_are_let_pass() {
        assert_eq!(Alphabet::Standard.decode(b"aGVs\r\nbG8=\n"), Ok(b"hello".to_vec()));
        assert_eq!(Alphabet::Standard.decode(b"aGVsbG9="), Ok(b"hello".to_vec()));
    }

    #[test]
    fn an_unknown_name_is_the_standard_alphabet() {
        assert_eq!(Alphabet::by_name("bogus").encode(b"??>>a"), "Pz8+PmE=");
        assert_eq!(Alphabet::by_name("rawurl").encode(b"??>>a"), "Pz8-PmE");
    }

    proptest! {
        #[test]
        fn every_alphabet_reads_what_it_wrote(bytes: Vec<u8>) {
            for alphabet in ALL {
                prop_assert_eq!(alphabet.decode(alphabet.encode(&bytes).as_bytes()), Ok(bytes.clone()));
            }
        }

        #[test]
        fn any_text_is_read_or_refused_within_its_length(text in "[A-Za-z+/=_\r\n -]{0,24}") {
            for alphabet in ALL {
                if let Err(error) = alphabet.decode(text.as_bytes()) {
                    prop_assert!(error.at <= text.len());
                }
            }
        }
    }
}
