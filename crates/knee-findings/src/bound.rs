//! Operational bounds: the throughput that each observed resource allows.
//!
//! A resource of m servers that each request needs for D seconds lets at most m / D requests through per second,
//! whatever their order and whatever else they wait for (Denning and Buzen, The Operational Analysis of Queueing Network
//! Models, 1978). The resource with the lowest bound is the bottleneck. Does not extrapolate: D is as measured at this
//! load.

use knee_core::observation::SourceKind;
use serde::Serialize;

use crate::evidence::{Evidence, is_work};
use crate::watched::{Rise, Watched};

/// A resource counts as the limit if the throughput is within 15 % of its bound.
pub const CONFIRMED: f64 = 0.85;

/// CPUs are shared from this much busy time per CPU time of one process on.
const SHARED: f64 = 1.1;

/// What one resource allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The resource: "CPUs of host", "main thread of redis://...".
    pub resource: String,
    /// Its servers: CPUs, threads, connections; above zero.
    pub servers: f64,
    /// Seconds that it is busy per complete response.
    pub demand_s: f64,
    /// Complete responses per second that it allows: servers / demand.
    pub limit_per_s: f64,
    /// The measured throughput as a share of that, 1 at most: what was busy and what was answered are read at moments that
    /// are milliseconds apart, and work of others in between counts as demand.
    pub reached: f64,
}

impl Bound {
    /// The bound of a resource that was busy for `busy` seconds during `completions` responses, of which there were
    /// `throughput` per second. `None` if one of them is not a positive finite number.
    pub fn of(resource: String, servers: f64, busy: f64, completions: f64, throughput: f64) -> Option<Self> {
        let demand_s = busy / completions;
        let limit_per_s = servers / demand_s;
        let reached = (throughput / limit_per_s).min(1.0);
        let known = [servers, busy, completions, throughput, demand_s, limit_per_s, reached];
        let known = known.iter().all(|figure| figure.is_finite() && *figure > 0.0);
        known.then_some(Self { resource, servers, demand_s, limit_per_s, reached })
    }

    /// Whether the throughput is so near the bound that this resource limits it.
    pub fn is_confirmed(&self) -> bool {
        self.reached >= CONFIRMED
    }
}

/// The bounds of all observed resources, the tightest first.
pub fn bounds(evidence: &Evidence<'_>) -> Vec<Bound> {
    let mut bounds: Vec<Bound> = resources(evidence)
        .into_iter()
        .filter_map(|(name, servers, rise)| {
            let completions = evidence.answered_within(rise.from, rise.to);
            Bound::of(name, servers, rise.amount, completions, evidence.throughput()?)
        })
        .collect();
    bounds.sort_by(|one, other| one.limit_per_s.total_cmp(&other.limit_per_s));
    bounds
}

/// Names, servers and busy time of all observed resources.
fn resources(evidence: &Evidence<'_>) -> Vec<(String, f64, Rise)> {
    let mut resources = Vec::new();
    for host in evidence.sources(SourceKind::Host) {
        resources.extend(cpus_of_host(&host));
        let disks = host.rises("host.disk.busy").into_iter();
        resources.extend(disks.map(|(disk, rise)| (format!("disk {disk}"), 1.0, rise)));
    }
    for process in evidence.sources(SourceKind::Process) {
        resources.extend(cpus_of_process(evidence, &process));
        let own = both(&process, "process.cpu.user", "process.cpu.system").map_or(0.0, |own| own.amount);
        let shared = bound_cpus(evidence, &process).filter(|(_, busy)| busy.amount >= SHARED * own);
        resources.extend(shared.map(|(cpus, busy)| (shared_name(&process), cpus, busy)));
        let busiest = process.rises("process.thread.cpu").into_iter().next();
        let named = |(thread, rise)| (thread_name(&process, thread), 1.0, rise);
        resources.extend(busiest.map(named));
    }
    for redis in evidence.sources(SourceKind::Redis) {
        let name = main_thread_name(&redis);
        resources.extend(
            both(&redis, "redis.cpu.main.user", "redis.cpu.main.system").map(|rise| (name, 1.0, rise)),
        );
    }
    resources
}

