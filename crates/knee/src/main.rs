//! The program: reads the command line, has the command done, prints errors, exits.
//!
//! Does not know what any flag means; `args` and `settings` do.

use std::io::Write;
use std::process::ExitCode;

use knee::args::{self, Invocation, Refused};
use knee::command::{calibrate, compare, demo, explain, load, report, run, study, sweep};
use knee::demo as demo_server;
use knee::exit::Exit;
use knee::problem::Problem;
use knee::settings::output::Sink;

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
        Ok(Invocation::Load(args)) => load::load(&args, narrate),
        Ok(Invocation::Report(args)) => report::report(&args, narrate).map_err(refused),
        Ok(Invocation::Demo(args)) => demo::demo(*args, narrate),
        Ok(Invocation::Run(args)) => run::run(&args, narrate),
        Ok(Invocation::Sweep(args)) => sweep::sweep(&args, narrate),
        Ok(Invocation::Study(args)) => study::study(&args, narrate),
        Ok(Invocation::Compare(args)) => compare::compare(&args, narrate),
        Ok(Invocation::Calibrate(args)) => calibrate::calibrate(&args, narrate),
        Ok(Invocation::Explain(args)) => explain::explain(&args).map_err(refused),
        Err(Refused::Shown(text)) => {
            Sink::Stdout.write(text.as_bytes()).map(|()| Exit::Ok).map_err(|problem| (problem, Exit::Failure))
        }
        Err(Refused::Problem(problem)) => Err(refused(problem)),
    };
    match done {
        Ok(exit) => exit.into(),
        Err((problem, exit)) => {
            narrate(&problem.to_string());
            exit.into()
        }
    }
}

/// The hidden command behind `knee demo`: this process is the server.
fn serve_demo() -> Option<Exit> {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some(demo_server::COMMAND) {
        return None;
    }
    let listen = words.next()?.parse().ok()?;
    match demo_server::run_child(listen) {
        Ok(()) => Some(Exit::Ok),
        Err(error) => {
            narrate(&Problem::new(format!("the demo server failed: {error}"), "").to_string());
            Some(Exit::Failure)
        }
    }
}

/// A paragraph on stderr. When nobody can read it there is nobody to tell.
fn narrate(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
