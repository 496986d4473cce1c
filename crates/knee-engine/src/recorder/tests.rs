//! The times of events, by numbers.

use super::*;

const DUE: Nanos = Nanos::from_millis(10);

fn ended(outcome: Outcome, done: Nanos) -> Finish<'static> {
    Finish {
        outcome,
        done,
        status: None,
        fault: None,
        marks: Marks::default(),
        counts: Counts::default(),
        body: None,
    }
}

/// What is counted of a request whose events arrive at `events` and which ends in `outcome`, in milliseconds.
fn times(events: &[u64], outcome: Outcome, done: u64) -> [Vec<f64>; 4] {
    let mut recorder = Recorder::new(Nanos::ZERO);
    let id = recorder.begin(EndpointId(0), DUE, DUE);
    recorder.expect_events(id);
    recorder.sent(id, Nanos::from_millis(12));
    for at in events {
        recorder.event(id, Nanos::from_millis(*at));
    }
    recorder.finish(id, &ended(outcome, Nanos::from_millis(done)));
    let share = recorder.roll(Nanos::from_secs(1));
    let tally = &share.measured.endpoints[0];
    [Phase::FirstEvent, Phase::NoEvent, Phase::EventGap, Phase::LongestGap].map(|phase| {
        let times = tally.phases[phase as usize].iter();
        times.map(|(low, _, _)| (low.as_millis_f64()).round()).collect()
    })
}

#[test]
fn the_first_event_counts_from_when_its_request_was_due_and_each_other_one_from_the_one_before() {
    let [first, none, gaps, longest] = times(&[40, 45, 65], Outcome::Ok, 90);
    assert_eq!((first, none), (vec![30.0], vec![]));
    assert_eq!((gaps, longest), (vec![5.0, 20.0], vec![20.0]));
}

#[test]
fn a_stream_of_one_event_has_no_gap() {
    let [first, none, gaps, longest] = times(&[40], Outcome::Ok, 90);
    assert_eq!((first, none, gaps, longest), (vec![30.0], vec![], vec![], vec![0.0]));
}

#[test]
fn a_stall_that_a_time_limit_ended_is_the_longest_gap_although_no_event_followed() {
    let [first, none, gaps, longest] = times(&[40, 45], Outcome::Timeout, 545);
    assert_eq!((first, none, gaps, longest), (vec![30.0], vec![], vec![5.0], vec![500.0]));
}

#[test]
fn who_waited_in_vain_for_the_first_event_is_not_forgotten() {
    let [first, none, gaps, longest] = times(&[], Outcome::Timeout, 510);
    assert_eq!((first, none, gaps, longest), (vec![], vec![500.0], vec![], vec![]));
    let [_, none, ..] = times(&[], Outcome::HttpError, 510);
    assert_eq!(none, Vec::<f64>::new(), "an error was not waited for");
}

/// Moments of a send and an end, in milliseconds, and when the end is noticed: in the order of the noticing.
fn area(requests: &[(u64, u64)], noticed: &[Noticed], rolls: &[u64]) -> Vec<(u128, u128)> {
    let mut recorder = Recorder::new(Nanos::ZERO);
    let ids: Vec<FlightId> = requests.iter().map(|_| recorder.begin(EndpointId(0), DUE, DUE)).collect();
    let mut windows = Vec::new();
    let mut window = |recorder: &mut Recorder, at: u64| {
        let concurrency = recorder.roll(Nanos::from_millis(at)).concurrency;
        windows.push((concurrency.area / 1_000_000, concurrency.clipped / 1_000_000));
    };
    let mut rolls = rolls.iter().copied();
    for noticed in noticed {
        match *noticed {
            Noticed::Sent(place) => recorder.sent(ids[place], Nanos::from_millis(requests[place].0)),
            Noticed::Done(place) => {
                recorder.finish(ids[place], &ended(Outcome::Ok, Nanos::from_millis(requests[place].1)));
            }
            Noticed::Roll => window(&mut recorder, rolls.next().unwrap()),
        }
    }
    windows
}

#[derive(Clone, Copy)]
enum Noticed {
    Sent(usize),
    Done(usize),
    Roll,
}

#[test]
fn a_request_is_in_flight_until_its_last_byte_was_read_however_late_its_task_learns_of_it() {
    use Noticed::{Done, Roll, Sent};
    // The first response arrives at 5 ms, and is noticed after the third request was sent at 30 ms: 5 + 20 + 10.
    let requests = [(0, 5), (10, 30), (30, 40)];
    let late = [Sent(0), Sent(1), Sent(2), Done(0), Done(1), Done(2), Roll];
    let in_order = [Sent(0), Done(0), Sent(1), Done(1), Sent(2), Done(2), Roll];
    assert_eq!(area(&requests, &late, &[50]), [(35, 35)]);
    assert_eq!(area(&requests, &in_order, &[50]), [(35, 35)]);
    // A send that is noticed late counts from when it was.
    assert_eq!(area(&[(10, 30), (20, 40)], &[Sent(1), Sent(0), Done(0), Done(1), Roll], &[50]), [(40, 40)]);
    // An interval that has ended is not changed any more: the end at 15 ms is noticed in the next one.
    let across = [Sent(0), Sent(1), Roll, Done(0), Done(1), Roll];
    assert_eq!(area(&[(0, 15), (10, 30)], &across, &[20, 50]), [(30, 30), (10, 10)]);
    assert_eq!(
        area(&[(0, 15), (10, 30)], &[Sent(0), Sent(1), Done(0), Roll, Done(1), Roll], &[20, 50]),
        [(25, 25), (10, 10)]
    );
}
