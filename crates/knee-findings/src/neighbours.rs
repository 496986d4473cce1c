//! The other programs of the machine that take CPU time from a service: not itself, not its stores, not knee.
//!
//! The observer of a machine leaves out what is observed as a process and what knee started. Here, programs are left
//! out that bear the name of an observed one, and those of stores and proxies, which can work for the service. So are
//! further processes of knee, such as one that sends a part of the load: the load is no neighbour. Judges nothing.

use std::collections::BTreeSet;

use knee_core::observation::SourceKind;

use crate::bound;
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::watched::Watched;

/// Names of programs that services use on the same machine.
const SERVING: [&str; 26] = [
    "postgres",
    "postmaster",
    "pgbouncer",
    "redis-server",
    "valkey-server",
    "mysqld",
    "mariadbd",
    "memcached",
    "mongod",
    "keydb-server",
    "clickhouse",
    "cockroach",
    "etcd",
    "minio",
    "nats-server",
    "beam.smp",
    "nginx",
    "haproxy",
    "envoy",
    "caddy",
    "traefik",
    "httpd",
    "apache2",
    "varnishd",
    "docker-proxy",
    "containerd-shim",
];

/// The load generator.
const GENERATOR: &str = "knee";

/// CPUs that a program uses, from which on it is named.
const NAMED: f64 = 0.1;

/// Most programs that are named.
const NAMED_MAX: usize = 3;

/// A program of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Neighbour<'a> {
    pub name: &'a str,
    /// CPUs that it uses on average.
    pub cpus: f64,
}

/// The programs that use CPUs on which `process` can run, or any CPU without a process; the busiest first.
pub(crate) fn of<'a>(
    evidence: &Evidence<'_>,
    host: &Watched<'a>,
    process: Option<&Watched<'_>>,
) -> Vec<Neighbour<'a>> {
    let own: BTreeSet<&str> = evidence
        .sources(SourceKind::Process)
        .iter()
        .flat_map(|process| process.texts("process.command").map(|(_, command)| command).collect::<Vec<_>>())
        .collect();
    let can_share = |name: &str| {
        let allowed = process.and_then(|process| process.text("process.cpus.allowed", ""));
        let its = host.text("host.program.cpus", name);
        allowed.zip(its).is_none_or(|(one, other)| shares(one, other))
    };
    let rises = host.rises("host.program.cpu").into_iter();
    let is_other = |name: &str| !own.contains(name) && !is_serving(name) && name != GENERATOR;
    // With nothing left of its CPUs for a program, they all run on other ones.
    if process.and_then(|process| left(evidence, process)).is_some_and(|left| left < NAMED) {
        return Vec::new();
    }
    let others = rises.filter(|(name, _)| is_other(name) && can_share(name));
    others
        .filter_map(|(name, rise)| Some(Neighbour { name, cpus: rise.per_second()? }))
        .filter(|neighbour| neighbour.cpus >= NAMED)
        .take(NAMED_MAX)
        .collect()
}

/// What others than a process use of the CPUs that it is bound to, in CPUs; `None` if it can use all, or if that is
/// not known. It bounds what any program takes from the process, however much this one uses elsewhere.
pub(crate) fn left(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<f64> {
    let (_, busy) = bound::bound_cpus(evidence, process)?;
    let own = bound::both(process, "process.cpu.user", "process.cpu.system")?;
    Some(busy.per_second()? - own.per_second()?)
}

/// What they use, as a clause: `rustc uses 120 % of a CPU, backup 15 %`. Empty without one.
pub(crate) fn clause(neighbours: &[Neighbour<'_>]) -> String {
    let Some((first, rest)) = neighbours.split_first() else { return String::new() };
    let rest = rest.iter().map(|other| format!(", {} {}", other.name, percent(other.cpus)));
    format!("{} uses {} of a CPU{}", first.name, percent(first.cpus), rest.collect::<Vec<_>>().concat())
}

/// Whether a program can be a part of the service.
fn is_serving(name: &str) -> bool {
    SERVING.iter().any(|known| name.starts_with(known))
}

/// Whether two lists of numbers with commas have one in common.
fn shares(one: &str, other: &str) -> bool {
    one.split(',').any(|number| other.split(',').any(|its| its == number))
}
