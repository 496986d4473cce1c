//! A controller and agents over a network that loses, repeats and delays messages, with clocks that differ and processes that
//! die: in virtual time, from a seed.
//!
//! The journals are simulated: each agent's grows by a line per tenth of a second of its load. So what was sent, what
//! arrived and what is missing can be counted to the line.

#![allow(clippy::unwrap_used, reason = "a test")]

mod scale;
mod world;

use knee_core::unit::Nanos;
use knee_fleet::controller::{Failure, Notice, Wanted};
use knee_fleet::wire::StopLevel;
use world::{Fault, World};

/// The seeds that each law is tried on; `KNEE_FLEET_SEEDS` says how many, or which, as in `6000..8000`.
fn seeds() -> std::ops::Range<u64> {
    let wanted = std::env::var("KNEE_FLEET_SEEDS").unwrap_or_else(|_| "40".to_owned());
    let (from, to) = wanted.split_once("..").unwrap_or(("0", &wanted));
    let number = |text: &str| {
        text.parse()
            .unwrap_or_else(|_| panic!("KNEE_FLEET_SEEDS is a number, or two as in 6000..8000: {wanted}"))
    };
    let seeds = number(from)..number(to);
    assert!(!seeds.is_empty(), "KNEE_FLEET_SEEDS has no seed");
    seeds
}

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// What holds in every world, whatever happened: each copy is a beginning of its journal, and who is not lost is whole.
fn check(world: &World) {
    let seed = world.seed;
    assert!(world.finished.is_some(), "seed {seed}: the controller hangs: {:?}", world.notices);
    for (name, copy) in &world.copies {
        let journal = world.journal(name);
        assert!(journal.starts_with(copy), "seed {seed}: the copy of {name} is no beginning of its journal");
        if !world.lost.contains(name) {
            assert_eq!(copy.len(), journal.len(), "seed {seed}: {name} is not lost, and its copy not whole");
        }
    }
}

#[test]
fn a_fleet_in_good_health_starts_together_and_every_record_arrives() {
    for seed in seeds() {
        let mut world = World::new(seed, 4);
        world.run();
        check(&world);
        assert!(world.finished.as_ref().unwrap().is_ok(), "seed {seed}: {:?}", world.finished);
        assert!(world.lost.is_empty(), "seed {seed}");
        let starts = world.true_starts();
        assert_eq!(starts.len(), 4, "seed {seed}");
        let apart = starts.iter().max().unwrap().abs_diff(*starts.iter().min().unwrap());
        // What the clocks drift between the comparison and the start comes on top.
        let bound = world.widest_bound() + 200_000;
        assert!(apart <= 2 * bound, "seed {seed}: starts {apart} ns apart, with a bound of {bound} ns");
    }
}

#[test]
fn a_script_that_ends_the_test_on_one_agent_ends_it_on_all() {
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        world.load = at(60);
        world.ends_test = Some(1);
        world.run();
        check(&world);
        let said = world.notices.iter().any(|notice| matches!(notice, Notice::Said { .. }));
        assert!(said && world.finished.as_ref().unwrap().is_ok(), "seed {seed}: {:?}", world.notices);
        let last = world.last_lines();
        let (first, last) = (last.iter().min().unwrap(), last.iter().max().unwrap());
        assert!(last.since(*first) < at(4), "seed {seed}: from {first} to {last}");
    }
}

#[test]
fn agents_without_a_job_are_free_again() {
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        world.no_job = true;
        world.run();
        assert!(matches!(world.finished, Some(Err(Failure::NoJob(_)))), "seed {seed}: {:?}", world.finished);
        assert_eq!((world.busy(), world.last_lines().len()), (0, 0), "seed {seed}");
    }
}

#[test]
fn lost_repeated_and_late_messages_lose_no_record() {
    let mut begun = 0;
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        (world.loss, world.repeats, world.delay_max) = (0.03, 0.1, Nanos::from_millis(80));
        world.run();
        check(&world);
        if world.finished.as_ref().unwrap().is_ok() {
            assert!(world.lost.is_empty(), "seed {seed}: {:?} {:?}", world.lost, world.notices);
            begun += 1;
        }
    }
    // A claim that gets no answer twice is given up.
    assert!(begun * 2 >= seeds().end, "{begun} of {} began", seeds().end);
}

#[test]
fn an_agent_that_dies_is_named_and_only_its_rest_is_missing() {
    for seed in seeds() {
        let mut world = World::new(seed, 4);
        world.faults.push((at(3 + seed % 12), Fault::Kill("a2".to_owned())));
        world.run();
        check(&world);
        if world.finished.as_ref().unwrap().is_ok() {
            let died = world.journal("a2").len() < world.journal("a1").len();
            assert!(!died || world.lost == ["a2"], "seed {seed}: {:?}", world.lost);
        }
    }
}

