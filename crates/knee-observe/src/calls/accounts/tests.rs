//! What is counted of connections that ask, wait, are answered, come and go. Made-up sockets at made-up moments.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

/// The port on which the process listens, and that of the service that it asks.
const OWN: u16 = 8_080;
const ASKED: u16 = 9_000;
const LABEL: &str = "127.0.0.1:9000";

fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// A connection to the other service.
fn call(inode: u32, traffic: Traffic) -> Socket {
    let local = at(40_000 + inode as u16);
    Socket { inode, listens: false, local, remote: at(ASKED), traffic: Some(traffic) }
}

/// A connection of a client, seen from the process.
fn request(inode: u32, traffic: Traffic) -> Socket {
    let remote = at(50_000 + inode as u16);
    Socket { inode, listens: false, local: at(OWN), remote, traffic: Some(traffic) }
}

fn listener() -> Socket {
    Socket { inode: 1, listens: true, local: at(OWN), remote: at(0), traffic: None }
}

/// What a connection did after `sent` questions of 100 bytes and `received` answers of 2,000 bytes, a segment each.
fn after(sent: u32, received: u32, ages: [u32; 2]) -> Traffic {
    Traffic {
        sent_age: ages[0],
        received_age: ages[1],
        sent_bytes: u64::from(sent) * 100,
        received_bytes: u64::from(received) * 2_000,
        sent_segments: sent,
        received_segments: received,
        unsent_bytes: 0,
    }
}

fn figure(accounts: &Accounts, name: &str, label: &str) -> u64 {
    let mut figures = Figures::default();
    accounts.take(&mut figures);
    figures.value(&format!("process.calls.{name}"), label).unwrap_or(0.0) as u64
}

fn look(accounts: &mut Accounts, sockets: &[Socket]) {
    let mut all = vec![listener()];
    all.extend_from_slice(sockets);
    accounts.look(&all, |_| true);
}

#[test]
fn a_connection_waits_from_its_question_to_the_answer() {
    let mut accounts = Accounts::default();
    look(&mut accounts, &[]);
    for (traffic, waiting) in [
        (after(0, 0, [0, 0]), 0),
        (after(1, 0, [0, 0]), 1),
        (after(1, 1, [12, 4]), 1),
        (after(2, 1, [4, 20]), 2),
        (after(2, 2, [24, 16]), 2),
    ] {
        look(&mut accounts, &[call(7, traffic)]);
        assert_eq!(figure(&accounts, "waiting", LABEL), waiting, "{traffic:?}");
    }
    assert_eq!(figure(&accounts, "looks", ""), 6);
    assert_eq!(figure(&accounts, "unsettled", LABEL), 0);
}

#[test]
fn a_pool_that_is_at_rest_and_a_socket_that_only_listens_do_not_wait() {
    let mut accounts = Accounts::default();
    for round in 0..5 {
        let pooled = call(7, after(40, 40, [1_000 + round, 900 + round]));
        let pushed = call(8, after(0, 10 + round, [5_000, 4]));
        look(&mut accounts, &[pooled, pushed]);
    }
    assert_eq!(figure(&accounts, "waiting", LABEL), 0);
}

#[test]
fn within_one_tick_the_number_of_segments_says_what_came_last() {
    let mut accounts = Accounts::default();
    for calls in 1..=4 {
        look(&mut accounts, &[call(7, after(calls, calls, [12, 4]))]);
    }
    look(&mut accounts, &[call(7, after(6, 5, [4, 4]))]);
    assert_eq!(figure(&accounts, "waiting", LABEL), 1, "the next question came right after an answer");
    look(&mut accounts, &[call(7, after(6, 6, [8, 8]))]);
    assert_eq!(figure(&accounts, "waiting", LABEL), 1, "a quick answer");
    assert_eq!(figure(&accounts, "unsettled", LABEL), 0);
}

#[test]
fn within_one_tick_a_connection_to_a_slow_service_waits_and_one_to_an_unknown_service_is_unsettled() {
    let mut accounts = Accounts::default();
    // Answers of three segments.
    look(&mut accounts, &[call(7, after(1, 3, [12, 4]))]);
    look(&mut accounts, &[call(7, after(3, 6, [4, 4]))]);
    assert_eq!(figure(&accounts, "unsettled", LABEL), 1);
    for calls in 3..30 {
        look(&mut accounts, &[call(7, after(calls, 3 * calls, [12, 4]))]);
    }
    look(&mut accounts, &[call(7, after(31, 90, [4, 4]))]);
    assert_eq!([figure(&accounts, "unsettled", LABEL), figure(&accounts, "waiting", LABEL)], [1, 1]);
}

