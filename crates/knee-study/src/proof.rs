//! The study that proves a remedy: one variant with and without it, under one workload, in short trials.
//!
//! An ordinary study, built in code. Does not choose the remedy and does not run trials.

use std::collections::BTreeMap;

use knee_core::estimate::samples_needed;
use knee_core::fixture::Reset;
use knee_core::unit::Nanos;

use crate::definition::{Definition, DesignKind, Load, Variant, Workload};
use crate::metric::Metric;

/// Blocks of a proof that has the time for them: enough for verdicts on four metrics.
const BLOCKS: usize = 8;

/// Fewest blocks of a proof: with fewer, chance alone can produce the most extreme result.
const BLOCKS_MIN: usize = 6;

/// Measured time of a trial that repeats one request, if its percentiles need no more, and at most.
const MEASURE: Nanos = Nanos::from_secs(4);
const MEASURE_MAX: Nanos = Nanos::from_secs(10);

/// Longest warm-up of such a trial.
const WARM_UP_MAX: Nanos = Nanos::from_secs(3);

/// What a trial takes beside its load, as a first estimate: a reset and the start of a service.
const AROUND: Nanos = Nanos::from_secs(3);

/// Requests beyond those that are needed, as a factor: rates vary.
const SPARE: f64 = 1.2;

/// What a proof changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A statement in the database of a PostgreSQL server of the study.
    Sql {
        /// The server.
        server: String,
        /// The statement.
        statement: String,
    },
    /// A setting of a PostgreSQL server of the study.
    Setting {
        /// The server.
        server: String,
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// An environment variable of the service of the variant.
    Environment {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A switch of the study.
    Switch {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
}

/// How long a proof takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// Blocks; each has both variants once.
    pub blocks: usize,
    /// Warm-up of a trial.
    pub warm_up: Nanos,
    /// Measured time of a trial; a script without `{duration}` takes the time of its own options.
    pub measure: Nanos,
    /// Metrics that get a verdict, as many as the blocks can decide.
    pub metrics: Vec<Metric>,
    /// All of it, roughly: loads, resets and starts.
    pub takes: Nanos,
}

/// What one load of the variant showed, from which the extent of a proof follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Complete responses per second; above zero.
    pub rate: f64,
    /// The whole load, warm-up included.
    pub load: Nanos,
}

/// The part of a study that a search looks at: one variant under one workload, whose data each reset brings back. The
/// variant is the baseline. `None` if one of the two does not exist.
pub fn part(of: &Definition, variant: &str, workload: &str) -> Option<Definition> {
    let chosen = of.variant(variant)?.clone();
    let workload = of.workload(workload)?.clone();
    let mut part = of.clone();
    if let Some(service) = part.fixture.service.get_mut(&workload.service)
        && !part.fixture.postgres.is_empty()
        && service.reset != Reset::Seed
    {
        service.reset = Reset::Stores;
    }
    part.workloads = vec![Workload { reset: true, ..workload }];
    part.claims.clear();
    part.published.clear();
    part.claims_in.clear();
    let design = &mut part.design;
    design.kind = DesignKind::Pairs;
    design.order = vec![chosen.name.clone()];
    design.baseline.clone_from(&chosen.name);
    design.best = None;
    design.pairs.clear();
    design.growth = None;
    design.quick.clear();
    design.restart_every = 1;
    design.margin = None;
    design.margins.clear();
    design.extend = false;
    design.aa = false;
    part.variants = vec![chosen];
    Some(part)
}

/// The variant with a change, under the name `VARIANT + NAME`.
pub fn changed(variant: &Variant, name: &str, text: &str, change: &Change) -> Variant {
    let mut changed = variant.clone();
    changed.name = format!("{} + {name}", variant.name);
    text.clone_into(&mut changed.text);
    changed.extends = Some(variant.name.clone());
    match change {
        Change::Sql { server, statement } => {
            changed.sql.entry(server.clone()).or_default().push(statement.clone());
        }
        Change::Setting { server, name, value } => {
            let settings: &mut BTreeMap<String, String> = changed.settings.entry(server.clone()).or_default();
            settings.insert(name.clone(), value.clone());
        }
        Change::Environment { name, value } => {
            changed.env.insert(name.clone(), value.clone());
        }
        Change::Switch { name, value } => {
            changed.switches.insert(name.clone(), value.clone());
        }
    }
    changed
}

/// The switch of a study that the study declares as a remedy of the finding `code`, if `variant` does not have that value.
/// Of several the first by name.
pub fn switched(of: &Definition, variant: &Variant, code: &str) -> Option<Change> {
    of.switches.iter().find_map(|(name, switch)| {
        let value = switch.remedies.get(code).filter(|value| variant.switches.get(name) != Some(value))?;
        Some(Change::Switch { name: name.clone(), value: value.clone() })
    })
}

