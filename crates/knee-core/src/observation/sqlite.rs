//! How pages of `knee-sqlite` name the statements of a service.
//!
//! Does not read a page and does not plan a statement; observers do.

/// The series with the time of each statement, in seconds.
pub const SQLITE_SECONDS: &str = "prometheus.knee_sqlite_statement_seconds_total";

/// The text in the label `statement="…"`, without its backslashes; `None` for another label, or for one that was cut.
pub fn sqlite_statement(label: &str) -> Option<String> {
    let mut chars = label.strip_prefix("statement=\"")?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        let plain = if c == '\\' { chars.next() } else { Some(c) };
        text.extend(plain);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_text_of_its_statement() {
        let label = r#"statement="SELECT \"a\\b\" FROM c""#;
        assert_eq!(sqlite_statement(label).as_deref(), Some(r#"SELECT "a\b" FROM c"#));
        assert_eq!(sqlite_statement("code=\"200\""), None);
        assert_eq!(sqlite_statement("statement=\"SELECT a, …"), None);
    }
}
