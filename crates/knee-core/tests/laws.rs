//! Laws of counting, as properties: what must hold for every input, not for chosen ones.
//!
//! A failing case is printed with the input that proptest has shrunk it to, and with its seed.

#![allow(clippy::unwrap_used, reason = "a test trusts its own input")]

use knee_core::estimate::{Distribution, Quantile};
use knee_core::histogram::Histogram;
use knee_core::interval::Interval;
use knee_core::outcome::Outcome;
use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::record::format::{Frame, Note, ReadError, Reader, Writer};
use knee_core::record::run::{RunBuilder, read};
use knee_core::record::{Build, Ending, Head, Machine, Tail};
use knee_core::sampled::Sampled;
use knee_core::schedule::{Arrivals, Curve, Schedule, Stage};
use knee_core::tally::{EndpointTally, Tally};
use knee_core::unit::Nanos;
use knee_core::validity::{Diagnostics, Validity, ValidityReport};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Times from 0 to over two hours, every order of magnitude as likely as another.
fn times() -> impl Strategy<Value = u64> {
    (0u32..43, any::<u64>()).prop_map(|(bits, random)| random & ((1 << bits) - 1))
}

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record(Nanos(*value));
    }
    histogram
}

fn merged(parts: &[&Histogram]) -> Histogram {
    let mut sum = Histogram::new();
    for part in parts {
        sum.merge(part);
    }
    sum
}

proptest! {
    #[test]
    fn merging_histograms_is_associative_commutative_and_lossless(
        a in vec(times(), 0..200), b in vec(times(), 0..200), c in vec(times(), 0..200),
    ) {
        let (ha, hb, hc) = (histogram(&a), histogram(&b), histogram(&c));
        let all = histogram(&[a, b, c].concat());
        prop_assert_eq!(&merged(&[&ha, &hb, &hc]), &all);
        prop_assert_eq!(&merged(&[&hc, &ha, &hb]), &all);
        prop_assert_eq!(&merged(&[&ha, &merged(&[&hb, &hc])]), &all);
        prop_assert_eq!(&merged(&[&merged(&[&ha, &hb]), &hc]), &all);
    }

    #[test]
    fn recording_many_is_recording_one_by_one(value in times(), times in 0u64..50) {
        let mut many = Histogram::new();
        many.record_many(Nanos(value), times);
        prop_assert_eq!(many, histogram(&vec![value; times as usize]));
    }

    #[test]
    fn counts_sum_and_ends_are_exact(values in vec(times(), 1..300)) {
        let histogram = histogram(&values);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.sum(), values.iter().map(|value| u128::from(*value)).sum::<u128>());
        prop_assert_eq!(histogram.min().unwrap().0, *values.iter().min().unwrap());
        prop_assert_eq!(histogram.max().unwrap().0, *values.iter().max().unwrap());
        let in_buckets: u64 = histogram.iter().map(|(_, _, count)| count).sum();
        prop_assert_eq!(in_buckets + histogram.overflow(), histogram.count());
    }

    #[test]
    fn a_quantile_is_its_sorted_value_or_at_most_a_thousandth_above(
        mut values in vec(0u64..3_600_000_000_000, 1..300), k in any::<Index>(),
    ) {
        values.sort_unstable();
        let place = k.index(values.len());
        // The middle of the rank's step, where no rounding can choose a neighbour.
        let q = (place as f64 + 0.5) / values.len() as f64;
        let (found, exact) = (histogram(&values).quantile(q).unwrap().0, values[place]);
        prop_assert!(found >= exact && found <= exact + exact / 1_000, "{found} for {exact}");
    }

    #[test]
    fn quantiles_agree_with_the_hdrhistogram_crate(
        values in vec(1u64..3_600_000_000_000, 1..300), k in any::<Index>(),
    ) {
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for value in &values {
            theirs.record(*value).unwrap();
        }
        let q = (k.index(values.len()) as f64 + 0.5) / values.len() as f64;
        let (our, their) = (histogram(&values).quantile(q).unwrap().0, theirs.value_at_quantile(q));
        prop_assert!(our.abs_diff(their) <= their / 1_000 + 1, "{our} and {their}");
    }

    #[test]
    fn counting_at_or_below_agrees_with_the_sorted_values(values in vec(times(), 0..200), limit in times()) {
        let found = histogram(&values).count_at_or_below(Nanos(limit));
        let exactly = values.iter().filter(|value| **value <= limit).count() as u64;
        let in_bucket = values.iter().filter(|value| **value <= limit + limit / 1_000).count() as u64;
        prop_assert!((exactly..=in_bucket).contains(&found) || limit > 3_600_000_000_000);
    }

    #[test]
    fn a_histogram_survives_being_written_and_read(values in vec(times(), 0..300)) {
        let histogram = histogram(&values);
        let packed = rmp_serde::to_vec_named(&histogram).unwrap();
        prop_assert_eq!(&rmp_serde::from_slice::<Histogram>(&packed).unwrap(), &histogram);
        let text = serde_json::to_string(&histogram).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Histogram>(&text).unwrap(), &histogram);
    }
}

