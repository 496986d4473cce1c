//! `knee agent`: waits for controllers, and makes parts of their loads, until a signal.
//!
//! Does not send load itself: each part is made by a process of its own.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use knee_engine::host;
use knee_fleet::agent::Identity;
use knee_fleet::name::Incarnation;
use knee_fleet::nats::agent::{Notice, Program, Settings, serve};
use knee_fleet::policy::Extent;
use knee_fleet::wire::Part;

use super::build;
use super::failed::{Failed, failed, refused};
use crate::args::AgentArgs;
use crate::exit::Exit;
use crate::fleet::job::Work;
use crate::fleet::part;
use crate::problem::{Problem, on_one_line};
use crate::settings::fleet as settings;
use crate::stderr::say;

/// Runs the command.
///
/// # Errors
///
/// If the settings are wrong, or NATS cannot be reached.
pub fn agent(args: &AgentArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let settings = settings::agent(args).map_err(refused)?;
    for (is_empty, name, what) in [
        (settings.signers.is_empty(), "signers", "obeys no order"),
        (settings.policy.targets.is_empty(), "targets", "loads nothing"),
    ] {
        if is_empty {
            let config = on_one_line(&args.config.display().to_string());
            narrate(&format!("warning: `{name}` is empty in `{config}`: this agent {what}"));
        }
    }
    let identity = Identity {
        agent: settings.id,
        incarnation: Incarnation::random(),
        fleet: settings.fleet,
        build: build(),
        machine: host::machine(),
    };
    narrate(&format!("agent {}: NATS at {}", identity.agent, on_one_line(&settings.link.shown())));
    let serving = Settings {
        link: settings.link,
        identity,
        policy: settings.policy,
        signers: settings.signers,
        folder: settings.folder,
    };
    let unable = |error: io::Error| failed(Problem::new(error.to_string(), ""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(unable)?;
    let served = runtime.block_on(serve(serving, Arc::new(ThisProgram), announce, ended()));
    // A job that is being judged looks names up, which cannot be cut short.
    runtime.shutdown_background();
    served.map_err(|error| {
        refused(Problem::new(error.to_string(), "check the address, the network and how to log in"))
    })?;
    Ok(Exit::Ok)
}

/// Until the first signal.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn announce(notice: Notice) {
    match notice {
        Notice::Waiting => say("waiting for a controller"),
        Notice::Claimed(run) => say(&format!("works for the run {run}")),
        Notice::Free => say("free again"),
    }
}

/// This program makes the parts.
struct ThisProgram;

impl Program for ThisProgram {
    fn extent(&self, job: &[u8], part: &Part) -> Result<Extent, String> {
        Work::read(job).and_then(|work| work.extent(part)).map_err(|problem| problem.what)
    }

    fn command(&self) -> io::Result<Command> {
        // On Linux this is the program that runs, also after a new one took its place in the file system.
        let own = Path::new("/proc/self/exe");
        let mut command = Command::new(if own.exists() { own.to_owned() } else { std::env::current_exe()? });
        command.arg(part::WORD);
        Ok(command)
    }
}