#[test]
fn calls_that_are_the_same_are_alike_however_many_are_between_two_looks() {
    let mut accounts = Accounts::default();
    for calls in [1, 2, 5, 6, 16, 20] {
        look(&mut accounts, &[call(7, after(calls, calls, [12, 4]))]);
    }
    assert_eq!([figure(&accounts, "spans", LABEL), figure(&accounts, "spans_alike", LABEL)], [5, 4]);
    let longer = Traffic { received_bytes: 21 * 2_000 + 1, ..after(21, 21, [12, 4]) };
    look(&mut accounts, &[call(7, longer)]);
    assert_eq!([figure(&accounts, "spans", LABEL), figure(&accounts, "spans_alike", LABEL)], [6, 4]);
}

#[test]
fn a_connection_that_waits_at_each_look_has_spans_and_no_call_is_in_two_of_them() {
    let mut accounts = Accounts::default();
    // Of each call, the answer takes almost all of the time until the next question.
    for calls in [1, 4, 7, 12] {
        look(&mut accounts, &[call(7, after(calls + 1, calls, [4, 24]))]);
    }
    assert_eq!([figure(&accounts, "spans", LABEL), figure(&accounts, "spans_alike", LABEL)], [3, 2]);
    // Idle, waiting, idle, waiting: one span from idle to idle.
    let mut accounts = Accounts::default();
    for calls in [1, 3] {
        look(&mut accounts, &[call(7, after(calls, calls, [12, 4]))]);
        look(&mut accounts, &[call(7, after(calls + 2, calls + 1, [4, 24]))]);
    }
    assert_eq!(figure(&accounts, "spans", LABEL), 1);
    // The same question again and no answer is none.
    let mut accounts = Accounts::default();
    for age in [4, 104, 204] {
        look(&mut accounts, &[call(7, after(5, 4, [age, age + 20]))]);
    }
    assert_eq!(figure(&accounts, "spans", LABEL), 0);
}

#[test]
fn what_is_held_back_behind_a_question_for_longer_than_a_tick_is_seen_once_per_look() {
    let mut accounts = Accounts::default();
    let holds = |inode, age| call(inode, Traffic { unsent_bytes: 28, ..after(6, 5, [age, age + 8]) });
    for (sockets, held) in [
        (vec![call(7, after(5, 5, [12, 4]))], 0),
        (vec![holds(7, 4)], 0),
        (vec![holds(7, 12), holds(8, 12)], 1),
        (vec![call(7, after(6, 6, [12, 4])), holds(8, 24)], 2),
        (vec![call(7, after(6, 6, [12, 4])), call(8, after(6, 6, [12, 4]))], 2),
    ] {
        look(&mut accounts, &sockets);
        assert_eq!(figure(&accounts, "held", LABEL), held, "{sockets:?}");
    }
}

#[test]
fn calls_at_once_are_ahead_of_the_requests_and_calls_one_after_another_are_not() {
    let mut accounts = Accounts::default();
    look(&mut accounts, &[call(7, after(1, 1, [12, 4])), call(8, after(1, 1, [12, 4]))]);
    look(&mut accounts, &[call(7, after(2, 2, [12, 4])), call(8, after(2, 2, [12, 4]))]);
    // The client has sent its request 8 ms ago, and has its last response for longer.
    let in_progress = request(20, after(3, 4, [40, 8]));
    let serial = [call(7, after(3, 2, [4, 40])), call(8, after(2, 2, [60, 50])), in_progress.clone()];
    look(&mut accounts, &serial);
    assert_eq!([figure(&accounts, "requests", ""), figure(&accounts, "ahead", "")], [1, 0]);
    let parallel = [call(7, after(3, 2, [4, 40])), call(8, after(3, 2, [4, 50])), in_progress];
    look(&mut accounts, &parallel);
    assert_eq!([figure(&accounts, "requests", ""), figure(&accounts, "ahead", "")], [2, 1]);
}