/// Response times known exactly, and times after which requests were given up.
fn distribution(exact: &[u64], bounds: &[u64]) -> Distribution {
    let mut tally = EndpointTally::default();
    let mut note = |outcome: Outcome, values: &[u64]| {
        for value in values {
            tally.outcomes[outcome as usize].response.record(Nanos(*value));
        }
    };
    note(Outcome::Ok, exact);
    note(Outcome::Censored, bounds);
    Distribution::response(&tally)
}

proptest! {
    #[test]
    fn however_long_requests_given_up_would_have_taken_a_quantile_said_to_be_exact_is_the_same(
        exact in vec(0u64..5_000, 150..600),
        bounds in vec((0u64..5_000, times()), 1..60),
        q in 0.05f64..0.9,
    ) {
        let given_up: Vec<u64> = bounds.iter().map(|(at, _)| *at).collect();
        let in_truth: Vec<u64> = bounds.iter().map(|(at, more)| at + more).collect();
        let said = distribution(&exact, &given_up).quantile(q);
        // Every time is exact now, so this is the quantile itself.
        let all = [exact, in_truth].concat();
        let truth = histogram(&all).quantile(q).unwrap();
        match said {
            // Both stand for their bucket, and the greatest value of all can be the end of that bucket.
            Quantile::Value(value) => {
                prop_assert_eq!(histogram(&all).count_at_or_below(value), histogram(&all).count_at_or_below(truth));
            }
            Quantile::AtLeast(least) => prop_assert!(truth >= least, "{truth} is less than {least}"),
            Quantile::TooFew { n, needed } => prop_assert!(n < needed),
        }
    }
}

/// A request of a run that is made up.
#[derive(Clone, Debug)]
struct Request {
    endpoint: u32,
    due: u64,
    took: u64,
    outcome: Outcome,
    worker: usize,
}

/// Length of a made-up run and of its intervals and its warm-up, in milliseconds.
const RUN: u64 = 10_000;
const WIDTH: u64 = 1_000;
const WARM_UP: u64 = 2_000;
const WORKERS: usize = 3;

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0u32..3, 0..RUN, 0..RUN, 0usize..6, 0..WORKERS).prop_map(
        |(endpoint, due, took, outcome, worker)| Request {
            endpoint,
            due,
            took,
            outcome: Outcome::ALL[outcome],
            worker,
        },
    );
    vec(request, 0..150)
}

/// Notes that a request came due.
fn note_due(tally: &mut Tally, request: &Request) {
    tally.endpoint_mut(EndpointId(request.endpoint)).planned += 1;
}

/// Notes that a request ended.
fn note_end(tally: &mut Tally, request: &Request) {
    let endpoint = tally.endpoint_mut(EndpointId(request.endpoint));
    let outcome = &mut endpoint.outcomes[request.outcome as usize];
    outcome.response.record(Nanos::from_millis(request.took));
    if request.outcome != Outcome::Unsent {
        outcome.service.record(Nanos::from_millis(request.took / 2));
    }
}

