//! What is written into a page as it is: the style sheet, pictures that this crate drew, and data.
//!
//! The only file that goes around the escaping of `maud`; everything else in a page is escaped.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped};

use super::words::is_noncharacter;

/// The style sheet.
pub(super) fn style() -> Markup {
    PreEscaped(include_str!("style.css").to_owned())
}

/// A picture of [`crate::study::plot`], whose texts are escaped where it is drawn.
pub(super) fn drawing(svg: &str) -> Markup {
    // An SVG within HTML has no declaration.
    let start = svg.find("<svg").unwrap_or(svg.len());
    PreEscaped(svg[start..].to_owned())
}

/// Base64 as a JSON string: none of its characters means anything in HTML.
pub(super) fn base64(encoded: &str) -> Markup {
    let plain =
        encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    PreEscaped(if plain { format!("\"{encoded}\"") } else { "null".to_owned() })
}

/// JSON for an element that ends at `<`: that sign is always within a string, where it can be written as a number.
pub(super) fn json(indented: &str) -> Markup {
    let mut text = String::with_capacity(indented.len());
    // A string in JSON has no line feed, so spaces at the beginning of a line indent.
    for letter in indented.lines().map(str::trim_start).flat_map(str::chars) {
        match letter {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            letter if is_noncharacter(letter) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    // Writing into a text cannot fail.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            letter => text.push(letter),
        }
    }
    PreEscaped(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_keeps_its_meaning_and_cannot_end_its_element() {
        let value = serde_json::json!({ "a": "</script><!--&amp;", "b": ["  two  ", "\n\u{fffe}\u{1ffff}"], "c": -0.5 });
        let written = json(&crate::json::pretty(&value)).into_string();
        assert!(!written.contains(['<', '>', '&', '\n', '\u{fffe}', '\u{1ffff}']), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
    }
}