#[test]
fn a_wait_that_is_far_longer_than_any_answer_is_unsettled() {
    let mut accounts = Accounts::default();
    for calls in 1..=25 {
        look(&mut accounts, &[call(7, after(calls, calls, [12, 4]))]);
    }
    // What replies to a ping looks like a question.
    look(&mut accounts, &[call(7, after(26, 26, [996, 1_000]))]);
    assert_eq!([figure(&accounts, "waiting", LABEL), figure(&accounts, "unsettled", LABEL)], [1, 0]);
    look(&mut accounts, &[call(7, after(26, 26, [1_096, 1_100]))]);
    assert_eq!([figure(&accounts, "waiting", LABEL), figure(&accounts, "unsettled", LABEL)], [1, 1]);
}

#[test]
fn the_number_that_waits_differs_by_more_with_calls_at_once_than_with_calls_one_after_another() {
    let at_rest = |inode: u32, calls: u32| call(inode, after(calls, calls, [12, 4]));
    let waiting = |inode: u32, calls: u32| call(inode, after(calls + 1, calls, [4, 12]));
    let (mut at_once, mut in_series) = (Accounts::default(), Accounts::default());
    for calls in 1..=45 {
        look(&mut at_once, &[at_rest(7, calls), at_rest(8, calls)]);
        look(&mut at_once, &[waiting(7, calls), waiting(8, calls)]);
        look(&mut in_series, &[waiting(7, calls), at_rest(8, calls)]);
        look(&mut in_series, &[at_rest(7, calls + 1), waiting(8, calls)]);
    }
    let of = |accounts: &Accounts| ["groups", "variance"].map(|name| figure(accounts, name, ""));
    assert_eq!(of(&at_once), [3, 3], "0 and 2, a variance of 1");
    assert_eq!(of(&in_series), [3, 0], "always 1");
}

#[test]
fn a_user_sees_at_how_many_looks_so_many_calls_were_open_with_the_requests_beside_them() {
    let mut accounts = Accounts::default();
    let at_rest = |inode| call(inode, after(2, 2, [12, 4]));
    let waiting = |inode| call(inode, after(3, 2, [4, 40]));
    let in_progress = |inode| request(inode, after(3, 4, [40, 8]));
    look(&mut accounts, &[at_rest(7), at_rest(8)]);
    look(&mut accounts, &[waiting(7), at_rest(8), in_progress(20), in_progress(21)]);
    look(&mut accounts, &[waiting(7), waiting(8), in_progress(20), in_progress(21), in_progress(22)]);
    look(&mut accounts, &[call(7, after(3, 3, [12, 4])), waiting(8)]);
    let of = |level: u32| figure(&accounts, "waiting_looks", &format!("{LABEL} {level}"));
    assert_eq!([of(1), of(2), of(3)], [2, 1, 0]);
    assert_eq!(figure(&accounts, "waiting_requests", LABEL), 2 + 2 * 3);
}

#[test]
fn a_connection_that_no_look_saw_idle_shows_its_questions_under_way_since_it_was_opened() {
    let mut accounts = Accounts::default();
    look(&mut accounts, &[]);
    look(&mut accounts, &[call(7, after(3, 2, [4, 40]))]);
    look(&mut accounts, &[call(7, after(9, 8, [4, 40]))]);
    let of = |accounts: &Accounts| {
        ["pending", "pending_sent", "pending_received"].map(|name| figure(accounts, name, LABEL))
    };
    assert_eq!(of(&accounts), [2, 12, 10]);
    look(&mut accounts, &[call(7, after(90, 89, [4, 40]))]);
    assert_eq!(of(&accounts), [2, 12, 10], "that is long ago");
    let mut unknown = Accounts::default();
    look(&mut unknown, &[call(7, after(3, 2, [4, 40]))]);
    assert_eq!(of(&unknown), [0, 0, 0], "what it did before the first look is not known");
}

#[test]
fn questions_that_are_sent_together_on_one_connection_show_in_their_segments() {
    let mut accounts = Accounts::default();
    look(&mut accounts, &[call(7, after(5, 5, [12, 4]))]);
    look(&mut accounts, &[call(7, after(10, 5, [4, 40]))]);
    let of = |name: &str| figure(&accounts, name, LABEL);
    assert_eq!([of("pending"), of("pending_sent"), of("pending_received")], [1, 5, 0]);
}

