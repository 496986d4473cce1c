//! Checks of rights, kernel features and programs that some measurements need and all others do without.
//!
//! Does not try anything: [`Facts`] say what is available, and why the rest is not.

use super::check::{Check, Grade, limit, plain, unknown};
use super::facts::{Availability, Facts, Program};

/// How a user gets CPU cgroups.
const GROUPS: &str = "run knee as root, or in a cgroup with the controller `cpu` that is delegated to you \
                      (systemd: Delegate=cpu); in a container, /sys/fs/cgroup must be writable";

/// How a user gets namespaces.
const NAMESPACES: &str = "run as root, in a container with CAP_SYS_ADMIN; or allow user namespaces (Ubuntu: sysctl \
                          kernel.apparmor_restrict_unprivileged_userns=0)";

pub(super) fn cpu_limit(facts: &Facts) -> Check {
    let effect = "studies run without the `cpu_limit` of services, and say so";
    available("cpu_limit", facts.cpu_limit.clone(), "cgroups can limit CPU time", effect, GROUPS)
}

pub(super) fn cpu_weight(facts: &Facts) -> Check {
    let effect =
        "studies run without `cpu_weight`, each process of a database competes alone, and they say so";
    let name = "cpu_weight";
    match (&facts.cpu_weight, &facts.cpu_limit) {
        // The reason and the remedy are long.
        (Some(Err(reason)), Some(Err(other))) if reason == other => {
            let found = "not available, for the same reason as cpu_limit".to_owned();
            limit(name, Grade::Off, found, effect, "see cpu_limit")
        }
        _ => available(name, facts.cpu_weight.clone(), "cgroups can have CPU weights", effect, GROUPS),
    }
}

pub(super) fn network_namespace(facts: &Facts) -> Check {
    let effect = "`examples/fleet/up` cannot start its agents; knee itself needs no namespaces";
    let found = "network namespaces can be created";
    available("network_ns", facts.network_namespace.clone(), found, effect, NAMESPACES)
}

pub(super) fn mount_namespace(facts: &Facts) -> Check {
    let effect = "`examples/fleet/up` and tests of full disks cannot run; knee itself needs no namespaces";
    let found = "mount namespaces can be created";
    available("mount_ns", facts.mount_namespace.clone(), found, effect, NAMESPACES)
}

fn available(
    name: &'static str,
    availability: Availability,
    found: &str,
    effect: &str,
    remedy: &str,
) -> Check {
    match availability {
        None => unknown(name),
        Some(Ok(())) => plain(name, Grade::Ok, found),
        Some(Err(reason)) => limit(name, Grade::Off, format!("not available: {reason}"), effect, remedy),
    }
}

pub(super) fn pressure(facts: &Facts) -> Check {
    match facts.pressure {
        None => unknown("pressure"),
        Some(true) => plain("pressure", Grade::Ok, "the kernel reports pressure (PSI)"),
        Some(false) => limit(
            "pressure",
            Grade::Off,
            "the kernel reports no pressure (PSI)".to_owned(),
            "observers have no figures of waits for CPUs, memory and disks",
            "start Linux with the parameter `psi=1`",
        ),
    }
}

pub(super) fn perf(facts: &Facts) -> Check {
    let Some(level) = facts.perf else { return unknown("perf") };
    let found = format!("kernel.perf_event_paranoid is {level}");
    if level <= 2 {
        return plain("perf", Grade::Ok, found + "; you can profile your own processes");
    }
    let effect = "profilers need root, and so does `--observe profile:PID`";
    limit("perf", Grade::Off, found, effect, "set it with `sudo sysctl kernel.perf_event_paranoid=2`")
}

pub(super) fn program(program: &Program) -> Check {
    match &program.version {
        Some(version) => plain(program.name, Grade::Ok, version.clone()),
        None if program.needed_for.is_empty() => {
            plain(program.name, Grade::Ok, "not found; knee does not need it")
        }
        None => limit(program.name, Grade::Off, "not found".to_owned(), program.needed_for, &program.install),
    }
}