/// The intervals as each worker would fill its share of them, merged.
fn intervals(requests: &[Request]) -> Vec<Interval> {
    let last = requests.iter().map(|request| (request.due + request.took) / WIDTH).max().unwrap_or(0);
    let mut shares = vec![vec![(Tally::default(), Tally::default()); WORKERS]; last as usize + 1];
    for request in requests {
        // A request can pass from one worker to another: one notes due, another the end.
        let other = (request.worker + 1) % WORKERS;
        let part = |share: &mut (Tally, Tally), note: fn(&mut Tally, &Request)| {
            note(if request.due < WARM_UP { &mut share.0 } else { &mut share.1 }, request);
        };
        part(&mut shares[(request.due / WIDTH) as usize][request.worker], note_due);
        part(&mut shares[((request.due + request.took) / WIDTH) as usize][other], note_end);
    }
    let merge = |(number, workers): (u64, Vec<(Tally, Tally)>)| {
        let mut interval = Interval {
            from: Nanos::from_millis(number * WIDTH),
            to: Nanos::from_millis((number + 1) * WIDTH),
            ..Interval::default()
        };
        for (warm_up, measured) in workers {
            interval.warm_up.merge(&warm_up);
            interval.measured.merge(&measured);
        }
        interval
    };
    (0..).zip(shares).map(merge).collect()
}

fn head() -> Head {
    let scenario = Scenario::new(
        "default",
        Executor::Closed { vus: Curve::constant(2.0) },
        Stop::At(Nanos::from_millis(RUN)),
    );
    Head {
        plan: Plan {
            scenarios: vec![scenario],
            endpoints: vec![Endpoint { name: "GET /".into() }],
            warm_up: Nanos::from_millis(WARM_UP),
            grace: Nanos::ZERO,
            request_timeout: None,
            connect_timeout: Nanos::from_secs(1),
            workers: WORKERS as u16,
            interval: Nanos::from_millis(WIDTH),
        },
        title: "laws".into(),
        started: Nanos::ZERO,
        build: Build { version: "0".into(), commit: None, optimized: true },
        machine: Machine::default(),
        co_located: None,
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::from_millis(WARM_UP),
    }
}

fn same(one: &Tally, other: &Tally) -> bool {
    let length = one.endpoints.len().max(other.endpoints.len());
    let mut padded = [one.clone(), other.clone()];
    for tally in &mut padded {
        tally.endpoints.resize_with(length, Default::default);
    }
    padded[0] == padded[1]
}

/// Whether a request counts as measured when all up to `now` is known: it came due then, or was open all through it.
fn is_measured(request: &Request, now: u64) -> bool {
    request.due >= WARM_UP || now >= RUN && request.due + request.took >= RUN
}

