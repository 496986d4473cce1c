//! What a masked statement is: its text as the page shows it, and what it does to a transaction.
//!
//! Looks at words, not at grammar. Does not know what the statement did.

/// Most bytes of a text, with the backslashes that the page puts before quotes. `knee` reads 256 bytes of labels.
const BYTES_MAX: usize = 235;
/// Of a longer text: its beginning, and its end, where the conditions stand.
const HEAD_MAX: usize = 80;
const TAIL_MAX: usize = 150;

/// What a statement does to the transaction of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Begins one that locks nothing yet.
    Begin,
    /// Begins one that takes the write lock at once.
    BeginWriting,
    Commit,
    Rollback,
    /// Reads rows.
    Read,
    /// Changes rows or tables.
    Write,
    /// Writes the whole file again, in a transaction of its own.
    WriteAll,
    /// Anything else: settings, savepoints, plans.
    Other,
}

/// The kind of a masked statement.
pub(crate) fn kind(text: &str) -> Kind {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    let others: Vec<String> = words.collect();
    let has = |wanted: &[&str]| others.iter().any(|word| wanted.contains(&word.as_str()));
    match first.as_str() {
        "begin" if has(&["immediate", "exclusive"]) => Kind::BeginWriting,
        "begin" => Kind::Begin,
        "commit" | "end" => Kind::Commit,
        "rollback" if has(&["to"]) => Kind::Other,
        "rollback" => Kind::Rollback,
        "with" if has(&["insert", "update", "delete"]) => Kind::Write,
        "select" | "values" | "with" => Kind::Read,
        "insert" | "update" | "delete" | "replace" | "create" | "drop" | "alter" | "reindex" | "analyze" => {
            Kind::Write
        }
        // Into another file, it only reads this one.
        "vacuum" if !has(&["into"]) => Kind::WriteAll,
        _ => Kind::Other,
    }
}

/// The text, or its beginning and its end if it is too long for the page.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().map(bytes).sum::<usize>() <= BYTES_MAX {
        return text.to_owned();
    }
    let (head, tail) = (fitting(text.chars(), HEAD_MAX), fitting(text.chars().rev(), TAIL_MAX));
    format!("{} … {}", &text[..head], &text[text.len() - tail..])
}

/// Bytes of the first characters, as many as take `max` bytes on the page.
fn fitting(chars: impl Iterator<Item = char>, max: usize) -> usize {
    let (mut left, mut length) = (max, 0);
    for c in chars {
        let Some(rest) = left.checked_sub(bytes(c)) else { break };
        left = rest;
        length += c.len_utf8();
    }
    length
}

/// Bytes of a character on the page.
fn bytes(c: char) -> usize {
    c.len_utf8() + usize::from(matches!(c, '"' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_words() {
        for (text, expected) in [
            ("BEGIN DEFERRED", Kind::Begin),
            ("begin transaction", Kind::Begin),
            ("BEGIN IMMEDIATE", Kind::BeginWriting),
            ("BEGIN EXCLUSIVE TRANSACTION", Kind::BeginWriting),
            ("END", Kind::Commit),
            ("ROLLBACK", Kind::Rollback),
            ("ROLLBACK TO a", Kind::Other),
            ("SELECT last_update FROM t", Kind::Read),
            ("WITH n AS (SELECT ?) SELECT last_update FROM n", Kind::Read),
            ("WITH n AS (SELECT ?) INSERT INTO t SELECT * FROM n", Kind::Write),
            ("REPLACE INTO t VALUES (?)", Kind::Write),
            ("REINDEX t", Kind::Write),
            ("VACUUM", Kind::WriteAll),
            ("vacuum main", Kind::WriteAll),
            ("VACUUM INTO ?", Kind::Other),
            ("PRAGMA journal_mode=WAL", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_statement_keeps_its_table_and_its_condition() {
        let columns: Vec<String> = (0..100).map(|number| format!("column_{number}")).collect();
        let text = format!("SELECT {} FROM posts WHERE author = ? ORDER BY id", columns.join(", "));
        let short = shortened(&text);
        assert!(short.starts_with("SELECT column_0, column_1, "), "{short}");
        assert!(short.ends_with(" FROM posts WHERE author = ? ORDER BY id"), "{short}");
        assert!(short.len() <= BYTES_MAX, "{}", short.len());
        assert_eq!(shortened("SELECT ?"), "SELECT ?");
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_long_for_the_page(text in "[a-z\"\\\\é… ]{0,400}") {
            let short = shortened(&text);
            proptest::prop_assert!(short.chars().map(bytes).sum::<usize>() <= BYTES_MAX, "{}", short);
        }
    }
}
