//! Connecting to one of several addresses: when attempts begin, which one wins, and the error if none does.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use knee_engine::http::dial::race;
use knee_engine::http::failure::Failure;
use knee_engine::timer::Timer;

use crate::harness::millis;
use crate::world::World;

/// What an address does with an attempt to connect, after a time.
#[derive(Clone, Copy)]
enum Reply {
    Accepts(u64),
    Fails(u64, Fault),
    /// Packets to it vanish.
    Vanishes,
}

use Reply::{Accepts, Fails, Vanishes};

/// How a race ended.
#[derive(Debug, PartialEq)]
struct Ended {
    /// When, in milliseconds.
    at: u64,
    /// The number of the address that won, from 0 in the given order, or the fault.
    result: Result<usize, Fault>,
    /// When each attempt began, in milliseconds.
    begun: Vec<u64>,
}

/// Races addresses that do this. Those of IPv6 come first.
fn ended(v6: &[Reply], v4: &[Reply]) -> Ended {
    let addresses: Vec<SocketAddr> = (0..v6.len())
        .map(|place| SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 1 + place as u16)))
        .chain((0..v4.len()).map(|place| SocketAddr::from(([127, 0, 0, 1], 1 + (v6.len() + place) as u16))))
        .collect();
    let replies = [v6, v4].concat();
    let mut world = World::new();
    let timer = world.timer.clone();
    let begun = Rc::new(RefCell::new(Vec::new()));
    let done = Rc::new(Cell::new(None));
    let (log, set) = (begun.clone(), done.clone());
    world.spawn(async move {
        let connect = |address: SocketAddr| {
            let (timer, log, place) = (timer.clone(), log.clone(), usize::from(address.port()) - 1);
            let reply = replies[place];
            async move {
                let now = timer.now();
                log.borrow_mut().push(now.0 / 1_000_000);
                let after = |time| timer.sleep_until(now + millis(time));
                match reply {
                    Accepts(time) => after(time).await,
                    Fails(time, fault) => {
                        after(time).await;
                        return Err(Failure::from(fault));
                    }
                    Vanishes => std::future::pending().await,
                }
                Ok(place)
            }
        };
        let result = race(&addresses, &timer, connect).await;
        let result = result.map(|(_, place)| place).map_err(|failure| failure.fault);
        set.set(Some((timer.now(), result)));
    });
    // The caller's time limit: nothing ends before it where packets vanish.
    let limit = world.timer.clone();
    world.spawn(async move { limit.sleep_until(Nanos::from_secs(60)).await });
    world.run_until(|| false);
    let begun = begun.borrow().clone();
    let (at, result) = done.take().unwrap_or((Nanos::from_secs(60), Err(Fault::ConnectTimeout)));
    Ended { at: at.0 / 1_000_000, result, begun }
}

#[test]
fn a_first_address_that_does_not_reply_costs_a_quarter_of_a_second() {
    assert_eq!(ended(&[Vanishes], &[Accepts(1)]), Ended { at: 251, result: Ok(1), begun: vec![0, 250] });
    // Two of a broken family cost no more, because families alternate.
    assert_eq!(
        ended(&[Vanishes, Vanishes], &[Accepts(1)]),
        Ended { at: 251, result: Ok(2), begun: vec![0, 250] }
    );
    assert_eq!(
        ended(&[], &[Vanishes, Vanishes, Accepts(1)]),
        Ended { at: 501, result: Ok(2), begun: vec![0, 250, 500] }
    );
}

#[test]
fn an_address_that_fails_costs_no_delay() {
    let refused = Fails(5, Fault::Refused);
    assert_eq!(ended(&[refused], &[Accepts(1)]), Ended { at: 6, result: Ok(1), begun: vec![0, 5] });
    // Also while an earlier attempt is still in progress.
    assert_eq!(
        ended(&[Vanishes], &[refused, Accepts(2)]),
        Ended { at: 257, result: Ok(2), begun: vec![0, 250, 255] }
    );
}

#[test]
fn the_attempt_that_connects_first_wins_even_if_it_began_first() {
    assert_eq!(
        ended(&[Accepts(300)], &[Accepts(100)]),
        Ended { at: 300, result: Ok(0), begun: vec![0, 250] }
    );
    assert_eq!(
        ended(&[Accepts(900)], &[Accepts(100)]),
        Ended { at: 350, result: Ok(1), begun: vec![0, 250] }
    );
}

#[test]
fn an_address_that_accepts_in_time_is_the_only_one_that_is_tried() {
    assert_eq!(ended(&[Accepts(249)], &[Accepts(0)]), Ended { at: 249, result: Ok(0), begun: vec![0] });
}

#[test]
fn if_all_fail_the_error_is_the_first_that_says_something_about_the_server() {
    let unreachable = Fails(0, Fault::Unreachable);
    let refused = Fails(0, Fault::Refused);
    for (v6, v4, fault) in [
        (unreachable, refused, Fault::Refused),
        (refused, unreachable, Fault::Refused),
        (unreachable, unreachable, Fault::Unreachable),
        (refused, Fails(0, Fault::Reset), Fault::Refused),
    ] {
        assert_eq!(ended(&[v6], &[v4]), Ended { at: 0, result: Err(fault), begun: vec![0, 0] });
    }
    // One that does not reply leaves the end to the time limit.
    assert_eq!(ended(&[unreachable], &[Vanishes]).at, 60_000);
}

#[test]
fn a_thousand_addresses_that_refuse_are_tried_one_after_another() {
    let mut v4 = vec![Fails(1, Fault::Refused); 999];
    assert_eq!(ended(&[], &v4).at, 999);
    v4.push(Accepts(1));
    let all = ended(&[], &v4);
    assert_eq!((all.at, all.result, all.begun.len()), (1_000, Ok(999), 1_000));
}

#[test]
fn a_thousand_addresses_that_do_not_reply_are_tried_four_times_a_second() {
    let all = ended(&[], &vec![Vanishes; 1_000]);
    assert_eq!(all.result, Err(Fault::ConnectTimeout));
    assert!(all.begun.iter().enumerate().all(|(place, at)| *at == place as u64 * 250));
}
