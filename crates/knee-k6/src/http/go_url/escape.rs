//! Escapes in URLs, by Go's rules.
//!
//! Does not know where the parts of a URL begin; see [`mod@super::parse`].

use std::fmt::Write as _;

use super::form::Parsed;
use crate::go_quote::quoted;

/// Part of a URL, which decides what must be escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The path.
    Path,
    /// Host and port.
    Host,
    /// The zone of an IPv6 address.
    Zone,
    /// User name or password.
    User,
    /// The fragment.
    Fragment,
}

/// `text` as it is if it is correctly escaped, or escaped by Go's rules.
pub fn escaped(text: &[u8], part: Part) -> Parsed<String> {
    let plain = unescape(text, part)?;
    let needs_none = |byte: &u8| b"!$&'()*+,;=:@[]%".contains(byte) || !must_escape(*byte, part);
    if text.iter().all(needs_none) {
        return Ok(String::from_utf8_lossy(text).into_owned());
    }
    Ok(escape(&plain, part))
}

/// `text` with escapes.
pub fn escape(text: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        if must_escape(*byte, part) {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        } else {
            out.push(char::from(*byte));
        }
    }
    out
}

/// `text` without escapes.
pub fn unescape(text: &[u8], part: Part) -> Parsed<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'%' {
            if matches!(part, Part::Host | Part::Zone) && byte.is_ascii() && must_escape(*byte, part) {
                return Err(format!("invalid character {} in host name", quoted(&[*byte])));
            }
            out.push(*byte);
            rest = after;
            continue;
        }
        let wrong = || Err(format!("invalid URL escape {}", quoted(&rest[..rest.len().min(3)])));
        let digit = |place: usize| after.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else { return wrong() };
        let value = (high * 16 + low) as u8;
        // In a host, escapes stand for what is not ASCII; `%25` begins the zone of an address.
        let refused = match part {
            Part::Host => high < 8,
            Part::Zone => value != b' ' && must_escape(value, Part::Host),
            Part::Path | Part::User | Part::Fragment => false,
        };
        if refused && value != b'%' {
            return wrong();
        }
        out.push(value);
        rest = &after[2..];
    }
    Ok(out)
}

/// Whether Go escapes a byte there.
fn must_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    let allowed: &[u8] = match part {
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::Path => b"$&+,/:;=@",
        Part::User => b"$&+,;=",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    !allowed.contains(&byte)
}