#[test]
fn endpoints_beyond_the_most_are_counted_together() {
    let mut accounts = Accounts::default();
    look(&mut accounts, &[]);
    let sockets: Vec<Socket> = (0..40)
        .map(|number| Socket { remote: at(10_000 + number as u16), ..call(number + 2, after(1, 1, [12, 4])) })
        .collect();
    look(&mut accounts, &sockets);
    assert_eq!(figure(&accounts, "opened", "127.0.0.1:10000"), 1);
    assert_eq!(figure(&accounts, "opened", OTHERS), 8);
}

/// A connection to one of many services that waits for its first answer.
fn first_call(service: u32, number: u32) -> Socket {
    Socket { remote: at(10_000 + service as u16), ..call(2 + 10 * service + number, after(1, 0, [4, 40])) }
}

#[test]
fn numbers_of_open_calls_beyond_the_most_series_count_as_the_greatest_and_no_look_is_lost() {
    let mut accounts = Accounts::default();
    for open in 1..=10 {
        let calls = (0..32).flat_map(|service| (0..open).map(move |number| first_call(service, number)));
        look(&mut accounts, &calls.collect::<Vec<_>>());
    }
    let mut figures = Figures::default();
    accounts.take(&mut figures);
    let of = |service: u64, open: u64| {
        let label = format!("127.0.0.1:{} {open}", 10_000 + service);
        figures.value("process.calls.waiting_looks", &label).unwrap_or(0.0) as u64
    };
    let counted = |service: u64| (1..LEVEL_MAX).filter(|open| of(service, *open) > 0).count();
    assert_eq!((0..32).map(counted).sum::<usize>(), PAIRS_MAX, "8 of each");
    assert_eq!([of(0, 1), of(0, 8), of(0, 9), of(0, 10), of(0, LEVEL_MAX)], [1, 1, 0, 0, 2]);
    for service in 0..32 {
        assert_eq!((1..=LEVEL_MAX).map(|open| of(service, open)).sum::<u64>(), 10);
    }
}

/// What one connection does before a look: so many calls, and whether one more is under way; or it is gone.
#[derive(Clone, Copy, Debug)]
enum Step {
    Calls(u32, bool),
    Gone,
}

fn step() -> impl Strategy<Value = Step> {
    let calls = (0..5_u32, any::<bool>()).prop_map(|(calls, more)| Step::Calls(calls, more));
    prop_oneof![6 => calls, 1 => Just(Step::Gone)]
}

proptest! {
    /// However connections come and go: what was counted of an endpoint is what its connections had done when they were
    /// seen last, without what they had done before the first look; and no counter falls.
    #[test]
    fn what_is_counted_is_what_connections_had_done_when_they_were_seen_last(
        steps in prop::collection::vec(prop::collection::vec(step(), 4), 1..40),
    ) {
        let mut accounts = Accounts::default();
        // Of each place: the number of its present connection, and the questions and answers on it.
        let mut places = [(0_u32, 0_u32, 0_u32); 4];
        let (mut next, mut sent, mut received, mut opened) = (2, 0, 0, 0);
        let mut last = [0; 3];
        for (number, steps) in steps.iter().enumerate() {
            let mut sockets = Vec::new();
            for (place, step) in places.iter_mut().zip(steps) {
                let Step::Calls(calls, more) = *step else {
                    *place = (0, 0, 0);
                    continue;
                };
                if place.0 == 0 {
                    *place = (next, 0, 0);
                    next += 1;
                    opened += u64::from(number > 0);
                }
                let before = *place;
                place.2 = before.1 + calls;
                place.1 = place.2 + u32::from(more);
                if number > 0 {
                    sent += u64::from(place.1 - before.1);
                    received += u64::from(place.2 - before.2);
                }
                let ages = if more { [4, 12] } else { [12, 4] };
                sockets.push(call(place.0, after(place.1, place.2, ages)));
            }
            look(&mut accounts, &sockets);
            let of = |name: &str| figure(&accounts, name, LABEL);
            prop_assert_eq!([of("sent_segments"), of("received_segments")], [sent, received]);
            prop_assert_eq!(of("opened"), opened);
            prop_assert_eq!([of("sent_bytes"), of("received_bytes")], [sent * 100, received * 2_000]);
            prop_assert_eq!(of("connections"), sockets.len() as u64);
            let counters = ["waiting", "spans", "spans_alike"].map(of);
            prop_assert!(counters.iter().zip(last).all(|(now, before)| *now >= before));
            prop_assert!(counters[2] <= counters[1]);
            last = counters;
        }
    }
}
