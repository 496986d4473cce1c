//! Whether CPUs limit a service: one judgement, for studies and for sweeps.
//!
//! The utilization law (Denning and Buzen, "The Operational Analysis of Queueing Network Models", Computing Surveys
//! 10(3), 1978): a CPU supplies one CPU second per second. Does not measure, and names nothing but CPUs as the cause: a
//! lock or a pool is only worth a look where no CPU was full and none was shared with the load generator.

use serde::{Deserialize, Serialize};

/// From this share of their time on, 0 to 1, CPUs count as full. A judgement: the rest is time that is charged to no
/// process, such as interrupts.
pub const FULL: f64 = 0.85;

/// From this share on they count as full for the most part. A judgement too.
const MOSTLY: f64 = 0.6;

/// CPUs that a thread or a process with one busy thread uses if it is full: never much more than one. A judgement.
const ONE: std::ops::RangeInclusive<f64> = 0.85..=1.1;

/// What is known about the CPUs while a service was at its limit. `P` names a part: a program or a component.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuEvidence<P> {
    /// Whether the service answered the whole load: then nothing was at its limit.
    pub kept_up: bool,
    /// The share, 0 to 1, that the known parts used of the CPUs that they fill first; `None` if no part is known.
    pub reached: Option<f64>,
    /// The busiest thread or single-threaded part, and the CPUs that it used (1 is one whole CPU).
    pub busiest: Option<(P, f64)>,
    /// The share, 0 to 1, of the CPUs that the service can use that was busy with anything; `None` if unknown.
    pub busy: Option<f64>,
    /// Whether the load generator can run on the CPUs of the service; `None` if unknown.
    pub shared: Option<bool>,
}

/// What limits a service, as far as CPU time shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuFinding<P> {
    /// Nothing: it answered the whole load.
    KeptUp,
    /// The CPUs that its parts can use.
    Cpus,
    /// One CPU that this part fills with a single busy thread, though it could use more.
    OneThread(P),
    /// The CPUs are full, and more than the known parts fills them: nothing can be said about the service alone.
    AllBusy,
    /// The CPUs for the most part.
    MostlyCpus,
    /// Nothing can be said: the load generator takes CPU time from the service.
    Shared,
    /// Something else: locks, pools, disks, or too little load.
    Elsewhere,
    /// Nothing can be said: the CPU time of the service, or of its CPUs, is unknown.
    Unknown,
}

impl<P: Clone> CpuEvidence<P> {
    /// What limits the service.
    pub fn finding(&self) -> CpuFinding<P> {
        let one = self.busiest.as_ref().filter(|(_, used)| ONE.contains(used));
        let at_least = |share: Option<f64>, least: f64| share.is_some_and(|share| share >= least);
        match one {
            _ if self.kept_up => CpuFinding::KeptUp,
            _ if at_least(self.reached, FULL) => CpuFinding::Cpus,
            Some((part, _)) => CpuFinding::OneThread(part.clone()),
            None if at_least(self.busy, FULL) => CpuFinding::AllBusy,
            None if at_least(self.reached, MOSTLY) => CpuFinding::MostlyCpus,
            None if self.reached.is_none() || self.busy.is_none() => CpuFinding::Unknown,
            None => match self.shared {
                Some(false) => CpuFinding::Elsewhere,
                Some(true) => CpuFinding::Shared,
                None => CpuFinding::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service on CPUs of its own that uses few of them.
    fn idle() -> CpuEvidence<&'static str> {
        CpuEvidence {
            kept_up: false,
            reached: Some(0.2),
            busiest: Some(("server", 0.2)),
            busy: Some(0.3),
            shared: Some(false),
        }
    }

    #[test]
    fn only_idle_cpus_of_its_own_point_to_a_lock() {
        assert_eq!(idle().finding(), CpuFinding::Elsewhere);
        let finding = |change: fn(&mut CpuEvidence<&'static str>)| {
            let mut evidence = idle();
            change(&mut evidence);
            evidence.finding()
        };
        assert_eq!(finding(|e| e.shared = Some(true)), CpuFinding::Shared);
        assert_eq!(finding(|e| e.shared = None), CpuFinding::Unknown);
        assert_eq!(finding(|e| e.busy = Some(0.975)), CpuFinding::AllBusy);
        assert_eq!(finding(|e| e.busy = None), CpuFinding::Unknown);
        assert_eq!(finding(|e| e.reached = None), CpuFinding::Unknown);
        assert_eq!(finding(|e| e.kept_up = true), CpuFinding::KeptUp);
    }

    #[test]
    fn full_cpus_and_a_full_thread_are_named_before_anything_else() {
        let full = CpuEvidence { reached: Some(0.9), busy: Some(0.95), shared: Some(true), ..idle() };
        assert_eq!(full.finding(), CpuFinding::Cpus);
        // 1,238/s x 807 us is one full CPU of two.
        let one = CpuEvidence { reached: Some(0.5), busiest: Some(("uvicorn", 0.999)), ..idle() };
        assert_eq!(one.finding(), CpuFinding::OneThread("uvicorn"));
        assert_eq!(CpuEvidence { busy: Some(0.97), ..one }.finding(), CpuFinding::OneThread("uvicorn"));
        assert_eq!(CpuEvidence { reached: Some(0.7), ..idle() }.finding(), CpuFinding::MostlyCpus);
    }
}
