//! Pieces of a certificate that Go's library reads in its own way: the outermost lengths, texts and addresses.
//!
//! Does not read what is inside; the parser does.

use std::net::IpAddr;

/// Which of the outer two lengths is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The sequence of the whole certificate.
    Certificate,
    /// The sequence of what is signed.
    Tbs,
}

/// The tag of a sequence.
const SEQUENCE: u8 = 0x30;

/// A certificate without what follows it.
pub fn outer(der: &[u8]) -> Result<&[u8], Broken> {
    let (whole, inside) = sequence(der).ok_or(Broken::Certificate)?;
    sequence(inside).ok_or(Broken::Tbs)?;
    Ok(whole)
}

/// The sequence that bytes begin with: all of it, and what is in it.
fn sequence(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if tag != SEQUENCE {
        return None;
    }
    let (size, head) = match first {
        0..=0x7f => (usize::from(first), 2),
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            let number = rest.get(..count)?;
            let size = number.iter().fold(0, |size, byte| (size << 8) | usize::from(*byte));
            (size, 2 + count)
        }
        _ => return None,
    };
    let end = head.checked_add(size)?;
    Some((bytes.get(..end)?, bytes.get(head..end)?))
}

/// The text of a value with one of the tags for texts, or Go's words for what is wrong.
pub fn text(tag: u32, bytes: &[u8]) -> Result<String, String> {
    let all = |is_right: fn(u8) -> bool, kind: &str| {
        let is_right = bytes.iter().all(|byte| is_right(*byte));
        is_right.then(|| bytes.iter().map(|byte| char::from(*byte)).collect()).ok_or_else(|| invalid(kind))
    };
    match tag {
        12 => String::from_utf8(bytes.to_vec()).map_err(|_| "invalid UTF-8 string".to_owned()),
        18 => all(|byte| byte.is_ascii_digit() || byte == b' ', "NumericString"),
        19 => all(is_printable, "PrintableString"),
        20 => all(|_| true, "T61String"),
        22 => all(|byte| byte.is_ascii(), "IA5String"),
        30 => wide(bytes).ok_or_else(|| invalid("BMPString")),
        other => Err(format!("unsupported string type: {other}")),
    }
}

fn invalid(kind: &str) -> String {
    format!("invalid {kind}")
}

fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(&byte)
}

/// A text of 16-bit characters, without the zero that can end it.
fn wide(bytes: &[u8]) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else { return None };
    let pairs = pairs.strip_suffix(&[[0, 0]]).unwrap_or(pairs);
    let letter = |pair: &[u8; 2]| {
        let code = u32::from(u16::from_be_bytes(*pair));
        let is_reserved = matches!(code, 0xfffe | 0xffff | 0xfdd0..=0xfdef);
        char::from_u32(code).filter(|_| !is_reserved)
    };
    pairs.iter().map(letter).collect()
}

/// An address of IP as text.
pub fn address(bytes: &[u8]) -> Result<String, String> {
    let address = match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
        (Ok(four), _) => IpAddr::from(four),
        // Go shows an IPv4 address within IPv6 as the former.
        (_, Ok(sixteen)) => IpAddr::from(sixteen).to_canonical(),
        _ => return Err(format!("cannot parse IP address of length {}", bytes.len())),
    };
    Ok(address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_do_not_fit_are_found_where_they_are() {
        assert_eq!(outer(&[]), Err(Broken::Certificate));
        assert_eq!(outer(&[0x30, 5, 0x30]), Err(Broken::Certificate));
        assert_eq!(outer(&[0x30, 0x85, 1, 1, 1, 1, 1]), Err(Broken::Certificate));
        assert_eq!(outer(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), Err(Broken::Certificate));
        assert_eq!(outer(&[0x30, 2, 0x31, 0]), Err(Broken::Tbs));
        let bytes = [0x30, 0x81, 2, 0x30, 0, 7];
        assert_eq!(outer(&bytes), Ok(&bytes[..5]));
    }

    #[test]
    fn texts_have_the_letters_of_their_kind() {
        assert_eq!(text(12, "ž".as_bytes()), Ok("ž".to_owned()));
        assert_eq!(text(20, &[0xe9]), Ok("é".to_owned()));
        assert_eq!(text(30, &[0x01, 0x7e, 0, 0]), Ok("ž".to_owned()));
        assert_eq!(text(19, b"a&*"), Ok("a&*".to_owned()));
        for (tag, bytes, kind) in
            [(19, &b"a@"[..], "PrintableString"), (18, b"a", "NumericString"), (22, &[0xe9], "IA5String")]
        {
            assert_eq!(text(tag, bytes), Err(format!("invalid {kind}")));
        }
        for bytes in [&[0xd8, 0][..], &[0xff, 0xfe], &[1]] {
            assert_eq!(text(30, bytes), Err("invalid BMPString".to_owned()));
        }
        assert_eq!(text(4, b""), Err("unsupported string type: 4".to_owned()));
        assert_eq!(text(12, &[0xff]), Err("invalid UTF-8 string".to_owned()));
    }

    #[test]
    fn addresses_are_shown_as_go_shows_them() {
        assert_eq!(address(&[127, 0, 0, 1]).unwrap(), "127.0.0.1");
        assert_eq!(address(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]).unwrap(), "10.0.0.1");
        assert_eq!(address(&[1, 2]).unwrap_err(), "cannot parse IP address of length 2");
    }
}
