//! Why a module cannot be had: what is wrong, and what to do about it.
//!
//! Mistakes inside of a module are errors of JavaScript, with a place; these are about the module as a whole.

/// A module that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Trouble {
    /// What is wrong and where, with the module's name.
    pub what: String,
    /// The next step; empty if there is nothing to say.
    pub hint: String,
}

impl Trouble {
    /// A trouble with a next step.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}
