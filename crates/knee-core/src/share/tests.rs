//! Every index of the whole belongs to one machine, and to the one that it belongs to under k6.

use proptest::prelude::*;

use super::*;
use crate::plan::{Executor, Overflow, Plan, Scenario, Stop, Terms};
use crate::schedule::{Arrivals, Curve, Schedule, Stage};
use crate::unit::Nanos;

fn share(segment: &str, sequence: &str) -> Result<Share, ShareError> {
    let segment = if segment.is_empty() { None } else { Some(segment.parse()?) };
    let sequence: Option<Sequence> = if sequence.is_empty() { None } else { Some(sequence.parse()?) };
    Share::new(segment, sequence.as_ref())
}

/// All shares of a whole that has these weights.
fn shares(weights: &[u64]) -> Vec<Share> {
    let whole: u64 = weights.iter().sum();
    let points: Vec<String> = weights
        .iter()
        .scan(0, |sum, weight| {
            *sum += weight;
            Some(format!("{sum}/{whole}"))
        })
        .collect();
    let sequence = format!("0,{}", points.join(","));
    let from = std::iter::once("0".to_owned()).chain(points.clone());
    from.zip(&points).map(|(from, to)| share(&format!("{from}:{to}"), &sequence).unwrap()).collect()
}

#[test]
fn each_share_has_the_indexes_that_it_has_under_k6() {
    // Segment, sequence, the first of its indexes, the gaps from one to the next. As printed by k6 1.8.1.
    for (segment, sequence, first, gaps) in [
        ("0:0.3", "0,0.3,0.5,0.6,0.7,0.8,0.9,1", 0, vec![4, 3, 3]),
        ("0.3:0.5", "0,0.3,0.5,0.6,0.7,0.8,0.9,1", 1, vec![4, 6]),
        ("0.8:0.9", "0,0.3,0.5,0.6,0.7,0.8,0.9,1", 8, vec![10]),
        ("0:20%", "0,20%,0.5,0.6,0.7,0.8,0.9,1", 1, vec![4, 6]),
        ("0:0.2", "0,0.2,0.5", 3, vec![6, 4]),
        ("0.2:0.5", "0,0.2,0.5", 1, vec![4, 2, 4]),
        ("2/5:4/5", "0,2/5,4/5", 1, vec![3, 2]),
        ("0.2", "", 1, vec![5]),
        ("0:4/10", "", 1, vec![2, 3]),
        ("1/10:5/10", "", 1, vec![2, 2, 4, 2]),
        ("0:1", "", 0, vec![1]),
    ] {
        let stripe = share(segment, sequence).unwrap().stripe();
        let mut expected = vec![first];
        for gap in gaps.iter().cycle().take(20) {
            expected.push(expected[expected.len() - 1] + gap);
        }
        let own: Vec<u64> = (0..).filter(|index| stripe.owns(*index)).take(expected.len()).collect();
        assert_eq!(own, expected, "{segment} of {sequence}");
        let numbered: Vec<u64> = (0..own.len() as u64).map(|number| stripe.index(number)).collect();
        assert_eq!(numbered, expected, "{segment} of {sequence}");
    }
}

#[test]
fn turns_are_divided_as_users_are() {
    // Of 20 users three equal machines have 7, 7 and 6, and so they have of 20 turns.
    let counts = |whole| {
        shares(&[1, 1, 1]).iter().map(|share| share.stripe_by_users(20).count(whole)).collect::<Vec<_>>()
    };
    assert_eq!(counts(20), [7, 7, 6]);
    assert_eq!(counts(2_000), [700, 700, 600]);
    // A machine without a user gets no turn.
    let turns = |place: usize| shares(&[1, 1, 1])[place].stripe_by_users(2).count(100);
    assert_eq!([turns(0), turns(1), turns(2)], [50, 50, 0]);
}

