//! The CPUs on which a trial runs, as the kernel reports them, and the declared settings that are unavailable.
//!
//! Does not pin processes; the fixture does. On systems other than Linux the CPUs are unknown.

use std::collections::BTreeMap;
use std::fs;

use knee_fixture::{Running, Store, Unavailable};
use knee_study::study::{GENERATOR, Placement};

/// The placement of a trial of `service`. `generator` lists the settings that are unavailable for this process;
/// `weight` is its declared weight.
pub fn of(
    service: &str,
    running: &Running,
    stores: &[Store],
    generator: &[Unavailable],
    weight: Option<u32>,
) -> Placement {
    let named = running.pid.map(|pid| (format!("service.{service}"), pid.to_string()));
    let of_stores = stores.iter().flat_map(|store| &store.unavailable);
    let missing = generator.iter().chain(&running.unavailable).chain(of_stores);
    let unavailable: BTreeMap<String, String> =
        missing.map(|missing| (missing.what.clone(), missing.reason.clone())).collect();
    let generator_cpu_weight = weight.filter(|_| !unavailable.contains_key(knee_fixture::GENERATOR_WEIGHT));
    let stores =
        stores.iter().filter_map(|store| Some((store.name.clone(), store.pids.first()?.to_string())));
    let parts = [(GENERATOR.to_owned(), "self".to_owned())].into_iter().chain(named).chain(stores);
    let cpus: BTreeMap<String, String> =
        parts.filter_map(|(part, process)| Some((part, allowed(&process)?))).collect();
    Placement { cpus, unavailable, generator_cpu_weight }
}

/// The CPUs that a process can use, as `0-1,3`.
fn allowed(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    (!list.is_empty()).then(|| list.to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_trial_says_where_its_parts_run_and_what_was_not_to_be_had() {
        let missing =
            |what: &str, reason: &str| Unavailable { what: what.to_owned(), reason: reason.to_owned() };
        let share = missing("service.main.cpu_limit", "no cgroup");
        let running = Running {
            url: String::new(),
            pid: Some(std::process::id()),
            metrics: None,
            log: None,
            unavailable: vec![share],
        };
        let store = |name: &str, pids: &[u32], lacks: &[&str]| Store {
            name: name.to_owned(),
            url: String::new(),
            replica_url: None,
            pids: pids.to_vec(),
            unavailable: lacks.iter().map(|what| missing(what, "no rights")).collect(),
        };
        let stores =
            [store("redis.cache", &[u32::MAX], &[]), store("postgres.own", &[], &["one competitor"])];
        let place = of("main", &running, &stores, &[missing("generator.cpus", "not Linux")], Some(20));
        let parts: Vec<&str> = place.cpus.keys().map(String::as_str).collect();
        assert_eq!(parts, ["generator", "service.main"], "one is gone, and one has no process here");
        assert_eq!(place.cpus["generator"], place.cpus["service.main"]);
        assert!(place.cpus["generator"].starts_with(|letter: char| letter.is_ascii_digit()), "{place:?}");
        assert_eq!(place.unavailable["service.main.cpu_limit"], "no cgroup");
        assert_eq!(place.unavailable["one competitor"], "no rights");
        assert_eq!(place.unavailable["generator.cpus"], "not Linux");
        assert_eq!(place.generator_cpu_weight, Some(20));
        let without = of("main", &running, &[], &[missing("generator.cpu_weight", "no cgroup")], Some(20));
        assert_eq!(
            without.generator_cpu_weight, None,
            "what could not be had is not said to have been there"
        );
    }
}
