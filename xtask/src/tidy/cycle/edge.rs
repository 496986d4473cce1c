//! Which files of a crate name items of which others.
//!
//! Does not judge what it finds.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Edges;
use super::name::{Module, Names, imports, is_test};

/// A file of a crate, parsed.
struct Source<'a> {
    path: &'a str,
    module: Module,
    file: syn::File,
}

/// The edges between the files of the crate in `directory`.
pub fn of(directory: &str, files: &[(&str, &str)]) -> Edges {
    let sources: Vec<Source<'_>> = files.iter().filter_map(|file| source(directory, *file)).collect();
    let tests: BTreeSet<Module> = sources.iter().flat_map(tests).collect();
    let is_test = |module: &Module| (1..=module.len()).any(|end| tests.contains(&module[..end]));
    let sources: Vec<Source<'_>> = sources.into_iter().filter(|source| !is_test(&source.module)).collect();
    let mut names = Names::default();
    for source in &sources {
        names.add(&source.module, source.path, &source.file.items);
    }
    let mut edges = Edges::new();
    for source in &sources {
        let mut paths =
            Paths { names: &names, module: source.module.clone(), path: source.path, edges: &mut edges };
        paths.visit_file(&source.file);
    }
    edges
}

/// A file with the module that it is. The program beside a library is a crate of its own.
fn source<'a>(directory: &str, (path, text): (&'a str, &str)) -> Option<Source<'a>> {
    let inside = path.strip_prefix(directory)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    if inside == "main" || inside.starts_with("bin/") {
        return None;
    }
    let module = if inside == "lib" { Module::new() } else { inside.split('/').map(str::to_owned).collect() };
    Some(Source { path, module, file: syn::parse_file(text).ok()? })
}

/// The modules in files of their own that a file declares for tests alone.
fn tests(source: &Source<'_>) -> Vec<Module> {
    let declared = source.file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(item) if is_test(&item.attrs) || item.ident == "tests" => Some(item.ident.to_string()),
        _ => None,
    });
    declared.map(|name| [source.module.as_slice(), &[name]].concat()).collect()
}

/// Goes through the paths of one file.
struct Paths<'a> {
    names: &'a Names,
    /// Where it is, modules inside of the file included.
    module: Module,
    path: &'a str,
    edges: &'a mut Edges,
}

impl Paths<'_> {
    fn note(&mut self, path: &[String], line: usize) {
        for file in self.names.files(&self.module, path) {
            if file != self.path {
                self.edges.entry(self.path.to_owned()).or_default().entry(file).or_insert(line);
            }
        }
    }

    /// Paths in the tokens of a macro: names joined by `::`. A single name there was brought in by a `use`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            let line = token.span().start().line;
            match token {
                TokenTree::Ident(name) if colons == 2 => path.push(name.to_string()),
                TokenTree::Ident(name) => {
                    self.note_long(&path, line);
                    path = vec![name.to_string()];
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.note_long(&std::mem::take(&mut path), line);
                    self.tokens(group.stream());
                }
                _ => self.note_long(&std::mem::take(&mut path), line),
            }
            colons = 0;
        }
        self.note_long(&path, 0);
    }

    fn note_long(&mut self, path: &[String], line: usize) {
        if path.len() > 1 {
            self.note(path, line);
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // What is passed on to others is named by them.
        if !matches!(item.vis, syn::Visibility::Inherited) {
            return;
        }
        for import in imports(item).into_iter().filter(|import| import.name != "*") {
            self.note(&import.path, import.line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
            self.note(&names, line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        self.tokens(called.tokens.clone());
    }
}
