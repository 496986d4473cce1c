//! A program of the machine that has nothing to do with the service and takes its CPUs.
//!
//! Needs figures of the machine and of a process of the service. CPUs that the service fills are `cpu_full`.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::neighbours;
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "busy_neighbour",
    finds: "another program of the machine that takes the CPUs of the service",
    needs: "figures of the machine (`host`) and of a process of the service (`pid`)",
    limits: "a program that is not observed uses 30 % of a CPU on which the service can run, and where the service is bound to some CPUs, others use as much of these; threads of the service wait for a CPU 20 % as long as they run, or some of them 20 % of the time (PSI of its cgroup). Only where the CPUs on which the service can run are 90 % busy. Not knee or programs that it started, nor those that have the name of an observed one, or that are known stores or proxies. Both, or nothing",
    source: "A third of a CPU is more than the daemons of a quiet machine use. Where CPUs are not full, a program takes nothing that the service misses.",
    cause: "A build, a backup, a browser or another service runs on the same CPUs. The figures of this run are those of both.",
    remedy: "Stop the program, give both CPUs of their own, or measure on another machine. If it is a part of the service, observe it, too.",
    explains: &[],
    check,
};

/// CPUs that the program uses.
const USED: f64 = 0.3;
/// Wait for a CPU per CPU time of the service, and share of the time in which some thread of its cgroup waits.
const WAITING: f64 = 0.2;
const PRESSURE: f64 = 0.2;
/// Share of the CPUs that is busy.
const FULL: f64 = 0.9;
/// What the service is left with by the program, at least, for a prediction.
const LEFT_MIN: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    let hosts = evidence.needed(SourceKind::Host)?;
    let pairs = hosts.iter().flat_map(|host| processes.iter().map(move |process| (host, process)));
    let found = pairs.filter_map(|(host, process)| beside(evidence, host, process));
    let most = found.max_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(most.map(|(_, draft)| draft).into_iter().collect())
}

/// The busiest program beside a process, with the CPUs that it uses.
fn beside(evidence: &Evidence<'_>, host: &Watched<'_>, process: &Watched<'_>) -> Option<(f64, Draft)> {
    let cpus = full_cpus(evidence, process)?;
    let others = neighbours::of(evidence, host, Some(process));
    let first = *others.first()?;
    // What it uses beyond that, it uses on other CPUs.
    if neighbours::left(evidence, process).is_some_and(|left| left < USED) {
        return None;
    }
    let used = Signal::at_least(
        format!("CPUs that {} uses", first.name),
        Unit::Count,
        Some(first.cpus),
        USED,
        "/proc/PID/stat",
    )?;
    let own = bound::both(process, "process.cpu.user", "process.cpu.system")?;
    let wait = process.rise("process.run_delay", "").map(|wait| wait.amount / own.amount);
    let wait = Signal::at_least(
        "wait for a CPU per CPU time of the service",
        Unit::Share,
        wait,
        WAITING,
        "/proc/PID/schedstat",
    );
    let pressure = Signal::at_least(
        "share of the time in which a thread of the service waits for a CPU",
        Unit::Share,
        process.per_second("process.cgroup.pressure.cpu.some", ""),
        PRESSURE,
        "cpu.pressure",
    );
    if wait.is_none() && pressure.is_none() {
        return None;
    }
    let its_cpus = if number(cpus) == "1" { "CPU is" } else { "CPUs are" };
    let draft = Draft {
        subject: Subject::of(SubjectKind::Process, first.name, Some(&host.source.name)),
        statement: format!(
            "{} beside {}, whose {} {its_cpus} full",
            neighbours::clause(&others),
            process.source.name,
            number(cpus)
        ),
        signals: [Some(used), wait, pressure].into_iter().flatten().collect(),
        remedy: Remedy::advice(format!(
            "stop {}, or give it CPUs of its own, and measure again; if it is a part of the service, observe it, too",
            first.name
        )),
        gain: gain(evidence, cpus, first.cpus),
    };
    Some((first.cpus, draft))
}