#[test]
fn what_is_no_share_is_refused_with_words() {
    for (segment, sequence, words) in [
        ("a", "", "`a` is not a fraction, decimal or percentage from 0 to 1"),
        ("0:3/2", "", "`3/2` is not a fraction"),
        ("-1/4:1", "", "`-1/4` is not"),
        ("1/0", "", "`1/0` is not"),
        ("0.5:", "", "`` is not"),
        (".", "", "`.` is not"),
        ("99999999999999999999/2", "", "is not a fraction"),
        ("0.00000000000000000001", "", "is not a fraction"),
        ("1/2:1/4", "", "the segment `1/2:1/4` must end after it begins"),
        ("0", "", "the segment `0:0` must end"),
        ("0:1/2", "1/2", "a sequence of segments needs two points or more: `1/2` has 1"),
        ("0:1/3", "0,1/2,1", "the segment 0:1/3 is not in the sequence 0,1/2,1"),
        ("", "0,1/2,1", "the segment 0:1 is not in the sequence 0,1/2,1"),
        ("0:1/999983", "0,1/999983,1/2,1", "the segments are too fine: at most 1000, in multiples of 1/n"),
    ] {
        let error = share(segment, sequence).unwrap_err().to_string();
        assert!(error.contains(words), "{segment} of {sequence}: {error}");
    }
    assert!(share("", "").unwrap().is_whole());
    assert_eq!(share("25%:.5", "").unwrap().segment().to_string(), "1/4:1/2");
    assert_eq!(share("25%:.5", "").unwrap().sequence().to_string(), "0,1/4,1/2,1");
}

fn weights() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1u64..40, 1..12)
}

fn curve() -> impl Strategy<Value = Curve> {
    let stage = (0u64..4_000, 0u32..30).prop_map(|(millis, target)| Stage {
        duration: Nanos::from_millis(millis),
        target: f64::from(target),
    });
    (0u32..30, prop::collection::vec(stage, 0..4))
        .prop_map(|(start, stages)| Curve { start: f64::from(start), stages })
}

fn plan(scenario: Scenario) -> Plan {
    Plan {
        scenarios: vec![scenario],
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: Nanos::ZERO,
        request_timeout: None,
        connect_timeout: Nanos::from_secs(1),
        workers: 1,
        interval: Nanos::from_secs(1),
    }
}

/// The spans of all users of a plan, sorted.
fn spans(scenario: Scenario) -> Vec<Vec<(Nanos, Nanos)>> {
    let allocation = crate::allocation::Allocation::of(&plan(scenario));
    let mut all: Vec<_> = allocation.scenarios[0].iter().map(|one| one.spans.clone()).collect();
    all.sort();
    all
}

/// Whose each index is, word by word as the definition says.
fn dealt_by_definition(weights: &[u64]) -> Vec<u32> {
    let cycle: u64 = weights.iter().sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|place| Reverse(weights[*place]));
    let mut dealt = vec![0u64; weights.len()];
    let mut whose = Vec::new();
    for index in 0..cycle {
        let is_due = |place: &&usize| index * weights[**place] >= dealt[**place] * cycle;
        let place = *order.iter().find(is_due).unwrap();
        dealt[place] += 1;
        whose.push(place as u32);
    }
    whose
}

#[test]
fn a_thousand_machines_and_the_longest_cycle_are_divided_at_once() {
    // By the definition alone, this would take hours.
    let mut weights: Vec<u64> = (1..=999).map(|number| 500 + number).collect();
    weights.push(999_999 - weights.iter().sum::<u64>());
    let shares = shares(&weights);
    assert_eq!(shares.len(), 1_000);
    for place in [0, 500, 999] {
        assert_eq!(shares[place].stripe().count(999_999), weights[place]);
        assert_eq!(shares[place].stripe_by_users(999_999).count(999_999), weights[place]);
    }
}

