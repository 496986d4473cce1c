//! Runs a controller over NATS, and asks agents who they are.
//!
//! The copies of the records grow in files, which the caller merges meanwhile. Does not merge, and says nothing to people:
//! the caller does.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::{self, kv, object_store, stream};
use async_nats::{Client, Message};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::{ANSWER, JOBS, Link, LinkError, RUNS, monotonic, server, signed_headers, stream_name, stream_of};
use crate::controller::{Controller, Engaged, Failure, Input, Notice, Output, Request};
use crate::growing::Copies;
use crate::name::{AgentId, Incarnation, RunId};
use crate::signature::Signer;
use crate::wire::{Action, Beat, Digest, Event, Info, Order, Reply, StopLevel, Time, WIRE, header, subject};

/// How often time passes for the machine.
const TICK: Duration = Duration::from_millis(50);
/// How long answers of agents are collected in one look.
const LOOK: Duration = Duration::from_millis(400);
/// Before the stream is read again that could not be read.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// What a controller that takes over needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Saved {
    /// The run.
    pub run: RunId,
    /// Its agents.
    pub engaged: Vec<Engaged>,
    /// The highest lead so far.
    pub lead: u64,
    /// Whether the load has begun: before that there is nothing to take over.
    #[serde(default)]
    pub begun: bool,
    /// Which version of this the server has.
    #[serde(skip)]
    pub revision: u64,
    /// How long the load takes, in nanoseconds; `None` without an end in time.
    pub lasts: Option<knee_core::unit::Nanos>,
    /// What the program wants to know again.
    pub about: serde_json::Value,
}

/// A connection to a fleet, and whose orders it gets. Clones are the same.
#[derive(Clone)]
pub struct Fleet {
    client: Client,
    context: jetstream::Context,
    signer: Arc<Signer>,
}

/// A run of a fleet.
pub struct Load {
    /// What is to be done with which agents.
    pub request: Request,
    /// What a controller that takes over is to know of it.
    pub about: serde_json::Value,
}

/// What the caller does meanwhile.
pub trait Watcher {
    /// The agents are chosen: their records can be copied into this folder.
    fn engaged(&mut self, agents: &[Engaged], copies: &Copies);

    /// The job, as soon as it is made; an error if there is none. Called again until there is an answer.
    fn job(&mut self) -> Option<Result<Vec<u8>, String>>;

    /// The user should know this.
    fn notice(&mut self, notice: Notice);

    /// What the user wants.
    fn stop(&mut self) -> StopLevel;
}

/// Why a run of a fleet failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// NATS, or a file.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// There is no load.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// There is no such run to take over.
    #[error("there is no run `{0}` that can be taken over")]
    NoRun(RunId),
}

impl Fleet {
    /// Connects.
    ///
    /// # Errors
    /// If there is no connection to NATS.
    pub async fn connect(link: &Link, signer: Arc<Signer>) -> Result<Self, LinkError> {
        let client = link.connect("knee").await?;
        let context = jetstream::new(client.clone());
        Ok(Self { client, context, signer })
    }

    /// Who answers within `span`.
    ///
    /// # Errors
    /// If the question cannot be sent.
    pub async fn look(&self, span: Duration) -> Result<Vec<Info>, LinkError> {
        look(&self.client, span).await.map_err(server("the question"))
    }

    /// Ends the load of an agent, of any controller; `None` without an answer.
    pub async fn stop(&self, info: &Info, level: StopLevel) -> Option<Reply> {
        let run = info.run.clone()?;
        let errand = Errand {
            agent: info.agent.clone(),
            incarnation: info.incarnation.clone(),
            action: Action::Stop { level },
            run,
            lead: 0,
        };
        send_order(&self.client, &self.signer, errand, Some(info.challenge.clone())).await
    }

    /// The runs that can be taken over.
    ///
    /// # Errors
    /// If NATS refuses.
    pub async fn runs(&self) -> Result<Vec<Saved>, LinkError> {
        let Ok(bucket) = self.context.get_key_value(RUNS).await else { return Ok(Vec::new()) };
        let mut keys = bucket.keys().await.map_err(|error| server("the runs")(error.to_string()))?;
        let mut runs = Vec::new();
        while let Some(Ok(key)) = keys.next().await {
            if let Ok(Some(bytes)) = bucket.get(&key).await
                && let Ok(saved) = serde_json::from_slice(&bytes)
            {
                runs.push(saved);
            }
        }
        Ok(runs)
    }

