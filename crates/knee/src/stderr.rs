//! Standard error that never blocks a run.
//!
//! The reader of a pipe can stop reading. A plain write then waits for ever once the pipe is full, and the run with
//! it. Here a line that finds no room within a second is dropped; the next line that finds room reports how many were
//! dropped. Does not buffer: a line that was accepted is written.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// This many bytes fit without waiting if the system reports room: `PIPE_BUF` on Linux, and no more
/// than any system's pipe takes at once.
const PIECE: usize = 512;

/// How long a line waits for room, in seconds, while lines before it found some.
const PATIENCE_S: i64 = 1;

/// Whether the last line found no room; the next does not wait then.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Number of lines dropped since the last written one.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Writes a paragraph and a line break, or drops it. It is no error if stderr has no reader.
pub fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    if !has_room(&stderr) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let dropped = DROPPED.swap(0, Ordering::Relaxed);
    let note = if dropped > 0 {
        let lines = if dropped == 1 { "1 line was".to_owned() } else { format!("{dropped} lines were") };
        format!("note: {lines} dropped: stderr was full\n")
    } else {
        String::new()
    };
    let whole = format!("{note}{text}\n");
    for piece in whole.as_bytes().chunks(PIECE) {
        if !has_room(&stderr) || stderr.write_all(piece).is_err() {
            return;
        }
    }
}

/// Waits for room, but only if there was some the last time.
fn has_room(stderr: &impl std::os::fd::AsFd) -> bool {
    let seconds = if STUCK.load(Ordering::Relaxed) { 0 } else { PATIENCE_S };
    let limit = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let room = loop {
        match poll(&mut [PollFd::new(stderr, PollFlags::OUT)], Some(&limit)) {
            Err(Errno::INTR) => {}
            Ok(0) => break false,
            // An error of the file is one of the write, too.
            Ok(_) | Err(_) => break true,
        }
    };
    STUCK.store(!room, Ordering::Relaxed);
    room
}
