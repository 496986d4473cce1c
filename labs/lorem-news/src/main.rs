//! The command line: parses settings, runs a command, sets the exit code.
//!
//! Contains no service logic. Errors are printed as `error: what, where` and a hint.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use lorem_news::config::{BusyWait, TxMode};
use lorem_news::config::{Cli, Command, LogFormat, LogLevel, SeedArgs, ServeArgs, Synchronous};
use lorem_news::counter::Counters;
use lorem_news::{process, seed, serve, store};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Seed(args) => run_seed(&args),
        Command::Serve(args) => {
            log(&args);
            process::serve(&args).map_err(|problem| (problem.to_string(), serve_hint(&problem)))
        }
        Command::Worker(args) => {
            log(&args);
            process::run_worker(&args).map_err(|problem| (problem.to_string(), serve_hint(&problem)))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, hint)) => {
            let _ = writeln!(std::io::stderr(), "error: {error}\n\nhint: {hint}");
            ExitCode::FAILURE
        }
    }
}

fn run_seed(args: &SeedArgs) -> Result<(), (String, &'static str)> {
    let options = store::StoreOptions {
        path: store::database_path(&args.data),
        tx_mode: TxMode::Immediate,
        busy_wait: BusyWait::BlockingTimeout5000,
        statement_cache: true,
        synchronous: Synchronous::Normal,
        transaction_cost: 0,
        checkpointer: None,
        counters: Arc::new(Counters::default()),
    };
    let rows = seed::fill(args, &options).map_err(|problem| {
        let hint = match &problem {
            seed::Problem::Exists(_) => "--replace writes over it",
            _ => "name another folder with --data",
        };
        (problem.to_string(), hint)
    })?;
    let path = options.path.display();
    let _ = writeln!(
        std::io::stdout(),
        "{path}: {} users, {} posts, {} comments",
        rows.users,
        rows.posts,
        rows.comments
    );
    Ok(())
}

fn serve_hint(problem: &serve::Problem) -> &'static str {
    match problem {
        serve::Problem::Listen { .. } => {
            "another service may have the port; --listen 127.0.0.1:0 takes a free one"
        }
        serve::Problem::Folder { .. } => "name another folder with --data",
        serve::Problem::Store { .. } => "make a board with: lorem-news seed --data DIR",
        serve::Problem::System(_) => "see what the system allows this user: open files, threads",
        serve::Problem::Process(_) => "its own error is above; --processes 1 serves without workers",
    }
}

fn log(args: &ServeArgs) {
    let level = match args.log_level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().init(),
    }
}