    /// Makes a run, until all records have arrived or are given up.
    ///
    /// # Errors
    /// If there is no load, or NATS cannot be used at the start.
    pub async fn run(
        &self,
        Load { request, about }: Load,
        folder: PathBuf,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        stream_of(&self.context, &request.run).await?;
        let saved = Saved {
            run: request.run.clone(),
            engaged: Vec::new(),
            lead: 1,
            begun: false,
            revision: 0,
            lasts: request.lasts,
            about,
        };
        let controller = Controller::new(request, monotonic());
        self.conduct_or_stop(controller, Vec::new(), saved, folder, watcher).await
    }

    /// Takes over a run whose controller is gone.
    ///
    /// # Errors
    /// If there is no such run, or NATS cannot be used.
    pub async fn resume(
        &self,
        mut saved: Saved,
        request: Request,
        folder: PathBuf,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        saved.lead += 1;
        self.save(&mut saved).await?;
        let (controller, out) = Controller::resume(request, saved.engaged.clone(), saved.lead, monotonic());
        self.conduct_or_stop(controller, out, saved, folder, watcher).await
    }

    /// The saved state of a run.
    ///
    /// # Errors
    /// If there is none.
    pub async fn saved(&self, run: &RunId) -> Result<Saved, RunError> {
        let none = || RunError::NoRun(run.clone());
        let bucket = self.context.get_key_value(RUNS).await.map_err(|_| none())?;
        let entry = bucket.entry(run.as_str()).await.ok().flatten().ok_or_else(none)?;
        let saved: Saved = serde_json::from_slice(&entry.value).map_err(|_| none())?;
        if !saved.begun {
            return Err(none());
        }
        Ok(Saved { revision: entry.revision, ..saved })
    }

    /// Removes what NATS keeps of a run.
    pub async fn forget(&self, run: &RunId) {
        // What stays behind is removed by its age.
        let _ = self.context.delete_stream(stream_name(run)).await;
        if let Ok(bucket) = self.context.get_key_value(RUNS).await {
            let _ = bucket.purge(run.as_str()).await;
        }
        self.forget_job(run).await;
    }

    /// Removes the job, which can have passwords in its requests, as soon as all agents have it.
    async fn forget_job(&self, run: &RunId) {
        if let Ok(jobs) = self.context.get_object_store(JOBS).await {
            // What stays behind is removed by its age.
            let _ = jobs.delete(run.as_str()).await;
        }
    }

    async fn put_job(&self, run: &RunId, job: &[u8]) -> Result<Digest, LinkError> {
        let failed = server("the job");
        let config = object_store::Config {
            bucket: JOBS.to_owned(),
            max_age: super::KEPT,
            ..object_store::Config::default()
        };
        let jobs = match self.context.get_object_store(JOBS).await {
            Ok(jobs) => jobs,
            Err(_) => {
                self.context.create_object_store(config).await.map_err(|error| failed(error.to_string()))?
            }
        };
        let mut bytes = job;
        jobs.put(run.as_str(), &mut bytes).await.map_err(|error| failed(error.to_string()))?;
        Ok(Digest::of(job))
    }

    /// Keeps what another controller must know, unless another one has taken over since.
    async fn save(&self, saved: &mut Saved) -> Result<(), LinkError> {
        let failed = server("the state of the run");
        let bucket = match self.context.get_key_value(RUNS).await {
            Ok(bucket) => bucket,
            Err(_) => self.make_bucket().await.map_err(&failed)?,
        };
        let bytes = serde_json::to_vec(saved).map_err(|error| failed(error.to_string()))?;
        let kept = bucket.update(saved.run.as_str(), bytes.into(), saved.revision).await;
        saved.revision = kept.map_err(|error| failed(error.to_string()))?;
        Ok(())
    }

