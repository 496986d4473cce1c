//! Runs a controller over NATS, and asks agents who they are.
//!
//! The copies of the records grow in files, which the caller merges meanwhile. Does not merge, and says nothing to people:
//! the caller does.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream;
use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::job::{self, KeptJob};
pub use super::order::FetchError;
use super::order::{Errand, ask, fetch, look, send_order, within};
use super::published::read_stream;
use super::{Link, LinkError, monotonic, server, signed_headers, stream_of};
use crate::controller::{Controller, Engaged, Failure, Input, Notice, Output, Request};
use crate::growing::Copies;
use crate::name::{AgentId, RunId};
use crate::signature::Signer;
use crate::wire::{Action, Beat, Digest, Info, Reply, StopLevel, Time, subject};

mod held;

/// How often time passes for the machine.
const TICK: Duration = Duration::from_millis(50);
/// How long answers of agents are collected in one look.
const LOOK: Duration = Duration::from_millis(400);

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
    /// Whether a controller has had it to its end: what is left can only be merged again.
    #[serde(default)]
    pub ended: bool,
    /// Which version of this the server has.
    #[serde(skip)]
    pub revision: u64,
    /// What scripts wrote up to this message of the stream was shown by the controller before.
    #[serde(skip)]
    pub shown: u64,
    /// How long the load takes, in nanoseconds; `None` without an end in time.
    pub lasts: Option<knee_core::unit::Nanos>,
    /// What the program wants to know again.
    pub about: serde_json::Value,
    /// The job, if it stays in NATS while the load is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<KeptJob>,
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
    /// Whether that controller needs the job: else it is removed when the load begins, because it can have passwords.
    pub keeps_job: bool,
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

    /// Who does what follows the load. A run does not finish before that is known.
    fn rest(&mut self) -> Rest;
}

