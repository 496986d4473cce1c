//! Imports of names that a module does not have, where k6 takes that: they are undefined, or null.
//!
//! k6 refuses such an import only between files with `import` and `export`. So an importer of such names gets a module
//! of its own that adds them. Does not know what files export; see [`super::require`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::syntax;
use crate::module::exports;

/// Stands between the name of a module and the names that are added to it. No path and no URL has it.
const MARK: char = '\u{1f}';

/// Modules of which k6 gives undefined instead of null: those that have one object as their only export.
const UNDEFINED: [&str; 4] = ["k6/html", "k6/http", "k6/execution", "k6/ws"];

/// The name of the module `found` with the names that an importer wants of it; the same name if none is to be added.
/// `copy`: the source of our own copy of a library, if it is one.
pub fn with(found: String, is_commonjs: bool, copy: Option<&str>, wanted: &BTreeSet<String>) -> String {
    if wanted.is_empty() {
        return found;
    }
    let known: BTreeSet<String> = match (exports(&found), copy) {
        (Some(known), _) => known.iter().map(|name| (*name).to_owned()).collect(),
        // The libraries themselves are CommonJS.
        (None, Some(source)) => syntax::exports(source),
        (None, None) if is_commonjs => BTreeSet::new(),
        (None, None) => return found,
    };
    let is_absent = |name: &&String| *name != "default" && is_identifier(name) && !known.contains(*name);
    let names: Vec<&str> = wanted.iter().filter(is_absent).map(String::as_str).collect();
    if names.is_empty() { found } else { format!("{found}{MARK}{}", names.join(",")) }
}

/// The module, and the names that are added to it.
pub fn parts(name: &str) -> (&str, impl Iterator<Item = &str>) {
    let (module, names) = name.split_once(MARK).unwrap_or((name, ""));
    (module, names.split(',').filter(|name| !name.is_empty()))
}

/// Whether names are added.
pub fn adds(name: &str) -> bool {
    name.contains(MARK)
}

/// A module that has all that a module of k6 or a copy of a library has, and the names that are added. `copy` as for
/// [`with`].
pub fn source(name: &str, copy: Option<&str>) -> String {
    let (module, names) = parts(name);
    let value = if copy.is_some() || UNDEFINED.contains(&module) { "undefined" } else { "null" };
    let mut source = format!("export * from '{module}';");
    if copy.is_none_or(|copy| syntax::exports(copy).contains("default")) {
        // Writing into a text cannot fail.
        let _ = write!(source, "export {{ default }} from '{module}';");
    }
    for name in names {
        let _ = write!(source, "const _{name} = {value}; export {{ _{name} as {name} }};");
    }
    source
}

/// Whether a name can stand in a source as it is.
pub fn is_identifier(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$');
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_names_that_are_missing_are_added() {
        let metrics = |names: &[&str]| with("k6/metrics".into(), false, None, &wanted(names));
        assert_eq!(metrics(&["Trend", "default"]), "k6/metrics");
        let added = metrics(&["Trend", "Metric"]);
        assert_eq!(parts(&added).1.collect::<Vec<_>>(), ["Metric"]);
        assert!(source(&added, None).contains("const _Metric = null;"), "{}", source(&added, None));
        let page = with("k6/html".into(), false, None, &wanted(&["a"]));
        assert!(source(&page, None).contains("const _a = undefined;"));
    }

    #[test]
    fn a_copy_of_a_library_is_as_lenient_as_the_library() {
        let copy = Some("export function a() {} export const b = 1; export { a as c };");
        let url = "https://host/index.js";
        assert_eq!(with(url.into(), false, copy, &wanted(&["a", "b", "c"])), url);
        let added = with(url.into(), false, copy, &wanted(&["a", "d"]));
        assert_eq!(
            source(&added, copy),
            format!("export * from '{url}';const _d = undefined; export {{ _d as d }};")
        );
    }

    #[test]
    fn files_that_export_say_themselves_what_is_missing() {
        assert_eq!(with("file:///a.js".into(), false, None, &wanted(&["a"])), "file:///a.js");
        let file = with("commonjs:file:///a.js".into(), true, None, &wanted(&["a", "not-a-name"]));
        assert_eq!(parts(&file).0, "commonjs:file:///a.js");
        assert_eq!(parts(&file).1.collect::<Vec<_>>(), ["a"]);
    }
}
