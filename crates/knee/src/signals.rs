//! Signals that end a run: the first asks for an end in order, the second for one at once.
//!
//! Does not end anything itself; the engine looks at its `Control`. `SIGPIPE` stays ignored, as Rust
//! sets it, so that a closed pipe is an error of the write, which the writer judges.

use std::io;
use std::thread::JoinHandle;

use knee_engine::control::Control;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

/// Signals are watched as long as this lives.
#[derive(Debug)]
pub struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Watches for SIGINT and SIGTERM on a thread of its own. The first of them stops the run, the second
/// aborts it, and the third does what it would do to any other program. SIGHUP is left as it is, so
/// that `nohup` works.
///
/// # Errors
///
/// When the system does not let the signals be caught.
pub fn watch(control: Control) -> io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            match count {
                0 => control.stop(),
                1 => control.abort(),
                _ => {
                    // Nothing answers; whoever sends three signals wants the process gone.
                    let _ = emulate_default_handler(signal);
                }
            }
        }
    })?;
    Ok(Watch { handle, thread: Some(thread) })
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread only forwards signals; if it panicked there is nothing left to do for it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use knee_engine::control::Request;
    use signal_hook::low_level::raise;

    use super::*;

    fn wait_for(control: &Control, request: Request) {
        while control.request() != request {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_first_signal_stops_and_the_second_aborts() {
        let control = Control::new();
        let _watch = watch(control.clone()).unwrap();
        assert_eq!(control.request(), Request::Run);
        raise(SIGTERM).unwrap();
        wait_for(&control, Request::Stop);
        raise(SIGINT).unwrap();
        wait_for(&control, Request::Abort);
    }
}
