//! The command line: parses settings, runs a command, sets the exit code.
//!
//! Contains no sales logic. Errors are printed as `error: what, where` and a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use tickets::config::{Cli, Command, LogFormat, SeedArgs, ServeArgs, StoreArgs, without_credentials};
use tickets::{migration, refusal, seed, serve};

// A request makes some dozens of small allocations: the system's allocator spends a tenth of the service's CPU time on them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let lines = tracing_subscriber::fmt().with_max_level(cli.log_level).with_writer(io::stderr);
    match cli.log_format {
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().init(),
    }
    let result = match cli.command {
        Command::Migrate(args) => migrate(&args),
        Command::Seed(args) => run_seed(&args),
        Command::Serve(args) => run_serve(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, hint)) => {
            let _ = writeln!(io::stderr(), "error: {error}\n\nhint: {hint}");
            ExitCode::FAILURE
        }
    }
}

fn migrate(args: &StoreArgs) -> Result<(), (String, &'static str)> {
    let steps = runtime(1)?.block_on(async {
        let mut client = migration::connect(&args.postgres).await?;
        migration::migrate(&mut client).await
    });
    let steps = steps.map_err(|error| {
        let address = without_credentials(&args.postgres);
        let hint = "start PostgreSQL, or name another one with --postgres URL";
        (format!("PostgreSQL at {address}: {}", refusal::error_text(&error)), hint)
    })?;
    let _ = writeln!(io::stdout(), "{steps} steps applied");
    Ok(())
}

fn run_seed(args: &SeedArgs) -> Result<(), (String, &'static str)> {
    runtime(1)?.block_on(seed::fill(args)).map_err(|problem| {
        let hint = match &problem {
            seed::Problem::Exists(_) => {
                "--replace deletes them and every sale; name another database with --postgres to keep them"
            }
            seed::Problem::Postgres { .. } => "name another PostgreSQL with --postgres",
            seed::Problem::Redis { .. } => "name another Redis with --redis",
        };
        (problem.to_string(), hint)
    })?;
    let _ = writeln!(
        io::stdout(),
        "{} tickets: {} of each in Redis and in one row, {} of each as units",
        args.tickets,
        args.stock,
        args.units_per_ticket
    );
    Ok(())
}

fn run_serve(args: &ServeArgs) -> Result<(), (String, &'static str)> {
    runtime(args.threads)?.block_on(serve::run(args)).map_err(|problem| {
        let hint = match &problem {
            serve::Problem::Listen { .. } => {
                "another service may have the port; --listen 127.0.0.1:0 takes a free one"
            }
            serve::Problem::Postgres(_) => {
                "start PostgreSQL, then make tickets with: tickets seed --postgres URL"
            }
            serve::Problem::Schema { .. } => {
                "tickets migrate makes them and keeps what is there; on an empty database, tickets seed also makes tickets"
            }
            serve::Problem::Redis { .. } => "start Redis, or name another one with --redis",
            serve::Problem::Switches => "add --record grouped",
            serve::Problem::Stock(_) => "PostgreSQL and Redis must both answer; tables of another version need that version of tickets, which keeps their sales",
            serve::Problem::System(_) => "see what the system allows this user: open files, threads",
        };
        (problem.to_string(), hint)
    })
}

fn runtime(threads: u16) -> Result<tokio::runtime::Runtime, (String, &'static str)> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.into())
        .enable_all()
        .build()
        .map_err(|error| (error.to_string(), "see what the system allows this user: open files, threads"))
}
