//! The command line: settings in, exit code out.
//!
//! Serves nothing itself. Prints errors as `error: what, where` with a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use runlater::config::{Cli, Command, LogFormat, SeedArgs, ServeArgs, StoreArgs, shown};
use runlater::store::prepare::connect;
use runlater::{migration, refusal, seed, serve, target};
use tokio::runtime::{Builder, Runtime};

// A request makes dozens of small allocations: the system's allocator would take a tenth of the service's CPU time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An error message and a hint.
type ErrorAndHint = (String, &'static str);

const START: &str = "start PostgreSQL, or name another one with --postgres URL";
const MIGRATE: &str =
    "run `runlater migrate --postgres URL`; on an empty database, `runlater seed` also makes an organization";
const SYSTEM: &str = "see what the system allows this user: open files, threads";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let lines = tracing_subscriber::fmt().with_max_level(cli.log_level).with_writer(io::stderr);
    match cli.log_format {
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().init(),
    }
    let result = match cli.command {
        Command::Migrate(args) => migrate(&args),
        Command::Seed(args) => seed_tables(&args),
        Command::Serve(args) => serve_node(&args),
        Command::Target(args) => serve_target(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, hint)) => {
            let _ = writeln!(io::stderr(), "error: {error}\n\nhint: {hint}");
            ExitCode::FAILURE
        }
    }
}

fn migrate(args: &StoreArgs) -> Result<(), ErrorAndHint> {
    let steps = runtime(1)?.block_on(async {
        let mut client = connect(&args.postgres).await?;
        migration::migrate(&mut client).await
    });
    let wrong = |error| {
        (format!("PostgreSQL at {}: {}", shown(&args.postgres), refusal::postgres_message(&error)), START)
    };
    let _ = writeln!(io::stdout(), "{} steps applied", steps.map_err(wrong)?);
    Ok(())
}

fn seed_tables(args: &SeedArgs) -> Result<(), ErrorAndHint> {
    let key = runtime(1)?.block_on(seed::fill(args)).map_err(|problem| {
        let hint = match &problem {
            seed::Problem::Exists(_) => "--replace throws all of it away",
            seed::Problem::Key => "leave it out, and one is drawn",
            seed::Problem::Random(_) => SYSTEM,
            seed::Problem::Postgres { .. } => START,
        };
        (problem.to_string(), hint)
    })?;
    let _ = writeln!(io::stdout(), "{key}");
    Ok(())
}

fn serve_node(args: &ServeArgs) -> Result<(), ErrorAndHint> {
    let runtime = runtime(args.threads)?;
    let served = runtime.block_on(serve::run(args));
    runtime.shutdown_background();
    served.map_err(|problem| {
        let hint = match &problem {
            serve::Problem::Listen { .. } => {
                "another service may have the port; --listen 127.0.0.1:0 takes a free one"
            }
            serve::Problem::Postgres(_) => START,
            serve::Problem::Schema { .. } => MIGRATE,
            serve::Problem::Call(_) => "--ca takes a file of certificates in PEM",
            serve::Problem::System(_) => SYSTEM,
        };
        (problem.to_string(), hint)
    })
}

fn serve_target(args: &target::TargetArgs) -> Result<(), ErrorAndHint> {
    // One thread: the target's CPU time is lost to the service.
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| (error.to_string(), SYSTEM))?;
    runtime.block_on(target::run(args)).map_err(|problem| {
        let hint = match &problem {
            target::Problem::Listen { .. } => {
                "another service may have the port; --listen 127.0.0.1:0 takes a free one"
            }
            target::Problem::RetryAfter(_) => "give seconds, as 30, or a date of HTTP",
            target::Problem::Certificate(_) => {
                "--tls takes a file in a folder that is there and can be written to"
            }
            target::Problem::System(_) => SYSTEM,
        };
        (problem.to_string(), hint)
    })
}

fn runtime(threads: u16) -> Result<Runtime, ErrorAndHint> {
    Builder::new_multi_thread()
        .worker_threads(threads.into())
        .enable_all()
        .build()
        .map_err(|error| (error.to_string(), SYSTEM))
}