/// The study of a [`part`] with both variants.
pub fn definition(part: &Definition, changed: Variant, extent: &Extent) -> Definition {
    let mut proof = part.clone();
    proof.title = format!("{} and {}", proof.design.baseline, changed.name);
    proof.design.order.push(changed.name.clone());
    proof.variants.push(changed);
    proof.design.blocks = extent.blocks;
    proof.design.warm_up = extent.warm_up;
    proof.design.settle = extent.warm_up;
    proof.design.measure = extent.measure;
    proof.design.metrics.clone_from(&extent.metrics);
    proof.workloads.iter_mut().for_each(|workload| workload.measure = None);
    proof
}

/// The extent of a proof within `limit`; `None` if so little time decides nothing. Scripts keep their own times.
pub fn extent(part: &Definition, sample: Sample, limit: Nanos) -> Option<Extent> {
    let is_script = part.workloads.iter().any(|workload| matches!(workload.load, Load::Script { .. }));
    let needed = samples_needed(0.95) as f64 * SPARE / BLOCKS as f64;
    let (warm_up, measure, load) = if is_script {
        (part.design.warm_up, part.design.measure, sample.load)
    } else {
        let measure = Nanos::from_secs_f64((needed / sample.rate).ceil()).clamp(MEASURE, MEASURE_MAX);
        let warm_up = part.design.warm_up.min(WARM_UP_MAX);
        (warm_up, measure, warm_up.saturating_add(measure))
    };
    let block = 2.0 * load.saturating_add(AROUND).as_secs_f64();
    let blocks = ((limit.as_secs_f64() / block) as usize).min(BLOCKS);
    if blocks < BLOCKS_MIN {
        return None;
    }
    let measured = if is_script { sample.load } else { measure };
    let is_enough = sample.rate * measured.as_secs_f64() * blocks as f64 >= samples_needed(0.95) as f64;
    let first = if is_enough { Metric::P95 } else { Metric::Mean };
    let others = [Metric::Mean, Metric::Goodput, Metric::Errors].into_iter().filter(|other| *other != first);
    let mut metrics: Vec<Metric> = std::iter::once(first).chain(others).collect();
    // Tests of several metrics are corrected together, which takes more blocks.
    metrics.truncate(match blocks {
        BLOCKS_MIN => 1,
        7 => 2,
        _ => 4,
    });
    Some(Extent { blocks, warm_up, measure, metrics, takes: Nanos::from_secs_f64(block * blocks as f64) })
}

#[cfg(test)]
mod tests {
    use knee_core::validity::Validity;

    use super::*;
    use crate::statistics::verdict::Verdict;
    use crate::study::{Measured, Options, Placement, Study, TrialResult};

    const STUDY: &str = r#"title = "lists"

[postgres.db]

[service.main]
command = ["server", "{port}", "{postgres.db.url}"]

[switches.cache]
default = "off"
env = "CACHE"
remedies = { many_statements = "on" }

[variants.plain]

[variants.cached]
extends = "plain"
switches = { cache = "on" }

[workloads.list]
path = "/items"
measure = "30s"
reset = false

[workloads.mix]
script = "mix.js"

[design]
kind = "ladder"
metrics = ["goodput"]
margin = "40%"

[claims.faster]
text = "the cache helps"
variant = "cached"
against = "plain"
workload = "list"
metric = "goodput"
expect = "faster"
"#;

    fn study() -> Definition {
        Definition::read(STUDY, "study.toml", &|_| true).unwrap()
    }

    fn index() -> Change {
        Change::Sql { server: "db".into(), statement: "CREATE INDEX ON items (owner)".into() }
    }

    fn sample(rate: f64) -> Sample {
        Sample { rate, load: Nanos::from_secs(18) }
    }

    fn measured(mean: f64) -> Measured {
        Measured {
            figures: [(Metric::Mean, mean.into())].into(),
            requests: 100,
            times: None,
            responses: None,
            endpoints: BTreeMap::new(),
            statements: BTreeMap::new(),
            resources: BTreeMap::new(),
            validity: Validity::Valid,
            warnings: Vec::new(),
            steady: Some(true),
            kept_up: None,
            host_busy: None,
            record: None,
            placement: Placement::default(),
        }
    }

    #[test]
    fn a_search_looks_at_one_variant_and_one_workload_and_every_trial_begins_with_the_seeded_data() {
        let part = part(&study(), "cached", "list").unwrap();
        assert_eq!((part.variants.len(), part.workloads.len(), part.claims.len()), (1, 1, 0));
        assert_eq!((part.design.baseline.as_str(), part.workloads[0].reset), ("cached", true));
        assert_eq!(part.fixture.service["main"].reset, Reset::Stores);
        assert_eq!(super::part(&study(), "cached", "no"), None);
        assert_eq!(super::part(&study(), "no", "list"), None);
    }

