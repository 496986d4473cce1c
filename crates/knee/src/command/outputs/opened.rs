//! A file that was opened: what knee wrote, or the output of another tool.
//!
//! Does not open it.

use knee_audit::Examined;

use crate::command::saved::Saved;

/// What a file holds.
pub enum Opened {
    /// What knee wrote.
    Saved(Saved),
    /// What another tool wrote.
    Output(Box<Output>),
}

/// The output of another tool.
pub struct Output {
    /// Name of its file, harmless.
    pub(super) name: String,
    pub(super) examined: Examined,
}
