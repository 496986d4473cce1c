//! Notes on the validity of a sweep: what else the capacity depends on, with codes for `knee explain`.
//!
//! Does not judge whether the sweep is valid.

use knee_study::cpu::CpuFinding;
use knee_study::sweep::Report;
use knee_study::sweep::bound::{ProgramUse, Role};

use crate::clean;
use crate::number;

/// The code of the note on CPUs that were full.
pub const BUSY_CPUS: &str = "busy_cpus";
/// What that note means.
pub const BUSY_CPUS_MEANING: &str = "Near the highest goodput, the CPUs that the service can use had no time left, and a program that is neither the service nor knee took a part of it. If the service needs that program, for example its database, the result describes both. If not, such as a build or a backup, the service alone can do more: stop the program and sweep again, or give the service its own CPUs with `taskset`.";

/// A program that took less of the CPUs is not named.
const NAMED: f64 = 0.1;

/// The notes, the most general first.
pub(super) fn notes(report: &Report, co_located: Option<bool>) -> Vec<String> {
    let shared = "service and load generator share this machine's CPUs [co_located]".to_owned();
    // Not where both are on one machine with CPUs of their own.
    let shared = (co_located == Some(true) && report.shared_cpus != Some(0)).then_some(shared);
    shared.into_iter().chain(busy(report)).collect()
}

/// That other programs took CPU time of which nothing was left; `None` if something was, or if no other program took any.
fn busy(report: &Report) -> Option<String> {
    let used = report.cpu.as_ref()?;
    let full = used.busy.filter(|busy| *busy >= knee_study::cpu::FULL)?;
    // Without the service's processes, every program could be it.
    let known = used.programs.iter().any(|one| one.role == Role::Service);
    let matters = known && !matches!(used.finding, CpuFinding::KeptUp | CpuFinding::Unknown);
    let of_others = |one: &&ProgramUse| one.role == Role::Other && one.cpus >= NAMED;
    let others: Vec<String> = used
        .programs
        .iter()
        .filter(of_others)
        .map(|one| format!("`{}` took {:.2}", clean::line(&one.name).replace('`', "'"), one.cpus))
        .collect();
    (matters && !others.is_empty()).then(|| {
        format!(
            "{} of the CPUs were busy, {} of them [{BUSY_CPUS}]",
            number::percent(full),
            others.join(", ")
        )
    })
}