/// The CPUs on which a process can run, if they are full of all that runs on them.
fn full_cpus(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<f64> {
    let (cpus, busy) = match bound::bound_cpus(evidence, process) {
        Some((cpus, busy)) => (cpus, busy.per_second()? / cpus),
        None => (evidence.cpus()?, evidence.host_busy()?),
    };
    (busy >= FULL).then_some(cpus)
}

/// What the program takes would be the service's, at best.
fn gain(evidence: &Evidence<'_>, cpus: f64, used: f64) -> Option<Gain> {
    let left = (cpus - used).max(LEFT_MIN * cpus);
    let now = evidence.throughput();
    let bound = format!("the {} of the CPUs of the service that the program uses", percent(used / cpus));
    Gain::reaches(now, now.map(|now| now * cpus / left), bound)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    /// A service of 2.9 CPUs on a machine of four, beside a program that uses so many.
    fn beside(program: &str, cpus: f64) -> Scene {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.busy_host(host, 0.99);
        scene.counter(host, "host.program.cpu", program, cpus);
        let process = scene.process("shop (pid 7)");
        scene.text(process, "process.command", "7", "shop");
        scene.counter(process, "process.cpu.user", "", 2.0);
        scene.counter(process, "process.cpu.system", "", 0.9);
        scene.counter(process, "process.run_delay", "", 1.5);
        scene
    }

    #[test]
    fn a_build_that_takes_the_cpus_of_the_service_is_found_by_its_name() {
        let finding = beside("rustc", 1.0).found("busy_neighbour").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(finding.subject.name, "rustc");
        assert_eq!(finding.statement, "rustc uses 100 % of a CPU beside shop (pid 7), whose 4 CPUs are full");
        assert!((finding.gain.unwrap().share() - 0.25).abs() < 0.01);
    }

    #[test]
    fn a_pressure_of_the_cgroup_is_a_third_piece_of_evidence() {
        let mut scene = beside("rustc", 1.0);
        scene.counter(1, "process.cgroup.pressure.cpu.some", "", 0.5);
        assert_eq!(scene.found("busy_neighbour").unwrap().confidence, Confidence::Strong);
    }

    #[test]
    fn a_program_that_takes_little_or_a_service_that_does_not_wait_is_no_finding_and_no_hint() {
        assert_eq!(beside("rustc", 0.25).found("busy_neighbour"), None);
        let mut scene = beside("rustc", 1.0);
        scene.counter(1, "process.run_delay", "", 0.1);
        assert_eq!(scene.found("busy_neighbour"), None);
    }

    #[test]
    fn where_cpus_are_idle_no_program_takes_any_from_the_service() {
        let mut scene = beside("rustc", 1.0);
        scene.busy_host(0, 0.7);
        assert_eq!(scene.found("busy_neighbour"), None);
    }

    #[test]
    fn stores_further_processes_of_the_service_and_the_load_generator_are_no_neighbours() {
        for name in ["postgres", "redis-server", "nginx", "apache2", "shop", "knee"] {
            assert_eq!(beside(name, 1.0).found("busy_neighbour"), None, "{name}");
        }
    }

    #[test]
    fn a_program_that_is_bound_to_other_cpus_takes_nothing_from_the_service() {
        let bound = |own: f64, program: &str| {
            let mut scene = beside("rustc", 1.0);
            scene.counter(1, "process.cpu.user", "", own);
            scene.counter(1, "process.cpu.system", "", 0.1);
            scene.gauge(1, "process.cpus", "", 1.0);
            scene.text(1, "process.cpus.allowed", "", "1");
            for (cpu, busy) in [("0", 1.0), ("1", 0.98), ("2", 0.0), ("3", 0.0)] {
                scene.counter(0, "host.cpu.busy", cpu, busy);
            }
            scene.text(0, "host.program.cpus", "rustc", program);
            scene.found("busy_neighbour").map(|finding| finding.statement)
        };
        assert_eq!(bound(0.4, "0,2,3"), None);
        let statement = bound(0.4, "0,1,2,3").unwrap();
        assert!(statement.ends_with("beside shop (pid 7), whose 1 CPU is full"), "{statement}");
        assert_eq!(
            bound(0.8, "0,1,2,3"),
            None,
            "the service itself fills its CPU, and the program another one"
        );
    }

    #[test]
    fn without_figures_of_the_machine_or_of_the_service_the_rule_cannot_run() {
        let mut scene = Scene::steady();
        scene.host(4.0);
        assert_eq!(scene.lacks("busy_neighbour").unwrap(), "a process of the service (`--observe pid:PID`)");
    }
}
