//! Generated results: arrays in progress, and the limits of all results.

use std::borrow::Cow;

/// Most nested steps.
pub const DEPTH_MAX: usize = 64;
/// Most bytes of a generated result.
pub const RESULT_MAX: usize = 64 << 20;

/// Evaluates a path in a text at a nesting depth: modifiers and queries evaluate their own paths with it.
pub type Follow = for<'a> fn(&'a str, &str, usize) -> Option<Cow<'a, str>>;

/// The same text, independent of where it was found.
pub fn own<'a>(found: Option<Cow<'_, str>>) -> Option<Cow<'a, str>> {
    found.map(|text| Cow::Owned(text.into_owned()))
}

/// An array that is being written.
#[derive(Default)]
pub struct List {
    text: String,
}

impl List {
    /// Adds an element.
    pub fn push(&mut self, value: &str) {
        if self.text.len() <= RESULT_MAX {
            self.text.push(if self.text.is_empty() { '[' } else { ',' });
            self.text.push_str(value);
        }
    }

    /// The whole array.
    pub fn end(mut self) -> String {
        if self.text.is_empty() {
            self.text.push('[');
        }
        self.text.push(']');
        self.text
    }
}
