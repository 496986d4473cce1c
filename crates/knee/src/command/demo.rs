//! `knee demo`: starts a small server and loads it, so that a new user sees a load test at once.
//!
//! The server is another process of this program; see [`crate::demo`].

use crate::args::{AmountFlags, DemoArgs, LoadArgs};
use crate::demo::Demo;
use crate::demo::server::Service;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::settings::number;

use super::load::load;

/// Default duration of the load. Its rate is half of the server's capacity.
const DURATION: &str = "10s";

/// Runs the command.
///
/// # Errors
///
/// When the server cannot be started, and as [`load`].
pub fn demo(args: DemoArgs, narrate: fn(&str)) -> Result<Exit, (Problem, Exit)> {
    let service = service(&args).map_err(|problem| (problem, Exit::Configuration))?;
    let demo = Demo::spawn(args.listen, &service).map_err(|error| {
        let problem = Problem::new(
            format!("the demo server cannot be started on {}: {error}", args.listen),
            "give another address with `--listen`",
        );
        (problem, Exit::Configuration)
    })?;
    let url = format!("http://{}/", demo.address());
    if args.serve_only {
        narrate(&format!("serving {url} until interrupted"));
        loop {
            std::thread::park();
        }
    }
    let mut flags = args.flags;
    if flags.amount == AmountFlags::default() {
        narrate(&format!("loading a demo server on {url} for {DURATION}; try: knee URL -c 50 -z 10s"));
        flags.amount.rate = Some((service.knee() / 2.0).to_string());
        flags.amount.duration = Some(DURATION.to_owned());
    }
    load(&LoadArgs { url: Some(url), flags, ..LoadArgs::default() }, narrate)
}

/// The server by the flags.
fn service(args: &DemoArgs) -> Result<Service, Problem> {
    let mut service = Service::default();
    if let Some(text) = &args.server_workers {
        service.workers = number::whole("--server-workers", text, 1..=512)? as usize;
    }
    if let Some(text) = &args.server_time {
        service.service_time = number::span_above_zero("--server-time", text)?;
    }
    Ok(service)
}
