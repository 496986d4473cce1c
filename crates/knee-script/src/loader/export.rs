//! What is said when a module does not export what another one imports from it.
//!
//! QuickJS says so too, but cuts the module's name short and does not see that a file is of the older kind.

use super::trouble::Trouble;
use crate::program::Program;
use crate::runtime::fault::Thrown;

/// Signs of a module of the older kind.
const COMMONJS: &[&str] = &["module.exports", "exports.", "define.amd"];

/// What is behind an error, if an export is missing.
pub fn trouble(program: &Program, thrown: &Thrown) -> Option<Trouble> {
    let rest = thrown.message.strip_prefix("SyntaxError: Could not find export '")?;
    let (export, rest) = rest.split_once("' in module '")?;
    let begins = rest.trim_end_matches('\'');
    let name = program.compiled().into_iter().find(|name| name.starts_with(begins));
    let name = name.unwrap_or_else(|| begins.to_owned());
    let source = program.source(&name).unwrap_or_default();
    let source = String::from_utf8_lossy(&source);
    if COMMONJS.iter().any(|sign| source.contains(sign)) {
        let hint = "use a build of the library that has `export`, or bundle it as an ES module";
        return Some(Trouble::new(format!("CommonJS is not supported yet: {name} has no `export`"), hint));
    }
    let what = format!("The requested module \"{name}\" does not provide an export named \"{export}\"");
    Some(Trouble::new(what, "check the names between the braces of the import"))
}
