//! Runs an agent over NATS.
//!
//! One run at a time, in a process of its own, with a folder of its own for job and record. Records stay on the disk until
//! newer ones take their place.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::{Client, HeaderMap, Message, Subject, Subscriber};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt;
use knee_core::unit::Nanos;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::kept::{LogReader, RecordPiece, RunFolder, prune, record_piece};
use super::{ANSWER, Link, LinkError, job, monotonic, server, signature_of};
use crate::agent::{Agent, Identity, Input, Output};
use crate::child::{FromChild, Task, ToChild};
use crate::name::{AgentId, Incarnation, RunId};
use crate::offset::Exchange;
use crate::policy::{Extent, Policy};
use crate::uplink::Piece;
use crate::wire::{Digest, Event, Part, Refusal, Reply, Time, header, subject};

/// How often time passes for the machine, and the journal is looked at.
const TICK: Duration = Duration::from_millis(100);
/// An acknowledgement is waited for this long.
const ACK: Duration = Duration::from_secs(5);

/// What the agent needs from the program.
pub trait Program: Send + Sync + 'static {
    /// What a part of a job would load. Can take a while: it looks names up.
    ///
    /// # Errors
    /// If the job cannot be read or a name does not resolve, in words.
    fn extent(&self, job: &[u8], part: &Part) -> Result<Extent, String>;

    /// The command of the process that makes a part. It reads a [`Task`] on its standard input.
    ///
    /// # Errors
    /// If the program does not find itself.
    fn command(&self) -> io::Result<std::process::Command>;
}

/// What an agent is set up with.
pub struct Settings {
    /// The NATS server.
    pub link: Link,
    /// Who it is.
    pub identity: Identity,
    /// What it lets itself be used for.
    pub policy: Policy,
    /// Whose orders count.
    pub signers: Vec<String>,
    /// Where its runs are.
    pub folder: PathBuf,
}

/// What an agent says of itself, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It can be claimed.
    Waiting,
    /// It works for a run.
    Claimed(RunId),
    /// It is free again.
    Free,
}

/// Serves until `ended`.
///
/// # Errors
/// If there is no connection to NATS at the start, or the folder cannot be used.
pub async fn serve(
    settings: Settings,
    program: Arc<dyn Program>,
    say: fn(Notice),
    ended: impl Future<Output = ()>,
) -> Result<(), LinkError> {
    let Settings { link, identity, policy, signers, folder } = settings;
    let file = |error| LinkError::File { path: folder.display().to_string(), error };
    std::fs::create_dir_all(&folder).map_err(file)?;
    let client = link.connect(&format!("knee agent {}", identity.agent)).await?;
    let subscribe = |subject: String| {
        let client = client.clone();
        async move { client.subscribe(subject).await.map_err(|error| server("a subject")(error.to_string())) }
    };
    let mut asks_all = subscribe(subject::ASK_ALL.to_owned()).await?;
    let mut asks = subscribe(subject::ask(&identity.agent)).await?;
    let mut orders = subscribe(subject::order(&identity.agent)).await?;
    // Who asks from now on finds this agent.
    client.flush().await.map_err(|error| server("the connection")(error.to_string()))?;
    let (inbox, mut inputs) = unbounded_channel();
    let context = jetstream::new(client.clone());
    let (agent, incarnation) = (identity.agent.clone(), identity.incarnation.clone());
    let mut hands = Hands {
        client,
        context,
        program,
        agent,
        incarnation,
        folder,
        inbox,
        waiting: HashMap::new(),
        asked: 0,
        work: None,
        targets: policy.targets.iter().map(ToString::to_string).collect(),
        rate_max: policy.rate_max,
        say,
    };
    let mut machine = Agent::new(identity, policy, signers);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    say(Notice::Waiting);
    tokio::pin!(ended);
    loop {
        let input = tokio::select! {
            Some(message) = asks_all.next() => hands.ask(message),
            Some(message) = asks.next() => hands.ask(message),
            Some(message) = orders.next() => hands.order(message),
            Some(message) = next_beat(&mut hands.work) => Some(beat(&message)),
            // What is left of an earlier run is of no use.
            Some((run, input)) = inputs.recv() => (run.as_ref() == machine.run()).then_some(input),
            _ = tick.tick() => {
                if let Some(length) = hands.journal_length() {
                    hands.act(machine.handle(monotonic(), Input::Journal(length))).await;
                }
                Some(Input::Tick)
            }
            () = &mut ended => return Ok(()),
        };
        let Some(input) = input else { continue };
        // The last lines come before the end.
        if matches!(input, Input::Tick | Input::Child(_) | Input::ChildGone)
            && let Some(wrote) = hands.wrote()
        {
            hands.act(machine.handle(monotonic(), wrote)).await;
        }
        hands.act(machine.handle(monotonic(), input)).await;
    }
}

async fn next_beat(work: &mut Option<Work>) -> Option<Message> {
    match work.as_mut().and_then(|work| work.beats.as_mut()) {
        Some(beats) => beats.next().await,
        None => std::future::pending().await,
    }
}

fn beat(message: &Message) -> Input {
    Input::Beat { body: message.payload.to_vec(), signed: signature_of(message.headers.as_ref()) }
}

