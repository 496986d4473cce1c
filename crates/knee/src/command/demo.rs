//! `knee demo`: start a small server and load it, so that a newcomer sees a load test at once.
//!
//! The server is another process of this program; see [`crate::demo`].

use crate::args::{AmountFlags, DemoArgs, LoadArgs};
use crate::demo::Demo;
use crate::exit::Exit;
use crate::problem::Problem;

use super::load::load;

/// The load when none is given: half of the server's capacity.
const RATE: &str = "2000";
const DURATION: &str = "10s";

/// Does it.
///
/// # Errors
///
/// When the server cannot be started, and as [`load`].
pub fn demo(args: DemoArgs, narrate: fn(&str)) -> Result<Exit, (Problem, Exit)> {
    let demo = Demo::spawn(args.listen).map_err(|error| {
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
        flags.amount.rate = Some(RATE.to_owned());
        flags.amount.duration = Some(DURATION.to_owned());
    }
    load(&LoadArgs { url: Some(url), flags }, narrate)
}