#[test]
fn an_agent_that_dies_before_the_start_is_named_and_nothing_is_sent() {
    let mut named = 0;
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        world.faults.push((Nanos::from_millis(500 + 30 * seed), Fault::Kill("a2".to_owned())));
        world.run();
        check(&world);
        let Some(Err(failure)) = &world.finished else { continue };
        assert!(failure.to_string().contains("a2"), "seed {seed}: {failure}");
        assert!(world.true_starts().is_empty(), "seed {seed}: {failure}");
        assert_eq!(world.busy(), usize::from(world.dead_is_busy("a2")), "seed {seed}: the others are free");
        named += 1;
    }
    assert!(named > 0);
}

#[test]
fn the_server_can_restart_every_few_seconds_and_nothing_is_lost() {
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        for restart in 0..5 {
            world.faults.push((at(4 + 3 * restart + seed % 3), Fault::ServerDown(Nanos::from_millis(900))));
        }
        world.run();
        check(&world);
        assert!(world.finished.as_ref().unwrap().is_ok(), "seed {seed}: {:?}", world.finished);
        assert!(world.lost.is_empty(), "seed {seed}: {:?}", world.lost);
    }
}

#[test]
fn a_server_that_is_away_for_longer_than_an_agent_waits_says_nothing_of_the_agents() {
    for seed in seeds().take(20) {
        let mut world = World::new(seed, 3);
        world.load = at(40);
        world.faults.push((at(8 + seed % 5), Fault::ServerDown(at(20))));
        world.run();
        check(&world);
        assert!(world.lost.is_empty(), "seed {seed}: {:?} {:?}", world.lost, world.notices);
        assert!(world.journals_are_complete(), "seed {seed}");
    }
}

#[test]
fn who_was_cut_off_when_the_others_ended_is_waited_for() {
    for seed in seeds().take(20) {
        for tells_duration in [true, false] {
            let mut world = World::new(seed, 3);
            (world.load, world.tells_duration) = (at(15), tells_duration);
            // From before the end until half a minute later.
            world.faults.push((at(12), Fault::Cut("a1".to_owned(), Nanos::from_millis(20_000 + 300 * seed))));
            world.run();
            check(&world);
            assert!(world.lost.is_empty(), "seed {seed}: {:?} {:?}", world.lost, world.notices);
        }
    }
}

#[test]
fn an_agent_that_dies_after_its_end_and_before_its_last_bytes_arrive_ends_no_wait() {
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        world.tells_duration = seed % 2 == 0;
        (world.loss, world.load) = (0.2, at(10));
        world.faults.push((Nanos::from_millis(13_000 + 37 * seed), Fault::Kill("a1".to_owned())));
        world.run();
        check(&world);
    }
}

#[test]
fn a_partition_of_ten_seconds_loses_nothing_and_a_long_one_ends_the_load() {
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        world.load = at(20);
        world.faults.push((at(8), Fault::Cut("a1".to_owned(), at(10))));
        world.run();
        check(&world);
        assert!(world.lost.is_empty(), "seed {seed}: {:?}", world.lost);

        let mut world = World::new(seed, 3);
        world.load = at(120);
        world.faults.push((at(10), Fault::Cut("a1".to_owned(), at(300))));
        world.run();
        check(&world);
        let ended = world.load_ended("a1").unwrap();
        assert!(ended <= at(10 + 31), "seed {seed}: the load went on until {ended}");
    }
}

#[test]
fn another_controller_takes_over_and_has_every_byte() {
    for seed in seeds() {
        let mut world = World::new(seed, 3);
        world.load = at(30);
        let dies = 6 + seed % 20;
        world.faults.push((at(dies), Fault::KillController));
        world.faults.push((at(dies + 1 + seed % 15), Fault::Resume));
        world.run();
        check(&world);
        assert!(world.lost.is_empty(), "seed {seed}: {:?}", world.lost);
        assert!(world.journals_are_complete(), "seed {seed}: a load ended early");
    }
}

#[test]
fn a_controller_that_loads_a_script_for_long_keeps_the_load_and_ends_no_run_before_it_is_loaded() {
    for seed in seeds().take(20) {
        let mut world = World::new(seed, 3);
        (world.load, world.loads_for) = (at(60), at(45));
        world.faults.push((at(10), Fault::KillController));
        world.faults.push((at(12), Fault::Resume));
        world.run();
        check(&world);
        assert!(world.lost.is_empty(), "seed {seed}: {:?}", world.lost);
        assert!(world.journals_are_complete(), "seed {seed}: a load ended early");
    }
    let mut world = World::new(1, 3);
    (world.load, world.loads_for) = (at(20), at(90));
    world.faults.push((at(10), Fault::KillController));
    world.faults.push((at(12), Fault::Resume));
    world.run_until(at(95));
    assert!(world.load_ended("a1").unwrap() < at(30));
    assert_eq!((world.finished.is_none(), world.busy()), (true, 3), "the run is not over");
}

