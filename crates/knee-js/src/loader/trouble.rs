//! Why a module is unavailable, and what to do about it.
//!
//! Mistakes inside of a module are errors of JavaScript, with a place; these are about the module as a whole.

/// An unavailable module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Trouble {
    /// What is wrong and where, with the module's name.
    pub what: String,
    /// The next step; empty if there is nothing to say.
    pub hint: String,
}

impl Trouble {
    /// An error with a next step.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}
