//! The modules of a crate and the names in them: which file a path of the crate ends in.
//!
//! Knows modules, items and `use`; not visibility, not what macros make, not methods. What it cannot find is not
//! of this crate.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;

/// The path of a module from the root of its crate.
pub type Module = Vec<String>;

/// Most `use`s that one name goes through.
const STEPS_MAX: usize = 16;

/// What one module has.
#[derive(Debug, Default)]
struct Scope {
    /// The file that it is in.
    file: String,
    items: BTreeSet<String>,
    /// Names that a `use` brings in, with the paths that they stand for: several where `cfg` chooses.
    imports: BTreeMap<String, Vec<Vec<String>>>,
    /// Paths whose names all are brought in.
    globs: Vec<Vec<String>>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub struct Names {
    /// Several of one module where `cfg` chooses between files for it.
    scopes: BTreeMap<Module, Vec<Scope>>,
}

/// One name of a `use`: the path that it stands for, and what it is called here; `*` for all.
pub struct Import {
    pub path: Vec<String>,
    pub name: String,
    pub line: usize,
}

impl Names {
    /// Adds the items of a module, and those of the modules inside of it.
    pub fn add(&mut self, module: &Module, file: &str, items: &[syn::Item]) {
        let mut scope = Scope { file: file.to_owned(), ..Scope::default() };
        for item in items {
            match item {
                syn::Item::Use(item) => {
                    for import in imports(item) {
                        match import.name.as_str() {
                            "*" => scope.globs.push(import.path),
                            _ => scope.imports.entry(import.name).or_default().push(import.path),
                        }
                    }
                }
                syn::Item::Mod(inner) => {
                    if let Some((_, items)) = inner.content.as_ref().filter(|_| !is_test(&inner.attrs)) {
                        let inner = [module.as_slice(), &[inner.ident.to_string()]].concat();
                        self.add(&inner, file, items);
                    }
                }
                other => scope.items.extend(name_of(other)),
            }
        }
        self.scopes.entry(module.clone()).or_default().push(scope);
    }

    /// The files that a path ends in, as `from` has it in `module`; none if it is not of this crate, or a bare module.
    pub fn files(&self, from: &str, module: &Module, path: &[String]) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        self.find(from, module, path, STEPS_MAX, &mut files);
        files
    }

    fn find(&self, from: &str, module: &Module, path: &[String], steps: usize, files: &mut BTreeSet<String>) {
        let mut at = module.clone();
        let mut rest = path;
        while let [first, after @ ..] = rest {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ => break,
            }
            rest = after;
        }
        self.walk(from, &at, rest, steps, files);
    }

    /// Follows `rest` from inside of a module.
    fn walk(&self, from: &str, at: &Module, rest: &[String], steps: usize, files: &mut BTreeSet<String>) {
        let (Some(scopes), [first, after @ ..]) = (self.scopes.get(at), rest) else { return };
        let child = [at.as_slice(), std::slice::from_ref(first)].concat();
        // A function can have the name of a module; only the last name of a path means the function.
        if self.scopes.contains_key(&child) && !after.is_empty() {
            return self.walk(from, &child, after, steps, files);
        }
        // Of several files for one module each sees itself alone.
        let own = scopes.iter().any(|scope| scope.file == from);
        for scope in scopes.iter().filter(|scope| !own || scope.file == from) {
            files.extend(self.of_scope(scope, at, rest, steps));
        }
    }

    /// Follows `rest`, whose first name is no module, in one scope of the module `at`.
    fn of_scope(&self, scope: &Scope, at: &Module, rest: &[String], steps: usize) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        let [first, after @ ..] = rest else { return files };
        if scope.items.contains(first) {
            files.insert(scope.file.clone());
            return files;
        }
        if steps == 0 {
            return files;
        }
        let paths = scope.imports.get(first).into_iter().flatten();
        for path in paths.filter(|path| path.first() != Some(first) || path.len() > 1) {
            self.find(&scope.file, at, &[path.as_slice(), after].concat(), steps - 1, &mut files);
        }
        for glob in &scope.globs {
            if !files.is_empty() {
                break;
            }
            self.find(&scope.file, at, &[glob.as_slice(), rest].concat(), steps / 2, &mut files);
        }
        files
    }
}

/// The names of a `use`.
pub fn imports(item: &syn::ItemUse) -> Vec<Import> {
    let mut found = Vec::new();
    flatten(&item.tree, &mut Vec::new(), &mut found);
    found
}

fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<Import>) {
    let mut add = |name: &syn::Ident, called: String| {
        let mut path = before.clone();
        let last = name.to_string();
        // `a::{self}` is `a`.
        let (path, called) = if last == "self" && !path.is_empty() {
            let own = path.last().cloned().unwrap_or_default();
            (path, if called == "self" { own } else { called })
        } else {
            path.push(last);
            (path, called)
        };
        found.push(Import { path, name: called, line: name.span().start().line });
    };
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(name) => add(&name.ident, name.ident.to_string()),
        syn::UseTree::Rename(rename) => add(&rename.ident, rename.rename.to_string()),
        syn::UseTree::Glob(glob) => {
            let line = glob.star_token.spans[0].start().line;
            found.push(Import { path: before.clone(), name: "*".to_owned(), line });
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, found)),
    }
}

fn name_of(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Whether an item is only there in tests.
pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
                    .is_ok_and(|metas| metas.iter().any(needs_test))
    })
}

/// `test`, or `all(test, …)`.
fn needs_test(meta: &syn::Meta) -> bool {
    match meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
            .is_ok_and(|metas| metas.iter().any(needs_test)),
        _ => false,
    }
}
