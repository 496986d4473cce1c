//! The command line: parses settings, runs a command, sets the exit code.
//!
//! Contains no service logic. Errors are printed as `error: what, where` and a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use todos::config::{Cli, Command, Handler, LogFormat, SeedArgs, ServeArgs, StoreArgs, without_credentials};
use todos::{migration, refusal, seed, serve, store};
use tokio::runtime::{Builder, Runtime};

/// An error and its hint.
type Failure = (String, &'static str);

const SYSTEM: &str = "see what the system allows this user: open files, threads";
const START: &str = "start PostgreSQL, or name another one with --postgres URL";
const MIGRATE: &str =
    "run `todos migrate --postgres URL`; on an empty database, `todos seed` also fills the table";

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

fn migrate(args: &StoreArgs) -> Result<(), Failure> {
    let steps = runtime(Builder::new_current_thread())?.block_on(async {
        let mut client = store::prepare::connect(&args.postgres).await?;
        migration::migrate(&mut client).await
    });
    let failure = |error| {
        (
            format!("PostgreSQL at {}: {}", without_credentials(&args.postgres), refusal::error_text(&error)),
            START,
        )
    };
    let _ = writeln!(io::stdout(), "{} steps applied", steps.map_err(failure)?);
    Ok(())
}

fn run_seed(args: &SeedArgs) -> Result<(), Failure> {
    runtime(Builder::new_current_thread())?.block_on(seed::fill(args)).map_err(|problem| {
        let hint = match &problem {
            seed::Problem::Exists(_) => "--replace throws them away",
            seed::Problem::Postgres { .. } => START,
        };
        (problem.to_string(), hint)
    })?;
    let _ = writeln!(io::stdout(), "{} todos", args.rows);
    Ok(())
}

fn run_serve(args: &ServeArgs) -> Result<(), Failure> {
    let mut request_runtime = Builder::new_multi_thread();
    request_runtime.worker_threads(args.threads.into());
    // Connections need a thread of their own while request threads block.
    let mut connection_runtime = Builder::new_multi_thread();
    connection_runtime.worker_threads(1);
    let (request_runtime, connection_runtime) = match args.switches.handler {
        Handler::Async => (runtime(request_runtime)?, None),
        Handler::Threadpool => (runtime(request_runtime)?, Some(runtime(connection_runtime)?)),
        Handler::AsyncBlocking => {
            (runtime(Builder::new_current_thread())?, Some(runtime(connection_runtime)?))
        }
    };
    let driver = connection_runtime.as_ref().unwrap_or(&request_runtime).handle().clone();
    let served = request_runtime.block_on(serve::run(args, driver));
    if let Some(connection_runtime) = connection_runtime {
        connection_runtime.shutdown_background();
    }
    request_runtime.shutdown_background();
    served.map_err(|problem| {
        let hint = match &problem {
            serve::Problem::Listen { .. } => {
                "another service may have the port; --listen 127.0.0.1:0 takes a free one"
            }
            serve::Problem::Postgres(_) => START,
            serve::Problem::Schema { .. } => MIGRATE,
            serve::Problem::NoReplica => {
                "name it with --replica URL, or read from the primary: --replica-reads off"
            }
            serve::Problem::System(_) | serve::Problem::Grpc(_) => SYSTEM,
        };
        (problem.to_string(), hint)
    })
}

fn runtime(mut builder: Builder) -> Result<Runtime, Failure> {
    builder.enable_all().build().map_err(|error| (error.to_string(), SYSTEM))
}
