//! The program: reads the command line, runs the command, prints errors, exits.
//!
//! Does not know what any flag means; `args` and `settings` do.

use std::process::ExitCode;

use knee::args::{self, Invocation, Refused};
use knee::command::{
    agent, archive, audit, calibrate, compare, demo, doctor, explain, find, fleet, history, inspect, load,
    merge, report, run, serve, shell, study, sweep, tour,
};
use knee::demo as demo_server;
use knee::exit::Exit;
use knee::fleet::part;
use knee::live::page::{self, narrate};
use knee::problem::{Problem, reason};
use knee::settings::output::Sink;
use knee::settings::web;
use knee::signals;
use knee::stderr::say;
use knee::store;

/// musl's allocator has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else, and before a thread is started.
    if let Some(code) = knee_fixture::supervisor::main(std::env::args_os()) {
        return code;
    }
    if let Some(exit) = serve_demo().or_else(make_part) {
        return exit.into();
    }
    let done = match args::parse(std::env::args_os()) {
        Ok(invocation) => open_page(&invocation).map_err(refused).and_then(|()| execute(invocation)),
        Err(Refused::Shown(text)) => {
            Sink::Stdout.write(text.as_bytes()).map(|()| Exit::Ok).map_err(|problem| (problem, Exit::Failure))
        }
        Err(Refused::Problem(problem)) => Err(refused(problem)),
    };
    let code = match done {
        Ok(exit) => exit.into(),
        Err((problem, exit)) => {
            narrate(&problem.to_string());
            exit.into()
        }
    };
    page::close();
    code
}

/// What is wrong with what was typed.
fn refused(problem: Problem) -> (Problem, Exit) {
    (problem, Exit::Configuration)
}

/// Runs the command.
fn execute(invocation: Invocation) -> Result<Exit, (Problem, Exit)> {
    match invocation {
        Invocation::Load(args) => load::load(&args, narrate),
        Invocation::Report(args) => report::report(&args, say).map_err(refused),
        Invocation::History(args) => history::history(&args, say).map_err(refused),
        Invocation::Serve(args) => serve::serve(&args, say).map_err(refused),
        Invocation::Merge(args) => merge::merge(&args, say),
        Invocation::Agent(args) => agent::agent(&args, say),
        Invocation::Fleet(args) => fleet::fleet(&args, say),
        Invocation::Demo(args) => demo::demo(*args, narrate),
        Invocation::Run(args) => run::run(&args, narrate),
        Invocation::Archive(args) => archive::archive(&args, say),
        Invocation::Inspect(args) => inspect::inspect(&args, say),
        Invocation::Sweep(args) => {
            // A sweep that goes on saves its steps beside the earlier ones.
            if !args.output.resume {
                store::begin_series("sweep", args.target.as_deref().unwrap_or_default());
            }
            sweep::sweep(&args, narrate)
        }
        Invocation::Find(args) => {
            store::begin_series("find", &args.target);
            find::find(&args, narrate)
        }
        Invocation::Study(args) => {
            store::begin_series("study", &args.study.display().to_string());
            study::study(&args, narrate)
        }
        Invocation::Compare(args) => {
            store::begin_series("compare", args.b.as_deref().unwrap_or_default());
            compare::compare(&args, narrate)
        }
        Invocation::Calibrate(args) => {
            store::begin_series("calibrate", args.url.as_deref().unwrap_or("demo"));
            calibrate::calibrate(&args, narrate)
        }
        Invocation::Tour(args) => {
            store::begin_series("tour", "demo");
            tour::tour(&args, say)
        }
        Invocation::Doctor(args) => doctor::doctor(&args).map_err(refused),
        Invocation::Audit(args) => audit::audit(&args, say).map_err(refused),
        Invocation::Completions(args) => shell::completions(&args).map_err(refused),
        Invocation::Man(args) => shell::man(&args).map_err(refused),
        Invocation::Explain(args) => explain::explain(&args).map_err(refused),
    }
}

/// Opens the live page if one was asked for, and says where it is.
fn open_page(invocation: &Invocation) -> Result<(), Problem> {
    let Some((flags, command)) = invocation.web() else { return Ok(()) };
    let Some(address) = web::address(flags)? else { return Ok(()) };
    web::refuse_useless(flags, command)?;
    let url = page::open(address, command, web::ceiling(flags)?).map_err(|error| {
        let what = format!("the live page cannot be served on {address}: {}", reason(&error));
        Problem::new(what, "give another address, or `--web` alone for a free port")
    })?;
    if flags.stop_with_input {
        signals::stop_with_input().map_err(|error| Problem::new(reason(&error), "start it in a terminal"))?;
    }
    say(&format!("page: {url}"));
    if let Some(control) = page::control() {
        say(&format!("page that can stop and steer: {url}#{control}"));
    }
    if !address.ip().is_loopback() {
        say("warning: the live page is not encrypted; an SSH tunnel to a loopback address is");
    }
    Ok(())
}

/// The hidden command behind `knee agent`: this process makes a part of a load.
fn make_part() -> Option<Exit> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    part::is_asked(&words).then(part::run)
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
