//! Which thread and which connection a request gets: the switches `dispatch`, `threads`, `writer` and `reader_pool`.
//!
//! Does not know what requests do; [`crate::action::perform`] does, and asks for reads and writes through [`Db`].

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
use crate::store::write::{Write, Written};
use crate::store::{Access, Failure, Opening, Store};

/// Connections that threads take and put back.
#[derive(Debug, Default)]
struct Shelf {
    free: Mutex<Vec<Store>>,
    returned: Condvar,
}

impl Shelf {
    fn open(opening: &Opening, access: Access, n: u16) -> Result<Self, Failure> {
        let free = (0..n).map(|_| Store::open(opening, access)).collect::<Result<_, _>>()?;
        Ok(Self { free: Mutex::new(free), returned: Condvar::new() })
    }

    /// Runs `work` on a connection, after a wait for one if all are taken.
    fn with<R>(&self, work: impl FnOnce(&mut Store) -> R) -> R {
        let free = self.free.lock().pop();
        let mut store = free.unwrap_or_else(|| runtime_lock::give_away(|| self.wait()));
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

/// What all requests of a process share.
#[derive(Debug)]
struct Shared {
    switches: Switches,
    counters: Arc<Counters>,
    fragments: Fragments,
    /// For requests without a thread of their own.
    own: Shelf,
    readers: Option<Shelf>,
    writer: Option<GroupWriter>,
    /// Passwords take long: at most one for each thread at a time.
    passwords: Semaphore,
}

type Job = (Call, oneshot::Sender<Reply>);

/// Carries requests out.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    queue: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Opens connections and starts threads as the switches say. The file has to be prepared.
    ///
    /// # Errors
    /// A connection cannot be opened.
    pub fn start(data: &Path, switches: &Switches) -> Result<Self, Failure> {
        if switches.runtime_lock == RuntimeLock::Process {
            let slice = Duration::from_millis(switches.runtime_slice.into());
            runtime_lock::enable((!slice.is_zero()).then_some(slice)).map_err(|_| Failure::Stopped)?;
        }
        let counters = Arc::new(Counters::default());
        let mut opening = Opening::new(data, switches, Arc::clone(&counters));
        let checkpoints = match switches.checkpoint {
            Checkpoint::Inline => None,
            Checkpoint::Background => {
                let (checkpointer, thread) = Checkpointer::start(&opening, Arc::clone(&counters))?;
                opening.checkpointer = Some(checkpointer);
                Some(thread)
            }
        };
        let mut threads = Vec::new();
        let writer = match switches.writer {
            Writer::Direct => None,
            Writer::Group => {
                let store = Store::open(&opening, Access::Write)?;
                let (writer, thread) =
                    GroupWriter::start(store, Arc::clone(&counters)).map_err(|_| Failure::Stopped)?;
                threads.push(thread);
                Some(writer)
            }
        };
        let readers = match switches.reader_pool {
            0 => None,
            n => Some(Shelf::open(&opening, Access::Read, n)?),
        };
        let inline = switches.dispatch == Dispatch::Inline;
        let shared = Arc::new(Shared {
            switches: switches.clone(),
            fragments: Fragments::new(switches.fragment_cache.is_on(), Arc::clone(&counters)),
            counters,
            own: Shelf::open(&opening, Access::Write, if inline { switches.threads } else { 0 })?,
            readers,
            writer,
            passwords: Semaphore::new(switches.threads.into()),
        });
        let queue = if inline { None } else { Some(start_threads(&shared, &opening, &mut threads)?) };
        // It ends when all connections are closed, so it is the last one to wait for.
        threads.extend(checkpoints);
        Ok(Self { shared, queue, threads })
    }

    /// Carries out one request.
    pub async fn run(&self, call: Call) -> Reply {
        let Some(queue) = &self.queue else {
            self.shared.counters.begun.one();
            return action::perform(call, &mut Db { shared: &self.shared, own: None }).await;
        };
        let (reply, answer) = oneshot::channel();
        // A thread that died drops the reply, and the receiver says so.
        let _ = queue.send((call, reply));
        answer.await.unwrap_or_else(|_| Reply::failure(&Failure::Stopped))
    }

    /// What the process has counted.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Ends the threads after what they have been given, and empties the log into the file.
    pub fn close(self) {
        let Self { shared, queue, threads } = self;
        drop(queue);
        // The writer's thread ends when the last way to it is gone; the other threads hold one each until they end.
        drop(shared);
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread of the engine had failed");
            }
        }
    }
}

