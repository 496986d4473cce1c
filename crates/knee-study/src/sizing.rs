//! How many CPUs the load generator needs, from a pilot.
//!
//! Every response costs the generator and the service CPU time. The generator's part of the CPUs must be large enough
//! for the rate that the study asks for, or that the remaining CPUs let the service reach. Does not run the pilot, and
//! does not choose which CPUs these are.

/// The generator should use at most this share of its CPUs, so that requests do not wait for it. A judgement, below the
/// 90 % at which the validity rule `worker_cpu` warns.
const FILLED: f64 = 0.7;

/// A side that used more than this share of its CPUs in the pilot was the bottleneck. A judgement.
const BOTTLENECK: f64 = 0.8;

/// What the pilot measured for one variant and workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pilot {
    /// Requests per second that are scheduled, in an open load; `None` in a closed one.
    pub scheduled: Option<f64>,
    /// Responses per second in the pilot.
    pub throughput: f64,
    /// CPU time of the generator per response, in seconds.
    pub generator_cost: f64,
    /// CPU time of services and stores per response, in seconds; 0 if it is unknown.
    pub other_cost: f64,
}

/// The size of the generator's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// CPUs of the generator.
    pub generator: usize,
    /// CPUs that it is expected to use; compare with `generator`.
    pub needed: f64,
    /// Whether it has enough.
    pub enough: bool,
}

/// The smallest part of `cpus` that is enough for all `pilots`, which ran with `generator` CPUs for the generator. If
/// none is enough, half of the CPUs. `None` without a pilot, or with fewer than two CPUs.
pub fn size(pilots: &[Pilot], cpus: usize, generator: usize) -> Option<Size> {
    if pilots.is_empty() || cpus < 2 {
        return None;
    }
    let of = |part: usize| {
        let used = pilots.iter().map(|pilot| rate(pilot, cpus, generator, part) * pilot.generator_cost);
        let needed = used.fold(0.0, f64::max);
        Size { generator: part, needed, enough: needed <= FILLED * part as f64 }
    };
    Some((1..cpus).map(of).find(|size| size.enough).unwrap_or_else(|| of(cpus / 2)))
}

/// The rate of a workload if the generator has `part` of the CPUs. A closed load is as fast as the slower side lets it:
/// a service that did not fill its CPUs stays as fast as it was, and another one is as fast as its CPUs allow.
fn rate(pilot: &Pilot, cpus: usize, generator: usize, part: usize) -> f64 {
    if let Some(scheduled) = pilot.scheduled {
        return scheduled;
    }
    let filled = |cost: f64, cpus: usize| pilot.throughput * cost > BOTTLENECK * cpus as f64;
    let bounded =
        filled(pilot.generator_cost, generator) || filled(pilot.other_cost, cpus.saturating_sub(generator));
    if bounded && pilot.other_cost > 0.0 { (cpus - part) as f64 / pilot.other_cost } else { pilot.throughput }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pilot(scheduled: Option<f64>, throughput: f64, micros: (f64, f64)) -> Pilot {
        Pilot { scheduled, throughput, generator_cost: micros.0 / 1e6, other_cost: micros.1 / 1e6 }
    }

    #[test]
    fn an_open_load_needs_the_cpu_time_of_its_requests() {
        // 50,000/s * 40 us = 2 CPUs, which are 70 % of 2.9.
        let size = size(&[pilot(Some(50_000.0), 50_000.0, (40.0, 20.0))], 8, 4).unwrap();
        assert_eq!((size.generator, size.enough), (3, true));
        assert!((size.needed - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_closed_load_needs_as_much_as_the_other_cpus_let_the_service_answer() {
        // The service costs four times what the generator does: with 2 of 8 CPUs the generator needs 6 / 4 = 1.5 CPUs,
        // more than 70 % of 2; with 3 of them 5 / 4 = 1.25.
        let filling = pilot(None, 4.0 / 80e-6, (20.0, 80.0));
        assert_eq!(size(&[filling], 8, 4).unwrap().generator, 3);
        // A service that waits, and does not fill its CPUs, is no faster with more of them.
        let waiting = pilot(None, 1_000.0, (20.0, 80.0));
        assert_eq!(size(&[waiting], 8, 4).unwrap().generator, 1);
        assert_eq!(size(&[waiting, filling], 8, 4).unwrap().generator, 3, "the most demanding one decides");
    }

    #[test]
    fn too_few_cpus_are_said_to_be_too_few() {
        // 100,000/s * 50 us = 5 CPUs of 4.
        let size = size(&[pilot(Some(100_000.0), 60_000.0, (50.0, 30.0))], 4, 2).unwrap();
        assert_eq!((size.generator, size.enough), (2, false));
        assert!((size.needed - 5.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_pilot_nothing_is_said() {
        assert_eq!(size(&[], 8, 4), None);
        assert_eq!(size(&[pilot(None, 1.0, (1.0, 1.0))], 1, 1), None);
    }
}