#[test]
fn without_a_controller_the_load_ends_and_the_agents_are_free_again() {
    for seed in seeds().take(50) {
        let mut world = World::new(seed, 3);
        world.load = at(300);
        world.faults.push((at(10), Fault::KillController));
        world.run_until(at(120));
        assert!(world.all_free(), "seed {seed}");
        for name in ["a1", "a2", "a3"] {
            let ended = world.load_ended(name).unwrap();
            assert!(ended <= at(10 + 31), "seed {seed}: {name} went on until {ended}");
        }
    }
}

#[test]
fn a_controller_that_was_frozen_is_powerless_after_another_took_over() {
    let mut world = World::new(7, 2);
    world.load = at(60);
    world.faults.push((at(10), Fault::Freeze(at(16))));
    world.faults.push((at(12), Fault::Resume));
    // The one that woke up wants to release its agents.
    world.faults.push((at(17), Fault::OrderOfTheFirst));
    world.run();
    check(&world);
    assert!(world.refused_for_lead > 0, "the frozen one ordered nothing");
    assert_eq!(world.first_finished(), Some(Err(Failure::Superseded)));
    assert!(world.journals_are_complete());
}

#[test]
fn a_stop_ends_all_loads_within_a_second() {
    for seed in seeds().take(50) {
        let mut world = World::new(seed, 4);
        world.load = at(60);
        world.faults.push((at(10), Fault::Stop(StopLevel::Stop)));
        world.run();
        check(&world);
        for name in ["a1", "a2", "a3", "a4"] {
            let ended = world.load_ended(name).unwrap();
            assert!(ended <= at(11), "seed {seed}: {name} went on until {ended}");
        }
    }
}

#[test]
fn agents_that_are_missing_busy_or_refuse_end_the_run_before_it_begins() {
    let mut world = World::new(1, 2);
    world.wanted = Wanted::Count { count: 3, fleet: None };
    world.run();
    let failure = world.finished.unwrap().unwrap_err();
    assert_eq!(failure.to_string(), "2 of 3 agents can be taken");

    let mut world = World::new(1, 2);
    world.forbidden.push("a2".to_owned());
    world.run();
    let Some(Err(Failure::NotReady { agent, why })) = world.finished.clone() else {
        panic!("{:?}", world.finished)
    };
    assert_eq!(agent.as_str(), "a2");
    assert!(why.contains("`targets`"), "{why}");
    assert!(world.all_free());
    assert!(world.true_starts().is_empty(), "nothing was sent");
}

#[test]
fn a_record_that_was_cut_after_it_was_published_is_copied_again() {
    let mut world = World::new(3, 2);
    world.faults.push((at(8), Fault::Rewrite("a1".to_owned())));
    world.run();
    check(&world);
    assert!(world.lost.is_empty(), "{:?}", world.lost);

    // A disk without space: the record loses its last lines, and has no end.
    let mut world = World::new(3, 2);
    world.faults.push((at(8), Fault::DiskFull("a1".to_owned())));
    world.run();
    check(&world);
    assert!(world.lost.is_empty(), "{:?}", world.lost);
    assert!(world.journal("a1").len() < world.journal("a2").len());
}

#[test]
fn who_is_quiet_for_a_while_is_named_and_named_again_when_it_is_back() {
    let mut world = World::new(5, 2);
    world.load = at(25);
    world.faults.push((at(8), Fault::Cut("a1".to_owned(), at(6))));
    world.run();
    check(&world);
    let quiet = |notice: &&Notice| matches!(notice, Notice::Quiet(agent) if agent.as_str() == "a1");
    let back = |notice: &&Notice| matches!(notice, Notice::Back(agent) if agent.as_str() == "a1");
    assert_eq!(world.notices.iter().filter(quiet).count(), 1, "{:?}", world.notices);
    assert_eq!(world.notices.iter().filter(back).count(), 1, "{:?}", world.notices);
}

#[test]
fn a_load_ends_at_the_ceiling_of_the_agent_whatever_its_plan_says() {
    let mut world = World::new(2, 2);
    // A plan without an end in time is not refused for being too long.
    (world.load, world.tells_duration, world.duration_max) = (at(100), false, at(20));
    world.run();
    check(&world);
    for name in ["a1", "a2"] {
        let lasted = world.load_ended(name).unwrap().since(Nanos(world.true_starts()[0]));
        assert!(lasted <= at(21), "{name}: {lasted}");
    }
}
