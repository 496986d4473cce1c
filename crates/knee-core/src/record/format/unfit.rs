//! Why the content of a frame cannot be taken.

/// Why the content of a frame cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It does not match its kind.
    Content(String),
    /// It would take too much memory.
    Memory(String),
}

impl Unfit {
    /// Content that does not match its kind.
    pub fn content(what: &str) -> Self {
        Self::Content(what.to_owned())
    }

    /// Content that would take too much memory.
    pub fn memory(what: impl Into<String>) -> Self {
        Self::Memory(what.into())
    }
}
