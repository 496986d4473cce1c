//! The largest throughput that a resource allows, and a comparison of a service with a plain queue.
//!
//! The operational laws (Denning and Buzen, 1978): a resource of m servers that each request needs
//! for D seconds lets at most m / D requests through per second, whatever their order. Erlang's C formula says
//! how long a queue of c workers would make them wait. Neither is a main result; both show where to look for the limit.

/// What the CPUs of the target allow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuBound {
    /// CPU seconds per request.
    pub demand: f64,
    /// CPUs that it can use.
    pub cores: f64,
    /// Requests per second that they allow: cores / demand.
    pub bound: f64,
    /// Measured saturation as a share of the bound.
    pub share: f64,
    /// Share of this machine's CPUs, 0 to 1, that was busy with anything at the saturation; `None` if unknown.
    pub host_busy: Option<f64>,
}

/// Whether the CPU limits the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuFinding {
    /// Its CPU is the limit.
    Limit,
    /// Its CPU is not, and this machine had CPU time left.
    NotTheLimit,
    /// Unknown: other processes used the CPUs of this machine, or might have.
    Unknown,
}

/// From this share of its bound on, a resource is confirmed as the limit.
pub const CONFIRMED: f64 = 0.85;
/// From this share on (0 to 1), the CPUs of a machine count as full.
pub const HOST_FULL: f64 = 0.85;

impl CpuBound {
    /// The bound from CPU seconds and the requests that used them; `None` without either.
    pub fn of(cpu: f64, requests: f64, cores: f64, saturation: f64, host_busy: Option<f64>) -> Option<Self> {
        let demand = cpu / requests;
        let bound = cores / demand;
        (cpu > 0.0 && requests > 0.0 && bound.is_finite()).then_some(Self {
            demand,
            cores,
            bound,
            share: saturation / bound,
            host_busy,
        })
    }

    /// Whether the CPU is what limits the service. If the machine's CPUs were nearly full, or might have been, even a
    /// service that used little CPU time can have waited for a CPU.
    pub fn finding(&self) -> CpuFinding {
        match self.host_busy {
            _ if self.share >= CONFIRMED => CpuFinding::Limit,
            Some(busy) if busy < HOST_FULL => CpuFinding::NotTheLimit,
            _ => CpuFinding::Unknown,
        }
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

    #[test]
    fn a_cpu_near_its_bound_is_the_limit_and_one_far_below_is_not() {
        // 10 s of CPU for 10,000 requests are 1 ms each: 2 cores let 2,000/s through.
        let near = CpuBound::of(10.0, 10_000.0, 2.0, 1_900.0, Some(0.99)).unwrap();
        assert_eq!((near.bound, near.finding()), (2_000.0, CpuFinding::Limit));
        let far = CpuBound::of(10.0, 10_000.0, 2.0, 500.0, Some(0.4)).unwrap();
        assert_eq!(far.finding(), CpuFinding::NotTheLimit);
        assert_eq!(CpuBound::of(0.0, 10_000.0, 2.0, 500.0, Some(0.4)), None);
    }

    #[test]
    fn a_machine_whose_cpus_are_full_or_unknown_excludes_nothing() {
        let finding = |busy| CpuBound::of(10.0, 10_000.0, 2.0, 174.0, busy).map(|bound| bound.finding());
        assert_eq!(finding(Some(0.975)), Some(CpuFinding::Unknown));
        assert_eq!(finding(Some(0.85)), Some(CpuFinding::Unknown));
        assert_eq!(finding(None), Some(CpuFinding::Unknown));
        assert_eq!(finding(Some(0.84)), Some(CpuFinding::NotTheLimit));
    }

    #[test]
    fn a_queue_has_as_many_workers_as_explain_its_saturation() {
        let queue = Queue::of(4_000.0, 2e-3, 3_000.0, 2.4e-3).unwrap();
        assert_eq!(queue.workers, 8);
        assert!(queue.ratio() > 0.9 && queue.ratio() < 1.2, "{queue:?}");
    }
}