/// The resource of a process's busiest thread.
fn thread_name(process: &Watched<'_>, thread: &str) -> String {
    format!("thread {thread} of {}", process.source.name)
}

/// The resource of the thread in which Redis executes commands.
fn main_thread_name(redis: &Watched<'_>) -> String {
    format!("main thread of {}", redis.source.name)
}

/// The resource of all CPUs that a process can use.
fn process_name(process: &Watched<'_>) -> String {
    format!("CPUs of {}", process.source.name)
}

/// The resource of the CPUs that a process is bound to, with all that runs on them.
fn shared_name(process: &Watched<'_>) -> String {
    format!("CPUs of {} and what shares them", process.source.name)
}

fn cpus_of_host(host: &Watched<'_>) -> Option<(String, f64, Rise)> {
    let modes = host.rises("host.cpu.time");
    let sum = modes.iter().filter(|(mode, _)| is_work(mode)).map(|(_, rise)| *rise).reduce(added)?;
    Some((format!("CPUs of {}", host.source.name), host.most("host.cpus", "")?, sum))
}

fn cpus_of_process(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<(String, f64, Rise)> {
    let servers = allowed_cpus(evidence, process)?;
    let rise = both(process, "process.cpu.user", "process.cpu.system")?;
    Some((process_name(process), servers, rise))
}

/// CPUs that a process can use: those that it is bound to, the limit of its cgroup, or those of the machine.
pub(crate) fn allowed_cpus(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<f64> {
    let limit = process.mean("process.cgroup.cpu.limit", "");
    let all = evidence.cpus();
    let bound = process.mean("process.cpus", "");
    limit.into_iter().chain(bound).chain(all).filter(|cpus| *cpus > 0.0).reduce(f64::min)
}

/// The CPUs that a process is bound to: how many, and how long they were busy with anything. `None` if it can use all of
/// the machine, or if they are unknown.
pub(crate) fn bound_cpus(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<(f64, Rise)> {
    let hosts = evidence.sources(SourceKind::Host);
    let host = hosts.first()?;
    let numbers: Vec<&str> = process.text("process.cpus.allowed", "")?.split(',').collect();
    let count = numbers.len() as f64;
    let is_part = host.most("host.cpus", "").is_some_and(|all| count < all);
    let busy: Option<Vec<Rise>> = numbers.iter().map(|number| host.rise("host.cpu.busy", number)).collect();
    let busy = busy.filter(|_| is_part)?.into_iter().reduce(added)?;
    Some((count, busy))
}

/// Share, 0 to 1, that was busy: of all CPUs, of those to which an observed process is bound, or of those that its limit
/// allows it, whichever is most. Of the time that other machines left: a CPU from which they take a tenth is full at 90 %.
/// `None` if it is unknown.
pub(crate) fn cpus_busy(evidence: &Evidence<'_>) -> Option<f64> {
    let processes = evidence.sources(SourceKind::Process);
    let bound = processes.iter().filter_map(|process| {
        let (cpus, busy) = bound_cpus(evidence, process)?;
        Some(busy.per_second()? / cpus)
    });
    let own = processes.iter().filter_map(|process| {
        let used = both(process, "process.cpu.user", "process.cpu.system")?;
        Some(used.per_second()? / allowed_cpus(evidence, process)?)
    });
    let left = (1.0 - evidence.stolen()).max(f64::EPSILON);
    let of_processes = bound.chain(own).map(|share| (share / left).min(1.0));
    of_processes.chain(evidence.host_busy()).reduce(f64::max)
}

/// Two counters of one source together.
pub(crate) fn both(source: &Watched<'_>, one: &str, other: &str) -> Option<Rise> {
    Some(added(source.rise(one, "")?, source.rise(other, "")?))
}

fn added(one: Rise, other: Rise) -> Rise {
    Rise { amount: one.amount + other.amount, from: one.from.min(other.from), to: one.to.max(other.to) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Scene;

    #[test]
    fn ten_milliseconds_of_two_cpus_per_response_let_two_hundred_through_per_second() {
        let bound = Bound::of("CPUs".into(), 2.0, 19.0, 1_900.0, 190.0).unwrap();
        assert!((bound.demand_s - 0.01).abs() < 1e-12 && (bound.limit_per_s - 200.0).abs() < 1e-9);
        assert!((bound.reached - 0.95).abs() < 1e-9 && bound.is_confirmed());
        assert!(!Bound::of("CPUs".into(), 2.0, 19.0, 1_900.0, 160.0).unwrap().is_confirmed());
        assert_eq!(
            Bound::of("CPUs".into(), 2.0, 0.0, 1_900.0, 190.0),
            None,
            "an idle resource bounds nothing"
        );
        assert_eq!(Bound::of("CPUs".into(), 2.0, f64::NAN, 1.0, 1.0), None);
    }

    #[test]
    fn the_tightest_resource_is_named_first() {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.busy_host(host, 0.5);
        let redis = scene.redis();
        scene.counter(redis, "redis.cpu.main.user", "", 0.6);
        scene.counter(redis, "redis.cpu.main.system", "", 0.3);
        let (run, observations) = scene.finish();
        let bounds = bounds(&Evidence::of(&run, &observations));
        let names: Vec<_> = bounds.iter().map(|bound| bound.resource.as_str()).collect();
        assert_eq!(names, ["main thread of redis://127.0.0.1:6379", "CPUs of host"]);
        assert!((bounds[0].reached - 0.9).abs() < 0.01 && (bounds[1].reached - 0.5).abs() < 0.01);
        assert!(bounds[0].is_confirmed() && !bounds[1].is_confirmed());
    }

    #[test]
    fn a_cpu_is_full_if_its_work_takes_all_that_a_neighbour_leaves() {
        let busy = |steal: f64| {
            let mut scene = Scene::steady();
            let host = scene.host(4.0);
            scene.counter(host, "host.cpu.time", "user", 1.0);
            scene.counter(host, "host.cpu.time", "idle", 3.0 - steal);
            scene.counter(host, "host.cpu.time", "steal", steal);
            let process = scene.process("shop (pid 7)");
            scene.gauge(process, "process.cpus", "", 1.0);
            scene.counter(process, "process.cpu.user", "", 0.8);
            scene.counter(process, "process.cpu.system", "", 0.0);
            let (run, observations) = scene.finish();
            cpus_busy(&Evidence::of(&run, &observations)).unwrap()
        };
        assert!((busy(0.0) - 0.8).abs() < 0.01, "{}", busy(0.0));
        assert!(busy(0.6) >= 0.9, "full by the rules: {}", busy(0.6));
    }

    #[test]
    fn time_that_a_neighbour_takes_is_no_demand_of_requests() {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.busy_host(host, 0.5);
        scene.counter(host, "host.cpu.time", "steal", 1.6);
        let (run, observations) = scene.finish();
        let bounds = bounds(&Evidence::of(&run, &observations));
        assert!((bounds[0].reached - 0.5).abs() < 0.01, "{bounds:?}");
    }

    proptest! {
        /// The utilisation law: throughput x demand = busy share of the servers.
        #[test]
        fn reached_is_the_utilisation(servers in 1u32..64, busy in 0.01f64..1.0, seconds in 1.0f64..1e4, rate in 0.1f64..1e6) {
            let servers = f64::from(servers);
            let bound = Bound::of("r".into(), servers, busy * servers * seconds, rate * seconds, rate).unwrap();
            prop_assert!((bound.reached - busy).abs() < 1e-9 * busy.max(1.0));
        }
    }
}
