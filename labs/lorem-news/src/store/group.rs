//! Group commit: one writer thread, whose waiting changes share a transaction.
//!
//! Does not wait for a group to fill: the first change starts at once, and changes that arrive during its commit form the next
//! group. A change is acknowledged after its commit.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::write::{Write, WriteOutcome};
use super::{Failure, Store};
use crate::counter::Counters;

/// Maximum number of requests per transaction; bounds how long the write lock is held.
const GROUP_MAX: usize = 256;

/// Changes of one request, applied together, and the channel for their result.
#[derive(Debug)]
struct Job {
    writes: Vec<Write>,
    reply: oneshot::Sender<Result<Vec<WriteOutcome>, Failure>>,
}

/// A handle to the writer thread, which writes the queue and ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct GroupWriter {
    jobs: Sender<Job>,
    counters: Arc<Counters>,
}

impl GroupWriter {
    /// Starts the thread on a connection of its own.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(store: Store, counters: Arc<Counters>) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, waiting) = mpsc::channel();
        let asked = Arc::clone(&counters);
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || write_until_closed(store, &waiting, &counters))?;
        Ok((Self { jobs, counters: asked }, thread))
    }

    /// Queues changes. The result arrives after their commit.
    pub fn submit(&self, writes: Vec<Write>) -> oneshot::Receiver<Result<Vec<WriteOutcome>, Failure>> {
        let (reply, answer) = oneshot::channel();
        let n = writes.len() as u64;
        // If the writer has ended, the reply is dropped and the receiver returns an error.
        let _ = self.jobs.send(Job { writes, reply });
        self.counters.writes.add(n);
        answer
    }
}

fn write_until_closed(mut store: Store, waiting: &Receiver<Job>, counters: &Counters) {
    let mut group = Vec::new();
    while let Ok(first) = waiting.recv() {
        group.push(first);
        while group.len() < GROUP_MAX
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        write_group(&mut store, &mut group, counters);
    }
}

/// Applies a group in one transaction. If that fails because of one request, retries with a transaction per request; a busy database
/// fails all of them.
fn write_group(store: &mut Store, group: &mut Vec<Job>, counters: &Counters) {
    match store.write_all(group.iter().flat_map(|job| &job.writes)) {
        Ok(written) => {
            let mut written = written.into_iter();
            for job in group.drain(..) {
                let of_job = written.by_ref().take(job.writes.len()).collect();
                // A failed send means that the request was cancelled; its change is committed all the same.
                let _ = job.reply.send(Ok(of_job));
            }
        }
        Err(Failure::Busy) => {
            counters.busy.increment();
            for job in group.drain(..) {
                let _ = job.reply.send(Err(Failure::Busy));
            }
        }
        Err(_) => {
            for job in group.drain(..) {
                let _ = job.reply.send(store.write_all(job.writes.iter()));
            }
        }
    }
}
