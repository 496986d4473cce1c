//! Reads the text of a `study.toml`: returns its definition or its mistakes.
//!
//! Does not open the file.

use super::resolve::Purpose;
use super::{Definition, Problems, placeholder, problem, resolve, structure};

impl Definition {
    /// Reads a `study.toml`. `file` is its name in messages; `exists` reports whether a file, relative to the study's
    /// folder, exists.
    pub fn read(text: &str, file: &str, exists: &dyn Fn(&str) -> bool) -> Result<Self, Problems> {
        Self::read_for(Purpose::Compare, text, file, exists)
    }

    /// Reads a `study.toml` of which one variant is started and nothing is compared: one variant is enough there.
    pub fn read_to_start(text: &str, file: &str, exists: &dyn Fn(&str) -> bool) -> Result<Self, Problems> {
        Self::read_for(Purpose::Start, text, file, exists)
    }

    fn read_for(
        purpose: Purpose,
        text: &str,
        file: &str,
        exists: &dyn Fn(&str) -> bool,
    ) -> Result<Self, Problems> {
        let mut finder = problem::Finder::new(text, file);
        let document = structure::document(text, &mut finder);
        let definition = document.and_then(|document| {
            let definition = resolve::definition(document, purpose, &mut finder, exists)?;
            structure::placeholders(text, &placeholder::names(&definition.fixture), &mut finder);
            Some(definition)
        });
        finder.or(definition)
    }
}
