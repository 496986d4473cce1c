//! The hidden command behind `knee agent`: a process that makes one part of a job.
//!
//! It reads orders of its agent on stdin and reports on stdout, one line each (`knee_fleet::child`). When stdin is closed,
//! the agent is gone, and the load ends at once.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use knee_core::record::AgentOf;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_fleet::child::{FromChild, Task, ToChild};
use knee_fleet::wire::{Said, StopLevel};

use super::job::Work;
use super::start::TimedGate;
use crate::command::load;
use crate::command::run::part as script;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::settings::Surroundings;

/// The word that makes a process of this program a part.
pub const WORD: &str = "fleet-part";

/// How long a load without its agent takes at most to end its record.
const LAST: Duration = Duration::from_secs(2);

/// Whether this process is to make a part.
pub fn is_asked(words: &[String]) -> bool {
    words == [WORD]
}

/// Makes the part that the agent wants.
pub fn run() -> Exit {
    match made() {
        Ok(Made { warning, said }) => {
            say(&FromChild::Ended { warning, said });
            Exit::Ok
        }
        Err(problem) => {
            say(&FromChild::Failed { why: problem.what });
            Exit::Failure
        }
    }
}

fn say(event: &FromChild) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        // Without an agent there is no reader, and the end of stdin ends this process.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// A part that was made.
struct Made {
    warning: Option<String>,
    said: Said,
}

fn made() -> Result<Made, Problem> {
    let mut first = String::new();
    let broken = |error: &dyn std::fmt::Display| Problem::new(format!("the agent's task: {error}"), "");
    std::io::stdin().lock().read_line(&mut first).map_err(|error| broken(&error))?;
    let task: Task = serde_json::from_str(&first).map_err(|error| broken(&error))?;
    let control = Control::new();
    let gate =
        Arc::new(TimedGate::new(|| say(&FromChild::Ready), |at: Nanos| say(&FromChild::Started { at })));
    control.wait_at(gate.clone());
    thread::Builder::new()
        .name("orders".to_owned())
        .spawn({
            let control = control.clone();
            move || obey(&gate, &control)
        })
        .map_err(|error| broken(&error))?;
    let bytes = std::fs::read(&task.job).map_err(|error| broken(&error))?;
    let agent = AgentOf { name: task.agent, run: task.run };
    let record = PathBuf::from(task.record);
    match Work::read(&bytes)? {
        Work::Url(job) => {
            let load = job.part(&task.part, agent, record, &Surroundings::read())?;
            let warning = load::make_part(&load, &control).map_err(|(problem, _)| problem)?;
            Ok(Made { warning, said: Said::default() })
        }
        Work::Script(job) => {
            let own = script::Own {
                part: task.part,
                agent,
                record,
                targets: task.targets,
                rate_max: task.rate_max,
            };
            let (warning, said) = script::make(&job, own, &control).map_err(|(problem, _)| problem)?;
            Ok(Made { warning, said })
        }
    }
}

/// Takes orders until stdin is closed.
fn obey(gate: &TimedGate, control: &Control) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(ToChild::Go { at }) => gate.open(at),
            Ok(ToChild::Stop { level: StopLevel::Abort }) => {
                control.note("the controller: requests in flight are cut off");
                control.abort();
            }
            Ok(ToChild::Stop { .. }) => {
                control.note("the controller: no new requests are sent");
                control.stop();
            }
            Ok(ToChild::Late { late: (low, high) }) => control.began_late(low, high),
            // Of a later agent.
            Err(_) => {}
        }
        if control.request() != knee_engine::control::Request::Run && !gate.is_open() {
            break;
        }
    }
    if gate.is_open() {
        control.note("the agent is gone: the load ends");
        control.abort();
        thread::sleep(LAST);
    }
    end();
}

#[allow(clippy::exit, reason = "the load waits for a start that never comes, or does not end")]
fn end() {
    process::exit(1);
}
