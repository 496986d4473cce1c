//! Applies all rules to the evidence and puts their findings in order.
//!
//! Holds no rule and no limit.

use std::cmp::Ordering;

use knee_core::outcome::Outcome;
use knee_core::validity::Validity;

use crate::bound;
use crate::evidence::Evidence;
use crate::finding::{Finding, Gain, NotRun, Report, Subject, SubjectKind};
use crate::hypothetical::weighed;
use crate::lack::Lack;
use crate::parts::breakdown;
use crate::rules::RULES;
use crate::same::can_be_same;

/// The rule that knows responses which refuse.
const REFUSALS: &str = "rate_limit";

/// The rule that knows full CPUs.
const CPUS: &str = "cpu_full";
/// The rule that knows what a process computes, and the one that knows scans of SQLite, which the process makes itself.
const COMPUTES: &str = "cpu_per_request";
const SCANS: &str = "sqlite_scan";
/// Below this share of OK requests, what was measured are errors.
const OK_MIN: f64 = 0.01;

/// Whether next to nothing was answered OK, so that nothing that was measured says what stops the service. Not where nothing
/// was sent.
pub fn is_only_errors(ok: u64, planned: u64) -> bool {
    (ok as f64) < OK_MIN * planned as f64
}

/// Applies every rule. A run that is invalid describes the load generator, so no rule runs on it; neither does one on a run
/// of errors, but that which knows refusals.
pub fn examine(evidence: &Evidence<'_>) -> Report {
    if evidence.run.validity.validity == Validity::Invalid {
        let lacks = || "a run that is not invalid".to_owned();
        let could_not_run = RULES.iter().map(|rule| NotRun { code: rule.code, lacks: lacks() }).collect();
        return Report { could_not_run, ..Report::default() };
    }
    let (bounds, breakdown) = (bound::bounds(evidence), breakdown(evidence));
    let mut report = Report { bounds, breakdown, ..Report::default() };
    let only_errors = only_errors(evidence);
    for rule in RULES {
        let checked = match &only_errors {
            Some(lack) if rule.code != REFUSALS => Err(lack.clone()),
            _ => (rule.check)(evidence),
        };
        match checked {
            Ok(drafts) => {
                report.ran.push(rule.code);
                let with_evidence = drafts.into_iter().filter(|draft| !draft.signals.is_empty());
                report.findings.extend(with_evidence.map(|draft| rule.finding(weighed(evidence, draft))));
            }
            Err(lack) => report.could_not_run.push(NotRun { code: rule.code, lacks: lack.0 }),
        }
    }
    leave_out_explained(evidence, &mut report.findings);
    leave_out_filled(&mut report.findings);
    leave_out_scanned(&mut report.findings);
    report.findings.sort_by(by_gain);
    report
}

/// What is lacking in a run of errors; `None` for every other one.
fn only_errors(evidence: &Evidence<'_>) -> Option<Lack> {
    let (ok, planned) = (evidence.all().count(Outcome::Ok), evidence.all().planned);
    is_only_errors(ok, planned)
        .then(|| Lack::of(format!("OK responses: {ok} of {planned} requests were answered OK")))
}

/// Leaves out findings that another one explains, as far as both can be about the same thing. A hint explains nothing.
fn leave_out_explained(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let causes: Vec<(Subject, &[&str])> = findings
        .iter()
        .filter(|one| !one.is_hint())
        .map(|one| (one.subject.clone(), explained_by(one.code)))
        .collect();
    findings.retain(|finding| {
        let explains = |(cause, codes): &(Subject, &[&str])| {
            codes.contains(&finding.code) && can_be_same(evidence, cause, finding.code, &finding.subject)
        };
        !causes.iter().any(explains)
    });
}

/// Codes of the findings that a rule explains.
pub(crate) fn explained_by(code: &str) -> &'static [&'static str] {
    RULES.iter().find(|rule| rule.code == code).map_or(&[], |rule| rule.explains)
}

/// Share of the response time from which on one cause is what fills the CPUs.
const FILLS: f64 = 0.5;

/// Leaves out that several programs fill the CPUs, where a finding names a statement or a process that takes half of the
/// time. Of several programs, no gain is known.
fn leave_out_filled(findings: &mut Vec<Finding>) {
    let fills = |one: &Finding| {
        let works = matches!(one.subject.kind, SubjectKind::Statement | SubjectKind::Process);
        let saves = one.gain.as_ref().filter(|gain| matches!(gain, Gain::MeanResponse { .. }));
        works && !one.is_hint() && saves.map_or(0.0, Gain::share) >= FILLS
    };
    if findings.iter().any(fills) {
        findings.retain(|finding| finding.code != CPUS || finding.gain.is_some());
    }
}

/// Leaves out that the service computes, where scans of SQLite take half of that: the CPU time is theirs.
fn leave_out_scanned(findings: &mut Vec<Finding>) {
    let saved = |code: &str| {
        let those = findings.iter().filter(|one| one.code == code && !one.is_hint());
        those.filter_map(|one| one.gain.as_ref()).map(Gain::share).fold(0.0, f64::max)
    };
    let scans = saved(SCANS);
    if scans > 0.0 && scans >= FILLS * saved(COMPUTES) {
        findings.retain(|finding| finding.code != COMPUTES);
    }
}

/// Findings before hints; then the larger gain first. The sort is stable, so rules keep their order otherwise.
fn by_gain(one: &Finding, other: &Finding) -> Ordering {
    let share = |finding: &Finding| finding.gain.as_ref().map_or(0.0, Gain::share);
    one.is_hint().cmp(&other.is_hint()).then(share(other).total_cmp(&share(one)))
}
