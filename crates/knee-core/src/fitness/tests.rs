//! Machines of several kinds, as their files describe them, and what follows.
//!
//! The texts are shortened copies of what the kernel writes.

use std::collections::HashMap;

use super::*;
use crate::fixture::division::{CpuSplit, Division, Shared};
use crate::unit::Nanos;

/// A machine with these files, otherwise as a fast, quiet one.
fn machine(files: &[(&str, &str)]) -> Facts {
    let files: HashMap<&str, &str> = files.iter().copied().collect();
    let read = |path: &str| files.get(path).map(|text| (*text).to_owned());
    let second = Nanos::from_secs(1);
    Facts {
        optimized: true,
        files: Some(20_000),
        ports: Some((12, 28_232)),
        steal: Some(0.0),
        busy: Some(0.02),
        pauses: vec![Pauses { cpu: Some(0), measured: second, longest: Nanos(90_000), ..Pauses::default() }],
        wakes: Wakes { count: 3_000, late: 3, latest: Nanos::from_millis(2) },
        split: Some(CpuSplit { division: division("0-1", "2-3", None), cores: 2, by_pilot: true }),
        floor: NoiseFloor::Saved("goodput 1.2 % over 8 blocks".to_owned()),
        cpu_limit: Some(Ok(())),
        cpu_weight: Some(Ok(())),
        network_namespace: Some(Ok(())),
        mount_namespace: Some(Ok(())),
        ..Facts::read(&read)
    }
}

fn division(generator: &str, others: &str, shared: Option<Shared>) -> Division {
    Division { generator: generator.to_owned(), others: others.to_owned(), shared }
}

