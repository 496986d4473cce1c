//! The simulated world: time, clocks, the network, a server with a stream, agents with their processes, controllers.
//!
//! Everything goes through the server, as with NATS: messages that are not kept can be lost, repeated and late; what is in
//! the stream is there, and an acknowledgement can be lost.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use bytes::Bytes;
use knee_core::clock::MonotonicClock;
use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_fleet::agent::{Agent, Identity, Input as AgentInput, Output as AgentOutput};
use knee_fleet::child::{FromChild, ToChild};
use knee_fleet::controller::{Controller, Engaged, Failure, Input, Notice, Output, Request, Wanted};
use knee_fleet::name::{AgentId, Incarnation, RunId};
use knee_fleet::offset::Exchange;
use knee_fleet::policy::{Destination, Extent, Policy};
use knee_fleet::signature::{Signed, Signer};
use knee_fleet::wire::{
    Action, Beat, Digest, Event as AgentEvent, Info, Order, Refusal, Reply, Said, StopLevel, Stopped, WIRE,
};

/// No world lasts longer.
const END: Nanos = Nanos::from_secs(600);
const ANSWER: Nanos = Nanos::from_secs(2);
const LOOK: Nanos = Nanos::from_millis(400);

/// What happens to the world.
#[derive(Clone, Debug)]
pub enum Fault {
    /// An agent and its process die.
    Kill(String),
    /// No message reaches or leaves an agent for a while.
    Cut(String, Nanos),
    /// The server is away for a while; its stream stays.
    ServerDown(Nanos),
    /// The controller dies.
    KillController,
    /// The controller does nothing until this time.
    Freeze(Nanos),
    /// Another controller takes over.
    Resume,
    /// A person ends the load.
    Stop(StopLevel),
    /// The end of an agent's record is written again with other content.
    Rewrite(String),
    /// The disk of an agent is full: its record loses what was written last, and grows no more.
    DiskFull(String),
    /// The first controller releases its agents.
    OrderOfTheFirst,
}

#[derive(Clone, Debug)]
enum Step {
    TickAgent(usize),
    TickController(usize),
    Loaded(usize),
    Line(usize),
    JobMade(usize),
    ChildReady(usize),
    ChildStarted(usize, Nanos),
    AskTime(usize),
    ToAgent(usize, ToAgent),
    ToController(usize, ToController),
    Store(usize, Kept),
    Acked(usize, Ack),
    Timeout(u64),
    Fault(Fault),
}

#[derive(Clone, Debug)]
enum ToAgent {
    Ask(u64),
    Order(u64, Vec<u8>, Signed),
    Beat(Vec<u8>, Signed, u64),
    Time(Nanos, Nanos, Nanos),
}

#[derive(Clone, Debug)]
enum ToController {
    Info(u64, Box<Info>),
    Reply(u64, Reply),
    Clock(usize, Nanos),
    Kept(usize),
}

#[derive(Clone, Debug)]
struct Kept {
    id: String,
    agent: AgentId,
    incarnation: Incarnation,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Piece { copy: u32, from: u64, bytes: Bytes },
    Event(AgentEvent),
}

#[derive(Clone, Debug)]
enum Ack {
    Piece(knee_fleet::uplink::Piece),
    Event(u64),
}

#[derive(Clone, Debug)]
enum Pending {
    Look { controller: usize, found: Vec<Info> },
    Ask { controller: usize, agent: AgentId },
    Challenge { controller: usize, errand: Errand },
    Order { controller: usize, agent: AgentId, action: Action },
}

#[derive(Clone, Debug)]
struct Errand {
    agent: AgentId,
    incarnation: Incarnation,
    action: Action,
    lead: u64,
}

struct SimAgent {
    name: String,
    machine: Agent,
    incarnation: Incarnation,
    /// Its clock: true time plus this, and so many parts per million faster.
    offset: i64,
    drift: i64,
    alive: bool,
    cut_until: Nanos,
    journal: Vec<u8>,
    disk_full: bool,
    lines: u64,
    started: Option<Nanos>,
    stop: StopLevel,
    running: bool,
    ended: Option<Nanos>,
}

struct SimController {
    machine: Controller,
    lead: u64,
    offset: i64,
    alive: bool,
    frozen_until: Nanos,
    read: usize,
    copies: BTreeMap<String, Vec<u8>>,
    lost: BTreeSet<String>,
    finished: Option<Result<Vec<Engaged>, Failure>>,
}

