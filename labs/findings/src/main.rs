//! The command line: parses settings, runs a command, sets the exit code.
//!
//! Contains no service logic. Errors are printed as `error: what, where` and a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use findings::config::{Cli, Command, ServeArgs, ServersArgs};
use findings::defect::Defect;
use findings::refusal::Refusal;
use findings::{seed, serve, servers};
use tokio::runtime::{Builder, Runtime};

const HINT: &str = "start PostgreSQL and Redis, or name others with --postgres and --redis";

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Seed(args) => {
            runtime(1).map_err(Refusal::from).and_then(|it| it.block_on(seed::fill(&args.postgres)))
        }
        Command::Serve(args) => run_serve(&args),
        Command::Servers(args) => run_servers(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}\n\nhint: {HINT}");
            ExitCode::FAILURE
        }
    }
}

fn run_serve(args: &ServeArgs) -> Result<(), Refusal> {
    // With these defects, one thread both serves and builds JSON, or an export.
    let serves_alone = matches!(args.defect, Defect::JsonPerRequest | Defect::ExportOnLoop);
    let threads = if serves_alone { 1 } else { 2 };
    let runtime = runtime(threads)?;
    let served = runtime.block_on(serve::run(args));
    // Listeners and held transactions have no end of their own.
    runtime.shutdown_background();
    served
}

fn run_servers(args: &ServersArgs) -> Result<(), Refusal> {
    if args.apart {
        return Ok(servers::start_apart()?);
    }
    let runtime = runtime(1)?;
    let served = runtime.block_on(servers::run());
    // Calls that are never answered have no end of their own.
    runtime.shutdown_background();
    Ok(served?)
}

fn runtime(threads: usize) -> io::Result<Runtime> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build()
}