/// Who does what follows the load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Not known yet: the script of a run that was taken over is being loaded.
    Unknown,
    /// This controller, if it still has the run then.
    Own,
    /// Another one that takes the run over, now or later: NATS keeps the run with its job.
    Left,
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
    /// Something failed on this machine while it had the run, so that it ended the load.
    #[error(transparent)]
    Broken(LinkError),
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

    /// Copies the record that an agent keeps of a run that is over into a file; returns its bytes.
    ///
    /// # Errors
    /// If the agent has none, refuses or does not answer, or the file cannot be written.
    pub async fn fetch(&self, info: &Info, run: &RunId, to: &mut File) -> Result<u64, FetchError> {
        fetch(&self.client, &self.signer, info, run, to).await
    }

    /// Makes a run, until all records have arrived or are given up.
    ///
    /// # Errors
    /// If there is no load, or NATS cannot be used at the start.
    pub async fn run(
        &self,
        Load { request, about, keeps_job }: Load,
        folder: PathBuf,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        stream_of(&self.context, &request.run).await?;
        let saved = Saved {
            run: request.run.clone(),
            engaged: Vec::new(),
            lead: 1,
            begun: false,
            ended: false,
            revision: 0,
            shown: 0,
            lasts: request.lasts,
            about,
            job: None,
        };
        let controller = Controller::new(request, monotonic());
        let desk = self.desk(saved, keeps_job, folder).await?;
        self.conduct_or_stop((controller, Vec::new()), desk, watcher).await
    }

    /// Takes over a run whose controller is gone. Signs of life go out at once: what the watcher loads of it can take long.
    ///
    /// # Errors
    /// If another controller has taken over meanwhile, or NATS cannot be used. Then agents and run are left alone.
    pub async fn resume(
        &self,
        mut saved: Saved,
        request: Request,
        folder: PathBuf,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        let mut stream = stream_of(&self.context, &saved.run).await?;
        saved.shown = stream.info().await.map_or(0, |info| info.state.last_sequence);
        saved.lead += 1;
        // All that can fail here fails before the run is touched, which another controller can have.
        let mut desk = self.desk(saved, true, folder).await?;
        desk.begin_copies()?;
        self.save(&mut desk.saved).await?;
        watcher.engaged(&desk.saved.engaged, &desk.copies);
        let (engaged, lead) = (desk.saved.engaged.clone(), desk.saved.lead);
        let machine = Controller::resume(request, engaged, lead, monotonic());
        self.conduct_or_stop(machine, desk, watcher).await
    }

    /// Conducts the run. If that fails on this machine, no agent is left with its load.
    async fn conduct_or_stop(
        &self,
        machine: (Controller, Vec<Output>),
        mut desk: Desk,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Engaged>, Copies), RunError> {
        let conducted = self.conduct(machine, &mut desk, watcher).await;
        let Desk { saved, copies, .. } = desk;
        match conducted {
            Ok(engaged) if watcher.rest() == Rest::Own => {
                self.end(&saved).await?;
                Ok((engaged, copies))
            }
            Ok(engaged) => {
                self.keeps(&saved).await?;
                Ok((engaged, copies))
            }
            Err(RunError::Link(error)) => {
                self.free(&saved).await;
                if !saved.begun {
                    return Err(error.into());
                }
                // Who has the run by now goes on with it.
                match watcher.rest() {
                    // A script that still loads here can be torn down by another controller.
                    Rest::Left | Rest::Unknown => self.keeps(&saved).await?,
                    Rest::Own => self.end(&saved).await?,
                }
                Err(RunError::Broken(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the loads of the agents, unless they work for another controller by now.
    async fn free(&self, saved: &Saved) {
        for action in [Action::Stop { level: StopLevel::Abort }, Action::Release] {
            let orders = saved.engaged.iter().map(|one| {
                let (agent, incarnation) = (one.agent.clone(), one.incarnation.clone());
                let (run, lead, action) = (saved.run.clone(), saved.lead, action.clone());
                let errand = Errand { agent, incarnation, action, run, lead };
                send_order(&self.client, &self.signer, errand, None)
            });
            // Who is not reached ends its load without a sign of life.
            join_all(orders).await;
        }
    }

    /// What a run needs while it is conducted.
    async fn desk(&self, saved: Saved, keeps_job: bool, folder: PathBuf) -> Result<Desk, LinkError> {
        let (inbox, inputs) = unbounded_channel();
        let subscribed = self.client.subscribe(subject::clock(&saved.run)).await;
        let clock = subscribed.map_err(|error| server("a subject")(error.to_string()))?;
        let reading = read_stream(self.context.clone(), saved.run.clone(), saved.shown, inbox.clone());
        Ok(Desk {
            saved,
            keeps_job,
            folder,
            copies: Copies::default(),
            orders: JoinSet::new(),
            clock,
            inbox,
            inputs,
            reading: AbortOnDrop(tokio::spawn(reading)),
            job_wanted: false,
            loading: true,
        })
    }

    async fn conduct(
        &self,
        (mut controller, first): (Controller, Vec<Output>),
        desk: &mut Desk,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Engaged>, RunError> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut outputs = first;
        loop {
            for output in outputs {
                if let Some(done) = self.act(desk, output, watcher).await? {
                    desk.copies.close_all();
                    // The last orders are on their way.
                    let _ = within(async { while desk.orders.join_next().await.is_some() {} }).await;
                    return Ok(done?);
                }
            }
            let input = tokio::select! {
                Some(message) = desk.clock.next() => {
                    self.tell_time(message).await;
                    Input::Tick
                }
                Some(input) = desk.inputs.recv() => input,
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
            if let Input::Job(Ok(digest)) = &input
                && desk.keeps_job
            {
                desk.saved.job = self.sign_job(&desk.saved.run, digest);
            }
            outputs = Vec::new();
            if desk.loading && watcher.rest() != Rest::Unknown {
                desk.loading = false;
                outputs = controller.handle(monotonic(), Input::Loaded);
            }
            outputs.append(&mut controller.handle(monotonic(), input));
        }
    }

    /// Does what the machine says. Returns how the run ended, if it has.
    async fn act(
        &self,
        desk: &mut Desk,
        output: Output,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Result<Vec<Engaged>, Failure>>, RunError> {
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
                desk.saved.engaged = engaged;
                desk.begin_copies()?;
                watcher.engaged(&desk.saved.engaged, &desk.copies);
                self.save(&mut desk.saved).await?;
            }
            Output::MakeJob => desk.job_wanted = true,
            Output::Begun => {
                desk.saved.begun = true;
                self.spawn_begun(&desk.saved);
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
                Ok(bytes) => job::put(&fleet.context, &run, &bytes).await.map_err(|error| error.to_string()),
                Err(why) => Err(why),
            };
            drop(inbox.send(Input::Job(put)));
        });
    }

    /// Says that the run can be taken over now, and removes its job if that does not need it. The start does not wait for
    /// that.
    fn spawn_begun(&self, saved: &Saved) {
        let (fleet, mut saved) = (self.clone(), saved.clone());
        tokio::spawn(async move {
            // Without it, no other controller can take over.
            let _ = fleet.save(&mut saved).await;
            if saved.job.is_none() {
                job::forget(&fleet.context, &saved.run).await;
            }
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
struct Desk {
    saved: Saved,
    /// Whether a controller that takes over needs the job.
    keeps_job: bool,
    folder: PathBuf,
    copies: Copies,
    /// Orders on their way.
    orders: JoinSet<()>,
    /// Questions for the time.
    clock: Subscriber,
    inbox: UnboundedSender<Input>,
    inputs: UnboundedReceiver<Input>,
    #[allow(dead_code, reason = "it reads as long as it lives")]
    reading: AbortOnDrop,
    /// Whether the job is being made.
    job_wanted: bool,
    /// Whether what follows the load is not known yet.
    loading: bool,
}

impl Desk {
    fn of_file(&self, error: std::io::Error) -> LinkError {
        LinkError::File { path: self.folder.display().to_string(), error }
    }

    /// Begins the copies of the records of all agents.
    fn begin_copies(&self) -> Result<(), LinkError> {
        let begin =
            |one: &Engaged| self.copies.begin(&one.agent, &self.folder.join(format!("{}.knee", one.agent)));
        let folder = std::fs::create_dir_all(&self.folder);
        folder
            .and_then(|()| self.saved.engaged.iter().try_for_each(begin))
            .map_err(|error| self.of_file(error))
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn spawn_seal(inbox: &UnboundedSender<Input>, copies: &Copies, agent: AgentId) {
    let (inbox, path) = (inbox.clone(), copies.path(&agent));
    tokio::task::spawn_blocking(move || {
        // A copy that cannot be read differs from the record.
        let bytes = path.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        drop(inbox.send(Input::Sealed { agent, digest: Digest::of(&bytes) }));
    });
}
