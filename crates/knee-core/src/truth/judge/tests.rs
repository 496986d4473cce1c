//! One test a rule, at both sides of its limit.

use super::*;
use crate::outcome::Outcome;
use crate::tally::Books;

/// A minute at 1,000/s against a target that answers in 20 ms, on a machine with nothing wrong.
fn healthy() -> Figures {
    Figures {
        books: Books { planned: 60_000, by_outcome: [60_000, 0, 0, 0, 0, 0] },
        response: Some((Nanos::from_millis(20), Nanos::from_millis(40))),
        answered_p99: Some(Nanos::from_millis(40)),
        own_lag: Some((Nanos::from_micros(10), Nanos::from_micros(60), Nanos::from_millis(1))),
        area_residual: Some(0.0),
        little_residual: Some(0.001),
        little_allowance: 0.001,
        sent_share: Some(1.0),
        intervals: 60,
        in_flight_mean: Some(20.0),
        in_flight_max: 40,
        worker_cpu_max: Some(0.3),
        worker_cpu_saturated: Some(0.0),
        run_delay: Some(0.002),
        throttled: Some((0, 600)),
        steal: Some(0.0),
        descriptors: Some((70, 1_024)),
        ports: Some((64, 28_232)),
        connections_opened: 64,
        users_max: 64,
        bodies: (1, false),
        suspended: Some(Nanos::ZERO),
        co_located: Some(false),
        ..Figures::default()
    }
}

/// Judges a healthy run after `change`; the reason with `code`, if there is one.
fn changed(code: &str, change: impl Fn(&mut Figures)) -> Option<State> {
    let mut figures = healthy();
    change(&mut figures);
    let truth = judge(figures);
    for reason in &truth.reasons {
        assert!(reason.state != State::Valid && reason.state <= truth.state);
        assert!(!reason.text.is_empty() && !reason.advice.is_empty(), "{}", reason.code);
        assert!(!reason.text.ends_with('.') && !reason.text.contains("  "), "{}", reason.text);
    }
    truth.reasons.iter().find(|reason| reason.code == code).map(|reason| reason.state)
}

const SUSPECT: Option<State> = Some(State::Suspect);
const INVALID: Option<State> = Some(State::Invalid);

#[test]
fn a_healthy_run_has_no_reason_and_no_note() {
    let truth = judge(healthy());
    assert_eq!((truth.state, truth.reasons, truth.notes), (State::Valid, vec![], Vec::<String>::new()));
}

#[test]
fn what_a_platform_cannot_tell_is_not_held_against_the_run() {
    let truth = judge(Figures {
        little_residual: None,
        sent_share: None,
        worker_cpu_max: None,
        worker_cpu_saturated: None,
        run_delay: None,
        throttled: None,
        steal: None,
        descriptors: None,
        ports: None,
        suspended: None,
        co_located: None,
        ..healthy()
    });
    assert_eq!(truth.reasons, []);
}

#[test]
fn the_verdict_is_the_worst_reason_and_that_comes_first() {
    let truth = judge(Figures { truncated: true, steal: Some(0.02), books_off: 1, ..healthy() });
    let codes: Vec<_> = truth.reasons.iter().map(|reason| reason.code.as_str()).collect();
    assert_eq!((truth.state, codes), (State::Invalid, vec!["books", "steal", "truncated"]));
}

#[test]
fn a_single_request_off_the_books_makes_the_run_invalid() {
    assert_eq!(changed("books", |f| f.books_off = 0), None);
    assert_eq!(changed("books", |f| f.books_off = 1), INVALID);
}

#[test]
fn a_missing_interval_makes_the_run_invalid() {
    assert_eq!(changed("intervals", |f| f.intervals_lost = 0), None);
    assert_eq!(changed("intervals", |f| f.intervals_lost = 1), INVALID);
}

#[test]
fn in_flight_and_times_may_differ_by_a_thousandth() {
    assert_eq!(changed("area", |f| f.area_residual = Some(0.001)), None);
    assert_eq!(changed("area", |f| f.area_residual = Some(0.001_1)), INVALID);
}

#[test]
fn a_run_without_a_request_is_invalid() {
    assert_eq!(changed("nothing_measured", |f| f.books = Books::default()), INVALID);
    assert_eq!(changed("no_answer", |f| f.books = Books::default()), None);
}

