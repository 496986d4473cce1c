//! Indexes that a database does not have: which ones a planner is asked about, and its answers as texts of a record.
//!
//! Does not choose an index and does not ask.

use serde::{Deserialize, Serialize};

/// The name of the texts that have [`PlannedIndex`]es. Their label is the id of the statement.
pub const PLANNED_INDEXES: &str = "statement.planned_indexes";

/// An index that the planner of a source can be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Index of the source.
    pub source: usize,
    /// The id of the statement that needs it, as labels have it.
    pub statement: String,
    /// The `CREATE INDEX` statement.
    pub index: String,
}

/// What a planner does with an index that does not exist. Costs are in the unit of the planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedIndex {
    /// The `CREATE INDEX` statement.
    pub index: String,
    /// Cost of the plan of the statement without the index.
    pub cost: f64,
    /// Cost of its plan with the index.
    pub cost_with: f64,
    /// Rows that the planner expects the statement to return.
    pub rows: f64,
    /// Whether the plan with the index uses it.
    pub used: bool,
}

impl PlannedIndex {
    /// The indexes of a text; none if it is no text of them.
    pub fn read(text: &str) -> Vec<Self> {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The text that [`PlannedIndex::read`] reads.
    pub fn text(planned: &[Self]) -> String {
        // Texts and finite numbers always have a form in JSON.
        serde_json::to_string(planned).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_written_and_a_damaged_text_has_none() {
        let planned = PlannedIndex {
            index: r#"CREATE INDEX ON "items" ("owner")"#.to_owned(),
            cost: 2_387.0,
            cost_with: 330.25,
            rows: 100.0,
            used: true,
        };
        let text = PlannedIndex::text(std::slice::from_ref(&planned));
        assert_eq!(PlannedIndex::read(&text), [planned]);
        for damaged in ["", "[", "{}", "[{\"index\": 3}]", &text[..text.len() - 1]] {
            assert!(PlannedIndex::read(damaged).is_empty(), "{damaged}");
        }
    }
}
