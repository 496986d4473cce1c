//! Assigns threads and connections to requests: the switches `dispatch`, `threads`, `writer` and `reader_pool`.
//!
//! Does not know what requests do; [`crate::action::perform`] does, and reads and writes through [`Db`].

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot};

use crate::action::{self, Call, Reply};
use crate::config::{Checkpoint, Dispatch, RuntimeLock, Switches, Writer};
use crate::counter::Counters;
use crate::fragment::Fragments;
use crate::page::Renderer;
use crate::runtime_lock;
use crate::store::checkpoint::Checkpointer;
use crate::store::group::GroupWriter;
use crate::store::write::{Write, WriteOutcome};
use crate::store::{Access, Failure, Store, StoreOptions};

/// A pool of connections that threads borrow.
#[derive(Debug, Default)]
struct ConnectionPool {
    free: Mutex<Vec<Store>>,
    returned: Condvar,
}

impl ConnectionPool {
    fn open(options: &StoreOptions, access: Access, n: u16) -> Result<Self, Failure> {
        let free = (0..n).map(|_| Store::open(options, access)).collect::<Result<_, _>>()?;
        Ok(Self { free: Mutex::new(free), returned: Condvar::new() })
    }

    /// Runs `work` on a connection; waits for one if all are in use.
    fn with<R>(&self, work: impl FnOnce(&mut Store) -> R) -> R {
        let free = self.free.lock().pop();
        let mut store = free.unwrap_or_else(|| runtime_lock::release_during(|| self.wait()));
        let result = work(&mut store);
        self.free.lock().push(store);
        self.returned.notify_one();
        result
    }

    fn wait(&self) -> Store {
        let mut free = self.free.lock();
        loop {
            if let Some(store) = free.pop() {
                return store;
            }
            self.returned.wait(&mut free);
        }
    }
}

/// State shared by all requests of a process.
#[derive(Debug)]
struct Shared {
    switches: Switches,
    counters: Arc<Counters>,
    fragments: Fragments,
    /// Connections of requests without a thread of their own.
    connections: ConnectionPool,
    readers: Option<ConnectionPool>,
    writer: Option<GroupWriter>,
    /// Limits concurrent password digests, which are slow, to one per thread.
    passwords: Semaphore,
}

type Job = (Call, oneshot::Sender<Reply>);

/// Executes requests.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    queue: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Opens connections and starts threads as the switches say. The file must be prepared.
    ///
    /// # Errors
    /// A connection cannot be opened.
    pub fn start(data: &Path, switches: &Switches) -> Result<Self, Failure> {
        if switches.runtime_lock == RuntimeLock::Process {
            let slice = Duration::from_millis(switches.runtime_slice.into());
            runtime_lock::enable((!slice.is_zero()).then_some(slice)).map_err(|_| Failure::Stopped)?;
        }
        let counters = Arc::new(Counters::default());
        let mut options = StoreOptions::new(data, switches, Arc::clone(&counters));
        let checkpoint_thread = match switches.checkpoint {
            Checkpoint::Inline => None,
            Checkpoint::Background => {
                let (checkpointer, thread) = Checkpointer::start(&options, Arc::clone(&counters))?;
                options.checkpointer = Some(checkpointer);
                Some(thread)
            }
        };
        let mut threads = Vec::new();
        let writer = match switches.writer {
            Writer::Direct => None,
            Writer::Group => {
                let store = Store::open(&options, Access::Write)?;
                let (writer, thread) =
                    GroupWriter::start(store, Arc::clone(&counters)).map_err(|_| Failure::Stopped)?;
                threads.push(thread);
                Some(writer)
            }
        };
        let readers = match switches.reader_pool {
            0 => None,
            n => Some(ConnectionPool::open(&options, Access::Read, n)?),
        };
        let inline = switches.dispatch == Dispatch::Inline;
        let shared = Arc::new(Shared {
            switches: switches.clone(),
            fragments: Fragments::new(switches.fragment_cache.is_on(), Arc::clone(&counters)),
            counters,
            connections: ConnectionPool::open(
                &options,
                Access::Write,
                if inline { switches.threads } else { 0 },
            )?,
            readers,
            writer,
            passwords: Semaphore::new(switches.threads.into()),
        });
        let queue = if inline { None } else { Some(start_threads(&shared, &options, &mut threads)?) };
        // This thread ends when all connections are closed, so it is joined last.
        threads.extend(checkpoint_thread);
        Ok(Self { shared, queue, threads })
    }

    /// Executes one request.
    pub async fn run(&self, call: Call) -> Reply {
        let Some(queue) = &self.queue else {
            self.shared.counters.started.increment();
            return action::perform(call, &mut Db { shared: &self.shared, thread_connection: None }).await;
        };
        let (reply, result) = oneshot::channel();
        // If the thread has died, the reply is dropped and the receiver returns an error.
        let _ = queue.send((call, reply));
        result.await.unwrap_or_else(|_| Reply::failure(&Failure::Stopped))
    }

    /// The counters of the process.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Finishes queued requests, ends the threads and checkpoints the log.
    pub fn close(self) {
        let Self { shared, queue, threads } = self;
        drop(queue);
        // The writer's thread ends when the last handle is dropped; each other thread holds one until it ends.
        drop(shared);
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread of the engine had failed");
            }
        }
    }
}