#[test]
fn a_run_without_an_answer_is_invalid_and_one_answer_is_enough() {
    let books = |answered: u64| Books { planned: 10, by_outcome: [0, answered, 10 - answered, 0, 0, 0] };
    assert_eq!(changed("no_answer", |f| f.books = books(0)), INVALID);
    assert_eq!(changed("no_answer", |f| f.books = books(1)), None);
}

#[test]
fn a_debug_build_does_not_measure() {
    assert_eq!(changed("debug_build", |f| f.debug_build = true), INVALID);
}

/// The reason for a lag at p99, at given response times in microseconds.
fn lag_at(lag_us: u64, p50_us: u64, p99_us: u64) -> Option<State> {
    changed("lag", |f| {
        f.own_lag = Some((Nanos::ZERO, Nanos::from_micros(lag_us), Nanos::from_micros(lag_us)));
        f.response = Some((Nanos::from_micros(p50_us), Nanos::from_micros(p99_us)));
    })
}

#[test]
fn a_lag_up_to_a_millisecond_is_allowed_on_the_fastest_server() {
    assert_eq!(lag_at(1_000, 50, 1_100), None);
    assert_eq!(lag_at(1_001, 50, 1_100), INVALID);
    assert_eq!(lag_at(1_001, 50, 5_000), SUSPECT);
}

#[test]
fn a_lag_over_a_tenth_of_the_median_response_is_suspect() {
    assert_eq!(lag_at(2_000, 20_000, 40_000), None);
    assert_eq!(lag_at(2_001, 20_000, 40_000), SUSPECT);
}

#[test]
fn a_lag_over_a_quarter_of_the_slowest_responses_is_invalid() {
    assert_eq!(lag_at(10_000, 20_000, 40_000), SUSPECT);
    assert_eq!(lag_at(10_001, 20_000, 40_000), INVALID);
}

#[test]
fn a_lag_over_a_tenth_of_a_second_is_invalid_on_the_slowest_server() {
    assert_eq!(lag_at(100_000, 5_000_000, 9_000_000), None);
    assert_eq!(lag_at(100_001, 5_000_000, 9_000_000), INVALID);
}

#[test]
fn a_pause_of_knee_itself_is_seen() {
    assert_eq!(changed("stall", |f| f.stall = Nanos::from_millis(100)), None);
    assert_eq!(changed("stall", |f| f.stall = Nanos::from_millis(101)), SUSPECT);
    assert_eq!(changed("stall", |f| f.stall = Nanos::from_millis(1_001)), INVALID);
}

#[test]
fn failures_of_this_machine_count_by_their_share_of_all_requests() {
    assert_eq!(changed("generator_faults", |f| f.generator_faults = 60), None);
    assert_eq!(changed("generator_faults", |f| f.generator_faults = 61), SUSPECT);
    assert_eq!(changed("generator_faults", |f| f.generator_faults = 600), SUSPECT);
    assert_eq!(changed("generator_faults", |f| f.generator_faults = 601), INVALID);
}

#[test]
fn a_rate_that_the_target_did_not_take_is_suspect_however_low() {
    assert_eq!(changed("rate", |f| f.sent_share = Some(0.995)), None);
    assert_eq!(changed("rate", |f| f.sent_share = Some(0.994)), SUSPECT);
    assert_eq!(changed("rate", |f| f.sent_share = Some(0.5)), SUSPECT);
}

#[test]
fn a_rate_that_knee_could_not_send_is_invalid_below_98_percent() {
    let exhausted = |share: f64| {
        move |f: &mut Figures| {
            f.worker_cpu_saturated = Some(0.1);
            f.sent_share = Some(share);
        }
    };
    assert_eq!(changed("rate", exhausted(0.995)), None);
    assert_eq!(changed("rate", exhausted(0.98)), SUSPECT);
    assert_eq!(changed("rate", exhausted(0.979)), INVALID);
    assert_eq!(
        changed("rate", |f| (f.run_delay, f.sent_share) = (Some(0.06), Some(0.9))),
        INVALID,
        "no CPU to be had is as good as none left"
    );
    assert_eq!(changed("rate", |f| (f.throttled, f.sent_share) = (Some((5, 100)), Some(0.9))), INVALID);
}