    /// Makes the bucket of runs as the library does it, but without its question for the account, whose answer by a server
    /// before 2.10 it cannot read.
    async fn make_bucket(&self) -> Result<kv::Store, String> {
        let config = stream::Config {
            name: format!("KV_{RUNS}"),
            subjects: vec![format!("$KV.{RUNS}.>")],
            max_messages_per_subject: 1,
            max_age: super::KEPT,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            discard: stream::DiscardPolicy::New,
            num_replicas: 1,
            ..stream::Config::default()
        };
        self.context.get_or_create_stream(config).await.map_err(|error| error.to_string())?;
        self.context.get_key_value(RUNS).await.map_err(|error| error.to_string())
    }

    /// Conducts the run. If that fails on this machine, no agent is left with its load.
    async fn conduct_or_stop(
        &self,
        controller: Controller,
        first: Vec<Output>,
        mut saved: Saved,
        folder: PathBuf,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        let conducted = self.conduct(controller, first, &mut saved, folder, watcher).await;
        if let Err(RunError::Link(_)) = &conducted {
            for action in [Action::Stop { level: StopLevel::Abort }, Action::Release] {
                let orders = saved.engaged.iter().map(|one| {
                    let (agent, incarnation) = (one.agent.clone(), one.incarnation.clone());
                    let (run, lead, action) = (saved.run.clone(), saved.lead, action.clone());
                    send_order(
                        &self.client,
                        &self.signer,
                        Errand { agent, incarnation, action, run, lead },
                        None,
                    )
                });
                // Who is not reached ends its load without a sign of life.
                join_all(orders).await;
            }
        }
        conducted
    }

    async fn conduct(
        &self,
        mut controller: Controller,
        first: Vec<Output>,
        saved: &mut Saved,
        folder: PathBuf,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        let (inbox, mut inputs) = unbounded_channel();
        let clock = subject::clock(&saved.run);
        let subscribed = self.client.subscribe(clock).await;
        let mut clock = subscribed.map_err(|error| server("a subject")(error.to_string()))?;
        let reading = tokio::spawn(read_stream(self.context.clone(), saved.run.clone(), inbox.clone()));
        let mut desk = Desk {
            saved,
            folder,
            copies: Copies::default(),
            orders: JoinSet::new(),
            inbox,
            job_wanted: false,
        };
        let _reading = AbortOnDrop(reading);
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        if !desk.saved.engaged.is_empty() {
            begin_copies(&desk.saved.engaged, &desk.copies, &desk.folder)
                .map_err(|error| desk.of_file(error))?;
            watcher.engaged(&desk.saved.engaged, &desk.copies);
        }
        let mut outputs = first;
        loop {
            for output in outputs {
                if let Some(done) = self.act(&mut desk, output, watcher).await? {
                    desk.copies.close_all();
                    // The last orders are on their way.
                    let _ = within(async { while desk.orders.join_next().await.is_some() {} }).await;
                    return Ok((done?, desk.copies));
                }
            }
            let input = tokio::select! {
                Some(message) = clock.next() => {
                    self.tell_time(message).await;
                    Input::Tick
                }
                Some(input) = inputs.recv() => input,
                _ = tick.tick() => match watcher.stop() {
                    StopLevel::None if self.client.connection_state() != State::Connected => Input::Offline,
                    StopLevel::None => Input::Tick,
                    level => Input::Stop(level),
                },
            };
            if desk.job_wanted
                && let Some(job) = watcher.job()
            {
                desk.job_wanted = false;
                let run = desk.saved.run.clone();
                self.spawn_job(&mut desk.orders, &desk.inbox, run, job);
            }
            outputs = controller.handle(monotonic(), input);
        }
    }

