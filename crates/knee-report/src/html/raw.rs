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
    PreEscaped(shortened(&svg[start..]))
}

/// The letters of [`crate::study::plot`], which the style sheet of a page repeats for its pictures.
const LETTERS: &str = " font-family=\"Helvetica, Arial, sans-serif\"";

/// The same picture with the attributes that each element repeats said once: they are a third of a page with many pictures.
/// What stands between the elements stays as it is.
fn shortened(svg: &str) -> String {
    let mut short = String::with_capacity(svg.len());
    for (place, piece) in svg.split('<').enumerate() {
        if place == 0 {
            short.push_str(piece);
            continue;
        }
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let tag =
            tag.replace(LETTERS, "").replace(" opacity=\"1\"", "").replace(" text-anchor=\"start\"", "");
        let tag =
            if tag.starts_with("svg ") { tag.replacen("svg", &format!("svg{LETTERS}"), 1) } else { tag };
        // Writing into a text cannot fail.
        let _ = write!(short, "<{tag}>{}", text.trim_matches('\n'));
    }
    short
}

/// A script of this crate.
pub(super) fn script(own: &'static str) -> Markup {
    PreEscaped(own.to_owned())
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
    fn a_picture_says_its_letters_once_and_keeps_every_word() {
        let text = |x: u32, words: &str| {
            format!("<text x=\"{x}\" text-anchor=\"start\"{LETTERS} opacity=\"1\">\n{words}\n</text>\n")
        };
        let words = "a opacity=\"1\" &lt;b&gt; text-anchor=\"start\"";
        let svg = format!("<?xml?><svg width=\"8\">\n{}{}</svg>", text(1, words), text(2, "c"));
        let drawn = drawing(&svg).into_string();
        let expected =
            format!("<svg{LETTERS} width=\"8\"><text x=\"1\">{words}</text><text x=\"2\">c</text></svg>");
        assert_eq!(drawn, expected);
    }

    #[test]
    fn data_keeps_its_meaning_and_cannot_end_its_element() {
        let value = serde_json::json!({ "a": "</script><!--&amp;", "b": ["  two  ", "\n\u{fffe}\u{1ffff}"], "c": -0.5 });
        let written = json(&crate::json::pretty(&value)).into_string();
        assert!(!written.contains(['<', '>', '&', '\n', '\u{fffe}', '\u{1ffff}']), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
    }
}
