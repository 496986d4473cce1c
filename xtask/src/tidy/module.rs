//! A module `foo` with children is `foo.rs` beside `foo/`, so that no two tabs have the same name.
//!
//! The one exception that cargo forces (code shared by test binaries) is a directory of one binary instead.

use super::Violation;
use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust()
        .filter_map(|(path, _)| {
            let directory = path.strip_suffix("/mod.rs")?;
            Some(Violation::new(path, 0, format!("belongs in {directory}.rs")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mod_rs_is_found_with_the_path_where_it_belongs() {
        let found = check(&Tree::of(&[("crates/a/src/b/mod.rs", ""), ("crates/a/src/c.rs", "")]));
        assert_eq!(found, [Violation::new("crates/a/src/b/mod.rs", 0, "belongs in crates/a/src/b.rs")]);
    }
}
