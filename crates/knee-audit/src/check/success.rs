//! Errors among the successes: a success rate that counts status 400 and more, and a rate that is mostly one of errors.
//!
//! oha counts every response as a success. wrk prints the number of errors, but its rate and its times include them.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Tool};
use crate::number::{amount, group, show_share};

/// Name of the check.
pub const NAME: &str = "success";

/// Share of errors from which rate and times are no longer those of successes.
const SHARE: f64 = 0.01;

/// Checks every measurement with a success rate and status codes.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter_map(|one| finding(one).or_else(|| errors_of_wrk(one))).collect()
}

fn finding(one: &Measurement) -> Option<Finding> {
    let success = one.success_share.as_ref()?;
    let (errors, all) = one.error_statuses()?;
    let good = (all - errors) as f64 / all as f64;
    // A rate of successes that leaves errors out is right.
    if errors == 0 || success.range.low <= good {
        return None;
    }
    let says = format!(
        "the success rate {} counts {} responses with status 400 or more as successes",
        success.text,
        group(errors)
    );
    let mut finding = Finding::new(NAME, Grade::Misleading, one, says).step(format!(
        "({} - {}) / {} = {} succeeded",
        group(all),
        group(errors),
        group(all),
        show_share(good)
    ));
    if let Some(duration) = &one.duration {
        let rate = (all - errors) as f64 / duration.value.max(f64::MIN_POSITIVE);
        finding = finding.step(format!(
            "{} / {} = {} OK responses/s",
            group(all - errors),
            duration.text,
            amount(rate)
        ));
    }
    Some(finding.cause("the tool counts every response as a success; its times are also those of the errors"))
}

fn errors_of_wrk(one: &Measurement) -> Option<Finding> {
    if !matches!(one.tool, Tool::Wrk | Tool::Wrk2) {
        return None;
    }
    let (failed, requests) = (one.failed.as_ref()?, one.requests.as_ref()?);
    let share = failed.value / requests.value.max(1.0);
    if share < SHARE {
        return None;
    }
    let says = format!("{} of the responses are errors, and rate and times include them", show_share(share));
    let mut finding = Finding::new(NAME, Grade::Misleading, one, says).step(format!(
        "{} / {} = {}",
        failed.text,
        requests.text,
        show_share(share)
    ));
    if let Some(rate) = &one.rate {
        let good = rate.value * (1.0 - share).max(0.0);
        finding = finding.step(format!("{} x (1 - {share:.4}) = {} OK responses/s", rate.text, amount(good)));
    }
    Some(finding.cause("errors are often faster than the work that they replace"))
}
