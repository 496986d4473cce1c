//! Reads the text of a `study.toml`: returns its definition or its mistakes.
//!
//! Does not open the file.

use super::{Definition, Problems, placeholder, problem, resolve, structure};

impl Definition {
    /// Reads a `study.toml`. `file` is its name in messages; `exists` reports whether a file, relative to the study's
    /// folder, exists.
    pub fn read(text: &str, file: &str, exists: &dyn Fn(&str) -> bool) -> Result<Self, Problems> {
        let mut finder = problem::Finder::new(text, file);
        let document = structure::document(text, &mut finder);
        let definition = document.and_then(|document| {
            let definition = resolve::definition(document, &mut finder, exists)?;
            structure::placeholders(text, &placeholder::names(&definition.fixture), &mut finder);
            Some(definition)
        });
        finder.or(definition)
    }
}
