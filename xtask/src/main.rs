//! The project's own chores: `cargo xtask COMMAND`, one module per command.
//!
//! Nothing here is part of what users install, and nothing in `crates/` can depend on it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task runner talks to the terminal")]
#![allow(clippy::disallowed_methods, reason = "the chores that measure judge the product's clock by another")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod audit;
mod bench;
mod book;
mod cargo_tool;
mod ci;
mod compat;
mod defects;
mod dist;
mod fleet;
mod folder;
mod fuzz;
mod markdown;
mod mutants;
mod observers;
mod openapi;
mod pages;
mod paired;
mod picture;
mod postgres_versions;
mod process;
mod program;
mod prose;
mod publish;
mod python;
mod semver;
mod sentences;
mod statements;
mod tidy;
mod truth;
mod validity;

/// The project's own chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything a change must pass: formatting, tidy, lints, licences, all tests
    Ci(ci::Options),
    /// Draw a capture of a terminal (`tmux capture-pane -p -e`) as an SVG
    Picture(picture::Options),
    /// Check the rules of the house that the compiler does not know
    Tidy,
    /// Compare what knee says with what is true: twelve experiments with known results
    Truth(truth::Options),
    /// Count false alarms of the validity check in quiet runs, and its silence in disturbed ones
    Validity(validity::Options),
    /// Count false alarms of `knee audit` on sound results of other tools, made here
    Audit(audit::Options),
    /// Measure what observers cost the service that they watch
    Observers(observers::Options),
    /// Run the tests of PostgreSQL's observer against versions 13 to 18, which npm installs below target/tools
    PostgresVersions(postgres_versions::Options),
    /// Measure what knee costs beside its peers, as in BENCHMARKS.md
    Bench(bench::Options),
    /// Compare `knee run` with k6: the same scripts, the same server
    Compat(compat::Options),
    /// Draw sentences that users read at random, to be judged by people
    Sentences(sentences::Options),
    /// Check `labs/*/statements.toml` against the studies, and write docs/concept/statements.md
    Statements,
    /// Look at seeded defects with `knee find`, and write what it finds and misses into labs/findings/CONFUSION.md
    Defects(defects::Options),
    /// Have `knee find` prove the remedies that it can apply to seeded defects, and write labs/findings/PROOFS.md
    Proofs(defects::proofs::Options),
    /// Build the documentation as a book, below target/book, and check its links; installs mdBook if it is missing
    Book,
    /// Open every page in Chromium: axe-core, four widths, light and dark, paper, forced colours; installs what steers it
    Pages(pages::Options),
    /// Build everything that can be installed without Rust, below target/dist
    Dist(dist::Options),
    /// Pack every crate as crates.io would get it, and build it from its package; uploads nothing
    Publish(publish::Options),
    /// Check that the API of the libraries breaks no more than their version says
    Semver(semver::Options),
    /// Kill agents, controllers and servers of real fleets at random moments, and check that every request is accounted
    /// for; or run the acceptance checks of fleets
    Fleet(fleet::Options),
    /// Run the fuzz targets from their kept corpora
    Fuzz(fuzz::Options),
    /// Change the code of the verdicts in one place at a time, and count the changes that no test notices; installs
    /// cargo-mutants if it is missing
    Mutants(mutants::Options),
    /// Ask the labs whether they do what their `openapi.json` says
    Openapi(openapi::Options),
    /// The server of the experiments
    #[command(hide = true)]
    OracleServer {
        /// Its law, as JSON
        law: String,
    },
    /// The service of the validity trials
    #[command(hide = true)]
    ValidityTarget {
        /// Where it listens
        address: String,
        /// What a response takes, in milliseconds
        millis: u64,
    },
}

fn main() -> ExitCode {
    let root = root();
    let result = match Arguments::parse().command {
        Command::Ci(options) => ci::run(&root, options),
        Command::Picture(options) => picture::run(&options),
        Command::Tidy => tidy::run(&root),
        Command::Truth(options) => truth::run(&root, options),
        Command::Validity(options) => validity::run(&root, &options),
        Command::Audit(options) => audit::run(&root, &options),
        Command::Observers(options) => observers::run(&root, &options),
        Command::PostgresVersions(options) => postgres_versions::run(&root, &options),
        Command::Bench(options) => bench::run(&root, options),
        Command::Compat(options) => compat::run(&root, options),
        Command::Sentences(options) => sentences::run(&root, &options),
        Command::Statements => statements::run(&root),
        Command::Defects(options) => defects::run(&root, &options),
        Command::Proofs(options) => defects::proofs::run(&root, &options),
        Command::Book => book::run(&root),
        Command::Pages(options) => pages::run(&root, options),
        Command::Dist(options) => dist::dist(&root, &options),
        Command::Publish(options) => publish::run(&root, options),
        Command::Semver(options) => semver::run(&root, &options),
        Command::Fleet(options) => fleet::run(&root, &options),
        Command::Fuzz(options) => fuzz::run(&root, &options),
        Command::Mutants(options) => mutants::run(&root, &options),
        Command::Openapi(options) => openapi::run(&root, &options),
        Command::OracleServer { law } => truth::server::serve(&law),
        Command::ValidityTarget { address, millis } => validity::target::serve(&address, millis),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository: where the manifest of this crate's parent lies when cargo runs it,
/// the current directory otherwise.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root =
        manifest.as_deref().and_then(Path::parent).map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    // Some programs are run elsewhere by a path that begins here.
    std::path::absolute(&root).unwrap_or(root)
}
