//! `cargo xtask openapi`: what the labs say of themselves in their `openapi.json`, held against what they do.
//!
//! Each lab is started on stores of its own and asked by schemathesis, which reads the document and sends what it allows and
//! what it does not. The seed is fixed, so that a failure comes again. Does not measure, and does not replace the labs'
//! own tests: those know what an answer means.

mod fuzzer;
mod lab;
mod store;

use std::path::Path;

use anyhow::{Result, bail};

use crate::program;
use fuzzer::Fuzzer;
use lab::{LABS, Lab, Standing};

/// What `cargo xtask openapi` takes.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The labs to try; all of them if none is named
    labs: Vec<String>,
    /// Requests that are made up for each operation, at most
    #[arg(long, default_value_t = 20)]
    examples: u32,
    /// Decides what is made up
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The labs as the tests have built them, in place of a build of each.
    #[arg(skip)]
    tested: bool,
}

impl Options {
    /// As continuous integration has it: all labs, briefly, after the tests.
    pub const fn brief() -> Self {
        Self { labs: Vec::new(), examples: 20, seed: 1, tested: true }
    }

    fn chosen(&self) -> Result<Vec<&'static Lab>> {
        if let Some(name) = self.labs.iter().find(|name| LABS.iter().all(|lab| lab.name != **name)) {
            let known: Vec<_> = LABS.iter().map(|lab| lab.name).collect();
            bail!("there is no lab `{name}` with a document; there are {}", known.join(", "));
        }
        let is_chosen = |lab: &&Lab| self.labs.is_empty() || self.labs.iter().any(|name| name == lab.name);
        Ok(LABS.iter().filter(is_chosen).collect())
    }
}

/// Tries every chosen lab; says of all of them what was found before it fails.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let chosen = options.chosen()?;
    let Some(fuzzer) = Fuzzer::get(root)? else { return Ok(()) };
    let mut failed = Vec::new();
    for lab in chosen {
        if let Some(missing) = lab.left_out() {
            println!("openapi: {} is left out: {missing}", lab.name);
            continue;
        }
        println!("openapi: {}", lab.name);
        let build = if options.tested { program::tested } else { program::lab_build };
        let standing = Standing::up(&build(root, lab.name)?, lab)?;
        let is_right = fuzzer.ask(lab, &standing, options.examples, options.seed)?;
        if !is_right {
            failed.push(lab.name);
        }
    }
    if !failed.is_empty() {
        bail!("the document is not what the service does: {}", failed.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_that_has_no_document_is_named_with_those_that_do() {
        let options = Options { labs: vec!["todo".to_owned()], examples: 1, seed: 1, tested: true };
        let error = options.chosen().unwrap_err().to_string();
        assert!(error.contains("`todo`") && error.contains("todos"), "{error}");
        assert_eq!(Options::brief().chosen().unwrap().len(), LABS.len());
    }

    #[test]
    fn every_lab_with_a_document_is_tried() {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../labs");
        for lab in std::fs::read_dir(labs).unwrap() {
            let lab = lab.unwrap();
            let name = lab.file_name().to_string_lossy().into_owned();
            let is_tried = LABS.iter().any(|known| known.name == name);
            assert_eq!(is_tried, lab.path().join("src/openapi.json").is_file(), "{name}");
        }
    }
}