/// The threads of `dispatch = threads`: each has a connection, and takes a request when it is free.
fn start_threads(
    shared: &Arc<Shared>,
    opening: &Opening,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<mpsc::Sender<Job>, Failure> {
    let (queue, jobs) = mpsc::channel::<Job>();
    let jobs = Arc::new(Mutex::new(jobs));
    for n in 0..shared.switches.threads {
        let mut store = Store::open(opening, Access::Write)?;
        let (shared, jobs) = (Arc::clone(shared), Arc::clone(&jobs));
        let work = move || {
            loop {
                // In a statement of its own, so that the lock is free before the work begins.
                let job = jobs.lock().recv();
                let Ok((call, reply)) = job else { break };
                let _held = runtime_lock::hold();
                shared.counters.begun.one();
                let answer =
                    at_once(action::perform(call, &mut Db { shared: &shared, own: Some(&mut store) }));
                let _ = reply.send(answer.unwrap_or_else(|| Reply::failure(&Failure::Stopped)));
            }
        };
        let thread = std::thread::Builder::new().name(format!("request-{n}")).spawn(work);
        threads.push(thread.map_err(|_| Failure::Stopped)?);
    }
    Ok(queue)
}

/// The result of a future that never waits: on a thread of its own, a request blocks instead.
fn at_once<R>(future: impl Future<Output = R>) -> Option<R> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// What a request may ask for.
#[derive(Debug)]
pub struct Db<'a> {
    shared: &'a Shared,
    /// The connection of the thread, when the request has one.
    own: Option<&'a mut Store>,
}

impl Db<'_> {
    /// The switches.
    pub fn switches(&self) -> &Switches {
        &self.shared.switches
    }

    /// For a page that needs nothing of the database.
    pub fn renderer(&self) -> Renderer<'_> {
        Renderer::new(self.shared.switches.render_cost, &self.shared.counters)
    }

    /// Reads, and makes of it what needs no waiting.
    ///
    /// # Errors
    /// Of the database.
    pub fn read<R>(&mut self, work: impl FnOnce(Reading<'_>) -> Result<R, Failure>) -> Result<R, Failure> {
        let _held = runtime_lock::hold();
        let shared = self.shared;
        let with = |store: &Store| {
            let renderer = Renderer::new(shared.switches.render_cost, &shared.counters);
            work(Reading { store, renderer, fragments: &shared.fragments })
        };
        match (&shared.readers, &mut self.own) {
            (Some(readers), _) => readers.with(|store| store.in_snapshot(with)),
            (None, Some(own)) => with(own),
            (None, None) => shared.own.with(|store| with(store)),
        }
    }

    /// Writes, and returns when it is committed: one transaction for each change, or whatever the group is given.
    ///
    /// # Errors
    /// The database is busy or failed.
    pub async fn write(&mut self, changes: Vec<Write>) -> Result<Vec<Written>, Failure> {
        let Some(writer) = &self.shared.writer else { return self.write_direct(&changes) };
        let answer = writer.submit(changes);
        let answer = match self.own {
            Some(_) => runtime_lock::give_away(|| answer.blocking_recv()),
            None => answer.await,
        };
        answer.unwrap_or(Err(Failure::Stopped))
    }

    fn write_direct(&mut self, writes: &[Write]) -> Result<Vec<Written>, Failure> {
        let _held = runtime_lock::hold();
        let all = |store: &mut Store| writes.iter().map(|write| store.write(write)).collect();
        match &mut self.own {
            Some(own) => all(own),
            None => self.shared.own.with(all),
        }
    }

    /// Computes something long, on a thread where nobody waits for it.
    ///
    /// # Errors
    /// The process is stopping.
    pub async fn compute<R: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Failure> {
        if self.own.is_some() {
            return Ok(work());
        }
        let _permit = self.shared.passwords.acquire().await.map_err(|_| Failure::Stopped)?;
        tokio::task::spawn_blocking(work).await.map_err(|_| Failure::Stopped)
    }
}

/// What is at hand while a request reads.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The connection.
    pub store: &'a Store,
    /// For the pages.
    pub renderer: Renderer<'a>,
    /// What was rendered before.
    pub fragments: &'a Fragments,
}
