//! No function grows past 70 lines; the ones that did before are listed and can only shrink.
//!
//! Counts from `fn` to the closing brace, comments and blank lines included: what must be
//! scrolled must be read. Does not look into macros.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::Violation;
use super::tree::Tree;

const LINES_MAX: usize = 70;

/// One line a function: `path::name lines`.
const LIST: &str = "xtask/src/tidy/long_functions.txt";

/// Lines of every long function, by `path::name`; the longest where a file has a name twice.
type Lengths = BTreeMap<String, usize>;

pub fn check(tree: &Tree) -> Vec<Violation> {
    let known = read(tree.text(LIST).unwrap_or_default());
    let mut violations = Vec::new();
    let mut found = Lengths::new();
    for (path, text) in tree.rust() {
        let Ok(file) = syn::parse_file(text) else {
            violations.push(Violation::new(path, 0, "is not Rust that can be parsed"));
            continue;
        };
        let mut functions = Functions(Vec::new());
        functions.visit_file(&file);
        for function in functions.0.into_iter().filter(|function| function.lines > LINES_MAX) {
            let key = format!("{path}::{}", function.name);
            let allowed = known.get(&key).copied().unwrap_or(LINES_MAX);
            if function.lines > allowed {
                let text = format!("`{}` has {} lines; at most {allowed}", function.name, function.lines);
                violations.push(Violation::new(path, function.line, text));
            }
            let longest = found.entry(key).or_default();
            *longest = (*longest).max(function.lines);
        }
    }
    violations.extend(slack(&known, &found));
    violations
}

/// Entries of the list that allow more than is needed.
fn slack<'a>(known: &'a Lengths, found: &'a Lengths) -> impl Iterator<Item = Violation> + 'a {
    known.iter().filter_map(|(key, allowed)| match found.get(key) {
        None => Some(Violation::new(LIST, 0, format!("`{key}` is not long any more; take it off the list"))),
        Some(lines) if lines < allowed => {
            Some(Violation::new(LIST, 0, format!("`{key}` has {lines} lines now; lower its entry")))
        }
        Some(_) => None,
    })
}

fn read(list: &str) -> Lengths {
    let entries = list.lines().filter(|line| !line.starts_with('#'));
    entries
        .filter_map(|line| {
            let (key, lines) = line.rsplit_once(' ')?;
            Some((key.to_owned(), lines.parse().ok()?))
        })
        .collect()
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Every function with a body, nested ones included.
struct Functions(Vec<Function>);

impl Functions {
    fn note(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = signature.fn_token.span.start().line;
        let end = body.brace_token.span.close().end().line;
        self.0.push(Function { name: signature.ident.to_string(), line, lines: end - line + 1 });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.note(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/a/src/lib.rs";

    /// A function of this many lines, whose body holds braces that are none.
    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    f(\"}\"); // }\n".repeat(lines - 2))
    }

    fn found_in(text: &str, list: &str) -> Vec<String> {
        let tree = Tree::of(&[(PATH, text), (LIST, list)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn seventy_lines_pass_and_seventy_one_do_not() {
        let text = format!("/// Docs.\n{}\n{}", function("fits", 70), function("grew", 71));
        assert_eq!(found_in(&text, ""), ["crates/a/src/lib.rs:73: `grew` has 71 lines; at most 70"]);
    }

    #[test]
    fn methods_and_provided_functions_of_traits_count_too() {
        let text = format!("trait T {{\n{}}}\nimpl S {{\n{}}}\n", function("a", 80), function("b", 80));
        assert_eq!(found_in(&text, "").len(), 2);
    }

    #[test]
    fn a_listed_function_can_stay_as_it_is_but_not_grow() {
        assert_eq!(
            found_in(&function("old", 80), "# comment\ncrates/a/src/lib.rs::old 80\n"),
            [] as [&str; 0]
        );
        assert_eq!(found_in(&function("old", 81), "crates/a/src/lib.rs::old 80\n").len(), 1);
    }

    #[test]
    fn the_list_must_follow_when_a_function_shrinks() {
        for lines in [79, 70, 2] {
            assert_eq!(
                found_in(&function("old", lines), "crates/a/src/lib.rs::old 80\n").len(),
                1,
                "{lines}"
            );
        }
    }
}