/// A simulated fleet. Set its fields before it runs.
pub struct World {
    /// The agent whose script ends the test after a second.
    pub ends_test: Option<usize>,
    /// How long a controller that takes over loads its script.
    pub loads_for: Nanos,
    /// Whether there is no job: `setup` failed.
    pub no_job: bool,
    /// What everything random is made of.
    pub seed: u64,
    /// Share of messages that are lost, or come twice.
    pub loss: f64,
    /// See above.
    pub repeats: f64,
    /// Longest time that a message takes one way.
    pub delay_max: Nanos,
    /// How long the load takes.
    pub load: Nanos,
    /// Whether the plan has an end in time.
    pub tells_duration: bool,
    /// The ceiling of the agents.
    pub duration_max: Nanos,
    /// Which agents are wanted.
    pub wanted: Wanted,
    /// Agents whose targets do not include the job's.
    pub forbidden: Vec<String>,
    /// What happens, and when.
    pub faults: Vec<(Nanos, Fault)>,
    /// How the last controller ended.
    pub finished: Option<Result<Vec<Engaged>, Failure>>,
    /// The copies of the last controller.
    pub copies: BTreeMap<String, Vec<u8>>,
    /// Agents that it gave up.
    pub lost: Vec<String>,
    /// What its user was to know.
    pub notices: Vec<Notice>,
    /// Orders that were refused because another controller had taken over.
    pub refused_for_lead: u64,
    /// Signs of life of a controller that is no longer the last.
    pub stale_beats: u64,
    /// CPU time, or at least time, that the state machines of controllers took.
    pub controller_took: Nanos,
    /// Messages that reached controllers.
    pub to_controller: u64,
    /// How often the journal of a load grows.
    pub line_every: Nanos,
    count: u32,
    random: u64,
    now: Nanos,
    steps: BinaryHeap<std::cmp::Reverse<(Nanos, u64)>>,
    bodies: HashMap<u64, Step>,
    numbers: u64,
    agents: Vec<SimAgent>,
    controllers: Vec<SimController>,
    signer: Signer,
    run: RunId,
    server_down_until: Nanos,
    stream: Vec<Kept>,
    known: HashSet<String>,
    pending: HashMap<u64, Pending>,
    saved: Vec<Engaged>,
    starts: BTreeMap<String, Nanos>,
}

impl World {
    /// `count` agents with the names a1, a2 and so on.
    pub fn new(seed: u64, count: u32) -> Self {
        let signer = Signer::random();
        Self {
            seed,
            loss: 0.0,
            repeats: 0.0,
            delay_max: Nanos::from_millis(5),
            load: Nanos::from_secs(12),
            tells_duration: true,
            duration_max: Nanos::from_secs(3_600),
            wanted: Wanted::Count { count, fleet: None },
            forbidden: Vec::new(),
            faults: Vec::new(),
            finished: None,
            copies: BTreeMap::new(),
            lost: Vec::new(),
            notices: Vec::new(),
            refused_for_lead: 0,
            stale_beats: 0,
            controller_took: Nanos::ZERO,
            to_controller: 0,
            line_every: Nanos::from_millis(100),
            count,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5EED,
            now: Nanos::ZERO,
            steps: BinaryHeap::new(),
            bodies: HashMap::new(),
            numbers: 0,
            agents: Vec::new(),
            controllers: Vec::new(),
            signer,
            run: "run-1".parse().unwrap(),
            server_down_until: Nanos::ZERO,
            stream: Vec::new(),
            known: HashSet::new(),
            pending: HashMap::new(),
            saved: Vec::new(),
            starts: BTreeMap::new(),
            ends_test: None,
            no_job: false,
            loads_for: Nanos::ZERO,
        }
    }

    /// When each agent that began sent its last line.
    pub fn last_lines(&self) -> Vec<Nanos> {
        self.agents.iter().filter_map(|agent| agent.ended).collect()
    }

    /// Whether an agent that died worked for a run then.
    pub fn dead_is_busy(&self, name: &str) -> bool {
        self.agents[self.agent(name)].machine.run().is_some()
    }

