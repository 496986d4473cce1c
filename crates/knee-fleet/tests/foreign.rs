//! What a controller must not take for the record of an agent, although it is in the stream of the run.

#![allow(clippy::unwrap_used, reason = "a test")]

use bytes::Bytes;
use knee_core::record::Build;
use knee_core::unit::Nanos;
use knee_fleet::controller::{Controller, Engaged, Input, Output, Request, Wanted};
use knee_fleet::name::{AgentId, Incarnation};
use knee_fleet::wire::{Action, Digest, Event, EventKind, Part, Said, StopLevel};

const NOW: Nanos = Nanos::from_secs(1_000);

/// A controller of a load that one agent makes.
fn controller() -> (Controller, Engaged) {
    let engaged = Engaged {
        agent: "load-01".parse().unwrap(),
        incarnation: Incarnation::random(),
        part: Part::equal(1).remove(0),
    };
    let request = Request {
        run: "run-1".parse().unwrap(),
        wanted: Wanted::Count { count: 1, fleet: None },
        build: Build::default(),
        mixed: false,
        lasts: None,
    };
    let (mut controller, _) = Controller::resume(request, vec![engaged.clone()], 2, NOW);
    controller.handle(NOW, Input::Loaded);
    (controller, engaged)
}

fn piece(
    controller: &mut Controller,
    agent: &AgentId,
    incarnation: &Incarnation,
    from: u64,
) -> Option<Output> {
    let (agent, incarnation, bytes) = (agent.clone(), incarnation.clone(), Bytes::from_static(b"bytes"));
    let out = controller.handle(NOW, Input::Piece { agent, incarnation, copy: 0, from, bytes });
    out.into_iter().find(|output| matches!(output, Output::Append { .. }))
}

#[test]
fn pieces_of_other_agents_and_processes_and_far_behind_the_end_are_not_appended() {
    let (mut controller, Engaged { agent, incarnation, .. }) = controller();
    let stranger: AgentId = "load-02".parse().unwrap();
    assert_eq!(piece(&mut controller, &stranger, &incarnation, 0), None);
    assert_eq!(
        piece(&mut controller, &agent, &Incarnation::random(), 0),
        None,
        "another process of its name"
    );
    assert_eq!(piece(&mut controller, &agent, &incarnation, u64::MAX - 2), None);
    assert!(piece(&mut controller, &agent, &incarnation, 0).is_some());
    assert_eq!(piece(&mut controller, &agent, &incarnation, 0), None, "the same again");
}

#[test]
fn events_of_other_processes_end_no_load() {
    let (mut controller, Engaged { agent, incarnation, .. }) = controller();
    let ended = |incarnation: &Incarnation| {
        let said = Said { stopped: Some(knee_fleet::wire::Stopped::Asked(String::new())), ..Said::default() };
        let kind = EventKind::Ended { length: 0, digest: Digest::of(b""), warning: None, said };
        let event = Event { number: 1, kind };
        Input::Event { agent: agent.clone(), incarnation: incarnation.clone(), event }
    };
    let stops = |out: Vec<Output>| {
        let is_stop = |output: &Output| {
            matches!(output, Output::Order { action: Action::Stop { level: StopLevel::Abort }, .. })
        };
        out.iter().any(is_stop)
    };
    assert!(!stops(controller.handle(NOW, ended(&Incarnation::random()))));
    assert!(stops(controller.handle(NOW, ended(&incarnation))));
    assert!(!stops(controller.handle(NOW, ended(&incarnation))), "the same event again");
}
