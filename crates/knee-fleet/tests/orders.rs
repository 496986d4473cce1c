//! Orders that an agent must not obey, each with its reason; and the one that it obeys.

#![allow(clippy::unwrap_used, reason = "a test")]

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_fleet::agent::{Agent, Identity, Input, Output};
use knee_fleet::name::{Incarnation, RunId};
use knee_fleet::policy::Policy;
use knee_fleet::signature::{Signed, Signer};
use knee_fleet::wire::{Action, Beat, Info, Order, Refusal, Reply, StopLevel, WIRE};

struct Try {
    agent: Agent,
    signer: Signer,
    now: Nanos,
}

impl Try {
    fn new() -> Self {
        let signer = Signer::random();
        let me = Identity {
            agent: "load-01".parse().unwrap(),
            incarnation: Incarnation::random(),
            fleet: None,
            build: Build::default(),
            machine: Machine::default(),
        };
        let policy =
            Policy { targets: Vec::new(), rate_max: 1.0, users_max: 1, duration_max: Nanos::from_secs(1) };
        let agent = Agent::new(me, policy, vec![signer.public()]);
        Self { agent, signer, now: Nanos::from_secs(1_000) }
    }

    fn ask(&mut self) -> Info {
        match self.agent.handle(self.now, Input::Ask { to: 1 }).remove(0) {
            Output::Info { info, .. } => *info,
            other => panic!("{other:?}"),
        }
    }

    /// An order to claim the agent for `run-1`.
    fn order(&mut self) -> Order {
        let Info { agent, incarnation, challenge, .. } = self.ask();
        let run = "run-1".parse().unwrap();
        Order { wire: WIRE, agent, incarnation, challenge, run, lead: 1, action: Action::Claim }
    }

    fn send(&mut self, body: Vec<u8>, signed: Option<Signed>) -> Reply {
        let out = self.agent.handle(self.now, Input::Order { body, signed, to: 2 });
        let reply = |output| match output {
            Output::Reply { reply, .. } => Some(reply),
            _ => None,
        };
        out.into_iter().find_map(reply).unwrap()
    }

    fn obey(&mut self, order: &Order) -> Reply {
        let body = serde_json::to_vec(order).unwrap();
        let signed = self.signer.sign(&body);
        self.send(body, signed)
    }

    fn refused(&mut self, order: &Order) -> Refusal {
        match self.obey(order) {
            Reply::Refused { why } => why,
            other => panic!("{order:?}: {other:?}"),
        }
    }
}