    #[test]
    fn a_proof_is_a_study_of_the_variant_with_and_without_the_change() {
        let part = part(&study(), "cached", "list").unwrap();
        let extent = extent(&part, sample(500.0), Nanos::from_secs(600)).unwrap();
        assert_eq!((extent.blocks, extent.measure), (8, MEASURE));
        assert_eq!(extent.metrics, [Metric::P95, Metric::Mean, Metric::Goodput, Metric::Errors]);
        let changed = changed(&part.variants[0], "index", "an index on items (owner)", &index());
        assert_eq!((changed.name.as_str(), changed.switches["cache"].as_str()), ("cached + index", "on"));
        let study = Study::new(definition(&part, changed, &extent), Options::default(), None).unwrap();
        assert_eq!(study.remaining(), 16);
        assert!(study.planned().all(|trial| trial.restart && trial.reset), "each trial has a fresh process");
        let variants = study.variants();
        assert!(variants[0].sql.is_empty());
        assert_eq!(variants[1].sql["db"], ["CREATE INDEX ON items (owner)"]);
        assert!(study.conclude().effects.iter().all(|effect| !effect.inert), "the two sides can differ");
    }

    #[test]
    fn a_switch_that_the_study_calls_a_remedy_is_one_where_the_variant_has_another_value() {
        let study = study();
        let of = |variant: &str, code: &str| switched(&study, study.variant(variant).unwrap(), code);
        let on = Change::Switch { name: "cache".into(), value: "on".into() };
        assert_eq!(of("plain", "many_statements"), Some(on.clone()));
        assert_eq!(of("cached", "many_statements"), None, "it is on already");
        assert_eq!(of("plain", "missing_index"), None);
        let changed = changed(study.variant("plain").unwrap(), "cache", "", &on);
        assert_eq!((changed.name.as_str(), changed.switches["cache"].as_str()), ("plain + cache", "on"));
    }

    #[test]
    fn a_slow_service_gets_longer_trials_and_one_without_enough_requests_is_judged_by_the_mean() {
        let part = part(&study(), "plain", "list").unwrap();
        let at = |rate: f64| extent(&part, sample(rate), Nanos::from_secs(600)).unwrap();
        let slow = samples_needed(0.95) as f64 / 8.0 / 7.0;
        assert!(at(slow).measure > MEASURE && at(slow).metrics[0] == Metric::P95, "{:?}", at(slow));
        assert_eq!((at(0.1).measure, at(0.1).metrics[0]), (MEASURE_MAX, Metric::Mean));
        assert_eq!(at(1e9).measure, MEASURE);
    }

    #[test]
    fn less_time_takes_fewer_blocks_and_fewer_metrics_and_too_little_proves_nothing() {
        let part = part(&study(), "plain", "mix").unwrap();
        // A script of 18 s, and 3 s around it: 42 s per block.
        let within = |seconds: u64| extent(&part, sample(500.0), Nanos::from_secs(seconds));
        assert_eq!(within(600).map(|extent| (extent.blocks, extent.metrics.len())), Some((8, 4)));
        assert_eq!(within(300).map(|extent| (extent.blocks, extent.metrics.len())), Some((7, 2)));
        assert_eq!(within(260).map(|extent| (extent.blocks, extent.metrics.len())), Some((6, 1)));
        assert_eq!(within(240), None);
        assert!(within(600).unwrap().takes <= Nanos::from_secs(600));
    }

    #[test]
    fn a_proof_whose_trials_are_all_faster_is_decided_in_every_extent() {
        for seconds in [600, 300, 260] {
            let part = part(&study(), "plain", "mix").unwrap();
            let extent =
                extent(&part, Sample { rate: 0.1, load: Nanos::from_secs(18) }, Nanos::from_secs(seconds));
            let extent = extent.unwrap();
            let changed = changed(&part.variants[0], "index", "", &index());
            let mut study =
                Study::new(definition(&part, changed, &extent), Options::default(), None).unwrap();
            while let Some(trial) = study.next() {
                let noise = 1.0 + 0.01 * (trial.block % 3) as f64;
                let value = if trial.variant.ends_with("index") { 5e6 * noise } else { 80e6 };
                study.record_result(&trial, TrialResult::Measured(measured(value))).unwrap();
            }
            let effect = &study.conclude().effects[0];
            assert_eq!((effect.metric, effect.verdict), (Metric::Mean, Verdict::Better), "{effect:?}");
        }
    }
}
