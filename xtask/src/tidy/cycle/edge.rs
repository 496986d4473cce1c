//! Which files of a crate name items of which others.
//!
//! Does not judge what it finds.

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

/// The edges between the files of the crate in `directory`, as far as they are modules of its library.
pub fn of(directory: &str, files: &[(&str, &str)]) -> Edges {
    let source = format!("{directory}/src");
    let mut found = Found { files, sources: Vec::new() };
    found.add(&format!("{source}/lib.rs"), &source, &Module::new());
    let mut names = Names::default();
    for source in &found.sources {
        names.add(&source.module, source.path, &source.file.items);
    }
    let mut edges = Edges::new();
    for source in &found.sources {
        let mut paths =
            Paths { names: &names, module: source.module.clone(), path: source.path, edges: &mut edges };
        paths.visit_file(&source.file);
    }
    edges
}

/// The files of a crate, and those found to be its modules. Only declarations tell which file is which module.
struct Found<'a> {
    files: &'a [(&'a str, &'a str)],
    sources: Vec<Source<'a>>,
}

impl Found<'_> {
    /// Adds a file, and the files that it declares, which are in `below`. Tests are left out.
    fn add(&mut self, path: &str, below: &str, module: &Module) {
        let Some((path, text)) = self.files.iter().copied().find(|(known, _)| *known == path) else { return };
        let Ok(file) = syn::parse_file(text) else { return };
        self.declared(&file.items, directory(path), below, module);
        self.sources.push(Source { path, module: module.clone(), file });
    }

    /// Adds the files that the items of a module declare. What `#[path]` says is relative to `beside`.
    fn declared(&mut self, items: &[syn::Item], beside: &str, below: &str, module: &Module) {
        for item in items {
            let syn::Item::Mod(item) = item else { continue };
            if is_test(&item.attrs) || item.ident == "tests" {
                continue;
            }
            let name = item.ident.to_string();
            let below = format!("{below}/{name}");
            let module = [module.as_slice(), &[name]].concat();
            match (&item.content, item.attrs.iter().find_map(path_of)) {
                (Some((_, items)), _) => self.declared(items, &below, &below, &module),
                // Modules of a file that is attached by its path are in the directory of that file.
                (None, Some(path)) => {
                    let path = format!("{beside}/{path}");
                    self.add(&path, directory(&path), &module);
                }
                (None, None) => self.add(&format!("{below}.rs"), &below, &module),
            }
        }
    }
}

/// The directory that a file is in.
fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The text of `#[path = "…"]`.
fn path_of(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(meta) = &attribute.meta else { return None };
    match &meta.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) if meta.path.is_ident("path") => {
            Some(text.value())
        }
        _ => None,
    }
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
        for file in self.names.files(self.path, &self.module, path) {
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
