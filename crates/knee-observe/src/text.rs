//! Foreign text made harmless: control characters written out, secrets removed, long messages cut; parts of URLs
//! decoded.
//!
//! Does not know statements; see [`crate::sql`].

use knee_core::clean::is_hostile;

/// Most characters of a message.
const MESSAGE_MAX: usize = 300;

/// Most bytes of a name or a label.
const LABEL_MAX: usize = 256;

/// The text with every character written out that acts on a terminal or on the order of other characters.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        if is_hostile(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
        safe
    })
}

/// A name from a source as the label of a series.
pub(crate) fn label(text: &str) -> String {
    let mut safe = harmless(text);
    if safe.len() > LABEL_MAX {
        let end = (0..=LABEL_MAX - 3).rev().find(|end| safe.is_char_boundary(*end)).unwrap_or(0);
        safe.truncate(end);
        safe.push('…');
    }
    safe
}

/// A message of a source on one line, without the secrets.
pub(crate) fn message(text: &str, secrets: &[String]) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for secret in secrets {
        text = text.replace(secret.as_str(), "***");
    }
    let text = harmless(&text);
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A part of a URL without its percent signs.
pub(crate) fn decoded(text: &str) -> String {
    // The parser of forms decodes `+` as a space, so that sign is protected.
    let pair = format!("x={}", text.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal_and_are_not_endless() {
        assert_eq!(harmless("a\u{1b}[2J\nb\u{202e}"), "a\\u{1b}[2J\\nb\\u{202e}");
        assert_eq!(label("größe \"x\""), "größe \"x\"");
        assert!(label(&"é".repeat(1_000)).len() <= LABEL_MAX);
    }

    #[test]
    fn a_message_has_one_line_and_no_secret() {
        let secrets = ["hunter2".to_owned()];
        assert_eq!(message("no user with\n password hunter2", &secrets), "no user with password ***");
        assert_eq!(message(&"x".repeat(400), &[]).chars().count(), MESSAGE_MAX + 1);
    }
}
