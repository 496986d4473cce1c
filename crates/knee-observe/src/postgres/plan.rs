//! Generic plans of statements with parameters, as JSON, with literals masked.
//!
//! Only for statements that read; never with `ANALYZE`, so nothing is executed.

use serde_json::Value;

use crate::session::{Answer, Session};
use crate::sql::mask;

/// The first version that plans a statement without values for its parameters when it is asked to. Before it, a prepared
/// statement has such a plan, because the observer's sessions ask for one.
const GENERIC_PLAN: u32 = 16;

/// Most parameters of a statement that is prepared.
const PARAMETERS_MAX: usize = 100;

/// The plan of a statement; `None` if it is none that can be planned.
pub(super) fn plan(session: &Session, version: u32, id: i64, statement: &str) -> Answer<Option<String>> {
    if !can_be_planned(statement) {
        return Ok(None);
    }
    let sql = if version >= GENERIC_PLAN {
        Some(format!("EXPLAIN /* knee-observe */ (GENERIC_PLAN, FORMAT JSON) {statement}"))
    } else {
        prepared(id, statement)
    };
    let Some(sql) = sql else { return Ok(None) };
    let rows = session.texts(&sql)?;
    let text: Vec<&str> = rows.iter().filter_map(|row| row.get(0)).collect();
    Ok(masked(&text.join("\n")))
}

/// A single statement that begins like one that reads. A text that was cut does not parse, which the server reports.
fn can_be_planned(statement: &str) -> bool {
    let begins = mask(statement).to_ascii_lowercase();
    (begins.starts_with("select ") || begins.starts_with("with ")) && !statement.contains(';')
}

/// Prepares a statement, explains it and forgets it, in one message: behind a pooler, the next message can go to another
/// server. If it cannot be explained, it stays prepared, so each has a name of its own. `None` for too many parameters.
fn prepared(id: i64, statement: &str) -> Option<String> {
    let values = vec!["NULL"; parameters(statement)];
    if values.len() > PARAMETERS_MAX {
        return None;
    }
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    let name = format!("knee_observe_{}", id.cast_unsigned());
    // A statement can end in a comment, which the end of its line ends.
    Some(format!(
        "PREPARE /* knee-observe */ {name} AS {statement}\n; \
         EXPLAIN /* knee-observe */ (FORMAT JSON) EXECUTE {name}{values}; \
         DEALLOCATE /* knee-observe */ {name}"
    ))
}

/// The highest number of a parameter such as `$3`.
fn parameters(statement: &str) -> usize {
    let masked = mask(statement);
    // Names in quotes can have anything.
    let bare: String = masked.split('"').step_by(2).collect();
    let number = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse::<usize>().ok()
    };
    bare.split('$').skip(1).filter_map(number).max().unwrap_or(0)
}

fn masked(json: &str) -> Option<String> {
    let mut plan: Value = serde_json::from_str(json).ok()?;
    mask_expressions(&mut plan);
    serde_json::to_string(&plan).ok()
}

/// Conditions, keys of sorts and groups, and what else has expressions can contain literals of the statement, of views and
/// of indexes. Names of tables and indexes stay as they are.
fn mask_expressions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if !matches!(name.as_str(), "Relation Name" | "Schema" | "Alias" | "Index Name") {
                    mask_expressions(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask_expressions),
        Value::String(text) => *text = mask(text),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_statements_that_read_are_planned() {
        for sql in ["SELECT 1", " /* app */ select a from b", "WITH x AS (SELECT 1) SELECT * FROM x"] {
            assert!(can_be_planned(sql), "{sql}");
        }
        for sql in ["DELETE FROM t", "SELECT 1; DROP TABLE t", "SET x = 1", "", "SELECTED"] {
            assert!(!can_be_planned(sql), "{sql}");
        }
    }

    #[test]
    fn servers_before_16_explain_a_prepared_statement_with_as_many_values_as_it_has_parameters() {
        let text = "SELECT \"a$12\" FROM t WHERE b = $2 AND c > $10 AND d = '$11' -- the last ones";
        let sql = prepared(-1, text).unwrap();
        assert!(sql.contains("(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);"), "{sql}");
        assert!(sql.contains("-- the last ones\n;"), "{sql}");
        assert!(sql.ends_with("DEALLOCATE /* knee-observe */ knee_observe_18446744073709551615"), "{sql}");
        assert!(prepared(7, "SELECT 1").unwrap().contains("EXECUTE knee_observe_7; "));
        assert_eq!(prepared(7, "SELECT $101"), None);
    }

    #[test]
    fn literals_in_conditions_and_keys_are_masked() {
        let json = r#"[{"Plan": {"Node Type": "Seq Scan", "Filter": "(name = 'secret'::text)", "Plans":
                   [{"Node Type": "Index Scan", "Index Cond": "(id = 42)", "Total Cost": 8.5,
                   "Sort Key": ["(CASE WHEN (mail = 'hunter2') THEN 1 END)"]}]}}]"#;
        let masked = masked(json).unwrap();
        assert!(!masked.contains("hunter2"), "{masked}");
        assert!(masked.contains("(name = ?::text)") && masked.contains("(id = ?)"), "{masked}");
        assert!(masked.contains("8.5") && masked.contains("Seq Scan"), "{masked}");
    }
}
