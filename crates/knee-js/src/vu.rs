//! One VU: a script on its own stack, and the side of it that sends, waits and accounts for requests.
//!
//! Does not decide when an iteration is due, nor how many there are.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use knee_core::unit::Nanos;
use knee_engine::http::client::Client;
use knee_engine::http::transport::UserPool;
use knee_engine::timer::Timer;
use tokio::task::JoinSet;

use crate::batch_queue::{BatchLimits, BatchQueue, HostPlace};
use crate::op::{Call, Ended, Op, Reply};
use crate::program::Program;
use crate::runtime::fiber::Fiber;
use crate::runtime::thrown::Thrown;
use crate::state::State;
use crate::world::{self, Description, StateCell};
use knee_k6::errand::Errand;
use knee_k6::flight::Late;
use knee_k6::http::answer::Answer;
use knee_k6::http::request::Request;
use knee_k6::http::send::RequestSender;
use knee_k6::http::targets::Targets;

/// Why there is no VU.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No stack.
    #[error("cannot allocate a stack for a VU: {0}")]
    Stack(#[from] io::Error),
    /// The script cannot be compiled, or threw while it was evaluated.
    #[error("{0}")]
    Script(Thrown),
    /// The script asked for the end of the test while it was evaluated.
    #[error("{0}")]
    Aborted(String),
}

/// One VU.
pub struct Vu {
    fiber: Fiber<Reply, Op>,
    state: Rc<State>,
    sender: Option<Rc<RequestSender>>,
    /// The VU's connections, which all of its requests share, as in k6.
    connections: Option<Rc<UserPool>>,
    /// Clients that are not in use; the last one was used last.
    clients: Vec<Client>,
    /// Requests that the script does not wait for.
    begun: JoinSet<(u64, Box<Answer>, Client)>,
    /// Other work on the network that the script does not wait for.
    conversations: JoinSet<()>,
    /// How late the next request is.
    late: Rc<Cell<Late>>,
    /// Deadline of the current call.
    cut: Nanos,
}

impl Vu {
    /// Loads the script into a new VU; `number` is its `__VU`, 0 outside of scenarios.
    pub fn load(
        program: &Arc<Program>,
        targets: &Rc<Targets>,
        number: u64,
    ) -> Result<(Self, Description), LoadError> {
        let cell = StateCell::default();
        let (inner, program, targets) = (cell.clone(), program.clone(), targets.clone());
        let stack = program.surroundings.limits.stack;
        let mut fiber =
            Fiber::new(stack, move |link, _first| world::live(&program, targets, link, number, &inner))?;
        let first = fiber.resume(Reply::Go);
        let refused = |words: &str| LoadError::Script(Thrown::new(words));
        let state = cell.get().cloned().ok_or_else(|| refused("a VU did not start"))?;
        let description = match first {
            Some(Op::Rest(Ended::Returned(Some(json)))) => serde_json::from_str(&json).unwrap_or_default(),
            Some(Op::Rest(Ended::Thrown(thrown))) => {
                while fiber.resume(Reply::Quit).is_some() {}
                return Err(LoadError::Script(thrown));
            }
            Some(Op::Rest(Ended::Aborted(words))) => {
                while fiber.resume(Reply::Quit).is_some() {}
                return Err(LoadError::Aborted(words));
            }
            _ => return Err(refused("the script did not finish loading")),
        };
        let vu = Self {
            fiber,
            state,
            sender: None,
            connections: None,
            clients: Vec::new(),
            begun: JoinSet::new(),
            conversations: JoinSet::new(),
            late: Rc::default(),
            cut: Nanos::MAX,
        };
        Ok((vu, description))
    }

    /// The VU's state, shared with the script's functions.
    pub fn state(&self) -> &Rc<State> {
        &self.state
    }

    /// Assigns the VU to a worker.
    pub fn join(&mut self, sender: Rc<RequestSender>) {
        self.state.clock.set(sender.network.clock);
        self.state.observer.replace(sender.observer.clone());
        self.sender = Some(sender);
    }

    /// Closes the idle connections.
    pub fn close_idle(&self) {
        if let Some(connections) = &self.connections {
            connections.close_idle();
        }
    }

    /// Calls a function of the script and waits until it is over, or until `cut`.
    /// Its first request is late by `late`.
    pub async fn call(&mut self, call: Call, late: Late, cut: Nanos) -> Ended {
        let Some(sender) = self.sender.clone() else { return Ended::Cut };
        self.cut = cut;
        self.late.set(late);
        let mut reply = Reply::Call(call);
        let mut has_waited = false;
        loop {
            reply = match self.fiber.resume(reply) {
                Some(Op::Rest(ended)) => {
                    // Requests that no code waits for end with the iteration, and are accounted for as cut off.
                    self.begun.shutdown().await;
                    self.state.sockets.cut();
                    self.state.streams.clear();
                    self.state.event_streams.clear();
                    self.conversations.shutdown().await;
                    if !has_waited {
                        // Calls that never wait, one after the other, must not keep other VUs waiting.
                        tokio::task::yield_now().await;
                    }
                    return ended;
                }
                Some(op) => {
                    has_waited |= !matches!(op, Op::Begin(..) | Op::Start(..));
                    self.perform(&sender, op).await
                }
                None => return Ended::Cut,
            };
            // A request that succeeded was done before, so the clock need not be read.
            let in_time = matches!(&reply, Reply::Answer(answer) if answer.error.is_none());
            if self.cut != Nanos::MAX && !in_time && sender.timer.now() >= self.cut {
                reply = Reply::Quit;
            }
        }
    }

