//! What a rule would need to run.
//!
//! Does not say which rule.

/// What is missing, as a phrase: "200 responses".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lack(pub String);

impl Lack {
    /// Lacks `what`.
    pub(crate) fn of(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}