/// What belongs to one run.
struct Work {
    run: RunId,
    beats: Option<Subscriber>,
    folder: RunFolder,
    log: LogReader,
    part: Option<Part>,
    child: Option<(Child, ChildStdin)>,
}

/// Does what the machine says.
struct Hands {
    client: Client,
    context: jetstream::Context,
    program: Arc<dyn Program>,
    agent: AgentId,
    incarnation: Incarnation,
    folder: PathBuf,
    inbox: UnboundedSender<(Option<RunId>, Input)>,
    /// Whom to answer.
    waiting: HashMap<u64, Subject>,
    asked: u64,
    work: Option<Work>,
    /// Where scripts can send requests, and how many per second.
    targets: Vec<String>,
    rate_max: f64,
    say: fn(Notice),
}

impl Hands {
    /// Remembers whom to answer; `None` if the sender does not wait for it.
    fn wait(&mut self, reply: Option<Subject>) -> Option<u64> {
        self.asked += 1;
        self.waiting.insert(self.asked, reply?);
        Some(self.asked)
    }

    fn ask(&mut self, message: Message) -> Option<Input> {
        self.wait(message.reply).map(|to| Input::Ask { to })
    }

    fn order(&mut self, message: Message) -> Option<Input> {
        let signed = signature_of(message.headers.as_ref());
        let body = message.payload.to_vec();
        self.wait(message.reply).map(|to| Input::Order { body, signed, to })
    }

    fn journal_length(&self) -> Option<u64> {
        let record = self.work.as_ref()?.folder.record();
        std::fs::metadata(record).ok().map(|file| file.len())
    }

