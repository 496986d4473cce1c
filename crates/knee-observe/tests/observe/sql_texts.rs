//! What the observers of PostgreSQL and its relatives can send: their texts, as they stand in the source.
//!
//! Asks no server. Reads every string of the source outside of tests, so that a new statement is looked at as well.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Marks the observer's own statements, which begin with a word that reads.
const MARK: &str = "/* knee-observe */";
const READING: [&str; 4] = ["SELECT ", "EXPLAIN ", "PREPARE ", "DEALLOCATE "];

/// Words of statements that write, lock or act. Statements of the source have their keywords in capitals.
const ACTING: [&str; 30] = [
    "ALTER",
    "ANALYZE",
    "CALL",
    "CHECKPOINT",
    "CLUSTER",
    "COMMENT",
    "COPY",
    "CREATE",
    "DELETE",
    "DISCARD",
    "DO",
    "DROP",
    "GRANT",
    "INSERT",
    "INTO",
    "KILL",
    "LISTEN",
    "LOAD",
    "LOCK",
    "MERGE",
    "NOTIFY",
    "PAUSE",
    "REFRESH",
    "REINDEX",
    "RELOAD",
    "REVOKE",
    "SET",
    "TRUNCATE",
    "UPDATE",
    "VACUUM",
];

/// Functions that act.
const FUNCTIONS: [&str; 12] = [
    "dblink",
    "nextval",
    "pg_advisory_lock",
    "pg_cancel_backend",
    "pg_notify",
    "pg_promote",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_switch_wal",
    "pg_terminate_backend",
    "set_config",
    "setval",
];

/// Strings that have such a word and are right: advice, a column, and what is in the memory of the own session only.
const KNOWN: [&str; 3] = [
    "pg_stat_statements is older than 1.8: ALTER EXTENSION pg_stat_statements UPDATE",
    "SELECT /* knee-observe */ name, reset_val FROM pg_settings WHERE name = 'jit' AND source <> 'client'",
    "SELECT /* knee-observe */ {}.hypopg_reset()",
];

/// The files that have statements of this protocol.
fn files() -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<PathBuf> =
        ["postgres.rs", "session.rs", "pgbouncer.rs"].iter().map(|name| source.join(name)).collect();
    let entries = fs::read_dir(source.join("postgres")).unwrap();
    files.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some()));
    files
}

/// The strings of a source text before its tests.
fn strings(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n").replace("'\"'", "");
    let (mut strings, mut open) = (Vec::new(), None::<String>);
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        if character == '"' {
            match open.take() {
                Some(string) => strings.push(string),
                None => open = Some(String::new()),
            }
        } else if let Some(string) = &mut open {
            if character == '\\' {
                string.extend(characters.next().filter(|next| *next != '\n'));
            } else {
                string.push(character);
            }
        }
    }
    strings
}

/// What is wrong with a string that a server can get.
fn wrong(string: &str) -> Vec<String> {
    if KNOWN.contains(&string) {
        return Vec::new();
    }
    let words: BTreeSet<&str> = string.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let acts = |word: &&&str| {
        let lower = word.to_lowercase();
        ACTING.contains(*word) || FUNCTIONS.contains(&lower.as_str()) || lower.contains("reset")
    };
    let mut wrong: Vec<String> = words.iter().filter(acts).map(|word| (*word).to_owned()).collect();
    if string != MARK && string.contains(MARK) && !READING.iter().any(|begin| string.starts_with(begin)) {
        wrong.push(string.to_owned());
    }
    wrong
}

#[test]
fn no_statement_of_the_observers_writes_or_resets_a_counter() {
    let mut statements = 0;
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        for string in strings(&text) {
            assert_eq!(wrong(&string), Vec::<String>::new(), "{}: {string}", file.display());
            statements += string.matches(MARK).count();
        }
    }
    assert!(statements >= 20, "statements are found where they stand: {statements}");
}

#[test]
fn a_statement_that_writes_or_resets_would_be_noticed() {
    let source = "//! \"SET x\"\nconst A: &str = \"SELECT /* knee-observe */ \\\n    pg_stat_reset()\";\n\
                  fn f() { g('\"', \"DISCARD ALL\") }\n#[cfg(test)]\nmod tests { const B: &str = \"DROP\"; }\n";
    let strings = strings(source);
    assert_eq!(strings.len(), 2, "{strings:?}");
    assert_eq!(wrong(&strings[0]), ["pg_stat_reset"]);
    assert_eq!(wrong(&strings[1]), ["DISCARD"]);
    assert_eq!(wrong("/* knee-observe */ x"), ["/* knee-observe */ x"]);
    assert_eq!(wrong("SELECT /* knee-observe */ last_update FROM a"), Vec::<String>::new());
}
