//! A fleet of many agents: what their number costs the controller.
//!
//! `KNEE_FLEET_AGENTS=1000 cargo test --release -p knee-fleet --test simulation scale -- --nocapture` prints the figures that
//! BENCHMARKS.md has. The records here are small; what it costs to merge real ones is measured with `knee merge`.

use knee_core::unit::Nanos;

use crate::check;
use crate::world::World;

/// How many agents; `KNEE_FLEET_AGENTS` says another number.
fn agents() -> u32 {
    std::env::var("KNEE_FLEET_AGENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn the_controller_of_many_agents_gets_a_few_messages_a_second_from_each() {
    let (count, load) = (agents(), Nanos::from_secs(30));
    let mut world = World::new(1, count);
    world.load = load;
    // As a record grows: a frame an interval.
    world.line_every = Nanos::from_secs(1);
    world.run();
    check(&world);
    assert!(world.finished.as_ref().unwrap().is_ok(), "{:?}", world.finished);
    assert_eq!((world.copies.len(), world.lost.len()), (count as usize, 0));
    let whole = load.as_secs_f64() + 5.0;
    let messages = world.to_controller as f64 / whole;
    println!(
        "{count} agents: {messages:.0} messages per second to the controller, whose state machine took {:.2} % of a CPU",
        world.controller_took.as_secs_f64() / whole * 100.0
    );
    // A frame of the record, and a comparison of clocks now and then.
    assert!(messages < 3.0 * f64::from(count), "{messages} messages per second from {count} agents");
}
