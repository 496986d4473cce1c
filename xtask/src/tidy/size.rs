//! No file over 1 MiB: a clone stays small for ever, because history forgets nothing.
//!
//! Does not look into the file.

use super::Violation;
use super::tree::Tree;

const BYTES_MAX: u64 = 1 << 20;

pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.files()
        .filter(|(_, file)| file.size > BYTES_MAX)
        .map(|(path, file)| {
            let text = format!("has {} bytes; at most {BYTES_MAX} can be committed", file.size);
            Violation::new(path, 0, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    #[test]
    fn a_file_over_one_mebibyte_is_found() {
        let mut tree = Tree::default();
        tree.add("docs/images/fits.png", File { size: 1 << 20, text: None });
        tree.add("docs/images/large.png", File { size: (1 << 20) + 1, text: None });
        let found = check(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "docs/images/large.png");
    }
}