proptest! {
    #[test]
    fn indexes_are_dealt_as_the_definition_says(weights in weights()) {
        prop_assert_eq!(deal(&weights), dealt_by_definition(&weights));
    }

    #[test]
    fn every_index_belongs_to_one_machine(weights in weights(), users in 1u64..200, whole in 0u64..2_000) {
        let shares = shares(&weights);
        for stripes in [
            shares.iter().map(Share::stripe).collect::<Vec<_>>(),
            shares.iter().map(|share| share.stripe_by_users(users)).collect(),
        ] {
            for index in 0..whole.min(500) {
                prop_assert_eq!(stripes.iter().filter(|stripe| stripe.owns(index)).count(), 1);
            }
            prop_assert_eq!(stripes.iter().map(|stripe| stripe.count(whole)).sum::<u64>(), whole);
        }
    }

    #[test]
    fn the_numbers_of_a_machine_lead_to_its_indexes(weights in weights(), number in 0u64..5_000) {
        for share in shares(&weights) {
            let stripe = share.stripe();
            let index = stripe.index(number);
            prop_assert!(stripe.owns(index));
            prop_assert_eq!(stripe.count(index), number);
        }
    }

    #[test]
    fn all_machines_together_send_the_arrivals_of_one(
        weights in weights(),
        rate in curve(),
        users in 1u32..60,
        poisson in any::<bool>(),
    ) {
        let arrivals =
            if poisson { Arrivals::Poisson { seed: 7 } } else { Arrivals::Numbered { first: 1, count: 60 } };
        let end = rate.duration().saturating_add(Nanos::from_secs(1));
        let all: Vec<Nanos> = Schedule::new(rate.clone(), arrivals, end, 200).collect();
        let executor = Executor::Open { rate, arrivals, users_max: users };
        let scenario = Scenario::new("a", executor, Stop::At(end));
        let mut parts = Vec::new();
        for share in shares(&weights) {
            let part = scenario.clone().shared(&share);
            // Without a user there is no arrival.
            let turns = part.part.as_ref().map(|part| part.turns.clone());
            let own: Vec<Nanos> = Stripe::of(turns, all.iter().copied()).collect();
            prop_assert!(part.has_work() || own.is_empty());
            parts.extend(own);
        }
        parts.sort();
        prop_assert_eq!(parts, all);
    }

    #[test]
    fn all_machines_together_have_the_users_of_one(
        weights in weights(),
        vus in curve(),
        iterations in 0u64..500,
    ) {
        let terms = Terms { grace: Some(Nanos::ZERO), ramp_down: Some(Nanos::ZERO), ..Terms::default() };
        let executor = Executor::Closed { vus };
        let scenario = Scenario { terms, ..Scenario::new("a", executor.clone(), Stop::At(Nanos::from_secs(9))) };
        let shares = shares(&weights);
        let parts = || shares.iter().map(|share| scenario.clone().shared(share));
        let mut together: Vec<_> = parts().flat_map(spans).collect();
        together.sort();
        prop_assert_eq!(together, spans(scenario.clone()));
        prop_assert_eq!(parts().map(|part| part.users_max()).sum::<u32>(), scenario.users_max());
        // Iterations that all share, and iterations of each.
        let by_number = Scenario::new("a", executor.clone(), Stop::Requests(iterations));
        let users = by_number.users_max();
        let of_each = Scenario {
            terms: Terms { turns_per_user: Some(3), ..terms },
            ..Scenario::new("a", executor, Stop::Requests(3 * u64::from(users)))
        };
        for whole in [by_number, of_each] {
            let sum: u64 = shares.iter().filter_map(|share| whole.clone().shared(share).requests()).sum();
            prop_assert_eq!(sum, if users == 0 { 0 } else { whole.stop.requests().unwrap() });
        }
    }

    #[test]
    fn no_text_panics(segment in ".{0,20}", sequence in "[0-9/.%,:]{0,30}") {
        let _ = share(&segment, &sequence);
    }
}

#[test]
fn users_that_are_made_first_are_divided_too() {
    let executor = Executor::Open { rate: Curve::constant(10.0), arrivals: Arrivals::Uniform, users_max: 9 };
    let terms = Terms { overflow: Overflow::Drop, users_made_first: Some(4), ..Terms::default() };
    let scenario = Scenario { terms, ..Scenario::new("a", executor, Stop::At(Nanos::from_secs(1))) };
    let parts: Vec<Scenario> =
        shares(&[1, 1, 1]).iter().map(|share| scenario.clone().shared(share)).collect();
    assert_eq!(parts.iter().map(Scenario::users_first).collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(parts.iter().map(Scenario::users_max).collect::<Vec<_>>(), [3, 3, 3]);
}
