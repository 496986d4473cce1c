//! Files of a product crate name one another in one direction: no file can be reached from itself.
//!
//! A file that cannot be read without another one that needs it back is half a file. An edge is a `use` or a path
//! that ends at an item of another file of the crate; `mod x;`, a `use` of a bare module and a `pub use` for
//! others are none. Tests are exempt. Calls of methods have no path and are not seen; neither are names made by macros.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Violation;
use super::tree::Tree;

mod edge;
mod name;

/// From the path of a file to the files that it names, each with the line.
type Edges = BTreeMap<String, BTreeMap<String, usize>>;

pub fn check(tree: &Tree) -> Vec<Violation> {
    crates(tree).iter().flat_map(|(directory, files)| cycles(&edge::of(directory, files))).collect()
}

/// The sources of every product crate, by the directory of the crate.
fn crates(tree: &Tree) -> BTreeMap<String, Vec<(&str, &str)>> {
    let mut crates: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (path, text) in tree.rust() {
        let Some((name, inside)) = path.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            continue;
        };
        if inside.starts_with("src/") {
            crates.entry(format!("crates/{name}")).or_default().push((path, text));
        }
    }
    crates
}

/// For every file that is in a cycle its shortest one, each cycle once.
fn cycles(edges: &Edges) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for file in edges.keys() {
        let Some(cycle) = shortest(edges, file) else { continue };
        let files: BTreeSet<&str> = cycle.iter().map(|(from, _)| *from).collect();
        if seen.insert(files) {
            violations.push(violation(&cycle));
        }
    }
    violations
}

/// The shortest way from a file back to itself, as the files on it with the lines that name the next one.
fn shortest<'a>(edges: &'a Edges, start: &'a str) -> Option<Vec<(&'a str, usize)>> {
    let mut came_from: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for (next, line) in edges.get(file).into_iter().flatten() {
            if came_from.contains_key(next.as_str()) {
                continue;
            }
            came_from.insert(next, (file, *line));
            if next == start {
                return Some(back(&came_from, start));
            }
            queue.push_back(next);
        }
    }
    None
}

fn back<'a>(came_from: &BTreeMap<&'a str, (&'a str, usize)>, start: &'a str) -> Vec<(&'a str, usize)> {
    let mut way = Vec::new();
    let mut file = start;
    while let Some((from, line)) = came_from.get(file) {
        way.push((*from, *line));
        file = from;
        if file == start {
            break;
        }
    }
    way.reverse();
    way
}

fn violation(cycle: &[(&str, usize)]) -> Violation {
    let (file, line) = cycle[0];
    let others = cycle[1..].iter().map(|(file, line)| format!("{file}:{line}"));
    let way: Vec<String> = others.chain([file.to_owned()]).collect();
    let text = format!("is in a cycle: it names {}; move what both need", way.join(", which names "));
    Violation::new(file, line, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn two_files_that_name_one_another_are_found_with_their_lines() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;\n"),
            ("crates/a/src/one.rs", "use crate::two::Two;\npub struct One(Two);\n"),
            ("crates/a/src/two.rs", "pub struct Two;\n\nfn f(one: &crate::one::One) {}\n"),
        ];
        assert_eq!(
            found_in(&files),
            ["crates/a/src/one.rs:1: is in a cycle: it names crates/a/src/two.rs:3, \
              which names crates/a/src/one.rs; move what both need"]
        );
    }

    #[test]
    fn a_child_that_names_an_item_of_the_parent_that_names_the_child_is_found() {
        let parent = "mod child;\npub struct Own;\nfn f() { child::run() }\n";
        let child = "use super::Own;\npub fn run() { let _ = Own; }\n";
        let files = [
            ("crates/a/src/lib.rs", "mod p;"),
            ("crates/a/src/p.rs", parent),
            ("crates/a/src/p/child.rs", child),
        ];
        assert_eq!(found_in(&files).len(), 1);
    }

    #[test]
    fn declaring_and_re_exporting_a_child_is_no_edge() {
        let parent = "mod child;\npub use child::Child;\npub struct Own;\n";
        let child = "use super::Own;\npub struct Child(Own);\n";
        let files = [("crates/a/src/lib.rs", parent), ("crates/a/src/child.rs", child)];
        assert_eq!(found_in(&files), NONE);
    }

    #[test]
    fn a_name_that_is_re_exported_belongs_to_the_file_that_defines_it() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n"),
            ("crates/a/src/one.rs", "use crate::Two;\npub struct One(Two);\n"),
            ("crates/a/src/two.rs", "use super::One;\npub struct Two(Box<One>);\n"),
        ];
        assert_eq!(found_in(&files).len(), 1);
    }

    #[test]
    fn what_a_parent_imports_for_itself_belongs_to_where_it_comes_from() {
        let files = [
            ("crates/a/src/lib.rs", "mod p;\nmod problem;\n"),
            ("crates/a/src/problem.rs", "pub struct Problem;\n"),
            (
                "crates/a/src/p.rs",
                "mod child;\nuse crate::problem::Problem;\nfn f() -> Problem { child::run() }\n",
            ),
            ("crates/a/src/p/child.rs", "use super::Problem;\npub fn run() -> Problem { Problem }\n"),
        ];
        assert_eq!(found_in(&files), NONE);
    }

    #[test]
    fn a_longer_cycle_through_modules_and_macros_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;\n"),
            ("crates/a/src/one.rs", "use crate::two;\npub fn f() -> u8 { two::f() }\n"),
            ("crates/a/src/two.rs", "use super::three::*;\npub fn f() -> u8 { g() }\n"),
            ("crates/a/src/three.rs", "pub fn g() -> u8 { println!(\"{}\", crate::one::f()); 1 }\n"),
        ];
        assert_eq!(found_in(&files).len(), 1);
    }

    #[test]
    fn tests_and_other_crates_of_the_same_name_are_exempt() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\n#[cfg(test)]\nmod check;\nfn f() { one::f() }\n"),
            (
                "crates/a/src/one.rs",
                "use tokio::two;\npub fn f() { two() }\n#[cfg(test)]\nmod tests { use crate::f; }\n",
            ),
            ("crates/a/src/check.rs", "use crate::one;\nfn g() { one::f(); crate::f() }\n"),
        ];
        assert_eq!(found_in(&files), NONE);
    }

    #[test]
    fn a_file_attached_by_its_path_is_the_module_that_it_is_declared_as() {
        let parent = "#[path = \"p/linux.rs\"]\nmod platform;\n#[path = \"p/portable.rs\"]\nmod platform;\n\
                      pub struct Own;\nfn f() { platform::read() }\n";
        let child = "use super::Own;\npub fn read() { let _ = Own; }\n";
        let (lib, alone) = ("mod p;", "pub fn read() {}\n");
        let files = |linux, portable| {
            [
                ("crates/a/src/lib.rs", lib),
                ("crates/a/src/p.rs", parent),
                ("crates/a/src/p/linux.rs", linux),
                ("crates/a/src/p/portable.rs", portable),
            ]
        };
        assert_eq!(found_in(&files(alone, alone)), NONE);
        let both = "pub struct Own;\nfn f(own: &Own, two: super::platform::Own) {}\n";
        assert_eq!(found_in(&files(both, both)), NONE);
        assert_eq!(found_in(&files(child, alone)).len(), 1);
        assert_eq!(found_in(&files(alone, child)).len(), 1);
        assert_eq!(found_in(&files(child, child)).len(), 2);
    }
}