#[test]
fn a_busy_worker_is_suspect_and_a_saturated_one_invalid() {
    assert_eq!(changed("worker_cpu", |f| f.worker_cpu_max = Some(0.7)), None);
    assert_eq!(changed("worker_cpu", |f| f.worker_cpu_max = Some(0.71)), SUSPECT);
    let saturated = |share: f64| {
        move |f: &mut Figures| {
            f.worker_cpu_max = Some(0.99);
            f.worker_cpu_saturated = Some(share);
        }
    };
    assert_eq!(changed("worker_cpu", saturated(0.09)), SUSPECT);
    assert_eq!(changed("worker_cpu", saturated(0.1)), INVALID);
}

#[test]
fn waiting_for_a_cpu_is_suspect_above_one_percent_and_invalid_above_five() {
    assert_eq!(changed("run_delay", |f| f.run_delay = Some(0.01)), None);
    assert_eq!(changed("run_delay", |f| f.run_delay = Some(0.011)), SUSPECT);
    assert_eq!(changed("run_delay", |f| f.run_delay = Some(0.05)), SUSPECT);
    assert_eq!(changed("run_delay", |f| f.run_delay = Some(0.051)), INVALID);
}

#[test]
fn waiting_for_a_cpu_is_at_most_suspect_where_closed_load_and_target_share_a_machine() {
    let shared = |delay: f64| {
        changed("run_delay", move |f| {
            (f.closed, f.co_located, f.run_delay) = (true, Some(true), Some(delay));
        })
    };
    assert_eq!(shared(0.01), None);
    assert_eq!(shared(0.011), SUSPECT);
    assert_eq!(shared(0.9), SUSPECT);
}

#[test]
fn waiting_for_a_cpu_above_five_percent_is_invalid_with_open_load_or_another_machine() {
    for (closed, co_located) in [(false, Some(true)), (true, Some(false)), (true, None)] {
        let state = |delay: f64| {
            changed("run_delay", move |f| {
                (f.closed, f.co_located, f.run_delay) = (closed, co_located, Some(delay));
            })
        };
        assert_eq!(state(0.05), SUSPECT, "closed {closed}, co-located {co_located:?}");
        assert_eq!(state(0.051), INVALID, "closed {closed}, co-located {co_located:?}");
    }
}

#[test]
fn the_advice_on_waiting_names_a_target_on_the_same_machine() {
    let advice = |co_located| {
        let truth = judge(Figures { run_delay: Some(0.03), co_located, ..healthy() });
        truth.reasons[0].advice.contains("the target shares this machine's CPUs")
    };
    assert!(advice(Some(true)));
    assert!(!advice(Some(false)) && !advice(None));
}

#[test]
fn one_throttled_period_is_suspect_and_a_twentieth_invalid() {
    assert_eq!(changed("throttled", |f| f.throttled = Some((1, 600))), SUSPECT);
    assert_eq!(changed("throttled", |f| f.throttled = Some((29, 600))), SUSPECT);
    assert_eq!(changed("throttled", |f| f.throttled = Some((30, 600))), INVALID);
}

#[test]
fn stolen_time_is_suspect_above_one_percent_and_invalid_above_five() {
    assert_eq!(changed("steal", |f| f.steal = Some(0.01)), None);
    assert_eq!(changed("steal", |f| f.steal = Some(0.011)), SUSPECT);
    assert_eq!(changed("steal", |f| f.steal = Some(0.05)), SUSPECT);
    assert_eq!(changed("steal", |f| f.steal = Some(0.051)), INVALID);
}

#[test]
fn a_step_of_the_wall_clock_over_50_ms_is_suspect_in_either_direction() {
    assert_eq!(changed("clock", |f| f.wall_drift_ns = 50_000_000), None);
    assert_eq!(changed("clock", |f| f.wall_drift_ns = 50_000_001), SUSPECT);
    assert_eq!(changed("clock", |f| f.wall_drift_ns = -50_000_001), SUSPECT);
}

#[test]
fn a_suspended_machine_is_suspect() {
    assert_eq!(changed("suspended", |f| f.suspended = Some(Nanos::from_millis(10))), None);
    assert_eq!(changed("suspended", |f| f.suspended = Some(Nanos::from_millis(11))), SUSPECT);
}

#[test]
fn descriptors_are_suspect_above_four_fifths_of_their_limit() {
    assert_eq!(changed("descriptors", |f| f.descriptors = Some((800, 1_000))), None);
    assert_eq!(changed("descriptors", |f| f.descriptors = Some((801, 1_000))), SUSPECT);
}