    async fn perform(&mut self, sender: &Rc<RequestSender>, op: Op) -> Reply {
        match op {
            Op::Fetch(request) => {
                let late = self.late.take();
                let mut client = self.client(sender);
                let answer = sender.send(&mut client, &request, late, self.cut).await;
                self.clients.push(client);
                Reply::Answer(answer)
            }
            // On the heap, like other rare operations: the future of every request has room for the largest one.
            Op::FetchAll(requests) => Reply::Answers(Box::pin(self.fetch_all(sender, requests)).await),
            Op::Begin(id, request) => {
                let late = self.late.take();
                let (sender, mut client, cut) = (sender.clone(), self.client(sender), self.cut);
                self.begun.spawn_local(async move {
                    let answer = sender.send(&mut client, &request, late, cut).await;
                    (id, answer, client)
                });
                Reply::Go
            }
            Op::Wait(work) => {
                work(self.errand(sender)).await;
                Reply::Go
            }
            Op::Start(work) => {
                // The work that has ended.
                while self.conversations.try_join_next().is_some() {}
                self.conversations.spawn_local(work(self.errand(sender)));
                Reply::Go
            }
            Op::Hear(id, until) => {
                Box::pin(self.hear(sender, until, |state| state.inbox.has(Some(id)))).await
            }
            Op::Until(is_so) => Box::pin(self.hear(sender, Nanos::MAX, |_| is_so.get())).await,
            Op::Flush(id) => {
                let is_flushed = |state: &State| state.sockets.find(id).is_none_or(|line| line.is_flushed());
                Box::pin(self.hear(sender, Nanos::MAX, is_flushed)).await
            }
            Op::Await(until) => Reply::Done(Box::pin(self.wait(sender, until)).await),
            Op::Sleep(until) => {
                sender.timer.sleep_until(until.min(self.cut)).await;
                Reply::Go
            }
            Op::Breathe => {
                tokio::task::yield_now().await;
                Reply::Go
            }
            // Handled by the caller; a script at rest asks for nothing.
            Op::Rest(_) => Reply::Quit,
        }
    }

    fn client(&mut self, sender: &RequestSender) -> Client {
        self.clients.pop().unwrap_or_else(|| {
            let made = || Rc::new(UserPool::new(sender.network.clone()));
            Client::new(self.connections.get_or_insert_with(made).clone())
        })
    }

    /// What other work on the network gets.
    fn errand(&self, sender: &Rc<RequestSender>) -> Errand {
        Errand { sender: sender.clone(), late: self.late.clone(), cut: self.cut }
    }

    /// Waits until enough happened, or until a time.
    async fn hear(
        &self,
        sender: &Rc<RequestSender>,
        until: Nanos,
        is_enough: impl Fn(&State) -> bool,
    ) -> Reply {
        let state = &self.state;
        let mut sleep = pin!(sender.timer.sleep_until(until.min(self.cut)));
        poll_fn(|ctx| {
            if state.inbox.poll_until(ctx, || is_enough(state)).is_ready() {
                return Poll::Ready(());
            }
            sleep.as_mut().poll(ctx)
        })
        .await;
        Reply::Go
    }

    /// Sends requests in parallel, within a batch's limits in total and per host.
    async fn fetch_all(
        &mut self,
        sender: &Rc<RequestSender>,
        requests: Vec<Rc<Request>>,
    ) -> Vec<Box<Answer>> {
        let http = self.state.http.borrow().clone();
        let limits = BatchLimits { total: http.batch, per_host: http.batch_per_host };
        let hosts = requests.iter().map(|request| request.target.origin.as_ref().ok().cloned());
        let mut queue = BatchQueue::new(hosts, limits);
        let mut under_way: JoinSet<(usize, HostPlace, Box<Answer>, Client)> = JoinSet::new();
        let mut answers: Vec<Option<Box<Answer>>> = requests.iter().map(|_| None).collect();
        loop {
            // What was not sent when the iteration ends is not sent any more.
            while self.cut == Nanos::MAX || sender.timer.now() < self.cut {
                let Some((number, host)) = queue.begin() else { break };
                let request = requests[number].clone();
                let late = self.late.take();
                let (sender, mut client, cut) = (sender.clone(), self.client(sender), self.cut);
                under_way.spawn_local(async move {
                    let answer = sender.send(&mut client, &request, late, cut).await;
                    (number, host, answer, client)
                });
            }
            match under_way.join_next().await {
                Some(Ok((number, host, answer, client))) => {
                    queue.end(host);
                    answers[number] = Some(answer);
                    self.clients.push(client);
                }
                // The panic was reported; the response is missing.
                Some(Err(_)) => {}
                None => return answers.into_iter().flatten().collect(),
            }
        }
    }

    /// Waits until a request that was begun is done, until something is in the inbox, or until a time.
    async fn wait(&mut self, sender: &Rc<RequestSender>, until: Nanos) -> Vec<(u64, Box<Answer>)> {
        let until = until.min(self.cut);
        let mut done = Vec::new();
        let timer = sender.timer.clone();
        let mut sleep = pin!(timer.sleep_until(until));
        let inbox = self.state.inbox.clone();
        let first = poll_fn(|ctx| {
            if let Poll::Ready(Some(joined)) = self.begun.poll_join_next(ctx) {
                return Poll::Ready(Some(joined));
            }
            if inbox.poll_until(ctx, || inbox.has(None)).is_ready() {
                return Poll::Ready(None);
            }
            sleep.as_mut().poll(ctx).map(|()| None)
        })
        .await;
        let mut next = first;
        while let Some(joined) = next {
            if let Ok((id, answer, client)) = joined {
                done.push((id, answer));
                self.clients.push(client);
            }
            next = self.begun.try_join_next();
        }
        done
    }
}

impl Drop for Vu {
    fn drop(&mut self) {
        // First ends the running call, then the script.
        while self.fiber.resume(Reply::Quit).is_some() {}
    }
}