fn why(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused { why } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_order_of_a_signer_that_answers_the_challenge_is_obeyed_once() {
    let mut one = Try::new();
    let order = one.order();
    assert_eq!(one.obey(&order), Reply::Accepted);
    assert_eq!(one.refused(&order), Refusal::Replayed);
    assert_eq!(one.agent.run().map(RunId::as_str), Some("run-1"));
}

#[test]
fn orders_that_are_unsigned_changed_or_of_a_stranger_are_refused() {
    let mut one = Try::new();
    let order = one.order();
    let body = serde_json::to_vec(&order).unwrap();
    assert_eq!(why(one.send(body.clone(), None)), Refusal::Unsigned);
    let signed = one.signer.sign(&body);
    let changed = serde_json::to_vec(&Order { lead: 9, ..order }).unwrap();
    assert_eq!(why(one.send(changed, signed)), Refusal::Unsigned);
    let stranger = Signer::random();
    let signed = stranger.sign(&body);
    assert_eq!(why(one.send(body.clone(), signed.clone())), Refusal::Signer { key: stranger.public() });
    // The signature of a stranger under a known name.
    let forged = Signed { key: one.signer.public(), ..signed.unwrap() };
    assert_eq!(why(one.send(body, Some(forged))), Refusal::Unsigned);
    assert_eq!(one.agent.run(), None);
}

#[test]
fn orders_for_others_of_other_versions_or_too_late_are_refused() {
    let mut one = Try::new();
    let order = one.order();
    assert_eq!(one.refused(&Order { wire: 2, ..order.clone() }), Refusal::Wire { wire: 2 });
    assert_eq!(one.refused(&Order { agent: "load-02".parse().unwrap(), ..order.clone() }), Refusal::Receiver);
    assert_eq!(
        one.refused(&Order { incarnation: Incarnation::random(), ..order.clone() }),
        Refusal::Receiver
    );
    assert_eq!(one.refused(&Order { challenge: "guessed".to_owned(), ..order.clone() }), Refusal::Replayed);
    one.now += Nanos::from_secs(31);
    assert_eq!(one.refused(&order), Refusal::Expired);
    let garbage = b"{\"wire\": 1}".to_vec();
    let signed = one.signer.sign(&garbage);
    assert!(matches!(why(one.send(garbage, signed)), Refusal::Unreadable { .. }));
    assert_eq!(one.agent.run(), None);
}

#[test]
fn an_agent_at_work_obeys_its_own_run_and_the_highest_lead_but_every_stop_of_a_person() {
    let mut one = Try::new();
    let order = one.order();
    assert_eq!(one.obey(&order), Reply::Accepted);
    let other: RunId = "run-2".parse().unwrap();
    let claim = Order { run: other.clone(), ..one.order() };
    assert_eq!(one.refused(&claim), Refusal::Busy { run: "run-1".parse().unwrap() });
    let stop = Action::Stop { level: StopLevel::Abort };
    let foreign = Order { run: other, action: stop.clone(), ..one.order() };
    assert_eq!(one.refused(&foreign), Refusal::NotClaimed);
    let early = Order { action: Action::Go { at: Nanos::from_secs(9) }, ..one.order() };
    assert_eq!(one.refused(&early), Refusal::Early);
    let follow = Order { lead: 3, action: Action::Follow, ..one.order() };
    assert_eq!(one.obey(&follow), Reply::Accepted);
    let late = Order { lead: 2, action: Action::Release, ..one.order() };
    assert_eq!(one.refused(&late), Refusal::Lead);
    let replaced = Order { lead: 2, action: stop.clone(), ..one.order() };
    assert_eq!(one.refused(&replaced), Refusal::Lead, "the load is another controller's");
    let stop = Order { lead: 0, action: stop, ..one.order() };
    assert_eq!(one.obey(&stop), Reply::Accepted);
}

#[test]
fn a_record_goes_to_signers_only_and_only_when_its_run_is_over() {
    let mut one = Try::new();
    let fetch = Action::Fetch { from: 512 };
    let order = Order { action: fetch.clone(), ..one.order() };
    let body = serde_json::to_vec(&order).unwrap();
    let stranger = Signer::random();
    let signed = stranger.sign(&body);
    assert_eq!(why(one.send(body.clone(), signed)), Refusal::Signer { key: stranger.public() });
    let signed = one.signer.sign(&body);
    let out = one.agent.handle(one.now, Input::Order { body, signed, to: 2 });
    assert_eq!(out, [Output::ReadRecord { to: 2, run: "run-1".parse().unwrap(), from: 512 }]);
    let claim = one.order();
    assert_eq!(one.obey(&claim), Reply::Accepted);
    let early = Order { action: fetch, ..one.order() };
    assert_eq!(one.refused(&early), Refusal::Busy { run: "run-1".parse().unwrap() });
}

#[test]
fn signs_of_life_count_only_if_they_are_signed_new_and_of_the_run() {
    // Without a sign of life an agent gives its run up after 30 s: only a good one after 29 s keeps it at work until 40 s.
    let hear = |change: fn(&mut Beat), signer: Option<&Signer>| {
        let mut one = Try::new();
        let order = one.order();
        one.obey(&order);
        one.now += Nanos::from_secs(29);
        let mut beat = Beat {
            run: "run-1".parse().unwrap(),
            lead: 1,
            number: 1,
            armed: None,
            sent: Nanos::ZERO,
            stop: StopLevel::None,
        };
        change(&mut beat);
        let body = serde_json::to_vec(&beat).unwrap();
        let signed = signer.unwrap_or(&one.signer).sign(&body);
        one.agent.handle(one.now, Input::Beat { body, signed });
        one.now += Nanos::from_secs(11);
        one.agent.handle(one.now, Input::Tick);
        one.agent.run().is_some()
    };
    assert!(hear(|_| {}, None));
    assert!(!hear(|_| {}, Some(&Signer::random())), "of a stranger");
    assert!(!hear(|beat| beat.run = "run-2".parse().unwrap(), None), "of another run");
    assert!(!hear(|beat| beat.lead = 0, None), "of a controller that was replaced");
    assert!(!hear(|beat| beat.number = 0, None), "out of date");
}
