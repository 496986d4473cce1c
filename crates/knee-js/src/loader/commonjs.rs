//! `CommonJS` modules, with `module.exports`: as a text that is compiled like any module, and by name.
//!
//! Such a file becomes the body of a function. Does not run it; see [`super::require`].

use super::trouble::Trouble;
use crate::runtime::thrown::Thrown;

/// Prefix of the module name for the exports of a `CommonJS` file.
const PREFIX: &str = "commonjs:";

/// The source as a module whose default export holds the function that runs it. Nothing is put before its first
/// line, and what is put into it is short, so that places are those of the file from the second line on.
pub fn wrap(source: &str) -> String {
    let comment = if source.starts_with("#!") { "//" } else { "" };
    // A function in an array has no name, as the top of a file has none.
    format!("export default [function (module, exports) {{{comment}{source}\n}}];")
}

/// The name under which files import a `CommonJS` module.
pub fn shown(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The file behind a name made by [`shown`].
pub fn hidden(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// The cause of an error, if a file mixes both kinds.
pub fn trouble(thrown: &Thrown) -> Option<Trouble> {
    let missing = |name: &&&str| thrown.message == format!("ReferenceError: {name} is not defined");
    let name = ["module", "exports"].iter().find(missing)?;
    let place = thrown.frames.first().map(|frame| format!(", {frame}")).unwrap_or_default();
    let hint = "use either `import` and `export` or `module.exports` in one file, not both";
    Some(Trouble::new(format!("`{name}` is not defined{place}"), hint))
}
