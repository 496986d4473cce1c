//! Takeovers of scripts that fail: the run stays with who has it, and its `teardown()` runs once.

use std::time::Duration;

use rustix::process::Signal;

use super::scripts::torn_down;
use super::world::Fleet;
use crate::program::Finished;

/// Milliseconds since 1970.
fn now() -> u64 {
    knee_core::clock::wall().as_nanos() / 1_000_000
}

/// That a controller had a test of so many seconds to its end, although another takeover was tried.
fn ended_well(fleet: &Fleet, seconds: usize, first: &Finished) {
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stdout.contains("http_reqs"), "{first:?}");
    // One comes due with the end.
    let whole = 30 * seconds..=30 * seconds + 1;
    assert!(whole.contains(&fleet.seen("/k").len()), "{first:?}");
    assert_eq!(fleet.seen("/teardown").len(), 1, "{first:?}");
    assert!(!fleet.knee_fleet("ls").stdout.contains("run "), "nothing is left in NATS");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_takeover_with_another_key_leaves_the_run_to_the_controller_that_lives() {
    let fleet = Fleet::start(2);
    let other = fleet.key("--fleet-key other.nk");
    assert!(other.starts_with('U'));
    let mut load = fleet.script(&torn_down(""), 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(30);
    let run = fleet.run_to_take_over();
    let refused = fleet.knee_fleet(&format!("resume {run} --fleet-key other.nk"));
    assert_eq!(refused.code, Some(104), "{refused:?}");
    let words = format!(
        "error: the run `{run}` stays with its controller, which gives signs of life: it was begun with another key"
    );
    assert!(refused.stderr.contains(&words), "{refused:?}");
    ended_well(&fleet, 8, &load.finish());
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_takeover_that_cannot_load_the_script_leaves_the_run_to_the_controller_that_lives() {
    let fleet = Fleet::start(2);
    // Loads where the test begins and where it ends.
    let (from, to) = (now() + 6_000, now() + 12_000);
    let throws =
        format!("if (Date.now() > {from} && Date.now() < {to}) throw new Error('not at this time');");
    let source = torn_down(&throws).replace("duration: '8s'", "duration: '14s'");
    let mut load = fleet.script(&source, 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(30);
    let run = fleet.run_to_take_over();
    std::thread::sleep(Duration::from_millis(from.saturating_sub(now())));
    let records = fleet.home.files().len();
    let refused = fleet.knee_fleet(&format!("resume {run}"));
    assert_eq!(refused.code, Some(107), "{refused:?}");
    assert!(refused.stderr.contains("stays with its controller"), "{refused:?}");
    assert!(refused.stderr.contains("not at this time"), "{refused:?}");
    assert!(fleet.home.files().len() <= records, "no record of its own");
    ended_well(&fleet, 14, &load.finish());
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_takeover_for_which_this_machine_has_no_room_leaves_the_run_to_the_controller_that_lives() {
    let fleet = Fleet::start(2);
    let mut load = fleet.script(&torn_down(""), 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(30);
    let run = fleet.run_to_take_over();
    // Of another home, in which the folder of the copies cannot be made.
    fleet.home.file("full/fleet", "a file");
    let home = fleet.home.path("full").display().to_string();
    let line = format!("fleet resume {run} --nats {} --fleet-key", fleet.nats.url());
    let failed = fleet.home.knee(&line).arg(fleet.home.path("fleet.key")).env("KNEE_HOME", home).run();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("error: "), "{failed:?}");
    ended_well(&fleet, 8, &load.finish());
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn of_two_takeovers_at_a_time_one_has_the_run_and_the_other_says_so() {
    let fleet = Fleet::start(2);
    let mut load = fleet.script(&torn_down(""), 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(30);
    load.send(Signal::KILL);
    let run = fleet.run_to_take_over();
    // Both find the same state, and hear no sign of life; the second to write finds that it has changed.
    let line = format!("fleet resume {run} --nats {}", fleet.nats.url());
    let both = [fleet.home.knee(&line).start(), fleet.home.knee(&line).start()];
    let mut both = both.map(|one| one.finish_within(Duration::from_secs(60)));
    both.sort_by_key(|one| one.code);
    let [winner, loser] = both;
    assert_eq!((winner.code, loser.code), (Some(0), Some(105)), "{winner:?}\n{loser:?}");
    assert!(loser.stderr.contains("error: another controller has taken over the run"), "{loser:?}");
    assert!(loser.stderr.contains("its result is where that one runs"), "{loser:?}");
    assert_eq!(loser.stdout, "", "{loser:?}");
    assert_eq!(fleet.copies().len(), 4, "those of the dead one and of the winner");
    ended_well(&fleet, 8, &winner);
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_controller_that_takes_over_gives_signs_of_life_while_it_loads_the_script() {
    let fleet = Fleet::start(2);
    fleet.key("--fleet-key other.nk");
    // Loads at once where the load begins, and for five seconds where it is taken over.
    let begin = now() + 4_000;
    let slow = format!("const begun = Date.now(); if (begun > {begin}) while (Date.now() < begun + 5_000);");
    let mut load = fleet.script(&torn_down(&slow), 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(90);
    load.send(Signal::KILL);
    let run = fleet.run_to_take_over();
    std::thread::sleep(Duration::from_millis(begin.saturating_sub(now())));
    let second = fleet.home.knee(&format!("fleet resume {run} --nats {}", fleet.nats.url())).start();
    // By then it has looked for another controller, and loads.
    std::thread::sleep(Duration::from_millis(2_500));
    let refused = fleet.knee_fleet(&format!("resume {run} --fleet-key other.nk"));
    assert!(refused.stderr.contains("stays with its controller, which gives signs of life"), "{refused:?}");
    ended_well(&fleet, 8, &second.finish());
}
