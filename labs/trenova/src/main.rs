//! The command line: settings in, exit code out.
//!
//! Serves nothing itself. Prints errors as `error: what, where` with a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use trenova::config::{Cli, Command, LogFormat, PostgresArgs, SeedArgs, shown};
use trenova::serve::Problem;
use trenova::{migration, process, refusal, seed, serve, store};

// A request makes dozens of small allocations: the system's allocator would take a tenth of the service's CPU time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An error message and a hint.
type ErrorAndHint = (String, &'static str);

const SYSTEM: &str = "see what the system allows this user: open files, threads, processes";
const START: &str = "start PostgreSQL, or name another one with --postgres URL";
const MIGRATE: &str =
    "run `trenova migrate --postgres URL`; on an empty database, `trenova seed` also fills the tables";

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
        Command::Serve(args) => process::serve(&args).map_err(|problem| with_hint(&problem)),
        Command::Worker(args) => process::serve_as_worker(&args).map_err(|problem| with_hint(&problem)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, hint)) => {
            let _ = writeln!(io::stderr(), "error: {error}\n\nhint: {hint}");
            ExitCode::FAILURE
        }
    }
}

fn migrate(args: &PostgresArgs) -> Result<(), ErrorAndHint> {
    let steps = runtime()?.block_on(async {
        let mut client = store::prepare::connect(&args.postgres).await?;
        migration::migrate(&mut client).await
    });
    let wrong = |error| {
        (format!("PostgreSQL at {}: {}", shown(&args.postgres), refusal::postgres_message(&error)), START)
    };
    let _ = writeln!(io::stdout(), "{} steps applied", steps.map_err(wrong)?);
    Ok(())
}

fn seed_tables(args: &SeedArgs) -> Result<(), ErrorAndHint> {
    runtime()?.block_on(seed::fill(args)).map_err(|problem| {
        let hint = match &problem {
            seed::Problem::Exists(_) => "--replace throws them away",
            seed::Problem::Postgres { .. } => START,
            seed::Problem::Password(_) => SYSTEM,
        };
        (problem.to_string(), hint)
    })?;
    let SeedArgs { tenants, users, workers, .. } = args;
    let _ = writeln!(io::stdout(), "{tenants} tenants with {users} users and {workers} workers each");
    Ok(())
}

fn with_hint(problem: &Problem) -> ErrorAndHint {
    let hint = match problem {
        Problem::Listen { .. } => "another service may have the port; --listen 127.0.0.1:0 takes a free one",
        Problem::Postgres(_) => START,
        Problem::Schema { .. } => MIGRATE,
        Problem::Redis(_) => "name it with --redis redis://host:port/0",
        Problem::System(_) => SYSTEM,
        Problem::Process(_) => "its own error is above; --prefork 1 serves with one process",
    };
    (problem.to_string(), hint)
}

fn runtime() -> Result<tokio::runtime::Runtime, ErrorAndHint> {
    serve::runtime(1).map_err(|error| (error.to_string(), SYSTEM))
}
