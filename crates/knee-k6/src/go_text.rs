//! Bytes as texts, as Go makes them.
//!
//! Only for what a server or a file sent; texts of scripts are texts already.

/// Bytes as a text: each byte that is no UTF-8 is one replacement character.
pub fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_that_is_no_text_is_one_replacement_character() {
        // Recorded from k6 v1.8.1.
        assert_eq!(text(&[0x61, 0xff, 0xfe, 0x62, 0xe2, 0x82, 0x63]), "a\u{fffd}\u{fffd}b\u{fffd}\u{fffd}c");
        assert_eq!(text("grün".as_bytes()), "grün");
    }
}