/// A server with four CPUs that nothing limits.
const SERVER: [(&str, &str); 8] = [
    ("/proc/self/status", "Name:\tknee\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n"),
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse tsc\n"),
    ("/proc/stat", "cpu  1 0 1 9 0 0 0 0\n"),
    ("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
    ("/proc/sys/kernel/perf_event_paranoid", "2\n"),
];

/// The server with other texts in some files; an empty text removes the file.
fn server_but(other: &[(&'static str, &'static str)]) -> Facts {
    let changed = |path: &str| other.iter().any(|(name, _)| *name == path);
    let rest = SERVER.iter().copied().filter(|(path, _)| !changed(path));
    let files: Vec<_> = rest.chain(other.iter().copied().filter(|(_, text)| !text.is_empty())).collect();
    machine(&files)
}

fn check(facts: &Facts, name: &str) -> Check {
    judge(facts).checks.into_iter().find(|check| check.name == name).unwrap()
}

#[test]
fn a_quiet_server_is_fit_up_to_its_open_files() {
    let fitness = judge(&machine(&SERVER));
    assert!(fitness.fit);
    assert!(fitness.checks.iter().all(|check| check.grade == Grade::Ok), "{fitness:#?}");
    // 20,000 files, of which 32 are not connections.
    let answer = "Fit to measure with up to 19,968 connections to one address; no check found another limit.";
    assert_eq!(fitness.answer, answer);
}

#[test]
fn ports_limit_connections_if_they_are_fewer_than_files() {
    let mut facts = machine(&SERVER);
    facts.files = None;
    assert!(judge(&facts).answer.contains("28,232 connections"), "{}", judge(&facts).answer);
    // 70 % of 28,232 ports, each kept for 60 s: 329 per second.
    assert!(check(&facts, "ports").found.ends_with("for up to 329 new connections/s to one address"));
    facts.reuses_ports = true;
    assert_eq!(check(&facts, "ports").found, "12 of 28,232 local ports in use");
    facts.ports = Some((19_763, 28_232));
    assert_eq!(check(&facts, "ports").grade, Grade::Limits);
}

#[test]
fn a_laptop_that_saves_power_is_fit_within_limits() {
    let facts = server_but(&[("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n")]);
    assert_eq!(check(&facts, "governor").found, "performance, powersave");
    let fitness = judge(&facts);
    assert!(fitness.fit && fitness.answer.ends_with("within the limits of: governor."), "{}", fitness.answer);
}

#[test]
fn a_container_shows_its_quota_and_its_cpus() {
    let mut facts = server_but(&[("/proc/self/status", "Cpus_allowed_list:\t2\n")]);
    assert_eq!(check(&facts, "cpus").grade, Grade::Limits);
    assert_eq!(check(&facts, "cpus").found, "1 CPU of 4 (taskset or a cpuset leaves out the others)");
    facts = machine(&SERVER);
    facts.quota = Some(1.5);
    facts.throttled = Some((3, 10));
    assert_eq!(check(&facts, "quota").grade, Grade::Limits);
    assert_eq!(check(&facts, "quota").found, "a cgroup allows 1.50 CPUs; it stopped knee in 3 of 10 periods");
    facts.quota = Some(4.0);
    assert_eq!(check(&facts, "quota").grade, Grade::Ok, "as much as there is");
}

#[test]
fn stolen_time_and_pauses_have_the_limits_of_the_rule_steal() {
    let mut facts = server_but(&[("/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n")]);
    for (share, grade) in [(0.05, Grade::Ok), (0.051, Grade::Limits), (0.201, Grade::Unfit)] {
        facts.steal = Some(share);
        assert_eq!(check(&facts, "steal").grade, grade, "{share}");
        facts.pauses[0].paused = Nanos::from_secs_f64(share);
        assert_eq!(check(&facts, "pauses").grade, grade, "{share}");
    }
    let answer = judge(&facts).answer;
    let expected = "Not fit to measure: a virtual machine; other machines took 20 % of the CPU time [steal], and 1 more.";
    assert_eq!(answer, expected);
}

#[test]
fn wake_ups_count_by_the_percentiles_that_they_make_late() {
    let mut facts = machine(&SERVER);
    for (late, grade) in [(30, Grade::Ok), (31, Grade::Limits), (300, Grade::Limits), (301, Grade::Unfit)] {
        facts.wakes.late = late;
        assert_eq!(check(&facts, "timers").grade, grade, "{late} of 3,000");
    }
}

#[test]
fn a_build_without_optimizations_and_too_few_files_are_unfit() {
    let mut facts = machine(&SERVER);
    facts.files = Some(81);
    assert_eq!(check(&facts, "files").grade, Grade::Unfit, "49 connections are fewer than the default");
    facts.files = Some(82);
    facts.optimized = false;
    let fitness = judge(&facts);
    assert!(!fitness.fit);
    assert_eq!(fitness.answer, "Not fit to measure: a build without optimizations [build].");
}

#[test]
fn what_is_missing_is_off_and_what_is_not_reported_is_unknown() {
    let mut facts =
        server_but(&[("/proc/pressure/cpu", ""), ("/proc/sys/kernel/perf_event_paranoid", "4\n")]);
    facts.programs = vec![
        Program {
            name: "Redis",
            needed_for: "studies need it",
            install: "install it".to_owned(),
            version: None,
        },
        Program { name: "k6", ..Program::default() },
    ];
    facts.floor = NoiseFloor::Never;
    facts.cpu_limit = Some(Err("no cgroup of version 2 is mounted".to_owned()));
    facts.cpu_weight.clone_from(&facts.cpu_limit);
    facts.network_namespace = Some(Err("Operation not permitted".to_owned()));
    facts.mount_namespace = None;
    for name in ["pressure", "perf", "Redis", "noise", "cpu_limit", "cpu_weight", "network_ns"] {
        let check = check(&facts, name);
        assert_eq!(check.grade, Grade::Off, "{name}");
        assert!(!check.effect.is_empty() && !check.remedy.is_empty(), "{check:#?}");
    }
    assert_eq!((check(&facts, "k6").grade, check(&facts, "mount_ns").grade), (Grade::Ok, Grade::Unknown));
    assert!(judge(&facts).fit && judge(&facts).answer.ends_with("no check found another limit."));
    // A system without /proc and /sys.
    let bare = Facts { optimized: true, ..Facts::read(&|_| None) };
    let fitness = judge(&bare);
    assert!(fitness.fit && fitness.answer.starts_with("Fit to measure; "), "{}", fitness.answer);
    assert!(fitness.checks.iter().any(|check| check.grade == Grade::Unknown));
}

#[test]
fn a_slow_clock_limits() {
    let slow = ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    assert_eq!(check(&server_but(&[slow]), "clock").grade, Grade::Limits);
}

#[test]
fn the_cpus_of_studies_are_named_and_what_a_pilot_can_change_is_said() {
    let mut facts = machine(&SERVER);
    let by_pilot = "4 CPUs; 2 cores; studies give CPUs 0-1 to the generator, CPUs 2-3 to services and stores at first; \
                    a pilot decides how many each side gets";
    assert_eq!(check(&facts, "cpus").found, by_pilot);
    assert_eq!(judge(&facts).division, Some(division("0-1", "2-3", None)));
    facts.split = Some(CpuSplit { division: division("0", "1", None), cores: 2, by_pilot: false });
    facts.cpus = Some(vec![0, 1]);
    facts.online = None;
    let apart = "2 CPUs; studies give CPU 0 to the generator, CPU 1 to services and stores";
    assert_eq!(check(&facts, "cpus").found, apart);
    let why = Some(Shared::Unknown);
    facts.split = Some(CpuSplit { division: division("", "", why), cores: 0, by_pilot: false });
    let shared = "2 CPUs; studies do not divide them: this system does not place processes";
    assert_eq!(check(&facts, "cpus").found, shared);
}

#[test]
fn a_saved_noise_floor_is_shown_and_one_that_is_ignored_says_why() {
    let mut facts = machine(&SERVER);
    assert_eq!(check(&facts, "noise").found, "goodput 1.2 % over 8 blocks");
    facts.floor = NoiseFloor::Ignored("it is 31 days old".to_owned());
    let ignored = check(&facts, "noise");
    assert_eq!(ignored.found, "the saved noise floor is ignored: it is 31 days old");
    assert_eq!((ignored.grade, ignored.remedy.as_str()), (Grade::Off, "run `knee calibrate`"));
    assert!(judge(&facts).fit, "short measurements decide, not what was saved");
}

#[test]
fn a_reason_that_limits_and_weights_share_is_given_once() {
    let mut facts = machine(&SERVER);
    facts.cpu_limit = Some(Err("no cgroup".to_owned()));
    facts.cpu_weight = Some(Err("no cgroup".to_owned()));
    assert_eq!(check(&facts, "cpu_limit").found, "not available: no cgroup");
    assert_eq!(check(&facts, "cpu_weight").found, "not available, for the same reason as cpu_limit");
    facts.cpu_limit = Some(Ok(()));
    assert_eq!(check(&facts, "cpu_weight").found, "not available: no cgroup");
}

#[test]
fn checks_come_area_by_area() {
    let mut facts = machine(&SERVER);
    facts.programs = vec![Program { name: "k6", ..Program::default() }];
    let areas: Vec<Area> = judge(&facts).checks.iter().map(|check| check.area).collect();
    let mut order = areas.clone();
    order.dedup();
    assert_eq!(order, [Area::Machine, Area::Noise, Area::Features, Area::Programs]);
}