/// Starts the threads of `dispatch = threads`. Each has a connection and takes the next request when it is free.
fn start_threads(
    shared: &Arc<Shared>,
    options: &StoreOptions,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<mpsc::Sender<Job>, Failure> {
    let (queue, jobs) = mpsc::channel::<Job>();
    let jobs = Arc::new(Mutex::new(jobs));
    for n in 0..shared.switches.threads {
        let mut store = Store::open(options, Access::Write)?;
        let (shared, jobs) = (Arc::clone(shared), Arc::clone(&jobs));
        let work = move || {
            loop {
                // In a separate statement, so that the lock is released before the work starts.
                let job = jobs.lock().recv();
                let Ok((call, reply)) = job else { break };
                let _lock = runtime_lock::lock();
                shared.counters.started.increment();
                let result = poll_ready(action::perform(
                    call,
                    &mut Db { shared: &shared, thread_connection: Some(&mut store) },
                ));
                let _ = reply.send(result.unwrap_or_else(|| Reply::failure(&Failure::Stopped)));
            }
        };
        let thread = std::thread::Builder::new().name(format!("request-{n}")).spawn(work);
        threads.push(thread.map_err(|_| Failure::Stopped)?);
    }
    Ok(queue)
}

/// The result of a future that never waits. On a thread of its own, a request blocks instead.
fn poll_ready<R>(future: impl Future<Output = R>) -> Option<R> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Database access of one request.
#[derive(Debug)]
pub struct Db<'a> {
    shared: &'a Shared,
    /// The connection of the thread, if the request has one.
    thread_connection: Option<&'a mut Store>,
}

impl Db<'_> {
    /// The switches.
    pub fn switches(&self) -> &Switches {
        &self.shared.switches
    }

    /// A renderer for pages without data.
    pub fn renderer(&self) -> Renderer<'_> {
        Renderer::new(self.shared.switches.render_cost, &self.shared.counters)
    }

    /// Runs reads and the rendering of their result.
    ///
    /// # Errors
    /// The database fails.
    pub fn read<R>(
        &mut self,
        work: impl FnOnce(ReadContext<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let _lock = runtime_lock::lock();
        let shared = self.shared;
        let with = |store: &Store| {
            let renderer = Renderer::new(shared.switches.render_cost, &shared.counters);
            work(ReadContext { store, renderer, fragments: &shared.fragments })
        };
        match (&shared.readers, &mut self.thread_connection) {
            (Some(readers), _) => readers.with(|store| store.in_snapshot(with)),
            (None, Some(thread_connection)) => with(thread_connection),
            (None, None) => shared.connections.with(|store| with(store)),
        }
    }

    /// Writes and waits for the commit: one transaction per change, or the group's transaction.
    ///
    /// # Errors
    /// The database is busy or failed.
    pub async fn write(&mut self, changes: Vec<Write>) -> Result<Vec<WriteOutcome>, Failure> {
        let Some(writer) = &self.shared.writer else { return self.write_direct(&changes) };
        let result = writer.submit(changes);
        let result = match self.thread_connection {
            Some(_) => runtime_lock::release_during(|| result.blocking_recv()),
            None => result.await,
        };
        result.unwrap_or(Err(Failure::Stopped))
    }

    fn write_direct(&mut self, writes: &[Write]) -> Result<Vec<WriteOutcome>, Failure> {
        let _lock = runtime_lock::lock();
        let all = |store: &mut Store| writes.iter().map(|write| store.write(write)).collect();
        match &mut self.thread_connection {
            Some(store) => all(store),
            None => self.shared.connections.with(all),
        }
    }

    /// Runs a long computation on a thread that serves no requests.
    ///
    /// # Errors
    /// The process is stopping.
    pub async fn compute<R: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Failure> {
        if self.thread_connection.is_some() {
            return Ok(work());
        }
        let _permit = self.shared.passwords.acquire().await.map_err(|_| Failure::Stopped)?;
        tokio::task::spawn_blocking(work).await.map_err(|_| Failure::Stopped)
    }
}

/// Resources of a request that reads.
#[derive(Debug, Clone, Copy)]
pub struct ReadContext<'a> {
    /// The connection.
    pub store: &'a Store,
    /// Renders pages.
    pub renderer: Renderer<'a>,
    /// The fragment cache.
    pub fragments: &'a Fragments,
}