    async fn act(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Info { to, info } => self.answer(to, serde_json::to_vec(&info)).await,
                Output::Reply { to, reply } => self.answer(to, serde_json::to_vec(&reply)).await,
                Output::ReadRecord { to, run, from } => self.read_record(to, run, from),
                Output::Listen(run) => self.listen(run).await,
                Output::Fetch { job, part } => self.fetch(job, part),
                Output::Start => self.start().await,
                Output::Tell(line) => self.tell(&line).await,
                Output::AskTime { after } => self.ask_time(after),
                Output::Publish(piece) => self.publish(piece),
                Output::Announce(event) => self.announce(&event),
                Output::Kill => {
                    if let Some(work) = &mut self.work {
                        // Dropping it kills it.
                        work.child = None;
                    }
                }
                Output::Seal => self.seal(),
                Output::End => self.end(),
            }
        }
    }

    async fn answer(&mut self, to: u64, body: serde_json::Result<Vec<u8>>) {
        if let (Some(subject), Ok(body)) = (self.waiting.remove(&to), body) {
            // Who does not get the answer asks again.
            let _ = self.client.publish(subject, body.into()).await;
        }
    }

    fn read_record(&mut self, to: u64, run: RunId, from: u64) {
        let Some(subject) = self.waiting.remove(&to) else { return };
        let (client, folder) = (self.client.clone(), self.folder.clone());
        tokio::spawn(async move {
            let read = tokio::task::spawn_blocking(move || record_piece(&folder, &run, from)).await;
            let reply = match read {
                Ok(Some(RecordPiece { of, bytes })) => Reply::Record { of, bytes: STANDARD.encode(bytes) },
                _ => Reply::Refused { why: Refusal::NoRecord },
            };
            if let Ok(body) = serde_json::to_vec(&reply) {
                // Who does not get the answer asks again.
                let _ = client.publish(subject, body.into()).await;
            }
        });
    }

    /// What the process wrote since the last call.
    fn wrote(&mut self) -> Option<Input> {
        let work = self.work.as_mut()?;
        let (lines, more) = work.log.read(&work.folder.log());
        (!lines.is_empty()).then_some(Input::Wrote { lines, more })
    }

    async fn listen(&mut self, run: RunId) {
        (self.say)(Notice::Claimed(run.clone()));
        // Without signs of life the machine gives the run up.
        let beats = self.client.subscribe(subject::beat(&run)).await.ok();
        let folder = RunFolder::of(&self.folder, &run, &self.incarnation);
        self.work = Some(Work { run, beats, folder, log: LogReader::default(), part: None, child: None });
    }

    fn send(&self) -> impl Fn(Input) + Send + Sync + 'static {
        let (inbox, run) = (self.inbox.clone(), self.work.as_ref().map(|work| work.run.clone()));
        move |input| drop(inbox.send((run.clone(), input)))
    }

    fn fetch(&mut self, digest: Digest, part: Part) {
        let send = self.send();
        let Some(work) = &mut self.work else { return };
        work.part = Some(part.clone());
        let (path, folder, run) = (work.folder.job(), work.folder.clone(), work.run.clone());
        let (context, program) = (self.context.clone(), self.program.clone());
        tokio::spawn(async move {
            let fetched = match job::fetch(&context, &run, &digest).await {
                Ok(bytes) => {
                    let judged = tokio::task::spawn_blocking(move || {
                        folder
                            .create()
                            .and_then(|()| std::fs::write(&path, &bytes))
                            .map_err(|error| format!("{}: {error}", path.display()))?;
                        program.extent(&bytes, &part)
                    });
                    judged.await.unwrap_or_else(|_| Err("the job cannot be judged".to_owned()))
                }
                Err(why) => Err(why),
            };
            send(Input::Job(fetched));
        });
    }

    async fn start(&mut self) {
        if let Err(why) = self.started().await {
            self.send()(Input::Child(FromChild::Failed { why }));
        }
    }

    async fn started(&mut self) -> Result<(), String> {
        let send = self.send();
        let command = self.program.command().map_err(|error| error.to_string())?;
        let agent = self.agent.to_string();
        let Some(work) = &mut self.work else { return Ok(()) };
        let words = |error: io::Error| format!("its process cannot be started: {error}");
        let log = std::fs::File::create(work.folder.log()).map_err(words)?;
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().map_err(words)?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("its process has no pipes".to_owned());
        };
        let part = work.part.clone().ok_or("it has no part")?;
        let task = Task {
            job: work.folder.job().display().to_string(),
            record: work.folder.record().display().to_string(),
            part,
            run: work.run.to_string(),
            agent,
            targets: self.targets.clone(),
            rate_max: self.rate_max,
        };
        write_line(&mut stdin, &task).await.map_err(words)?;
        work.child = Some((child, stdin));
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(event) = serde_json::from_str(&line) {
                    send(Input::Child(event));
                }
            }
            send(Input::ChildGone);
        });
        Ok(())
    }

    async fn tell(&mut self, line: &ToChild) {
        if let Some((_, stdin)) = self.work.as_mut().and_then(|work| work.child.as_mut()) {
            // A process that is gone is noticed by the end of its output.
            let _ = write_line(stdin, line).await;
        }
    }

    fn ask_time(&self, after: Nanos) {
        let Some(work) = &self.work else { return };
        let (client, question, pass) = (self.client.clone(), subject::clock(&work.run), self.send());
        tokio::spawn(async move {
            tokio::time::sleep(after.into()).await;
            let sent = monotonic();
            let Ok(Ok(answer)) = tokio::time::timeout(ANSWER, client.request(question, Bytes::new())).await
            else {
                return;
            };
            let received = monotonic();
            if let Ok(Time { noted, replied }) = serde_json::from_slice(&answer.payload) {
                pass(Input::Clock(Exchange { sent, noted, replied, received }));
            }
        });
    }

    fn publish(&self, piece: Piece) {
        let Some(work) = &self.work else { return };
        let (record, send) = (work.folder.record(), self.send());
        let to = subject::journal(&work.run, &self.agent, &self.incarnation);
        let Piece { copy, from, to: end } = piece;
        let id = format!("{}/{copy}/{from}-{end}", self.incarnation);
        let context = self.context.clone();
        tokio::spawn(async move {
            let Ok(bytes) = read_piece(&record, from, end).await else { return };
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", id.as_str());
            headers.insert(header::OFFSET, from.to_string().as_str());
            headers.insert(header::COPY, copy.to_string().as_str());
            if published(&context, to, headers, bytes.into()).await {
                send(Input::Published(piece));
            }
        });
    }

    fn announce(&self, event: &Event) {
        let Some(work) = &self.work else { return };
        let to = subject::event(&work.run, &self.agent, &self.incarnation);
        let (number, context, send) = (event.number, self.context.clone(), self.send());
        let Ok(body) = serde_json::to_vec(event) else { return };
        let id = format!("{}/event/{number}", self.incarnation);
        tokio::spawn(async move {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", id.as_str());
            if published(&context, to, headers, body.into()).await {
                send(Input::Announced(number));
            }
        });
    }

    fn seal(&self) {
        let Some(work) = &self.work else { return };
        let (record, send) = (work.folder.record(), self.send());
        tokio::task::spawn_blocking(move || {
            // A record that was never begun is an empty one.
            let bytes = std::fs::read(&record).unwrap_or_default();
            send(Input::Sealed { length: bytes.len() as u64, digest: Digest::of(&bytes) });
        });
    }

    fn end(&mut self) {
        if let Some(work) = &self.work {
            // It can have passwords in its requests.
            let _ = std::fs::remove_file(work.folder.job());
        }
        // Dropping the process kills it if it still runs.
        self.work = None;
        prune(&self.folder);
        (self.say)(Notice::Free);
    }
}

async fn write_line(to: &mut ChildStdin, line: &impl serde::Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    to.write_all(&bytes).await?;
    to.flush().await
}

async fn read_piece(record: &Path, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut file = tokio::fs::File::open(record).await?;
    file.seek(io::SeekFrom::Start(from)).await?;
    let mut bytes = vec![0; (to - from) as usize];
    file.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Publishes to the stream; whether it is safe there.
async fn published(context: &jetstream::Context, to: String, headers: HeaderMap, body: Bytes) -> bool {
    let publish = async {
        match context.publish_with_headers(to, headers, body).await {
            Ok(ack) => ack.await.is_ok(),
            Err(_) => false,
        }
    };
    tokio::time::timeout(ACK, publish).await.unwrap_or(false)
}
