//! The user's command that brings a service back to its first state between the steps of a sweep.
//!
//! Runs in a shell, outside of the measured time. Its output goes to stderr. Does not know what it resets.

use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use knee_engine::control::{Control, Request};

use crate::error::Error;

/// How often it is checked whether the command has ended.
const PERIOD: Duration = Duration::from_millis(10);

/// Runs `command` before step `step`, and waits until it has ended.
///
/// # Errors
///
/// [`Error::Reset`] if it cannot be run or reports a failure, [`Error::Interrupted`] if the user ends the sweep
/// meanwhile.
pub fn run(command: &str, step: usize, control: &Control) -> Result<(), Error> {
    let failed = |reason: String| Error::Reset { command: command.to_owned(), step, reason };
    let unable = |error: io::Error| failed(crate::error::reason(&error));
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(io::stderr()).stderr(Stdio::inherit());
    let mut child = shell.spawn().map_err(unable)?;
    loop {
        if control.request() != Request::Run {
            end(&mut child);
            return Err(Error::Interrupted);
        }
        match child.try_wait().map_err(unable)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(failed(status.to_string())),
            None => thread::sleep(PERIOD),
        }
    }
}

/// Ends the shell. That fails only if it has ended by itself.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_an_error_that_names_it_and_the_step() {
        let control = Control::new();
        assert!(run("true", 1, &control).is_ok());
        let error = run("exit 3", 7, &control).unwrap_err();
        assert_eq!(error.to_string(), "the reset before step 7 failed, `exit 3`: exit status: 3");
        assert_eq!(error.hint(), "run the command by hand: it must end, with exit code 0");
    }

    #[test]
    fn a_command_that_does_not_end_ends_with_the_sweep() {
        let control = Control::new();
        control.stop();
        assert!(matches!(run("sleep 600", 1, &control), Err(Error::Interrupted)));
    }
}
