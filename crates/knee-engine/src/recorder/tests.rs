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
