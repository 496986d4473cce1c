//! Signals that end a run: the first stops it, the second aborts it.
//!
//! Does not end anything itself; the engine checks its `Control`. `SIGPIPE` stays ignored, as Rust
//! sets it, so that a closed pipe is an error of the write, which the writer judges.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use knee_engine::control::Control;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::{emulate_default_handler, raise};

/// Watches signals until it is dropped.
#[derive(Debug)]
pub struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Watches for SIGINT and SIGTERM on a thread of its own. The first of them stops the run, the second
/// aborts it, and the third has its default effect. SIGHUP keeps its default effect, so that `nohup` works.
///
/// # Errors
///
/// When the system does not let the signals be caught.
pub fn watch(control: Control) -> io::Result<Watch> {
    listen(move |count, name| {
        if count == 1 {
            control.note(format!("{name}: no new requests are sent"));
            control.stop();
        } else {
            control.note(format!("{name}: requests in flight are cut off"));
            control.abort();
        }
    })
}

/// Number of signals that a script has received. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Count(Arc<AtomicUsize>);

impl Count {
    /// The count.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Watches for the same signals, with k6's meaning for a script: the first ends its load at once, then
/// `teardown` runs; the count shows the second, which ends that too.
///
/// # Errors
///
/// When the system does not let the signals be caught.
pub fn watch_script(control: Control, seen: Count) -> io::Result<Watch> {
    listen(move |count, name| {
        seen.0.store(count, Ordering::Relaxed);
        control.note(format!("{name}: the load of the script ends at once"));
        control.abort();
    })
}

/// A message for each of the same signals; the third ends the process.
///
/// # Errors
///
/// When the system does not let the signals be caught.
pub fn received() -> io::Result<(Watch, Receiver<()>)> {
    let (sender, receiver) = channel();
    let watch = listen(move |_, _| {
        // Without a reader there is no use for it.
        let _ = sender.send(());
    })?;
    Ok((watch, receiver))
}

/// Raises SIGINT when stdin ends: what started this process is gone, whatever ended it.
///
/// # Errors
///
/// When the system has no thread for it.
pub fn stop_with_input() -> io::Result<()> {
    let read = || {
        // What arrives has no meaning, and an error is an end too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = raise(SIGINT);
    };
    std::thread::Builder::new().name("input".to_owned()).spawn(read).map(drop)
}

/// Calls `each` with the number of each signal, from 1, and its name; the third ends the process.
fn listen(each: impl Fn(usize, &str) + Send + 'static) -> io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for (count, signal) in (1..).zip(signals.forever()) {
            if count > 2 {
                // The run does not end; three signals mean that the process must.
                let _ = emulate_default_handler(signal);
            }
            each(count, if signal == SIGINT { "SIGINT" } else { "SIGTERM" });
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
    use super::*;
    use knee_engine::control::Request;

    /// A signal reaches every watch of the process.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn wait_for(control: &Control, request: Request) {
        while control.request() != request {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_first_signal_ends_the_load_of_a_script_and_the_second_is_counted() {
        let _alone = ALONE.lock().unwrap();
        let (control, seen) = (Control::new(), Count::default());
        let _watch = watch_script(control.clone(), seen.clone()).unwrap();
        for count in 1..=2 {
            raise(SIGINT).unwrap();
            wait_for(&control, Request::Abort);
            while seen.get() != count {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn the_first_signal_stops_and_the_second_aborts() {
        let _alone = ALONE.lock().unwrap();
        let control = Control::new();
        let _watch = watch(control.clone()).unwrap();
        assert_eq!(control.request(), Request::Run);
        raise(SIGTERM).unwrap();
        wait_for(&control, Request::Stop);
        raise(SIGINT).unwrap();
        wait_for(&control, Request::Abort);
    }
}
