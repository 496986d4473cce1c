//! One load on several simulated machines: the parts are the whole, and their merged record says what they did.
//!
//! A failing run prints its seed, as in [`crate::laws`].

use knee_core::clock::MonotonicClock;
use knee_core::plan::{Endpoint, Executor, Plan, Scenario, Stop};
use knee_core::record::merge::merge;
use knee_core::record::run::read;
use knee_core::record::{Head, Run};
use knee_core::schedule::{Arrivals, Curve, Schedule};
use knee_core::share::{Segment, Sequence, Share};
use knee_core::tally::Tally;
use knee_core::unit::Nanos;
use knee_engine::journal::FileJournal;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::disk::{Faults, SimFile};
use crate::harness::{plan, run_in_intervals};
use crate::laws::{random_plan, random_signal, random_target, with_seeds};
use crate::records::{collected, head, random_order};
use crate::target::Target;

const RUNS: u64 = 300;

/// What one machine did.
struct Part {
    run: Run,
    record: Vec<u8>,
    dues: Vec<Nanos>,
    /// Whether a signal ended it before its plan.
    is_cut: bool,
}

#[test]
fn the_parts_of_thousands_of_random_fleets_are_the_whole_and_merge_without_loss() {
    with_seeds(RUNS, one_fleet);
}

fn one_fleet(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut plan = random_plan(&mut random);
    plan.endpoints = vec![Endpoint { name: "GET /".to_owned() }];
    let scenario = &mut plan.scenarios[0];
    if let (Executor::Closed { vus }, Some(_)) = (&mut scenario.executor, scenario.stop.requests()) {
        // No command has a number of requests and a number of users that changes.
        *vus = Curve::constant(vus.start);
    }
    let sequence = random_sequence(&mut random);
    let share = |segment: &Segment| Share::new(Some(*segment), Some(&sequence)).expect("a share");
    let shares: Vec<Share> = sequence.segments().iter().map(share).collect();
    let parts: Vec<Option<Part>> = shares.iter().map(|share| one_part(&plan, share, &mut random)).collect();
    let mut working: Vec<Part> = parts.into_iter().flatten().collect();
    if !working.iter().any(|part| part.is_cut) {
        check_union(&plan, &working);
    }
    let merged = check_merge(&working, &mut random);
    let figures = merged.validity.diagnostics.run.parts.expect("a merged run has parts");
    assert_eq!((figures.of, figures.given), (shares.len() as u64, working.len() as u64));
    if working.len() > 1 {
        // A machine whose record is lost is not forgotten.
        let lost = working.remove(random.random_range(0..working.len()));
        let fewer = check_merge(&working, &mut random);
        let given = fewer.validity.diagnostics.run.parts.as_ref().map(|parts| parts.given);
        assert_eq!(given, Some(working.len() as u64));
        let is_said = fewer.validity.warnings.iter().any(|warning| warning.code == "parts");
        assert!(is_said || all(&lost.run).accounting().planned == 0, "a loss is said");
    }
}

