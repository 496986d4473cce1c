//! What to change: in words, as SQL, and as a change that a program can make by itself.
//!
//! Plain data. Does not connect to a database and does not know what a program is allowed to change.

use std::fmt;

use serde::Serialize;

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remedy {
    /// An index of a table. Names are as the database has them, unquoted.
    Index {
        /// The table, with its schema if known.
        table: String,
        /// Its columns in order, with `DESC` or `NULLS LAST` behind the name where the order needs it.
        columns: Vec<String>,
    },
    /// An index of trigrams, for patterns that begin with anything. Names are as the database has them, unquoted.
    Trigrams {
        /// The table, with its schema if known.
        table: String,
        /// Its column.
        column: String,
    },
    /// New statistics of a table. Its name is as the database has it, unquoted.
    Analyze {
        /// The table, with its schema if known.
        table: String,
    },
    /// A setting of an observed server or of the system.
    Setting {
        /// Whose: `PostgreSQL`, `Redis`, `Linux`.
        of: String,
        /// Its name.
        name: String,
        /// What to set, as a value or a phrase.
        value: String,
    },
    /// An environment variable of the service.
    Environment {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Anything else.
    Advice {
        /// One or two imperatives without a full stop.
        text: String,
    },
}

/// The rules with a remedy that is a [`Change`], and what `knee find` does then in what it started. They have remedies
/// for people, too, as where a condition is in the way of an index; those of all other rules are for people.
pub const CHANGES: &[(&str, &str)] = &[
    ("dead_rows", "sets `autovacuum` to `on` in the server, where it is off"),
    ("jit_compile", "sets `jit` to `off` in the server"),
    (
        "missing_index",
        "creates the index in the database: one of columns, or one of trigrams with the extension `pg_trgm`",
    ),
    ("one_thread", "sets `WEB_CONCURRENCY` for a service that reads it"),
    ("sort_mismatch", "creates the index in the database"),
    (
        "stale_statistics",
        "runs `ANALYZE` after each seed, with `reset = \"seed\"`; otherwise the seeded data has its statistics already",
    ),
];

/// A change that a program can make without asking what is meant.
///
/// | remedy | change | where |
/// |---|---|---|
/// | index, index of trigrams, `ANALYZE` | a statement | the database of the finding |
/// | setting of PostgreSQL with a value | a setting | the server of the finding |
/// | environment variable | an environment variable | the service |
/// | setting of anything else, or with a phrase as its value; advice | none | |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A statement of SQL in the database of the finding.
    Statement(String),
    /// A setting of PostgreSQL.
    Setting {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// An environment variable of the service.
    Environment {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
}

impl Remedy {
    pub(crate) fn advice(text: impl Into<String>) -> Self {
        Self::Advice { text: text.into() }
    }

    pub(crate) fn setting(of: &str, name: &str, value: impl Into<String>) -> Self {
        Self::Setting { of: of.to_owned(), name: name.to_owned(), value: value.into() }
    }

    /// The same as a statement of SQL, with quoted names; `None` if it is none.
    pub fn sql(&self) -> Option<String> {
        match self {
            Self::Index { table, columns } => {
                let columns: Vec<String> = columns.iter().map(|column| quoted_column(column)).collect();
                Some(format!("CREATE INDEX ON {} ({})", quoted_table(table), columns.join(", ")))
            }
            Self::Trigrams { table, column } => Some(format!(
                "CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE INDEX ON {} USING gin ({} gin_trgm_ops)",
                quoted_table(table),
                quoted(column)
            )),
            Self::Analyze { table } => Some(format!("ANALYZE {}", quoted_table(table))),
            _ => None,
        }
    }

    /// The change, if it says exactly what to do. A value of several words is a phrase for people.
    pub fn change(&self) -> Option<Change> {
        match self {
            Self::Index { .. } | Self::Trigrams { .. } | Self::Analyze { .. } => {
                self.sql().map(Change::Statement)
            }
            Self::Setting { of, name, value } if of == "PostgreSQL" && is_exact(value) => {
                Some(Change::Setting { name: name.clone(), value: value.clone() })
            }
            Self::Environment { name, value } => {
                Some(Change::Environment { name: name.clone(), value: value.clone() })
            }
            Self::Setting { .. } | Self::Advice { .. } => None,
        }
    }

    /// Its short name, as variants with the remedy are called: `index`, `work_mem`.
    pub fn name(&self) -> &str {
        match self {
            Self::Index { .. } | Self::Trigrams { .. } => "index",
            Self::Analyze { .. } => "analyze",
            Self::Setting { name, .. } | Self::Environment { name, .. } => name,
            Self::Advice { .. } => "change",
        }
    }
}

/// In words, without a full stop.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index { table, columns } => write!(f, "an index on {table} ({})", columns.join(", ")),
            Self::Trigrams { table, column } => {
                write!(f, "an index of trigrams on {table} ({column}), with the extension pg_trgm")
            }
            Self::Analyze { table } => {
                write!(f, "run ANALYZE {table} after loading it, and let autovacuum run")
            }
            Self::Setting { of, name, value } => write!(f, "{of}: set {name} to {value}"),
            Self::Environment { name, value } => write!(f, "set the variable {name}={value} for the service"),
            Self::Advice { text } => f.write_str(text),
        }
    }
}

