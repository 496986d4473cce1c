//! Statements that become slower with the amount of data.
//!
//! One run has one amount, so this never finds anything; it stands in the list so that "nothing found" does not seem to
//! cover it.

use crate::definition::Rule;
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "table_growth",
    finds: "statements that become slower with the number of rows",
    needs: "runs with four amounts of data; one run has one amount",
    limits: "none yet; a study with `growth` fits the exponent",
    source: "No limit is needed while the evidence is missing.",
    cause: "A scan, a count or an offset that reads all rows is fast while there are few.",
    remedy: "Make a study over amounts of data, as the guide on studies shows.",
    explains: &[],
    check: |_| Err(Lack::of("runs with four amounts of data: this is one run")),
};