    /// Does what the machine says. Returns how the run ended, if it has.
    async fn act(
        &self,
        desk: &mut Desk<'_>,
        output: Output,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Result<Vec<Engaged>, Failure>>, LinkError> {
        match output {
            Output::Look => self.spawn_look(&desk.inbox),
            Output::Order { agent, incarnation, action } => {
                let (run, lead) = (desk.saved.run.clone(), desk.saved.lead);
                let errand = Errand { agent, incarnation, action, run, lead };
                self.spawn_order(&mut desk.orders, &desk.inbox, errand);
            }
            Output::Ask(agent) => self.spawn_ask(&desk.inbox, agent),
            Output::Beat(beat) => self.beat(&beat).await,
            Output::Save(engaged) => {
                begin_copies(&engaged, &desk.copies, &desk.folder).map_err(|error| desk.of_file(error))?;
                watcher.engaged(&engaged, &desk.copies);
                desk.saved.engaged = engaged;
                self.save(desk.saved).await?;
            }
            Output::MakeJob => desk.job_wanted = true,
            Output::Begun => {
                desk.saved.begun = true;
                self.spawn_begun(desk.saved);
            }
            Output::Append { agent, bytes } => {
                desk.copies.append(&agent, &bytes).map_err(|error| desk.of_file(error))?;
            }
            Output::Restart(agent) => desk.copies.restart(&agent).map_err(|error| desk.of_file(error))?,
            Output::Seal(agent) => spawn_seal(&desk.inbox, &desk.copies, agent),
            Output::Close(agent) => desk.copies.close(&agent),
            Output::Tell(notice) => watcher.notice(notice),
            Output::Finish(done) => return Ok(Some(done)),
        }
        Ok(None)
    }

    async fn tell_time(&self, message: Message) {
        let noted = monotonic();
        let Some(reply) = message.reply else { return };
        let time = Time { noted, replied: monotonic() };
        if let Ok(body) = serde_json::to_vec(&time) {
            // Who does not get the answer asks again.
            let _ = self.client.publish(reply, body.into()).await;
        }
    }

    async fn beat(&self, beat: &Beat) {
        let Ok(body) = serde_json::to_vec(beat) else { return };
        let headers = signed_headers(&self.signer, &body);
        // The next one follows.
        let _ = self.client.publish_with_headers(subject::beat(&beat.run), headers, body.into()).await;
    }

    fn spawn_look(&self, inbox: &UnboundedSender<Input>) {
        let (client, inbox) = (self.client.clone(), inbox.clone());
        tokio::spawn(
            async move { drop(inbox.send(Input::Found(look(&client, LOOK).await.unwrap_or_default()))) },
        );
    }

    fn spawn_ask(&self, inbox: &UnboundedSender<Input>, agent: AgentId) {
        let (client, inbox) = (self.client.clone(), inbox.clone());
        tokio::spawn(async move {
            let info = ask(&client, &agent).await.map(Box::new);
            drop(inbox.send(Input::Asked { agent, info }));
        });
    }

    /// Puts the job where agents can fetch it.
    fn spawn_job(
        &self,
        tasks: &mut JoinSet<()>,
        inbox: &UnboundedSender<Input>,
        run: RunId,
        job: Result<Vec<u8>, String>,
    ) {
        let (fleet, inbox) = (self.clone(), inbox.clone());
        // Who ends the run waits for it or cuts it off, so that nothing stays behind.
        tasks.spawn(async move {
            let put = match job {
                Ok(bytes) => fleet.put_job(&run, &bytes).await.map_err(|error| error.to_string()),
                Err(why) => Err(why),
            };
            drop(inbox.send(Input::Job(put)));
        });
    }

    /// Says that the run can be taken over now, and removes its job. The start does not wait for that.
    fn spawn_begun(&self, saved: &Saved) {
        let (fleet, mut saved) = (self.clone(), saved.clone());
        tokio::spawn(async move {
            // Without it, no other controller can take over.
            let _ = fleet.save(&mut saved).await;
            fleet.forget_job(&saved.run).await;
        });
    }

    fn spawn_order(&self, orders: &mut JoinSet<()>, inbox: &UnboundedSender<Input>, errand: Errand) {
        let (inbox, agent, action) = (inbox.clone(), errand.agent.clone(), errand.action.clone());
        let fleet = self.clone();
        orders.spawn(async move {
            let reply = send_order(&fleet.client, &fleet.signer, errand, None).await;
            drop(inbox.send(Input::Reply { agent, action, reply }));
        });
    }
}

/// What belongs to a run while it is conducted.
struct Desk<'r> {
    saved: &'r mut Saved,
    folder: PathBuf,
    copies: Copies,
    /// Orders on their way.
    orders: JoinSet<()>,
    inbox: UnboundedSender<Input>,
    /// Whether the job is being made.
    job_wanted: bool,
}

