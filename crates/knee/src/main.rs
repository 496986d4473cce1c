//! The program: reads the command line, runs the command, prints errors, exits.
//!
//! Does not know what any flag means; `args` and `settings` do.

use std::process::ExitCode;

use knee::args::{self, Invocation, Refused};
use knee::command::{audit, calibrate, compare, demo, explain, find, load, report, run, study, sweep, tour};
use knee::demo as demo_server;
use knee::exit::Exit;
use knee::problem::Problem;
use knee::settings::output::Sink;
use knee::stderr::say;
use knee::store;

fn main() -> ExitCode {
    // Before anything else, and before a thread is started.
    if let Some(code) = knee_fixture::supervisor::main(std::env::args_os()) {
        return code;
    }
    if let Some(exit) = serve_demo() {
        return exit.into();
    }
    let refused = |problem| (problem, Exit::Configuration);
    let done = match args::parse(std::env::args_os()) {
        Ok(Invocation::Load(args)) => load::load(&args, say),
        Ok(Invocation::Report(args)) => report::report(&args, say).map_err(refused),
        Ok(Invocation::Demo(args)) => demo::demo(*args, say),
        Ok(Invocation::Run(args)) => run::run(&args, say),
        Ok(Invocation::Sweep(args)) => {
            // A sweep that goes on saves its steps beside the earlier ones.
            if !args.output.resume {
                store::begin_series("sweep", args.target.as_deref().unwrap_or_default());
            }
            sweep::sweep(&args, say)
        }
        Ok(Invocation::Find(args)) => {
            store::begin_series("find", &args.target);
            find::find(&args, say)
        }
        Ok(Invocation::Study(args)) => {
            store::begin_series("study", &args.study.display().to_string());
            study::study(&args, say)
        }
        Ok(Invocation::Compare(args)) => {
            store::begin_series("compare", &args.b);
            compare::compare(&args, say)
        }
        Ok(Invocation::Calibrate(args)) => {
            store::begin_series("calibrate", args.url.as_deref().unwrap_or("demo"));
            calibrate::calibrate(&args, say)
        }
        Ok(Invocation::Tour(args)) => {
            store::begin_series("tour", "demo");
            tour::tour(&args, say)
        }
        Ok(Invocation::Audit(args)) => audit::audit(&args, say).map_err(refused),
        Ok(Invocation::Explain(args)) => explain::explain(&args).map_err(refused),
        Err(Refused::Shown(text)) => {
            Sink::Stdout.write(text.as_bytes()).map(|()| Exit::Ok).map_err(|problem| (problem, Exit::Failure))
        }
        Err(Refused::Problem(problem)) => Err(refused(problem)),
    };
    match done {
        Ok(exit) => exit.into(),
        Err((problem, exit)) => {
            say(&problem.to_string());
            exit.into()
        }
    }
}

/// The hidden command behind `knee demo`: this process is the server.
fn serve_demo() -> Option<Exit> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let (listen, service) = demo_server::child(&words)?;
    match demo_server::run_child(listen, &service) {
        Ok(()) => Some(Exit::Ok),
        Err(error) => {
            say(&Problem::new(format!("the demo server failed: {error}"), "").to_string());
            Some(Exit::Failure)
        }
    }
}