fn is_exact(value: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    !value.is_empty() && value.chars().all(fits)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\"").replace('\0', ""))
}

/// The first point separates schema and table.
fn quoted_table(table: &str) -> String {
    match table.split_once('.') {
        Some((schema, table)) => format!("{}.{}", quoted(schema), quoted(table)),
        None => quoted(table),
    }
}

/// A column with its direction, which stays outside of the quotes.
fn quoted_column(column: &str) -> String {
    const ENDS: [&str; 4] = [" NULLS LAST", " NULLS FIRST", " DESC", " ASC"];
    let mut name = column;
    while let Some(rest) = ENDS.iter().find_map(|end| name.strip_suffix(end)) {
        name = rest;
    }
    format!("{}{}", quoted(name), &column[name.len()..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(table: &str, columns: &[&str]) -> Remedy {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Remedy::Index { table: table.to_owned(), columns }
    }

    #[test]
    fn an_index_and_new_statistics_are_statements_with_quoted_names() {
        for (remedy, sql) in [
            (index("public.todos", &["owner"]), r#"CREATE INDEX ON "public"."todos" ("owner")"#),
            (
                index("todos", &["created_at DESC", "last DESC NULLS LAST", "id"]),
                r#"CREATE INDEX ON "todos" ("created_at" DESC, "last" DESC NULLS LAST, "id")"#,
            ),
            (index("s.order", &["a\"b"]), r#"CREATE INDEX ON "s"."order" ("a""b")"#),
            (Remedy::Analyze { table: "public.t".into() }, r#"ANALYZE "public"."t""#),
        ] {
            assert_eq!(remedy.sql().as_deref(), Some(sql));
            assert_eq!(remedy.change(), Some(Change::Statement(sql.to_owned())));
        }
    }

    #[test]
    fn only_a_setting_of_postgresql_with_a_value_is_a_change_and_a_phrase_is_for_people() {
        let change = Change::Setting { name: "autovacuum".into(), value: "on".into() };
        assert_eq!(Remedy::setting("PostgreSQL", "autovacuum", "on").change(), Some(change));
        for (of, name, value) in [
            ("PostgreSQL", "shared_buffers", "more, up to a quarter of the memory"),
            ("PostgreSQL", "synchronous_commit", "off, if the last moments can be lost"),
            ("PostgreSQL", "work_mem", ""),
            ("Redis", "maxmemory", "100mb"),
            ("Linux", "net.core.somaxconn", "4096"),
        ] {
            assert_eq!(Remedy::setting(of, name, value).change(), None, "{name} = {value}");
        }
        assert_eq!(Remedy::advice("log less").change(), None);
        let workers = Remedy::Environment { name: "WEB_CONCURRENCY".into(), value: "4".into() };
        assert!(matches!(workers.change(), Some(Change::Environment { .. })));
    }

    #[test]
    fn what_knee_applies_by_itself_is_listed_once_for_rules_that_exist() {
        let codes: Vec<&str> = CHANGES.iter().map(|(code, _)| *code).collect();
        assert!(codes.is_sorted_by(|one, next| one < next), "{codes:?}");
        let is_rule = |code: &&str| crate::RULES.iter().any(|rule| rule.code == *code);
        assert!(codes.iter().all(is_rule), "{codes:?}");
    }

    proptest! {
        /// Outside of quotes a statement has only words that this file wrote: a name of a database cannot add one.
        #[test]
        fn a_name_never_leaves_its_quotes(table in ".{1,12}", column in ".{1,12}") {
            let sql = index(&table, &[&column]).sql().unwrap();
            let mut outside = String::new();
            let mut inside = false;
            for letter in sql.chars() {
                match letter {
                    '"' => inside = !inside,
                    other if !inside => outside.push(other),
                    _ => {}
                }
            }
            prop_assert!(!inside);
            let words: Vec<&str> = outside.split([' ', '.', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
            let known = ["CREATE", "INDEX", "ON", "DESC", "ASC", "NULLS", "LAST", "FIRST"];
            prop_assert!(words.iter().all(|word| known.contains(word)), "{sql}");
        }
    }
}
