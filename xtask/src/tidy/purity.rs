//! Crates that promise to be pure neither depend on a runtime nor open files, sockets or threads.
//!
//! Looks at what the compiled crate contains: tests can read fixtures. That only one module reads
//! time is clippy's business (`clippy.toml`).

use cargo_metadata::{DependencyKind, Package};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::Violation;
use super::tree::Tree;

/// Directories of the crates that promise it.
const PURE: &[&str] =
    &["crates/knee-core", "crates/knee-study", "crates/knee-findings", "crates/knee-report"];

/// Crates that wait for something.
const RUNTIMES: &[&str] = &["tokio", "async-std", "smol", "mio", "hyper", "futures-executor", "rayon"];

/// Modules of the standard library that reach out of the program.
const MODULES: &[&str] = &["env", "fs", "net", "os", "process", "thread"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for directory in PURE {
        let sources = format!("{directory}/src/");
        for (path, text) in tree.rust().filter(|(path, _)| path.starts_with(&sources)) {
            violations.extend(uses(path, text));
        }
    }
    violations.extend(tree.packages().iter().flat_map(|package| dependencies(tree, package)));
    violations
}

fn dependencies(tree: &Tree, package: &Package) -> Vec<Violation> {
    let directory = package.manifest_path.parent().and_then(|path| tree.relative(path.as_std_path()));
    let Some(directory) = directory.filter(|directory| PURE.contains(&directory.as_str())) else {
        return Vec::new();
    };
    let compiled = package.dependencies.iter().filter(|edge| edge.kind == DependencyKind::Normal);
    compiled
        .filter(|edge| RUNTIMES.contains(&edge.name.as_str()))
        .map(|edge| {
            let text = format!("depends on {}; this crate is pure", edge.name);
            Violation::new(&format!("{directory}/Cargo.toml"), 0, text)
        })
        .collect()
}

fn uses(path: &str, text: &str) -> Vec<Violation> {
    let mut uses = Uses(Vec::new());
    if let Ok(file) = syn::parse_file(text) {
        uses.visit_file(&file);
    }
    let found = uses.0.into_iter().map(|(line, module)| {
        Violation::new(path, line, format!("uses `std::{module}`; this crate is pure"))
    });
    found.collect()
}

/// Line and name of every use of one of [`MODULES`].
struct Uses(Vec<(usize, String)>);

impl Uses {
    fn note(&mut self, name: &syn::Ident) {
        let module = name.to_string();
        if MODULES.contains(&module.as_str()) {
            self.0.push((name.span().start().line, module));
        }
    }

    /// Notes the first names below `std::` in `use std::…`.
    fn note_below(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.note(&path.ident),
            UseTree::Name(name) => self.note(&name.ident),
            UseTree::Rename(rename) => self.note(&rename.ident),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.note_below(item)),
            UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item(&mut self, item: &'ast Item) {
        let of_tests = matches!(item, Item::Mod(module) if module.attrs.iter().any(is_for_tests));
        if !of_tests {
            visit::visit_item(self, item);
        }
    }

    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        match tree {
            UseTree::Path(path) if path.ident == "std" => self.note_below(&path.tree),
            _ => visit::visit_use_tree(self, tree),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut names = path.segments.iter().map(|segment| &segment.ident);
        if names.next().is_some_and(|first| first == "std")
            && let Some(second) = names.next()
        {
            self.note(second);
        }
        visit::visit_path(self, path);
    }
}

/// Whether the attribute is `#[cfg(test)]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<usize> {
        uses_in(&Tree::of(&[(path, text)]))
    }

    fn uses_in(tree: &Tree) -> Vec<usize> {
        check(tree).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn every_way_to_name_a_module_of_the_standard_library_is_found() {
        let text = "use std::fs::File;\nuse std::{fmt, net as n};\nuse std::process;\nfn f() { std::thread::yield_now() }\n";
        assert_eq!(found_in("crates/knee-core/src/a.rs", text), [1, 2, 3, 4]);
    }

    #[test]
    fn what_does_not_reach_out_passes() {
        let text = "use std::io::Read;\nuse std::{fmt, collections::BTreeMap};\nuse crate::fs;\n";
        assert_eq!(found_in("crates/knee-report/src/a.rs", text), [] as [usize; 0]);
    }

    #[test]
    fn other_crates_and_tests_can_do_io() {
        assert_eq!(found_in("crates/knee/src/a.rs", "use std::fs;\n"), [] as [usize; 0]);
        assert_eq!(found_in("crates/knee-core/tests/a.rs", "use std::fs;\n"), [] as [usize; 0]);
        let module = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(found_in("crates/knee-core/src/a.rs", module), [] as [usize; 0]);
    }
}
