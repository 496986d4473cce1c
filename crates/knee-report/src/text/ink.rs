//! Colour and width: how a line is painted, cut and wrapped.
//!
//! Colour only repeats what the words say. Does not know the content.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Whether and how text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// Plain text.
    #[default]
    None,
    /// ANSI escape sequences, the eight base colours only.
    Ansi,
}

/// Role of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Text.
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// Less important than the text around it.
    Faint,
    /// A good result.
    Good,
    /// A warning.
    Warn,
    /// Wrong.
    Bad,
}

impl Palette {
    /// The text in the colour of its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::None, _) | (Self::Ansi, Tone::Plain) => return text.to_owned(),
            (Self::Ansi, Tone::Strong) => "1",
            (Self::Ansi, Tone::Faint) => "2",
            (Self::Ansi, Tone::Good) => "32",
            (Self::Ansi, Tone::Warn) => "33",
            (Self::Ansi, Tone::Bad) => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// How many columns the text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut to `columns`; an ellipsis marks the cut.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// The text padded to `columns` with spaces on its left side.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text padded to `columns` with spaces on its right side.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Lines of at most `columns`: `first` begins the first, as many spaces begin the others. Lines
/// break between `pieces`, which are joined by `joint`; a piece that is too long is cut.
pub fn wrap<'a>(
    first: &str,
    pieces: impl IntoIterator<Item = &'a str>,
    joint: &str,
    columns: usize,
) -> Vec<String> {
    let indent = width(first);
    let room = columns.saturating_sub(indent).max(1);
    // A line that goes on ends in its joint's sign, without the space behind it.
    let sign = joint.trim_end();
    let mut lines: Vec<String> = Vec::new();
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        let piece = cut(piece, room);
        let end = if pieces.peek().is_some() { width(sign) } else { 0 };
        match lines.last_mut() {
            Some(line) if width(line) + width(joint) + width(&piece) + end <= room => {
                line.push_str(joint);
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    let last = lines.len().saturating_sub(1);
    let continued = |position: usize, line: &str| position < last && width(line) + width(sign) <= room;
    lines
        .iter()
        .enumerate()
        .map(|(position, line)| {
            let start = if position == 0 { first.to_owned() } else { " ".repeat(indent) };
            let end = if continued(position, line) { sign } else { "" };
            format!("{start}{line}{end}")
        })
        .collect()
}

/// [`wrap`] for a sentence: lines break between words. A command in backticks stays on one line if a line can hold it, so
/// that it can be copied.
pub fn wrap_words(first: &str, text: &str, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(width(first));
    let mut pieces: Vec<String> = Vec::new();
    // The place in `pieces` where a command began.
    let mut opened: Option<usize> = None;
    for word in text.split_whitespace() {
        pieces.push(word.to_owned());
        let turns = word.matches('`').count() % 2 == 1;
        opened = match (opened, turns) {
            (None, true) => Some(pieces.len() - 1),
            (Some(start), true) => {
                let command = pieces[start..].join(" ");
                if width(&command) <= room {
                    pieces.splice(start.., [command]);
                }
                None
            }
            (opened, false) => opened,
        };
    }
    wrap(first, pieces.iter().map(String::as_str), " ", columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn a_sentence_breaks_between_words_and_hangs() {
        assert_eq!(wrap_words("- ", "one two three", 9), ["- one two", "  three"]);
        assert_eq!(wrap("", ["a 1", "b 2", "c 3"], ", ", 9), ["a 1, b 2,", "c 3"]);
        assert_eq!(wrap("", ["a 1", "b 2", "c 3"], ", ", 8), ["a 1,", "b 2, c 3"], "the sign stays");
    }

    #[test]
    fn a_command_stays_on_one_line_if_a_line_can_hold_it() {
        assert_eq!(wrap_words("", "try it: `knee a -q 5`.", 16), ["try it:", "`knee a -q 5`."]);
        assert_eq!(wrap_words("", "`one two three` four", 8), ["`one two", "three`", "four"]);
        assert_eq!(wrap_words("", "an ` alone at its end", 10), ["an ` alone", "at its end"]);
    }

    #[test]
    fn no_colour_is_no_escape_sequence() {
        assert_eq!(Palette::None.paint(Tone::Bad, "x"), "x");
        assert_eq!(Palette::Ansi.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
