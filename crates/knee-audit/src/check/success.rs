//! A success rate that counts responses with status 400 and more as successes.
//!
//! oha counts every response as a success.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement};
use crate::number::{amount, group, show_share};

/// Name of the check.
pub const NAME: &str = "success";

/// Checks every measurement with a success rate and status codes.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter_map(finding).collect()
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