    /// How many agents work for a run.
    pub fn busy(&self) -> usize {
        self.agents.iter().filter(|agent| agent.machine.run().is_some()).count()
    }

    fn add_agent(&mut self, name: &str) {
        let incarnation = Incarnation::random();
        let identity = Identity {
            agent: name.parse().unwrap(),
            incarnation: incarnation.clone(),
            fleet: None,
            build: Build::default(),
            machine: Machine::default(),
        };
        let policy = Policy {
            targets: vec!["service".parse().unwrap()],
            rate_max: 1e9,
            users_max: 1_000,
            duration_max: self.duration_max,
        };
        let offset = 5_000_000_000_000 + self.below(2_000_000_000_000).cast_signed();
        let drift = self.below(100).cast_signed() - 50;
        self.agents.push(SimAgent {
            name: name.to_owned(),
            machine: Agent::new(identity, policy, vec![self.signer.public()]),
            incarnation,
            offset,
            drift,
            alive: true,
            cut_until: Nanos::ZERO,
            journal: Vec::new(),
            disk_full: false,
            lines: 0,
            started: None,
            stop: StopLevel::None,
            running: false,
            ended: None,
        });
    }

    // Randomness: splitmix64 (Steele, Lea and Flood 2014).

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && (self.next() as f64 / u64::MAX as f64) < share
    }

    fn delay(&mut self) -> Nanos {
        let most = self.delay_max.0;
        Nanos(50_000 + self.below(most))
    }

    // Time.

    fn agent_clock(&self, agent: usize) -> Nanos {
        let SimAgent { offset, drift, .. } = &self.agents[agent];
        let now = self.now.0.cast_signed();
        Nanos((now + offset + now / 1_000_000 * drift).cast_unsigned())
    }

    /// The true time at which an agent's clock reads `at`.
    fn true_time(&self, agent: usize, at: Nanos) -> Nanos {
        let SimAgent { offset, drift, .. } = &self.agents[agent];
        let rough = at.0.cast_signed() - offset;
        Nanos((rough - rough / 1_000_000 * drift).max(0).cast_unsigned())
    }

    fn controller_clock(&self, controller: usize) -> Nanos {
        Nanos((self.now.0.cast_signed() + self.controllers[controller].offset).cast_unsigned())
    }

    fn at(&mut self, at: Nanos, step: Step) {
        self.numbers += 1;
        self.steps.push(std::cmp::Reverse((at.max(self.now), self.numbers)));
        self.bodies.insert(self.numbers, step);
    }

    // The network.

    fn is_cut(&self, agent: usize) -> bool {
        let agent = &self.agents[agent];
        !agent.alive || self.now < agent.cut_until
    }

    fn server_is_down(&self) -> bool {
        self.now < self.server_down_until
    }

    /// Sends a message that the server does not keep.
    fn send(&mut self, from_agent: Option<usize>, step: &Step) {
        if self.server_is_down() || from_agent.is_some_and(|agent| self.is_cut(agent)) {
            return;
        }
        let copies = 1 + usize::from(self.happens(self.repeats));
        for _ in 0..copies {
            if !self.happens(self.loss) {
                let at = self.now + self.delay() + self.delay();
                self.at(at, step.clone());
            }
        }
    }

    // Running.

    /// Runs until the last controller has ended, and a little longer.
    pub fn run(&mut self) {
        self.begin();
        let mut end = END;
        while let Some(at) = self.step(end) {
            let resumes = self.bodies.values().any(|step| matches!(step, Step::Fault(Fault::Resume)));
            let done = self.controllers.last().is_some_and(|last| last.finished.is_some());
            if done && !resumes && end == END {
                end = at + Nanos::from_secs(5);
            }
        }
        self.collect();
    }

    /// Runs until a time.
    pub fn run_until(&mut self, end: Nanos) {
        self.begin();
        while self.step(end).is_some() {}
        self.collect();
    }

    fn begin(&mut self) {
        for number in 1..=self.count {
            self.add_agent(&format!("a{number}"));
        }
        for agent in 0..self.agents.len() {
            self.at(Nanos::ZERO, Step::TickAgent(agent));
        }
        for (at, fault) in self.faults.clone() {
            self.at(at, Step::Fault(fault));
        }
        let request = self.request();
        self.now = Nanos::from_millis(10);
        let offset = 9_000_000_000_000 + self.below(1_000_000_000).cast_signed();
        let machine = Controller::new(request, Nanos(self.now.0 + offset.cast_unsigned()));
        self.add_controller(machine, 1, offset);
    }

    fn request(&self) -> Request {
        Request {
            run: self.run.clone(),
            wanted: self.wanted.clone(),
            build: Build::default(),
            mixed: false,
            lasts: Some(self.load),
        }
    }

    fn add_controller(&mut self, machine: Controller, lead: u64, offset: i64) -> usize {
        self.controllers.push(SimController {
            machine,
            lead,
            offset,
            alive: true,
            frozen_until: Nanos::ZERO,
            read: 0,
            copies: BTreeMap::new(),
            lost: BTreeSet::new(),
            finished: None,
        });
        let index = self.controllers.len() - 1;
        self.at(self.now, Step::TickController(index));
        index
    }

    fn collect(&mut self) {
        let last = self.controllers.last_mut().unwrap();
        self.finished = last.finished.clone();
        self.copies = std::mem::take(&mut last.copies);
        self.lost = last.lost.iter().cloned().collect();
    }

    fn step(&mut self, end: Nanos) -> Option<Nanos> {
        let std::cmp::Reverse((at, number)) = self.steps.pop()?;
        if at > end {
            return None;
        }
        self.now = at;
        let step = self.bodies.remove(&number)?;
        match step {
            Step::TickAgent(agent) => self.tick_agent(agent),
            Step::TickController(controller) => self.tick_controller(controller),
            Step::Loaded(controller) => self.controller_input(controller, Input::Loaded),
            Step::Line(agent) => self.line(agent),
            Step::JobMade(controller) => {
                let none = || Err("setup() threw".to_owned());
                let job = if self.no_job { none() } else { Ok(Digest("job".to_owned())) };
                self.controller_input(controller, Input::Job(job));
            }
            Step::ChildReady(agent) => self.agent_input(agent, AgentInput::Child(FromChild::Ready)),
            Step::ChildStarted(agent, start) => self.child_started(agent, start),
            Step::AskTime(agent) => {
                let sent = self.agent_clock(agent);
                let last = self.controllers.len() - 1;
                self.send(Some(agent), &Step::ToController(last, ToController::Clock(agent, sent)));
            }
            Step::ToAgent(agent, message) => self.deliver_to_agent(agent, message),
            Step::ToController(controller, message) => {
                self.to_controller += 1;
                self.deliver_to_controller(controller, message);
            }
            Step::Store(agent, kept) => self.store(agent, kept),
            Step::Acked(agent, ack) => self.agent_input(
                agent,
                match ack {
                    Ack::Piece(piece) => AgentInput::Published(piece),
                    Ack::Event(number) => AgentInput::Announced(number),
                },
            ),
            Step::Timeout(id) => self.timeout(id),
            Step::Fault(fault) => self.fault(fault),
        }
        Some(at)
    }

    fn fault(&mut self, fault: Fault) {
        let last = self.controllers.len() - 1;
        match fault {
            Fault::Kill(name) => {
                let agent = self.agent(&name);
                self.agents[agent].alive = false;
                self.agents[agent].running = false;
            }
            Fault::Cut(name, span) => {
                let agent = self.agent(&name);
                self.agents[agent].cut_until = self.now + span;
            }
            Fault::ServerDown(span) => self.server_down_until = self.now + span,
            Fault::KillController => self.controllers[last].alive = false,
            Fault::Freeze(until) => self.controllers[last].frozen_until = until,
            Fault::Resume => {
                let lead = self.controllers[last].lead + 1;
                let offset = 3_000_000_000_000;
                let now = Nanos(self.now.0 + offset as u64);
                let (machine, out) = Controller::resume(self.request(), self.saved.clone(), lead, now);
                let index = self.add_controller(machine, lead, offset);
                for one in &self.saved.clone() {
                    self.controllers[index].copies.insert(one.agent.to_string(), Vec::new());
                }
                self.controller_act(index, out);
                self.at(self.now + self.loads_for, Step::Loaded(index));
            }
            Fault::Stop(level) => self.controller_input(last, Input::Stop(level)),
            Fault::DiskFull(name) => {
                let agent = self.agent(&name);
                self.agents[agent].disk_full = true;
                let journal = &mut self.agents[agent].journal;
                journal.truncate(journal.len().saturating_sub(30));
            }
            Fault::OrderOfTheFirst => {
                let orders = self.saved.clone().into_iter().map(|one| Output::Order {
                    agent: one.agent,
                    incarnation: one.incarnation,
                    action: Action::Release,
                });
                self.controller_act(0, orders.collect());
            }
            Fault::Rewrite(name) => {
                let agent = self.agent(&name);
                let journal = &mut self.agents[agent].journal;
                let from = journal.len().saturating_sub(30);
                journal[from..].fill(b'X');
            }
        }
    }

    fn agent(&self, name: &str) -> usize {
        self.agents.iter().position(|agent| agent.name == name).unwrap()
    }

    // Agents.

    fn tick_agent(&mut self, agent: usize) {
        if !self.agents[agent].alive {
            return;
        }
        let length = self.agents[agent].journal.len() as u64;
        if length > 0 {
            self.agent_input(agent, AgentInput::Journal(length));
        }
        self.agent_input(agent, AgentInput::Tick);
        self.at(self.now + Nanos::from_millis(100), Step::TickAgent(agent));
    }

    fn agent_input(&mut self, agent: usize, input: AgentInput) {
        if !self.agents[agent].alive {
            return;
        }
        let now = self.agent_clock(agent);
        let outputs = self.agents[agent].machine.handle(now, input);
        for output in outputs {
            self.agent_act(agent, output);
        }
    }

    fn agent_act(&mut self, agent: usize, output: AgentOutput) {
        match output {
            AgentOutput::Info { to, info } => self.answer(agent, to, |to| ToController::Info(to, info)),
            AgentOutput::Reply { to, reply } => {
                if reply == (Reply::Refused { why: Refusal::Lead }) {
                    self.refused_for_lead += 1;
                }
                self.answer(agent, to, |to| ToController::Reply(to, reply));
            }
            AgentOutput::Fetch { .. } => {
                let host =
                    if self.forbidden.contains(&self.agents[agent].name) { "other" } else { "service" };
                let destination = Destination {
                    host: host.to_owned(),
                    port: 80,
                    addresses: vec!["10.0.0.1".parse().unwrap()],
                };
                let extent = Extent {
                    scripted: false,
                    destinations: vec![destination],
                    rate: 1.0,
                    users: 1,
                    duration: self.tells_duration.then_some(self.load),
                };
                self.agent_input(agent, AgentInput::Job(Ok(extent)));
            }
            AgentOutput::Start => {
                let after = Nanos::from_millis(50 + self.below(300));
                self.at(self.now + after, Step::ChildReady(agent));
            }
            AgentOutput::Tell(ToChild::Go { at }) => {
                let start = self.true_time(agent, at);
                self.at(start, Step::ChildStarted(agent, at));
            }
            AgentOutput::Tell(ToChild::Stop { level }) => self.agents[agent].stop = level,
            // No controller of a simulation asks for a record that is kept.
            AgentOutput::ReadRecord { .. }
            | AgentOutput::Listen(_)
            | AgentOutput::Tell(ToChild::Late { .. }) => {}
            AgentOutput::AskTime { after } => self.at(self.now + after, Step::AskTime(agent)),
            AgentOutput::Publish(piece) => {
                let SimAgent { journal, incarnation, name, .. } = &self.agents[agent];
                // A record that became shorter cannot be read there.
                let Some(bytes) = journal.get(piece.from as usize..piece.to as usize) else { return };
                let bytes = Bytes::copy_from_slice(bytes);
                let id = format!("{incarnation}/{}/{}-{}", piece.copy, piece.from, piece.to);
                let what = What::Piece { copy: piece.copy, from: piece.from, bytes };
                let kept = Kept { id, agent: name.parse().unwrap(), incarnation: incarnation.clone(), what };
                self.publish(agent, kept);
            }
            AgentOutput::Announce(event) => {
                let SimAgent { incarnation, name, .. } = &self.agents[agent];
                let id = format!("{incarnation}/event/{}", event.number);
                let what = What::Event(event);
                let kept = Kept { id, agent: name.parse().unwrap(), incarnation: incarnation.clone(), what };
                self.publish(agent, kept);
            }
            AgentOutput::Kill => {
                self.agents[agent].running = false;
                self.agent_input(agent, AgentInput::ChildGone);
            }
            AgentOutput::Seal => {
                let journal = &self.agents[agent].journal;
                let (length, digest) = (journal.len() as u64, Digest::of(journal));
                self.agent_input(agent, AgentInput::Sealed { length, digest });
            }
            AgentOutput::End => self.agents[agent].running = false,
        }
    }

    fn answer(&mut self, agent: usize, to: u64, message: impl FnOnce(u64) -> ToController) {
        let controller = match self.pending.get(&to) {
            Some(
                Pending::Look { controller, .. }
                | Pending::Ask { controller, .. }
                | Pending::Challenge { controller, .. }
                | Pending::Order { controller, .. },
            ) => *controller,
            None => return,
        };
        self.send(Some(agent), &Step::ToController(controller, message(to)));
    }

    fn child_started(&mut self, agent: usize, start: Nanos) {
        let name = self.agents[agent].name.clone();
        self.starts.insert(name, self.now);
        let one = &mut self.agents[agent];
        (one.started, one.running) = (Some(self.now), true);
        one.journal.extend(format!("head of {}\n", one.name).bytes());
        self.agent_input(agent, AgentInput::Child(FromChild::Started { at: start }));
        self.at(self.now + self.line_every, Step::Line(agent));
    }

    fn line(&mut self, agent: usize) {
        if !self.agents[agent].alive || !self.agents[agent].running {
            return;
        }
        // What scripts write travels beside everything else, and must not be in its way.
        self.agent_input(agent, AgentInput::Wrote { lines: vec!["a line of a script".to_owned()], more: 1 });
        let one = &mut self.agents[agent];
        let elapsed = self.now.since(one.started.unwrap_or_default());
        let (over, ends) =
            (elapsed >= self.load, self.ends_test == Some(agent) && elapsed >= Nanos::from_secs(1));
        if over || ends || one.stop > StopLevel::None {
            if !one.disk_full {
                one.journal.extend(b"tail\n");
            }
            one.running = false;
            let length = one.journal.len() as u64;
            self.agent_input(agent, AgentInput::Journal(length));
            let stopped = ends.then(|| Stopped::Asked("enough".to_owned()));
            let said = Said { stopped, failed: false, iterations: 0 };
            return self.agent_input(agent, AgentInput::Child(FromChild::Ended { warning: None, said }));
        }
        one.lines += 1;
        one.ended = Some(self.now);
        if !one.disk_full {
            one.journal.extend(format!("{} line {}\n", one.name, one.lines).bytes());
        }
        self.at(self.now + self.line_every, Step::Line(agent));
    }

    fn deliver_to_agent(&mut self, agent: usize, message: ToAgent) {
        if self.is_cut(agent) || self.server_is_down() {
            return;
        }
        match message {
            ToAgent::Ask(to) => self.agent_input(agent, AgentInput::Ask { to }),
            ToAgent::Order(to, body, signed) => {
                self.agent_input(agent, AgentInput::Order { body, signed: Some(signed), to });
            }
            ToAgent::Beat(body, signed, lead) => {
                let highest = self.controllers.last().map_or(0, |last| last.lead);
                self.stale_beats += u64::from(lead < highest);
                self.agent_input(agent, AgentInput::Beat { body, signed: Some(signed) });
            }
            ToAgent::Time(sent, noted, replied) => {
                let received = self.agent_clock(agent);
                self.agent_input(agent, AgentInput::Clock(Exchange { sent, noted, replied, received }));
            }
        }
    }

    // The server.

    fn publish(&mut self, agent: usize, kept: Kept) {
        // Both ways can fail: the message, or its acknowledgement.
        self.send(Some(agent), &Step::Store(agent, kept));
    }

    fn store(&mut self, agent: usize, kept: Kept) {
        if self.server_is_down() {
            return;
        }
        let ack = match &kept.what {
            What::Piece { copy, from, bytes } => Ack::Piece(knee_fleet::uplink::Piece {
                copy: *copy,
                from: *from,
                to: from + bytes.len() as u64,
            }),
            What::Event(event) => Ack::Event(event.number),
        };
        if self.known.insert(kept.id.clone()) {
            self.stream.push(kept);
        }
        if !self.is_cut(agent) && !self.happens(self.loss) {
            let at = self.now + self.delay();
            self.at(at, Step::Acked(agent, ack));
        }
    }

    // Controllers.

    fn is_asleep(&self, controller: usize) -> bool {
        let controller = &self.controllers[controller];
        !controller.alive || self.now < controller.frozen_until
    }

    fn tick_controller(&mut self, controller: usize) {
        if !self.controllers[controller].alive {
            return;
        }
        let next = if self.is_asleep(controller) {
            self.controllers[controller].frozen_until
        } else {
            if !self.server_is_down() {
                for kept in self.controllers[controller].read..self.stream.len() {
                    let at = self.now + Nanos::from_millis(1);
                    self.at(at, Step::ToController(controller, ToController::Kept(kept)));
                }
                self.controllers[controller].read = self.stream.len();
            }
            let input = if self.server_is_down() { Input::Offline } else { Input::Tick };
            self.controller_input(controller, input);
            self.now + Nanos::from_millis(50)
        };
        self.at(next, Step::TickController(controller));
    }

    fn controller_input(&mut self, controller: usize, input: Input) {
        if self.is_asleep(controller) {
            return;
        }
        let now = self.controller_clock(controller);
        let clock = MonotonicClock::start();
        let outputs = self.controllers[controller].machine.handle(now, input);
        self.controller_took += clock.now();
        self.controller_act(controller, outputs);
    }

    fn controller_act(&mut self, index: usize, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Look => {
                    let id = self.wait(Pending::Look { controller: index, found: Vec::new() }, LOOK);
                    for agent in 0..self.agents.len() {
                        self.send(None, &Step::ToAgent(agent, ToAgent::Ask(id)));
                    }
                }
                Output::Order { agent, incarnation, action } => {
                    let lead = self.controllers[index].lead;
                    let errand = Errand { agent: agent.clone(), incarnation, action, lead };
                    let id = self.wait(Pending::Challenge { controller: index, errand }, ANSWER);
                    let to = self.agent(agent.as_str());
                    self.send(None, &Step::ToAgent(to, ToAgent::Ask(id)));
                }
                Output::Ask(agent) => {
                    let to = self.agent(agent.as_str());
                    let id = self.wait(Pending::Ask { controller: index, agent }, ANSWER);
                    self.send(None, &Step::ToAgent(to, ToAgent::Ask(id)));
                }
                Output::Beat(beat) => self.beat(&beat),
                Output::Save(engaged) => {
                    for one in &engaged {
                        self.controllers[index].copies.insert(one.agent.to_string(), Vec::new());
                    }
                    self.saved = engaged;
                }
                Output::Append { agent, bytes } => {
                    self.controllers[index].copies.get_mut(agent.as_str()).unwrap().extend_from_slice(&bytes);
                    // What came late counts.
                    self.controllers[index].lost.remove(agent.as_str());
                }
                Output::Restart(agent) => {
                    self.controllers[index].copies.insert(agent.to_string(), Vec::new());
                }
                Output::Seal(agent) => {
                    let digest = Digest::of(&self.controllers[index].copies[agent.as_str()]);
                    self.controller_input(index, Input::Sealed { agent, digest });
                }
                Output::MakeJob => {
                    // Setting a test up takes its time.
                    self.at(self.now + Nanos::from_millis(700), Step::JobMade(index));
                }
                Output::Close(_) | Output::Begun => {}
                Output::Tell(notice) => {
                    if let Notice::Lost { agent, .. } = &notice {
                        self.controllers[index].lost.insert(agent.to_string());
                    }
                    self.notices.push(notice);
                }
                Output::Finish(done) => self.controllers[index].finished = Some(done),
            }
        }
    }

    fn beat(&mut self, beat: &Beat) {
        let body = serde_json::to_vec(beat).unwrap();
        let signed = self.signer.sign(&body).unwrap();
        for agent in 0..self.agents.len() {
            let message = ToAgent::Beat(body.clone(), signed.clone(), beat.lead);
            self.send(None, &Step::ToAgent(agent, message));
        }
    }

    fn wait(&mut self, pending: Pending, patience: Nanos) -> u64 {
        self.numbers += 1;
        let id = self.numbers;
        self.pending.insert(id, pending);
        self.at(self.now + patience, Step::Timeout(id));
        id
    }

    fn timeout(&mut self, id: u64) {
        match self.pending.remove(&id) {
            Some(Pending::Look { controller, found }) => {
                self.controller_input(controller, Input::Found(found));
            }
            Some(Pending::Ask { controller, agent }) => {
                self.controller_input(controller, Input::Asked { agent, info: None });
            }
            Some(
                Pending::Challenge { controller, errand: Errand { agent, action, .. } }
                | Pending::Order { controller, agent, action },
            ) => {
                self.controller_input(controller, Input::Reply { agent, action, reply: None });
            }
            None => {}
        }
    }

    fn deliver_to_controller(&mut self, controller: usize, message: ToController) {
        if self.is_asleep(controller) {
            return;
        }
        match message {
            ToController::Info(id, info) => self.informed(controller, id, *info),
            ToController::Reply(id, reply) => {
                if let Some(Pending::Order { agent, action, .. }) = self.pending.remove(&id) {
                    self.controller_input(controller, Input::Reply { agent, action, reply: Some(reply) });
                }
            }
            ToController::Clock(agent, sent) => {
                let noted = self.controller_clock(controller);
                let message = ToAgent::Time(sent, noted, noted + Nanos::from_micros(30));
                self.send(None, &Step::ToAgent(agent, message));
            }
            ToController::Kept(place) => {
                let Kept { agent, incarnation, what, .. } = self.stream[place].clone();
                let input = match what {
                    What::Piece { copy, from, bytes } => {
                        Input::Piece { agent, incarnation, copy, from, bytes }
                    }
                    What::Event(event) => Input::Event { agent, incarnation, event },
                };
                self.controller_input(controller, input);
            }
        }
    }

    fn informed(&mut self, controller: usize, id: u64, info: Info) {
        match self.pending.get_mut(&id) {
            Some(Pending::Look { found, .. }) => found.push(info),
            Some(Pending::Ask { .. }) => {
                self.pending.remove(&id);
                let (agent, info) = (info.agent.clone(), Some(Box::new(info)));
                self.controller_input(controller, Input::Asked { agent, info });
            }
            Some(Pending::Challenge { errand, .. }) => {
                let errand = errand.clone();
                self.pending.remove(&id);
                self.order(controller, errand, info.challenge);
            }
            _ => {}
        }
    }

    fn order(&mut self, controller: usize, errand: Errand, challenge: String) {
        let Errand { agent, incarnation, action, lead } = errand;
        let order = Order {
            wire: WIRE,
            agent: agent.clone(),
            incarnation,
            challenge,
            run: self.run.clone(),
            lead,
            action: action.clone(),
        };
        let body = serde_json::to_vec(&order).unwrap();
        let signed = self.signer.sign(&body).unwrap();
        let to = self.agent(agent.as_str());
        let id = self.wait(Pending::Order { controller, agent, action }, ANSWER);
        self.send(None, &Step::ToAgent(to, ToAgent::Order(id, body, signed)));
    }

    // What can be seen from outside.

    /// How the first controller ended.
    pub fn first_finished(&self) -> Option<Result<Vec<Engaged>, Failure>> {
        self.controllers[0].finished.clone()
    }

    /// The journal of an agent.
    pub fn journal(&self, name: &str) -> &[u8] {
        &self.agents[self.agent(name)].journal
    }

    /// When the loads began, in true time.
    pub fn true_starts(&self) -> Vec<u64> {
        self.starts.values().map(|at| at.0).collect()
    }

    /// How wrong an offset could be when the start was agreed, in nanoseconds.
    pub fn widest_bound(&self) -> u64 {
        let bound = |notice: &Notice| match notice {
            Notice::Starting { bound, .. } => Some(bound.0),
            _ => None,
        };
        self.notices.iter().filter_map(bound).max().unwrap_or_default()
    }

    /// When an agent last sent something of its load.
    pub fn load_ended(&self, name: &str) -> Option<Nanos> {
        self.agents[self.agent(name)].ended
    }

    /// Whether each load went on to its end.
    pub fn journals_are_complete(&self) -> bool {
        let lines = self.load.0 / 100_000_000;
        self.agents.iter().all(|agent| agent.lines + 2 >= lines && agent.stop == StopLevel::None)
    }

    /// Whether no agent that lives works for a run.
    pub fn all_free(&self) -> bool {
        self.agents.iter().all(|agent| !agent.alive || agent.machine.run().is_none())
    }
}
