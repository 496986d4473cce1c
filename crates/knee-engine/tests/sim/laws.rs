//! Laws that hold for every plan against every target, in thousands of random runs.
//!
//! A failing run prints its seed; `KNEE_SIM_SEED=<seed>` runs only that one. `KNEE_SIM_RUNS=100000` is the long form.

use knee_core::plan::{Executor, Plan, Stop};
use knee_core::schedule::{Arrivals, Curve, Schedule, Stage};
use knee_core::unit::Nanos;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::harness::{Outcomes, StopSignal, millis, plan, run_with, secs};
use crate::target::Target;

const RUNS: u64 = 3_000;

/// Runs `one_run` with each of `runs` seeds, or with as many as the long form asks for, or with a single one.
pub fn with_seeds(runs: u64, one_run: fn(u64)) {
    let number = |name| std::env::var(name).ok().map(|number| number.parse().expect("a number"));
    let alone: Option<u64> = number("KNEE_SIM_SEED");
    let seeds = alone.map_or(0..number("KNEE_SIM_RUNS").unwrap_or(runs), |seed| seed..seed + 1);
    for seed in seeds {
        let result = std::panic::catch_unwind(|| one_run(seed));
        assert!(result.is_ok(), "seed {seed}: rerun with KNEE_SIM_SEED={seed}");
    }
}

#[test]
fn the_laws_hold_for_thousands_of_random_runs() {
    with_seeds(RUNS, one_run);
}

fn one_run(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let plan = random_plan(&mut random);
    let signal = random_signal(&mut random);
    let unhurried = signal.is_none();
    if std::env::var_os("KNEE_SIM_SEED").is_some() {
        println!("{plan:#?}");
    }
    let outcomes = run_with(&plan, random_target(&mut random), signal);
    check(&plan, &outcomes, unhurried);
}

/// None in most runs.
pub fn random_signal(random: &mut SmallRng) -> Option<StopSignal> {
    match random.random_range(0..6) {
        0 => Some(StopSignal::Stop(Nanos(random.random_range(0..3_000_000_000)))),
        1 => Some(StopSignal::Abort(Nanos(random.random_range(0..3_000_000_000)))),
        _ => None,
    }
}

/// Checks every law. `unhurried`: no signal ended the run before its plan.
pub fn check(plan: &Plan, outcomes: &Outcomes, unhurried: bool) {
    let mut books = outcomes.measured.accounting();
    let warm_up = outcomes.warm_up.accounting();
    books.planned += warm_up.planned;
    books.by_outcome.iter_mut().zip(warm_up.by_outcome).for_each(|(mine, more)| *mine += more);
    assert_eq!(books.difference(), 0, "every request has exactly one outcome: {books:?}");
    assert_eq!(outcomes.early, 0, "nothing is sent before it is due");
    assert_eq!(outcomes.concurrency.area, outcomes.concurrency.clipped, "both counts of the area agree");
    let scenario = &plan.scenarios[0];
    assert!(outcomes.concurrency.max <= plan.users_max(), "never more in flight than users");
    if let (Executor::Open { rate, arrivals, .. }, true) = (&scenario.executor, unhurried) {
        let end = scenario.stop.duration().unwrap_or(Nanos::MAX);
        let count = scenario.stop.requests().unwrap_or(u64::MAX);
        let planned: Vec<Nanos> = Schedule::new(rate.clone(), *arrivals, end, count).collect();
        let mut dues = outcomes.dues.clone();
        dues.sort_unstable();
        assert_eq!(dues, planned[..dues.len()], "arrivals are those of the plan, in order, none skipped");
        // A plan that ends by number is given up if its open requests hang forever.
        assert_eq!(books.planned, planned.len() as u64, "every planned arrival is accounted for");
    }
    if let (Executor::Closed { .. }, Stop::Requests(requests), true) =
        (&scenario.executor, scenario.stop, unhurried)
    {
        assert_eq!(books.planned, requests, "exactly the number asked for");
    }
}

pub fn random_plan(random: &mut SmallRng) -> Plan {
    let level = |random: &mut SmallRng| f64::from(random.random_range(1..12_u32));
    let curve = |scale: f64, random: &mut SmallRng| Curve {
        start: level(random) * scale,
        stages: (0..random.random_range(0..3))
            .map(|_| Stage { duration: millis(random.random_range(0..1_500)), target: level(random) * scale })
            .collect(),
    };
    let executor = if random.random() {
        Executor::Closed { vus: curve(1.0, random) }
    } else {
        let arrivals =
            if random.random() { Arrivals::Uniform } else { Arrivals::Poisson { seed: random.random() } };
        Executor::Open { rate: curve(10.0, random), arrivals, users_max: random.random_range(1..20) }
    };
    let stop = if random.random() {
        Stop::Requests(random.random_range(1..150))
    } else {
        Stop::At(millis(random.random_range(1..3_000)))
    };
    let mut plan = plan(executor, stop);
    plan.workers = random.random_range(1..4);
    plan.grace = millis(random.random_range(0..2_000));
    plan.warm_up = millis(random.random_range(0..2) * random.random_range(0..1_000));
    // Without a limit, a plan that ends by number would never end against a target that hangs.
    plan.request_timeout = Some(millis(random.random_range(1..1_500)));
    plan
}

pub fn random_target(random: &mut SmallRng) -> Target {
    let mut target = Target::serves_in(Nanos(random.random_range(0..300_000_000)));
    if random.random() {
        let from = millis(random.random_range(0..2_000));
        target = target.stalls(from..from + millis(random.random_range(1..2_000)));
    }
    if random.random() {
        target = target.with_workers(random.random_range(1..5));
    }
    if random.random_range(0..3) == 0 {
        target = target.resets_every(random.random_range(1..10));
    }
    if random.random_range(0..3) == 0 {
        target = target.hangs_every(random.random_range(1..10));
    }
    if random.random_range(0..4) == 0 {
        target = target.starts_slowly(secs(1));
    }
    target
}