impl Desk<'_> {
    fn of_file(&self, error: std::io::Error) -> LinkError {
        LinkError::File { path: self.folder.display().to_string(), error }
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An order to be sent.
struct Errand {
    agent: AgentId,
    incarnation: Incarnation,
    action: Action,
    run: RunId,
    lead: u64,
}

fn begin_copies(engaged: &[Engaged], copies: &Copies, folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    engaged.iter().try_for_each(|one| copies.begin(&one.agent, &folder.join(format!("{}.knee", one.agent))))
}

fn spawn_seal(inbox: &UnboundedSender<Input>, copies: &Copies, agent: AgentId) {
    let (inbox, path) = (inbox.clone(), copies.path(&agent));
    tokio::task::spawn_blocking(move || {
        // A copy that cannot be read differs from the record.
        let bytes = path.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        drop(inbox.send(Input::Sealed { agent, digest: Digest::of(&bytes) }));
    });
}

async fn look(client: &Client, span: Duration) -> Result<Vec<Info>, String> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
    let asked = client.publish_with_reply(subject::ASK_ALL, inbox, Bytes::new()).await;
    asked.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let until = tokio::time::sleep(span);
    tokio::pin!(until);
    loop {
        tokio::select! {
            Some(message) = answers.next() => found.extend(serde_json::from_slice::<Info>(&message.payload)),
            () = &mut until => return Ok(found),
        }
    }
}

async fn within<T>(answer: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(ANSWER, answer).await.ok()
}

async fn ask(client: &Client, agent: &AgentId) -> Option<Info> {
    let answer = within(client.request(subject::ask(agent), Bytes::new())).await?.ok()?;
    serde_json::from_slice(&answer.payload).ok()
}

/// Asks for a challenge, unless there is one, and sends the signed order.
async fn send_order(
    client: &Client,
    signer: &Signer,
    errand: Errand,
    challenge: Option<String>,
) -> Option<Reply> {
    let challenge = match challenge {
        Some(challenge) => challenge,
        None => ask(client, &errand.agent).await?.challenge,
    };
    let Errand { agent, incarnation, action, run, lead } = errand;
    let to = subject::order(&agent);
    let order = Order { wire: WIRE, agent, incarnation, challenge, run, lead, action };
    let body = serde_json::to_vec(&order).ok()?;
    let headers = signed_headers(signer, &body);
    let answer = within(client.request_with_headers(to, headers, body.into())).await?.ok()?;
    serde_json::from_slice(&answer.payload).ok()
}

/// Reads the stream of a run from its beginning, again and again from where it broke off.
async fn read_stream(context: jetstream::Context, run: RunId, inbox: UnboundedSender<Input>) {
    let mut next = 1;
    loop {
        if inbox.is_closed() {
            return;
        }
        // The reason does not matter: while NATS is down, this is tried again.
        let _ = read_from(&context, &run, &mut next, &inbox).await;
        tokio::time::sleep(READ_AGAIN).await;
    }
}

async fn read_from(
    context: &jetstream::Context,
    run: &RunId,
    next: &mut u64,
    inbox: &UnboundedSender<Input>,
) -> Result<(), String> {
    let mut stream = stream_of(context, run).await.map_err(|error| error.to_string())?;
    let last = stream.info().await.map_err(|error| error.to_string())?.state.last_sequence;
    if last + 1 < *next {
        // The stream was lost and made again: what is in it now is new.
        *next = 1;
    }
    let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence: *next };
    let config = OrderedConfig { deliver_policy, ..OrderedConfig::default() };
    let consumer = stream.create_consumer(config).await.map_err(|error| error.to_string())?;
    let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
    while let Some(message) = messages.next().await {
        let message = message.map_err(|error| error.to_string())?;
        let sequence = message.info().map(|info| info.stream_sequence).map_err(|error| error.to_string())?;
        if let Some(input) = input_of(&message) {
            inbox.send(input).map_err(|error| error.to_string())?;
        }
        *next = sequence + 1;
    }
    Ok(())
}

fn input_of(message: &Message) -> Option<Input> {
    let (is_journal, agent, incarnation) = subject::sender(&message.subject)?;
    if !is_journal {
        let event: Event = serde_json::from_slice(&message.payload).ok()?;
        return Some(Input::Event { agent, incarnation, event });
    }
    let headers = message.headers.as_ref()?;
    let number = |name: &str| headers.get(name)?.as_str().parse::<u64>().ok();
    let (from, copy) = (number(header::OFFSET)?, u32::try_from(number(header::COPY)?).ok()?);
    Some(Input::Piece { agent, incarnation, copy, from, bytes: message.payload.clone() })
}
