//! From the text of a `study.toml` to its definition, or to what is wrong with it.
//!
//! Does not open the file.

use super::{Definition, Problems, problem, raw, resolve};

impl Definition {
    /// Reads a `study.toml`. `file` is how the caller calls it; `exists` says whether a file, relative to
    /// the study's folder, is there.
    pub fn read(text: &str, file: &str, exists: &dyn Fn(&str) -> bool) -> Result<Self, Problems> {
        let mut finder = problem::Finder::new(text, file);
        match toml::from_str::<raw::Document>(text) {
            Ok(document) => {
                let definition = resolve::definition(document, &mut finder, exists);
                finder.or(definition)
            }
            Err(error) => {
                problem::syntax(&mut finder, &error);
                finder.or(None)
            }
        }
    }
}
