//! What is said when a module does not export what another one imports from it.
//!
//! QuickJS says so too, but cuts the module's name short.

use super::commonjs;
use super::trouble::Trouble;
use crate::program::Program;
use crate::runtime::thrown::Thrown;

/// The cause of an error, if an export is missing.
pub fn trouble(program: &Program, thrown: &Thrown) -> Option<Trouble> {
    let rest = thrown.message.strip_prefix("SyntaxError: Could not find export '")?;
    let (export, rest) = rest.split_once("' in module '")?;
    let begins = rest.trim_end_matches('\'');
    let begins = commonjs::hidden(begins).unwrap_or(begins);
    let name = program.compiled().into_iter().find(|name| name.starts_with(begins));
    let name = name.unwrap_or_else(|| begins.to_owned());
    let what = format!("The requested module \"{name}\" does not provide an export named \"{export}\"");
    Some(Trouble::new(what, "check the names between the braces of the import"))
}
