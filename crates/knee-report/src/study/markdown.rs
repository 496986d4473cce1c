//! A study in Markdown, as a file of its own or a comment on a pull request shows it, and the table of its claims
//! within a file that people write.
//!
//! Does not calculate and does not format numbers.

use std::fmt::Write as _;

use super::block::{Block, Document, Table};
use crate::clean;
use crate::prose::{self, Piece};

/// Most characters of a line of text. Rows of tables, links and commands cannot be wrapped.
const COLUMNS: usize = 118;

/// The end of a generated table.
const CLAIMS_END: &str = "<!-- /knee:claims -->";

/// A file in which it is not clear where the table of claims goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnclearMarkers;

/// The whole document; every line ends in a line feed.
pub fn markdown(document: &Document) -> String {
    let title = format!("# {}\n", escaped(&document.title));
    std::iter::once(title).chain(blocks(&document.blocks, "##")).collect::<Vec<_>>().join("\n")
}

/// The line above the table of claims of the study in `folder`, a path from the folder of the file; empty or `.` if it is
/// the same folder.
pub fn claims_begin(folder: &str) -> String {
    if matches!(folder, "" | ".") {
        "<!-- knee:claims -->".to_owned()
    } else {
        format!("<!-- knee:claims {folder} -->")
    }
}

/// The file `existing` with these blocks in place of the text between the line `begin` and the next
/// `<!-- /knee:claims -->`, each alone on a line. The rest is unchanged. `None` if the file has no such table.
///
/// # Errors
///
/// If the line `begin` occurs twice, or if its table does not end before another one begins.
pub fn with_claims(existing: &str, begin: &str, table: &[Block]) -> Result<Option<String>, UnclearMarkers> {
    let mut position = 0;
    let mut place = None;
    let mut open = false;
    for line in existing.split_inclusive('\n') {
        let (start, end) = (position, position + line.len());
        position = end;
        match line.trim() {
            mark if mark == begin && place.is_some() => return Err(UnclearMarkers),
            mark if mark == begin => (place, open) = (Some((end, end)), true),
            mark if open && mark == CLAIMS_END => {
                (place, open) = (place.map(|(from, _)| (from, start)), false);
            }
            mark if open && mark.starts_with("<!-- knee:claims") => return Err(UnclearMarkers),
            _ => {}
        }
    }
    let Some((from, to)) = place else { return Ok(None) };
    let (Some(before), Some(after), false) = (existing.get(..from), existing.get(to..), open) else {
        return Err(UnclearMarkers);
    };
    let table = blocks(table, "###").collect::<Vec<_>>().join("\n");
    Ok(Some(format!("{before}\n{table}\n{after}")))
}

fn blocks<'a>(blocks: &'a [Block], level: &'a str) -> impl Iterator<Item = String> + 'a {
    blocks.iter().map(move |found| block(found, level))
}

fn block(block: &Block, level: &str) -> String {
    match block {
        Block::Heading(heading) => format!("{level} {}\n", escaped(heading)),
        Block::Lead(lead) => wrapped("", &format!("**{}**", sentence(lead))),
        Block::Paragraph(paragraph) => wrapped("", &sentence(paragraph)),
        Block::List(points) => points.iter().map(|point| wrapped("- ", &sentence(point))).collect(),
        Block::Table(found) => table(found),
        Block::Code(commands) => {
            let lines: Vec<_> = commands.iter().map(|command| clean::line(command)).collect();
            format!("```sh\n{}\n```\n", lines.join("\n"))
        }
        Block::Picture { alt, link } => format!("![{}]({})\n", escaped(alt), address(link)),
        Block::Links { name, links } => {
            let link = |(words, link): &(String, String)| format!("[{}]({})", escaped(words), address(link));
            let links: Vec<String> = links.iter().map(link).collect();
            format!("{}: {}\n", escaped(name), links.join(", "))
        }
        Block::Folded { name, inside, .. } => {
            let inside: Vec<String> = blocks(inside, level).collect();
            format!("<details><summary>{}</summary>\n\n{}\n</details>\n", in_html(name), inside.join("\n"))
        }
    }
}

