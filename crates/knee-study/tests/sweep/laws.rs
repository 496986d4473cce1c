//! What holds for every sweep, whatever the service and whatever the luck.

use knee_study::sweep::conclusion::{Facts, LevelEstimate};
use knee_study::sweep::{Config, Ladder, LoadKind, Purpose, Sweep};
use proptest::prelude::*;

use crate::server::{Law, Service, config};

fn any_config() -> impl Strategy<Value = Config> {
    let ladder = prop_oneof![
        Just(Ladder::Auto),
        (1.0f64..500.0, 1.1f64..3.0).prop_map(|(from, factor)| Ladder::Geometric { from, to: None, factor }),
        prop::collection::vec(1u32..60, 1..6).prop_map(|mut levels| {
            levels.sort_unstable();
            levels.dedup();
            Ladder::List(levels.into_iter().map(f64::from).collect())
        }),
    ];
    let slos = prop_oneof![Just(vec![]), Just(vec!["p90<30ms"]), Just(vec!["p99<15ms", "mean<9ms"])];
    (ladder, slos, any::<bool>(), any::<u32>(), prop::option::of(5.0f64..2_000.0)).prop_map(
        |(ladder, slos, closed, seed, ceiling)| Config {
            kind: if closed { LoadKind::Connections } else { LoadKind::Requests },
            ladder,
            ceiling: ceiling.map(f64::round),
            seconds: 2.0,
            slos: slos.into_iter().map(|slo| slo.parse().unwrap()).collect(),
            in_flight_max: 64,
            ..config(seed.into())
        },
    )
}

fn any_service() -> impl Strategy<Value = Service> {
    let law = prop_oneof![Just(Law::Fixed), Just(Law::Exponential)];
    let limits =
        (prop::option::of(10usize..100), prop::option::of(10usize..100), prop::option::of(50.0f64..500.0));
    (1usize..6, 2e-3f64..20e-3, law, limits).prop_map(|(workers, time, law, limits)| {
        let (tips_over_at, refuses_above, generator) = limits;
        Service { tips_over_at, refuses_above, generator, ..Service::new(workers, time, law) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_sweep_ends_climbs_no_higher_than_allowed_and_says_no_more_than_it_saw(
        config in any_config(), mut service in any_service(),
    ) {
        let mut sweep = Sweep::new(config.clone());
        let mut seeds = Vec::new();
        while let Some(step) = sweep.next() {
            prop_assert_eq!(sweep.next(), Some(step), "asking twice gives the same");
            prop_assert!(step.load.level() > 0.0 && step.seconds > 0.0);
            let probe = step.purpose == Purpose::Probe;
            if let Some(ceiling) = config.ceiling.filter(|_| !probe && config.ladder == Ladder::Auto) {
                prop_assert!(step.load.level() <= ceiling.max(1.0), "{step:?}");
            }
            seeds.push(step.seed);
            let result = service.measure(&step, &config);
            prop_assert!(sweep.record_result(result).is_some());
            prop_assert!(sweep.trials().len() < 100, "the sweep does not end");
            prop_assert!(sweep.left() >= 0.0);
        }
        seeds.sort_unstable();
        seeds.dedup();
        prop_assert_eq!(seeds.len(), sweep.trials().len(), "no two steps have the same arrivals");

        let report = sweep.conclude(Facts::default());
        for named in [&report.capacity, &report.breaking] {
            if let LevelEstimate::Between { interval, .. } = named {
                prop_assert!(interval.low < interval.high, "{named:?}");
            }
        }
        let levels: Vec<f64> = report.ladder().map(|trial| trial.step.load.level()).collect();
        if let Some(low) = report.capacity.low() {
            prop_assert!(levels.contains(&low), "an end of the interval was tried: {low}");
        }
        if let Some(saturation) = report.saturation {
            prop_assert!(saturation.interval.low <= saturation.rate && saturation.rate <= saturation.interval.high);
        }
    }
}

/// The seconds that a sweep said were left before each step, and those that really were.
fn left(config: &Config, service: &mut Service) -> Vec<(f64, f64)> {
    let mut sweep = Sweep::new(config.clone());
    let mut said = Vec::new();
    let mut took = Vec::new();
    while let Some(step) = sweep.next() {
        said.push(sweep.left());
        let result = service.measure(&step, config);
        took.push(result.took);
        sweep.record_result(result);
    }
    let really = (0..took.len()).map(|step| took[step..].iter().sum());
    said.into_iter().zip(really).collect()
}

#[test]
fn the_time_that_is_left_is_foreseen_within_a_half_from_the_ladder_on() {
    let services = [
        Service::new(4, 5e-3, Law::Fixed),
        Service::new(1, 2e-3, Law::Exponential),
        Service::new(32, 50e-3, Law::Fixed),
        Service::new(8, 4e-3, Law::Exponential),
    ];
    for service in services {
        for (seed, slo) in [(1, None), (2, None), (3, Some("p99<500ms")), (4, Some("p99<500ms"))] {
            let slos = slo.into_iter().map(|slo| slo.parse().unwrap()).collect();
            let said = left(&Config { slos, ..config(seed) }, &mut service.clone());
            let climbed: Vec<f64> = said.iter().map(|(said, really)| said / really).skip(8).collect();
            let long = &climbed[..climbed.len() - 4];
            assert!(
                long.iter().all(|ratio| (0.67..1.5).contains(ratio)),
                "seed {seed}, {service:?}: {said:?}"
            );
            let stands_still = said[8..]
                .windows(3)
                .any(|three| (three[1].0 - three[0].0).abs() < 1.0 && (three[2].0 - three[1].0).abs() < 1.0);
            assert!(!stands_still, "seed {seed}, {service:?}: {said:?}");
        }
    }
}
