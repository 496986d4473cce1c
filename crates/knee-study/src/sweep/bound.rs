//! The largest throughput that a resource allows, and a comparison of a service with a plain queue.
//!
//! The operational laws (Denning and Buzen, 1978): a resource of m servers that each request needs
//! for D seconds lets at most m / D requests through per second, whatever their order. Erlang's C formula says
//! how long a queue of c workers would make them wait. Neither is a main result; both show where to look for the limit.

use serde::{Deserialize, Serialize};

use crate::cpu::{CpuEvidence, CpuFinding, FULL};

/// Whose processes those of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The load generator.
    Generator,
    /// The service, as the user named it.
    Service,
    /// Anything else on the machine: a database of the service, or a stranger.
    Other,
}

/// CPU time that a program used during a step: all processes of one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramUse {
    /// Its name, as the kernel has it.
    pub name: String,
    /// Whose it is.
    pub role: Role,
    /// How many processes.
    pub processes: u32,
    /// CPUs that all of them used together; 1 is one whole CPU.
    pub cpus: f64,
    /// CPUs that the busiest of their threads used.
    pub busiest_thread: f64,
}

/// What the CPUs of the target allow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuBound {
    /// CPU seconds per answered request, near the saturation.
    pub demand: f64,
    /// CPUs that it can use.
    pub cores: f64,
    /// Requests per second that they allow: cores / demand.
    pub bound: f64,
    /// Measured throughput near the saturation, rejections included, as a share of the bound.
    pub share: f64,
}

impl CpuBound {
    /// The bound from CPU seconds, the requests that used them, and the requests per second meanwhile; `None` without
    /// either.
    pub fn of(cpu: f64, requests: f64, cores: f64, throughput: f64) -> Option<Self> {
        let demand = cpu / requests;
        let bound = cores / demand;
        let known = cpu > 0.0 && requests > 0.0 && bound.is_finite();
        known.then_some(Self { demand, cores, bound, share: throughput / bound })
    }
}

/// The CPUs near the saturation.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuUse {
    /// What the CPUs of the service allow, if its processes are known.
    pub bound: Option<CpuBound>,
    /// Share, 0 to 1, of the CPUs that the service can use (of all if its processes are unknown) that was busy with
    /// anything; `None` if unknown.
    pub busy: Option<f64>,
    /// The CPUs that service and load generator can both use; `None` if unknown.
    pub shared: Option<usize>,
    /// The programs that used the most, most first.
    pub programs: Vec<ProgramUse>,
    /// What limits the service, by the rule that studies use too.
    pub finding: CpuFinding<String>,
    /// Programs of others of which a thread fills a CPU now, and not at small loads: the service can wait for them.
    pub waited_for: Vec<String>,
}

impl CpuUse {
    /// Judges. `reached` says whether the service was at its limit at all.
    pub fn judged(
        bound: Option<CpuBound>,
        busy: Option<f64>,
        shared: Option<usize>,
        programs: Vec<ProgramUse>,
        reached: bool,
    ) -> Self {
        let of_service = programs.iter().filter(|program| program.role == Role::Service);
        let busiest = of_service.max_by(|a, b| a.busiest_thread.total_cmp(&b.busiest_thread));
        let evidence = CpuEvidence {
            kept_up: !reached,
            reached: bound.map(|bound| bound.share),
            busiest: busiest.map(|program| (program.name.clone(), program.busiest_thread)),
            busy,
            shared: shared.map(|cpus| cpus > 0),
        };
        Self { bound, busy, shared, programs, finding: evidence.finding(), waited_for: Vec::new() }
    }

    /// The same with the programs of others that are full now, and were not during a step with a small load.
    #[must_use]
    pub fn beside(mut self, small: &[ProgramUse]) -> Self {
        let was_full = |name: &str| {
            small.iter().any(|one| one.role == Role::Other && one.name == name && one.busiest_thread >= FULL)
        };
        let strangers =
            self.programs.iter().filter(|one| one.role == Role::Other && one.busiest_thread >= FULL);
        self.waited_for = strangers.map(|one| one.name.clone()).filter(|name| !was_full(name)).collect();
        self
    }
}

/// A service seen as a queue with c workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Number of workers that would explain both saturation and service time.
    pub workers: u32,
    /// Time of one request without waiting, in seconds.
    pub service: f64,
    /// The load at which the two are compared, per second.
    pub at: f64,
    /// Mean response time of M/M/c there, in seconds.
    pub predicted: f64,
    /// Mean response time that was measured there.
    pub measured: f64,
}