/// The text in lines; `head` begins the first one, as many spaces begin the others.
fn wrapped(head: &str, text: &str) -> String {
    let mut lines = head.to_owned();
    let mut used = head.chars().count();
    for (position, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if position > 0 && used + 1 + width > COLUMNS && !is_sign(word) {
            lines.push('\n');
            lines.extend(head.chars().map(|_| ' '));
            used = head.chars().count();
        } else if position > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width;
    }
    lines.push('\n');
    lines.replace(WITHIN_CODE, " ")
}

/// Whether a word would begin a list, a quote or a heading if it were the first of a line.
fn is_sign(word: &str) -> bool {
    let numbered = word.strip_suffix(['.', ')']).is_some_and(|number| number.parse::<u64>().is_ok());
    numbered || (!word.is_empty() && word.chars().all(|letter| matches!(letter, '+' | '-' | '=' | '>')))
}

/// A link destination in which no character is mistaken for its end.
fn address(link: &str) -> String {
    let mut address = String::with_capacity(link.len());
    for byte in link.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                address.push(char::from(byte));
            }
            // Writing into a text cannot fail.
            byte => drop(write!(address, "%{byte:02X}")),
        }
    }
    address
}

fn table(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(table.columns.len()));
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!("{}{rule}{rows}", row(&table.columns))
}

/// Text that HTML shows as it is, where Markdown does not look.
fn in_html(text: &str) -> String {
    clean::line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A space within code, at which no line ends: the next one could begin a list.
const WITHIN_CODE: char = '\0';

/// A sentence of our own: what it has between backticks is code, and the rest is as in [`escaped`].
pub(crate) fn sentence_in_line(text: &str) -> String {
    sentence(text).replace(WITHIN_CODE, " ")
}

/// The same for [`wrapped`].
fn sentence(text: &str) -> String {
    let clean = clean::line(text);
    let written = prose::pieces(&clean).into_iter().map(|piece| match piece {
        Piece::Text(text) => escaped(text),
        Piece::Code(code) => format!("`{}`", code.replace(' ', "\0")),
    });
    written.collect()
}

/// Text that Markdown and HTML show as it is, and that notifies no user.
pub(crate) fn escaped(text: &str) -> String {
    let clean = clean::line(text);
    let mut escaped = String::with_capacity(clean.len());
    let mut letters = clean.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        // Between two letters, Markdown shows it as it is.
        let within = before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphanumeric());
        let is_free = !before.is_alphanumeric();
        before = letter;
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // An escaped backtick beside code would be part of its sign.
            '`' => escaped.push_str("&#96;"),
            '_' if within => escaped.push('_'),
            '@' if is_free && letters.peek().is_some_and(char::is_ascii_alphanumeric) => {
                // GitHub and GitLab notify a user of that name, however the sign is escaped, but not in code.
                let mut name = String::new();
                while let Some(next) = letters.next_if(|next| is_of_user(*next)) {
                    name.push(next);
                }
                before = name.chars().last().unwrap_or(letter);
                let _ = write!(escaped, "`@{name}`");
            }
            '|' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Whether the name of a user or of a team can have this character.
const fn is_of_user(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_our_sentences_are_code_and_stay_on_one_line() {
        let list =
            Block::List(vec![format!("{} run `knee calibrate - now` | twice_", "word ".repeat(22).trim())]);
        let written = block(&list, "##");
        assert!(written.contains("\n  `knee calibrate - now` \\| twice\\_\n"), "{written}");
    }

    #[test]
    fn a_name_with_an_at_sign_notifies_no_user() {
        assert_eq!(escaped("by @octocat, a@b.example"), "by `@octocat`, a@b.example");
        assert_eq!(escaped("(@org/team)|@ b"), "(`@org/team`)\\|@ b");
        assert_eq!(sentence_in_line("`@a` and @b`"), "&#96;`@a`&#96; and `@b`&#96;");
    }

    #[test]
    fn a_backtick_of_a_name_opens_no_code() {
        assert_eq!(sentence_in_line("it`s <b>"), "it&#96;s &lt;b&gt;");
    }
}
