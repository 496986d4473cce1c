//! `cargo xtask statements`: every statement of the re-tested documents beside the claims that test it.
//!
//! Reads `labs/LAB/statements.toml` and the studies of the lab, checks that they agree, and writes
//! `docs/concept/statements.md`. Does not run a study and gives no verdict: what was measured is in the results of the
//! studies.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

mod document;
mod lab;
mod page;
mod study;

/// The page that this command writes, relative to the root of the repository.
const PAGE: &str = "docs/concept/statements.md";

/// Checks the statements of all labs and writes the page.
pub fn run(root: &Path) -> Result<()> {
    let labs = lab::labs(root)?;
    let mistakes: Vec<String> = labs.iter().flat_map(lab::mistakes).collect();
    for mistake in &mistakes {
        eprintln!("error: {mistake}");
    }
    if !mistakes.is_empty() {
        bail!("mistakes in statements: {}; {PAGE} is unchanged", mistakes.len());
    }
    let path = root.join(PAGE);
    fs::write(&path, page::write(&labs)).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {PAGE}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_of_the_labs_are_complete_and_their_page_is_current() {
        let root = crate::root();
        let labs = lab::labs(&root).expect("statements and studies of all labs can be read");
        assert_eq!(labs.iter().flat_map(lab::mistakes).collect::<Vec<_>>(), [] as [&str; 0]);
        let written = lab::text(&root.join(PAGE)).expect("the page exists");
        assert!(written == page::write(&labs), "{PAGE} is old: run `cargo xtask statements`");
    }
}
