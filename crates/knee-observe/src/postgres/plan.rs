//! Generic plans of statements with parameters, as JSON, with literals masked.
//!
//! Only for statements that read; never with `ANALYZE`, so nothing is executed.

use serde_json::Value;

use crate::session::{Answer, Session};
use crate::sql::mask;

/// The first version that plans statements without values for their parameters.
pub(super) const VERSION_MIN: u32 = 16;

/// The plan of a statement; `None` if it is none that can be planned.
pub(super) fn plan(session: &Session, statement: &str) -> Answer<Option<String>> {
    if !can_be_planned(statement) {
        return Ok(None);
    }
    let sql = format!("EXPLAIN /* knee-observe */ (GENERIC_PLAN, FORMAT JSON) {statement}");
    let rows = session.texts(&sql)?;
    let text: Vec<&str> = rows.iter().filter_map(|row| row.get(0)).collect();
    Ok(masked(&text.join("\n")))
}

/// A single statement that begins like one that reads. A text that was cut does not parse, which the server reports.
fn can_be_planned(statement: &str) -> bool {
    let begins = mask(statement).to_ascii_lowercase();
    (begins.starts_with("select ") || begins.starts_with("with ")) && !statement.contains(';')
}

fn masked(json: &str) -> Option<String> {
    let mut plan: Value = serde_json::from_str(json).ok()?;
    mask_conditions(&mut plan);
    serde_json::to_string(&plan).ok()
}

/// Conditions can contain literals of the statement, of views and of indexes.
fn mask_conditions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name.contains("Cond") || name.contains("Filter") => {
                        *text = mask(text);
                    }
                    other => mask_conditions(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask_conditions),
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
    fn literals_in_conditions_are_masked() {
        let json = r#"[{"Plan": {"Node Type": "Seq Scan", "Filter": "(name = 'secret'::text)", "Plans":
                   [{"Node Type": "Index Scan", "Index Cond": "(id = 42)", "Total Cost": 8.5}]}}]"#;
        let masked = masked(json).unwrap();
        assert!(masked.contains("(name = ?::text)") && masked.contains("(id = ?)"), "{masked}");
        assert!(masked.contains("8.5") && masked.contains("Seq Scan"), "{masked}");
    }
}