proptest! {
    #[test]
    fn however_requests_are_split_into_intervals_and_workers_the_run_is_their_sum(requests in requests()) {
        let (mut warm_up, mut measured) = (Tally::default(), Tally::default());
        for request in &requests {
            let tally = if is_measured(request, u64::MAX) { &mut measured } else { &mut warm_up };
            note_due(tally, request);
            note_end(tally, request);
        }
        let mut builder = RunBuilder::new(head());
        let intervals = intervals(&requests);
        for interval in &intervals {
            builder.add(interval);
        }
        let run = builder.end(Ending::Completed);
        prop_assert!(same(&run.warm_up, &warm_up) && same(&run.measured, &measured));
        let stood = requests.iter().filter(|request| request.due < WARM_UP && is_measured(request, u64::MAX));
        prop_assert_eq!(run.from_warm_up, stood.count() as u64);
        prop_assert_eq!(run.validity.diagnostics.requests.unaccounted, 0);
        let planned: u64 = run.series.iter().map(|point| point.planned).sum();
        let ended: u64 = run.series.iter().flat_map(|point| point.by_outcome).sum();
        prop_assert_eq!((planned, ended), (requests.len() as u64, requests.len() as u64));
    }

    #[test]
    fn a_record_cut_after_any_interval_balances_and_never_overstates_an_age(
        requests in requests(), cut in any::<Index>(),
    ) {
        let intervals = intervals(&requests);
        let kept = cut.index(intervals.len()) + 1;
        let now = kept as u64 * WIDTH;
        let mut builder = RunBuilder::new(head());
        for interval in &intervals[..kept] {
            builder.add(interval);
        }
        let run = builder.finish(None);
        prop_assert_eq!(run.validity.diagnostics.requests.unaccounted, 0);
        prop_assert_eq!(run.warm_up.accounting().difference(), 0);
        prop_assert_eq!(run.measured.accounting().difference(), 0);
        for (id, endpoint) in run.measured.endpoints.iter().enumerate() {
            let is_open = |request: &&Request| {
                request.endpoint as usize == id && is_measured(request, now)
                    && request.due < now && request.due + request.took >= now
            };
            let mut ages: Vec<u64> = requests.iter().filter(is_open).map(|request| now - request.due).collect();
            ages.sort_unstable();
            let mut ended_early = Histogram::new();
            let ended = |request: &&Request| {
                request.endpoint as usize == id && is_measured(request, now)
                    && request.outcome == Outcome::Censored && request.due + request.took < now
            };
            requests.iter().filter(ended).for_each(|request| ended_early.record(Nanos::from_millis(request.took)));
            let censored = &endpoint.outcomes[Outcome::Censored as usize].response;
            prop_assert_eq!(censored.count(), ages.len() as u64 + ended_early.count());
            if ended_early.count() == 0 {
                for (place, age) in ages.iter().enumerate() {
                    let q = (place as f64 + 0.5) / ages.len() as f64;
                    let claimed = censored.quantile(q).unwrap();
                    // A quantile is reported as the end of its bucket, up to a thousandth above.
                    prop_assert!(claimed.0 <= age * 1_001_000, "{claimed} for {age} ms");
                }
            }
        }
    }
}

/// Rates that rise and fall, in requests per second.
fn curves() -> impl Strategy<Value = Curve> {
    let stage = (0u64..3_000, 0.0f64..500.0)
        .prop_map(|(millis, target)| Stage { duration: Nanos::from_millis(millis), target });
    (0.0f64..500.0, vec(stage, 0..5)).prop_map(|(start, stages)| Curve { start, stages })
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![Just(Arrivals::Uniform), any::<u64>().prop_map(|seed| Arrivals::Poisson { seed })]
}

proptest! {
    #[test]
    fn due_times_never_decrease_and_keep_to_end_and_count(
        rate in curves(), arrivals in arrivals(), end in 0u64..8_000, count in 0u64..2_000,
    ) {
        let end = Nanos::from_millis(end);
        let due: Vec<_> = Schedule::new(rate, arrivals, end, count).collect();
        prop_assert!(due.is_sorted());
        prop_assert!(due.iter().all(|due| *due < end));
        prop_assert!(due.len() as u64 <= count);
    }

    #[test]
    fn a_longer_plan_begins_as_the_shorter_one_did(
        rate in curves(), arrivals in arrivals(), end in 0u64..4_000, more in 0u64..4_000,
    ) {
        let until = |millis| Schedule::new(rate.clone(), arrivals, Nanos::from_millis(millis), 5_000);
        let (short, long): (Vec<_>, Vec<_>) = (until(end).collect(), until(end + more).collect());
        prop_assert!(long.starts_with(&short));
    }

    #[test]
    fn the_millionth_due_time_is_as_exact_as_the_first(rate in 1.0f64..1e6, start in 0u64..1_000_000) {
        let mut schedule = Schedule::new(Curve::constant(rate), Arrivals::Uniform, Nanos::MAX, u64::MAX);
        // Skipping stands for a consumer that stalls: what is due next does not depend on when it asks.
        let place = start / 100;
        let due = schedule.nth(place as usize).unwrap();
        let exact = (place as f64 / rate * 1e9).round() as u64;
        prop_assert!(due.0.abs_diff(exact) <= 1 + exact / 1_000_000_000_000, "{due:?} for {exact}");
    }

    #[test]
    fn each_uniform_arrival_is_due_where_the_area_under_the_rate_reaches_its_number(rate in curves()) {
        let end = Nanos::from_secs(8);
        for (number, due) in Schedule::new(rate.clone(), Arrivals::Uniform, end, 300).enumerate() {
            let area = area_until(&rate, due);
            prop_assert!((area - number as f64).abs() < 1e-3, "arrival {number} at area {area}");
        }
    }
}

