//! A service whose responses are mostly its own computing: a hash, a template, a regular expression per request.
//!
//! Needs a process of the service. Does not ask whether its CPUs are full: `cpu_full` and `one_thread` do, and win.

use knee_core::observation::SourceKind;
use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{percent, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "cpu_per_request",
    finds: "a service that computes for most of each response",
    needs: "a process of the service, and 50 OK responses",
    limits: "the process takes 5 ms of CPU time per response, and this is 50 % of the mean service time; 9 of 10 responses take at least half of this CPU time. Both, or nothing. A hint from 1 ms on, if the process uses half of the CPUs that it can use",
    source: "Below half of the time, something else is the larger part. With 5 ms, a CPU serves 200 requests per second at most (operational bound); other rules count a time from 5 ms on, too. With half of its CPUs in use, requests wait for a CPU as long as they compute (M/M/1); but each service does that under enough load, so that this is a hint. CPU time that is not spent for each request, such as that of a timer, is longer than most responses.",
    cause: "Each request computes what could be computed once or not at all: a password hash, a document that is built again, a template, a regular expression, a list that is searched from its beginning.",
    remedy: "Profile the process under this load. Keep the result for the next request, or choose a cheaper way to compute it.",
    explains: &[],
    check,
};

/// Seconds of CPU time per response, and with CPUs of which this share is used.
const CPU: f64 = 0.005;
const CPU_OF_USED: f64 = 0.001;
const USED: f64 = 0.5;
const SHARE: f64 = 0.5;
/// The responses of which all but this share must take part of the CPU time.
const FASTEST: f64 = 0.1;
/// Part of the CPU time per response that they take at least.
const EACH: f64 = 0.5;
/// Of 50, five are faster than the tenth of them.
const RESPONSES_MIN: u64 = 50;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    Ok(processes.iter().filter_map(|process| computing(evidence, process)).collect())
}

fn computing(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<Draft> {
    let used = bound::both(process, "process.cpu.user", "process.cpu.system")?;
    let of_allowed = used.per_second().zip(bound::allowed_cpus(evidence, process));
    let is_used = of_allowed.is_some_and(|(used, allowed)| used >= USED * allowed);
    let cpu = evidence.per_request(used).filter(|cpu| *cpu >= if is_used { CPU_OF_USED } else { CPU })?;
    let mean = evidence.service_mean().filter(|mean| *mean > 0.0)?;
    let service = &evidence.all().outcomes[Outcome::Ok as usize].service;
    let fastest = service.quantile(FASTEST).filter(|_| service.count() >= RESPONSES_MIN);
    let share = Signal::at_least(
        "CPU time of the process per response, of the mean service time",
        Unit::Share,
        Some(cpu / mean),
        SHARE,
        "/proc/PID/stat",
    )?;
    let each = Signal::at_least(
        "time that 9 of 10 responses take at least, of this CPU time",
        Unit::Share,
        fastest.map(Nanos::as_secs_f64).map(|fastest| fastest / cpu),
        EACH,
        "the run: service time",
    )?;
    let signals = if cpu >= CPU { vec![share, each] } else { vec![share] };
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "{} computes for {} per response, {} of the mean service time",
            process.source.name,
            seconds(cpu),
            percent(cpu / mean)
        ),
        signals,
        remedy: Remedy::advice(
            "profile the process: keep what is computed with each request, or compute it in a cheaper way",
        ),
        gain: Gain::saves(evidence.response_mean(), Some(cpu), "the CPU time of the process per response"),
    })
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::Confidence;
    use crate::testing::Scene;

    /// 100 responses per second that take this long, and a process that computes this long for each.
    fn service(wait: f64, cpu: f64) -> Scene {
        at(100, wait, cpu)
    }

    /// The same at another rate.
    fn at(rate: u64, wait: f64, cpu: f64) -> Scene {
        let mut scene = Scene::sized(
            30,
            move |_| rate,
            Curve::constant(10.0),
            move |sample, _, dice| sample.wait = wait * (0.9 + 0.2 * dice.share()),
        );
        let host = scene.host(4.0);
        scene.busy_host(host, (rate as f64 * cpu / 4.0 + 0.05).min(1.0));
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", rate as f64 * cpu);
        scene.counter(process, "process.cpu.system", "", 0.01);
        scene
    }

    #[test]
    fn a_hash_per_request_is_found_although_three_cpus_idle() {
        let scene = service(0.008, 0.007_5);
        let finding = scene.found("cpu_per_request").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(
            finding.statement.starts_with("shop (pid 7) computes for 7.60 ms per response, 94 %"),
            "{finding:?}"
        );
        assert!(finding.gain.unwrap().share() > 0.9);
    }

    #[test]
    fn fifty_slow_responses_are_enough() {
        assert!(at(3, 0.034, 0.03).found("cpu_per_request").is_some());
        assert_eq!(at(1, 0.034, 0.03).found("cpu_per_request"), None, "30 responses");
    }

    #[test]
    fn short_responses_and_those_that_wait_for_others_are_healthy() {
        assert_eq!(service(0.003, 0.002_5).found("cpu_per_request"), None);
        assert_eq!(service(0.05, 0.007).found("cpu_per_request"), None);
    }

    #[test]
    fn less_is_a_hint_where_half_of_the_cpus_are_used() {
        let mut scene = service(0.008, 0.004_4);
        assert_eq!(scene.found("cpu_per_request"), None);
        scene.gauge(1, "process.cgroup.cpu.limit", "", 0.8);
        assert_eq!(scene.found("cpu_per_request").unwrap().confidence, Confidence::Hint);
    }

    #[test]
    fn work_of_a_timer_or_of_a_thread_that_spins_is_not_that_of_requests() {
        assert_eq!(service(0.002, 0.01).found("cpu_per_request"), None);
    }

    #[test]
    fn a_process_that_fills_its_cpus_is_said_once() {
        let mut scene = service(0.012, 0.0095);
        scene.gauge(1, "process.cpus", "", 1.0);
        scene.counter(0, "host.pressure.cpu.some", "", 0.6);
        let codes: Vec<_> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["cpu_full"]);
    }
}
