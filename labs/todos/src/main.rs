//! The command line: settings in, exit code out.
//!
//! Does nothing itself; what goes wrong is printed as `error: what, where` and a hint.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use todos::config::{Cli, Command, Handler, LogFormat, SeedArgs, ServeArgs, StoreArgs, shown};
use todos::{migration, refusal, seed, serve, store};
use tokio::runtime::{Builder, Runtime};

/// What went wrong, and what to do about it.
type Wrong = (String, &'static str);

const SYSTEM: &str = "see what the system allows this user: open files, threads";
const START: &str = "start PostgreSQL, or name another one with --postgres URL";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let lines = tracing_subscriber::fmt().with_max_level(cli.log_level).with_writer(io::stderr);
    match cli.log_format {
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().init(),
    }
    let result = match cli.command {
        Command::Migrate(args) => migrate(&args),
        Command::Seed(args) => fill(&args),
        Command::Serve(args) => keep(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, hint)) => {
            let _ = writeln!(io::stderr(), "error: {error}\n\nhint: {hint}");
            ExitCode::FAILURE
        }
    }
}

fn migrate(args: &StoreArgs) -> Result<(), Wrong> {
    let steps = runtime(Builder::new_current_thread())?.block_on(async {
        let mut client = store::prepare::connect(&args.postgres).await?;
        migration::migrate(&mut client).await
    });
    let wrong =
        |error| (format!("PostgreSQL at {}: {}", shown(&args.postgres), refusal::said(&error)), START);
    let _ = writeln!(io::stdout(), "{} steps applied", steps.map_err(wrong)?);
    Ok(())
}

fn fill(args: &SeedArgs) -> Result<(), Wrong> {
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

fn keep(args: &ServeArgs) -> Result<(), Wrong> {
    let mut front = Builder::new_multi_thread();
    front.worker_threads(args.threads.into());
    // Connections need somebody to serve them while the threads of requests wait.
    let mut back = Builder::new_multi_thread();
    back.worker_threads(1);
    let (front, back) = match args.switches.handler {
        Handler::Async => (runtime(front)?, None),
        Handler::Threadpool => (runtime(front)?, Some(runtime(back)?)),
        Handler::AsyncBlocking => (runtime(Builder::new_current_thread())?, Some(runtime(back)?)),
    };
    let driver = back.as_ref().unwrap_or(&front).handle().clone();
    let served = front.block_on(serve::run(args, driver));
    if let Some(back) = back {
        back.shutdown_background();
    }
    front.shutdown_background();
    served.map_err(|problem| {
        let hint = match &problem {
            serve::Problem::Listen { .. } => {
                "another service may have the port; --listen 127.0.0.1:0 takes a free one"
            }
            serve::Problem::Postgres(_) => START,
            serve::Problem::NoReplica => {
                "name it with --replica URL, or read from the primary: --replica-reads off"
            }
            serve::Problem::System(_) => SYSTEM,
        };
        (problem.to_string(), hint)
    })
}

fn runtime(mut builder: Builder) -> Result<Runtime, Wrong> {
    builder.enable_all().build().map_err(|error| (error.to_string(), SYSTEM))
}