/// How many machines the large fleet has; `KNEE_FLEET_AGENTS` says another number.
fn machines() -> u32 {
    std::env::var("KNEE_FLEET_AGENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

/// Prints what BENCHMARKS.md has, with `KNEE_FLEET_AGENTS=1000`, `--release` and `--nocapture`. With `KNEE_FLEET_RECORDS`,
/// the records stay in that folder, for `knee merge`.
#[test]
fn twenty_arrivals_per_second_on_each_of_many_machines_merge_into_one_record() {
    const SECONDS: u64 = 10;
    let count = machines();
    let rate = Curve::constant(20.0 * f64::from(count));
    let executor = Executor::Open { rate, arrivals: Arrivals::Poisson { seed: 1 }, users_max: 10 * count };
    let mut whole = plan(executor, Stop::At(Nanos::from_secs(SECONDS)));
    whole.interval = Nanos::from_secs(1);
    whole.endpoints = vec![Endpoint { name: "GET /".to_owned() }];
    let points: Vec<String> = (1..=count).map(|end| format!("{end}/{count}")).collect();
    let sequence: Sequence = format!("0,{}", points.join(",")).parse().expect("a sequence");
    let mut random = SmallRng::seed_from_u64(1);
    let mut records = Vec::new();
    for segment in sequence.segments() {
        let share = Share::new(Some(*segment), Some(&sequence)).expect("a share");
        let mut own = whole.clone();
        own.scenarios = whole.scenarios.iter().map(|scenario| scenario.clone().shared(&share)).collect();
        let target = Target::serves_in(Nanos::from_millis(5));
        let (_, reports) = run_in_intervals(&own, target, None);
        let head = Head { segment: Some((&share).into()), ..head(&own) };
        let file = SimFile::new(Faults::default(), 0);
        let journal = FileJournal::begin(file.clone(), &head).expect("the disk has no faults");
        let order = random_order(&reports, &mut random);
        collected(&head, &order, Some((journal, file.clone())), &mut random);
        records.push(file.bytes().clone());
    }
    if let Ok(folder) = std::env::var("KNEE_FLEET_RECORDS") {
        for (number, record) in records.iter().enumerate() {
            std::fs::write(format!("{folder}/{number:04}.knee"), record).expect("a folder for the records");
        }
    }
    let sources: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    let clock = MonotonicClock::start();
    let merged = merge(sources, Vec::new()).expect("records of one load");
    let took = clock.now();
    let bytes: usize = records.iter().map(Vec::len).sum();
    println!(
        "{count} machines, {SECONDS} s: {:.1} KB a machine and second, merged in {took}: {:.1} % of a CPU",
        bytes as f64 / 1e3 / f64::from(count) / SECONDS as f64,
        took.as_secs_f64() / SECONDS as f64 * 100.0
    );
    let Executor::Open { rate, arrivals, .. } = &whole.scenarios[0].executor else {
        unreachable!("it is open")
    };
    let end = Nanos::from_secs(SECONDS);
    let planned = Schedule::new(rate.clone(), *arrivals, end, u64::MAX).count() as u64;
    assert_eq!(merged.run.measured.accounting().planned, planned, "each arrival once");
    assert_eq!(merged.run.contributions.len(), count as usize);
}

/// A load cut into two to six parts, of equal size or not.
fn random_sequence(random: &mut SmallRng) -> Sequence {
    let weights: Vec<u32> = (0..random.random_range(2..7)).map(|_| random.random_range(1..5)).collect();
    let all: u32 = weights.iter().sum();
    let ends = weights.iter().scan(0, |end, weight| {
        *end += weight;
        Some(format!(",{end}/{all}"))
    });
    format!("0{}", ends.collect::<String>()).parse().expect("a sequence")
}

/// What a share does of the plan, on a machine and against a target of its own; nothing if it has no work.
fn one_part(whole: &Plan, share: &Share, random: &mut SmallRng) -> Option<Part> {
    let mut plan = whole.clone();
    plan.scenarios = whole.scenarios.iter().map(|scenario| scenario.clone().shared(share)).collect();
    if !plan.scenarios.iter().any(Scenario::has_work) {
        return None;
    }
    plan.workers = random.random_range(1..4);
    let signal = random_signal(random);
    let is_cut = signal.is_some();
    let (outcomes, reports) = run_in_intervals(&plan, random_target(random), signal);
    let order = random_order(&reports, random);
    let head = Head { segment: Some(share.into()), ..head(&plan) };
    let file = SimFile::new(Faults::default(), 0);
    let journal = FileJournal::begin(file.clone(), &head).expect("the disk has no faults");
    let (run, _) = collected(&head, &order, Some((journal, file.clone())), random);
    let record = file.bytes().clone();
    Some(Part { run, record, dues: outcomes.dues, is_cut })
}

/// Every arrival of the whole is due on one machine, and on no other.
fn check_union(plan: &Plan, parts: &[Part]) {
    let scenario = &plan.scenarios[0];
    let planned: u64 = parts.iter().map(|part| all(&part.run).accounting().planned).sum();
    match (&scenario.executor, scenario.stop.requests()) {
        (Executor::Open { rate, arrivals, .. }, count) => {
            let end = scenario.stop.duration().unwrap_or(Nanos::MAX);
            let whole: Vec<Nanos> =
                Schedule::new(rate.clone(), *arrivals, end, count.unwrap_or(u64::MAX)).collect();
            let mut dues: Vec<Nanos> = parts.iter().flat_map(|part| part.dues.iter().copied()).collect();
            dues.sort_unstable();
            let mut left = whole.iter();
            let is_of_plan = dues.iter().all(|due| left.any(|planned| planned == due));
            assert!(is_of_plan, "every arrival is one of the plan, and none comes twice");
            assert_eq!(planned, whole.len() as u64, "every arrival is accounted for");
        }
        (Executor::Closed { .. }, Some(requests)) => assert_eq!(planned, requests),
        _ => {}
    }
}

/// Merges the records in any order, and checks the sums. Returns the merged run.
fn check_merge(parts: &[Part], random: &mut SmallRng) -> Run {
    let mut records: Vec<&[u8]> = parts.iter().map(|part| &*part.record).collect();
    let merged = merge(records.clone(), Vec::new()).expect("records of one load");
    records.shuffle(random);
    let again = merge(records, Vec::new()).expect("records of one load");
    assert!(merged.sink == again.sink, "the order of the records does not matter");
    let reading = read(&*merged.sink).expect("it was just written");
    assert!(reading.damage.is_none() && reading.run == merged.run, "the merged record holds the merged run");

    let mut sum = Tally::default();
    for part in parts {
        sum.merge(&all(&part.run));
    }
    assert!(all(&merged.run).all() == sum.all(), "every count and every histogram is the sum of the parts");
    let longest = parts.iter().map(|part| part.run.series.len()).max();
    assert!(merged.run.series.len() <= longest.unwrap_or(0), "no interval is invented");
    let contributed: u64 = merged.run.contributions.iter().map(|one| one.requests.planned).sum();
    assert_eq!(contributed, merged.run.measured.accounting().planned, "each machine has its own share");
    merged.run
}

/// Warm-up and measurement together: requests of the warm-up that spanned the measurement are part of it.
fn all(run: &Run) -> Tally {
    let mut all = run.warm_up.clone();
    all.merge(&run.measured);
    all
}