#[test]
fn ports_are_suspect_above_seven_tenths_of_their_range() {
    assert_eq!(changed("ports", |f| f.ports = Some((700, 1_000))), None);
    assert_eq!(changed("ports", |f| f.ports = Some((701, 1_000))), SUSPECT);
}

#[test]
fn littles_law_may_be_off_by_two_percent_and_what_the_edges_explain() {
    let off = |residual: f64, allowance: f64| {
        changed("littles_law", |f| (f.little_residual, f.little_allowance) = (Some(residual), allowance))
    };
    assert_eq!(off(0.02, 0.0), None);
    assert_eq!(off(0.021, 0.0), SUSPECT);
    assert_eq!(off(0.5, 0.5), None);
    assert_eq!(off(0.53, 0.5), SUSPECT);
}

#[test]
fn a_record_without_an_end_is_suspect() {
    assert_eq!(changed("truncated", |f| f.truncated = true), SUSPECT);
}

/// The notes of a healthy run after `change`.
fn noted(change: impl Fn(&mut Figures)) -> Vec<String> {
    let mut figures = healthy();
    change(&mut figures);
    let truth = judge(figures);
    assert_eq!(truth.state, State::Valid);
    truth.notes
}

#[test]
fn an_interruption_and_a_shared_machine_are_noted_and_no_reason() {
    assert_eq!(noted(|f| f.interrupted = true), ["the run was interrupted before its plan ended"]);
    let [note] = noted(|f| f.co_located = Some(true)).try_into().unwrap();
    assert!(note.starts_with("the target runs on this machine"));
}

#[test]
fn requests_open_at_the_end_are_noted_with_their_age_and_the_stuck_ones_counted() {
    let open = |stuck| {
        noted(move |f| {
            f.books.by_outcome[Outcome::Censored as usize] = 3;
            f.censored = Some((3, Nanos::from_secs(9)));
            f.censored_stuck = stuck;
        })
    };
    assert_eq!(open(0), ["3 requests were still open at the end, the oldest for 9.00 s"]);
    assert_eq!(
        open(2),
        ["3 requests were still open at the end, the oldest for 9.00 s; \
          2 of them for over twice the p99 of all answered (40.0 ms)"]
    );
}

#[test]
fn connections_beyond_one_a_user_are_noted_above_one_percent_of_the_requests() {
    assert_eq!(noted(|f| f.connections_opened = 664), Vec::<String>::new());
    let [note] = noted(|f| f.connections_opened = 665).try_into().unwrap();
    assert!(note.starts_with("665 connections were opened for 60000 requests"));
}

#[test]
fn a_lag_too_small_to_judge_is_noted_when_it_is_much_of_a_fast_response() {
    let lag = |lag_us| {
        noted(move |f| {
            f.own_lag = Some((Nanos::ZERO, Nanos::from_micros(lag_us), Nanos::from_millis(1)));
            f.response = Some((Nanos::from_micros(50), Nanos::from_micros(800)));
        })
    };
    assert_eq!(lag(200).len(), 0);
    assert_eq!(lag(201).len(), 1);
}

#[test]
fn a_rare_lag_that_no_percentile_shows_is_noted() {
    let most = |millis| {
        noted(move |f| f.own_lag = Some((Nanos::ZERO, Nanos::from_micros(60), Nanos::from_millis(millis))))
    };
    assert_eq!(most(100).len(), 0);
    assert_eq!(most(101).len(), 1);
}

#[test]
fn bodies_that_vary_or_are_empty_are_noted() {
    assert_eq!(noted(|f| f.bodies = (16, false)).len(), 0);
    assert_eq!(noted(|f| f.bodies = (17, false)), ["17 different bodies came back"]);
    assert_eq!(noted(|f| f.bodies = (64, true)), ["more than 64 different bodies came back"]);
    assert_eq!(noted(|f| f.endpoints_of_many_lengths = 1).len(), 1);
    assert_eq!(noted(|f| f.endpoints_of_empty_bodies = 1).len(), 1);
}

#[test]
fn requests_sent_again_and_surplus_bytes_are_noted() {
    assert_eq!(noted(|f| f.resent = 1).len(), 1);
    assert_eq!(noted(|f| f.surplus = 1).len(), 1);
}

#[test]
fn a_run_shorter_than_an_interval_says_that_cpu_use_is_unknown() {
    let notes = noted(|f| (f.intervals, f.worker_cpu_max) = (0, None));
    assert_eq!(notes, ["the run was too short to look at knee's own CPU use"]);
}
