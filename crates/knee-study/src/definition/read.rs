//! From the text of a `study.toml` to its definition, or to what is wrong with it.
//!
//! Does not open the file.

use super::{Definition, Problems, placeholder, problem, resolve, structure};

impl Definition {
    /// Reads a `study.toml`. `file` is how the caller calls it; `exists` says whether a file, relative to
    /// the study's folder, is there.
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