impl Queue {
    /// Compares a service that takes `service` seconds alone and saturates at `saturation` requests per second with
    /// M/M/c at `at` requests per second, where `measured` seconds were measured. `None` where M/M/c has no
    /// answer.
    pub fn of(saturation: f64, service: f64, at: f64, measured: f64) -> Option<Self> {
        let workers = (saturation * service).round().max(1.0);
        // Rounding workers must not move the saturation that was measured.
        let each = workers / saturation;
        let predicted = service + waiting(workers as u32, each, at)?;
        Some(Self { workers: workers as u32, service, at, predicted, measured })
    }

    /// Measured over predicted. Far above 1: work is serialized, or requests arrive in bursts. Far below 1: requests
    /// share work (batches, a cache).
    pub fn ratio(&self) -> f64 {
        self.measured / self.predicted
    }
}

/// Mean wait in M/M/c with workers that take `service` seconds each, at `rate` per second; `None` at or above
/// saturation. Erlang's C by the recursion of Erlang's B, which does not overflow.
fn waiting(workers: u32, service: f64, rate: f64) -> Option<f64> {
    let offered = rate * service;
    let utilisation = offered / f64::from(workers);
    if !(0.0..1.0).contains(&utilisation) {
        return None;
    }
    let blocked = (1..=workers).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
    let waits = blocked / (1.0 - utilisation * (1.0 - blocked));
    Some(waits * service / (f64::from(workers) * (1.0 - utilisation)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erlang_agrees_with_what_is_known() {
        // M/M/1 at 0.8 of 1,000/s: wait = 0.8 / (1 - 0.8) x 1 ms = 4 ms.
        assert!((waiting(1, 1e-3, 800.0).unwrap() - 4e-3).abs() < 1e-12);
        // M/M/2 at 0.75: C = 0.6428..., wait = C / (2 (1 - 0.75)) x S = 1.2857 S.
        assert!((waiting(2, 1.0, 1.5).unwrap() - 1.285_714_285_7).abs() < 1e-9);
        assert_eq!(waiting(2, 1.0, 2.0), None);
        assert!(waiting(10_000, 1e-3, 9e6).unwrap().is_finite());
    }

    fn program(name: &str, role: Role, cpus: f64, busiest_thread: f64) -> ProgramUse {
        ProgramUse { name: name.to_owned(), role, processes: 1, cpus, busiest_thread }
    }

    #[test]
    fn a_cpu_near_its_bound_is_the_limit_and_one_far_below_is_not() {
        // 10 s of CPU for 10,000 requests are 1 ms each: 2 cores let 2,000/s through.
        let finding = |throughput, busy, shared| {
            let bound = CpuBound::of(10.0, 10_000.0, 2.0, throughput);
            CpuUse::judged(bound, Some(busy), Some(shared), Vec::new(), true).finding
        };
        assert_eq!(CpuBound::of(10.0, 10_000.0, 2.0, 1_900.0).unwrap().bound.to_bits(), 2_000f64.to_bits());
        assert_eq!(finding(1_900.0, 0.99, 2), CpuFinding::Cpus);
        assert_eq!(finding(500.0, 0.4, 0), CpuFinding::Elsewhere);
        assert_eq!(finding(500.0, 0.4, 2), CpuFinding::Shared);
        // A web server whose database takes the CPUs: 8.7 % of its bound, and nothing is left.
        assert_eq!(finding(174.0, 0.975, 2), CpuFinding::AllBusy);
        assert_eq!(CpuBound::of(0.0, 10_000.0, 2.0, 500.0), None);
    }

    #[test]
    fn a_full_thread_of_the_service_is_named_and_that_of_a_stranger_is_not_blamed() {
        let bound = CpuBound::of(10.0, 10_000.0, 2.0, 900.0);
        let finding = |programs| CpuUse::judged(bound, Some(0.7), Some(2), programs, true).finding;
        let service = program("uvicorn", Role::Service, 0.97, 0.96);
        assert_eq!(finding(vec![service]), CpuFinding::OneThread("uvicorn".to_owned()));
        assert_eq!(finding(vec![program("rustc", Role::Other, 0.97, 0.96)]), CpuFinding::Shared);
    }

    #[test]
    fn a_stranger_that_is_as_busy_at_a_small_load_is_not_waited_for() {
        let beside = |small: f64| {
            let near = vec![program("postgres", Role::Other, 0.98, 0.97)];
            let used = CpuUse::judged(None, Some(0.7), Some(0), near, true);
            used.beside(&[program("postgres", Role::Other, small, small)]).waited_for
        };
        assert_eq!(beside(0.2), ["postgres"]);
        assert!(beside(0.97).is_empty());
    }

    #[test]
    fn a_queue_has_as_many_workers_as_explain_its_saturation() {
        let queue = Queue::of(4_000.0, 2e-3, 3_000.0, 2.4e-3).unwrap();
        assert_eq!(queue.workers, 8);
        assert!(queue.ratio() > 0.9 && queue.ratio() < 1.2, "{queue:?}");
    }
}
