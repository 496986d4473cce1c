//! One thread that writes for all: what waits at the moment shares a transaction.
//!
//! Does not wait for a group to fill: the first change is taken at once, and while it is being committed others gather.
//! A change is acknowledged after the commit that holds it.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::write::{Write, Written};
use super::{Failure, Store};
use crate::counter::Counters;

/// Requests that share a transaction at the most: bounds how long the lock is held.
const GROUP_MAX: usize = 256;

/// Changes of one request, made together, and who waits for them.
#[derive(Debug)]
struct Job {
    writes: Vec<Write>,
    reply: oneshot::Sender<Result<Vec<Written>, Failure>>,
}

/// The way to the writer. The thread ends when the last one is dropped, after it has written what waits.
#[derive(Debug, Clone)]
pub struct GroupWriter {
    jobs: Sender<Job>,
    counters: Arc<Counters>,
}

impl GroupWriter {
    /// Starts the thread on a connection of its own.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(store: Store, counters: Arc<Counters>) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, waiting) = mpsc::channel();
        let asked = Arc::clone(&counters);
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || write_until_closed(store, &waiting, &counters))?;
        Ok((Self { jobs, counters: asked }, thread))
    }

    /// Hands changes in; the answer comes after their commit.
    pub fn submit(&self, writes: Vec<Write>) -> oneshot::Receiver<Result<Vec<Written>, Failure>> {
        let (reply, answer) = oneshot::channel();
        let n = writes.len() as u64;
        // A writer that is gone drops the reply, and the receiver says so.
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

/// One transaction for all. If it fails for a reason that may be one request's own, one for each, so that nobody suffers
/// from another's failure; a busy database is everybody's.
fn write_group(store: &mut Store, group: &mut Vec<Job>, counters: &Counters) {
    match store.write_all(group.iter().flat_map(|job| &job.writes)) {
        Ok(written) => {
            let mut written = written.into_iter();
            for job in group.drain(..) {
                let of_job = written.by_ref().take(job.writes.len()).collect();
                // Whoever asked may have gone away; the change is made all the same.
                let _ = job.reply.send(Ok(of_job));
            }
        }
        Err(Failure::Busy) => {
            counters.busy.one();
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