/// The area under a curve, straight piece by straight piece.
fn area_until(curve: &Curve, until: Nanos) -> f64 {
    let (mut area, mut level, mut from) = (0.0, curve.start, Nanos::ZERO);
    for stage in &curve.stages {
        let to = from + stage.duration;
        if until <= to && stage.duration > Nanos::ZERO {
            let inside = until.since(from).as_secs_f64();
            let slope = (stage.target - level) / stage.duration.as_secs_f64();
            return area + (level + slope * inside / 2.0) * inside;
        }
        area += level.midpoint(stage.target) * stage.duration.as_secs_f64();
        (level, from) = (stage.target, to);
    }
    area + level * until.since(from).as_secs_f64()
}

/// A record of made-up requests with a note and a tail, and where each of its frames ends.
fn record(requests: &[Request]) -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new(), &head()).unwrap();
    for interval in intervals(requests) {
        writer.interval(&interval).unwrap();
    }
    writer.note(&Note { at: Nanos::ZERO, text: "a line".into() }).unwrap();
    let validity = ValidityReport {
        validity: Validity::Valid,
        warnings: vec![],
        notes: vec![],
        diagnostics: Diagnostics::default(),
    };
    let intervals = writer.intervals();
    let sampled = Sampled::default();
    let tail = Tail { ending: Ending::Completed, stopped: None, validity, intervals, sampled };
    let bytes = writer.tail(&tail).unwrap();
    let mut ends = vec![12];
    while let Some(length) = bytes.get(ends[ends.len() - 1]..).and_then(<[u8]>::first_chunk) {
        ends.push(ends[ends.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    (bytes, ends)
}

/// The frames after the head that can be read, whether the journal is complete, and the first error.
fn frames(bytes: &[u8]) -> Result<(Vec<Frame>, bool, Option<ReadError>), ReadError> {
    let mut reader = Reader::new(bytes)?;
    let (mut frames, mut first) = (Vec::new(), None);
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => return Ok((frames, reader.is_complete(), first)),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_prefix_of_a_record_yields_exactly_its_whole_frames(requests in requests(), cuts in vec(any::<Index>(), 10)) {
        let (bytes, ends) = record(&requests);
        let (whole, complete, _) = frames(&bytes).unwrap();
        prop_assert!(complete);
        for cut in cuts {
            let cut = cut.index(bytes.len());
            let kept = ends.iter().filter(|end| **end <= cut).count();
            match frames(&bytes[..cut]) {
                Ok((frames, complete, error)) => {
                    prop_assert!(!complete && error.is_none());
                    prop_assert_eq!(&frames[..], &whole[..kept - 2]);
                }
                Err(ReadError::NoHead) => prop_assert!(kept < 2),
                Err(ReadError::NotARecord) => prop_assert_eq!(cut, 0),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
    }

    #[test]
    fn a_flipped_byte_is_noticed_and_costs_one_frame_at_the_most(
        requests in requests(), places in vec((any::<Index>(), 1u8..), 10),
    ) {
        let (bytes, ends) = record(&requests);
        let (whole, _, _) = frames(&bytes).unwrap();
        for (place, flip) in places {
            let place = place.index(bytes.len());
            let mut damaged = bytes.clone();
            damaged[place] ^= flip;
            if let Ok((frames, complete, error)) = frames(&damaged) {
                prop_assert!(!complete && error.is_some(), "byte {place} of {} went unnoticed", bytes.len());
                let lost = ends.iter().filter(|end| **end <= place).count() - 2;
                prop_assert!(frames[..lost] == whole[..lost] && frames[lost..] == whole[lost + 1..]);
                let validity = read(&damaged[..]).unwrap().run.validity;
                prop_assert!(validity.warnings.iter().any(|warning| warning.code == "damaged"));
            }
        }
    }
}
