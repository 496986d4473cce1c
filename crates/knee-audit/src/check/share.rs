//! A share is its part divided by its whole.
//!
//! Also finds a share in brackets that its neighbour leaves out.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Named, Relation};
use crate::number::{Range, show_range, show_share};

/// Name of the check.
pub const NAME: &str = "share";

/// Checks every share.
pub fn check(document: &Document) -> Vec<Finding> {
    document
        .measurements
        .iter()
        .flat_map(|one| {
            one.relations
                .iter()
                .filter_map(|relation| share(one, relation))
                .chain(aside(one))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn share(one: &Measurement, relation: &Relation) -> Option<Finding> {
    let Relation::Share { part, whole, share } = relation else { return None };
    if whole.figure.range.is_below(part.figure.range) {
        let says = format!("{} is more than {}", part.name, whole.name);
        let step = format!("{} > {}", part.figure.text, whole.figure.text);
        return Some(Finding::new(NAME, Grade::Impossible, one, says).step(step));
    }
    let calculated = part.figure.range.over(whole.figure.range)?;
    if !calculated.excludes(share.figure.range) {
        return None;
    }
    Some(differs(one, part, whole, share, calculated))
}

fn differs(one: &Measurement, part: &Named, whole: &Named, share: &Named, calculated: Range) -> Finding {
    let shown = show_range(calculated, show_share);
    let says = format!("{} is {shown}, not {}", share.name, share.figure.text);
    let step = format!("{} / {} = {shown}", part.figure.text, whole.figure.text);
    Finding::new(NAME, Grade::Impossible, one, says).step(step)
}

/// `0% (14% rate-limited)`: requests that were refused are not among the errors.
fn aside(one: &Measurement) -> Option<Finding> {
    let (share, aside) = (one.failed_share.as_ref()?, one.failed_aside.as_ref()?);
    if !share.range.is_below(aside.figure.range) {
        return None;
    }
    let says = format!("{} errors leave out {} {}", share.text, aside.figure.text, aside.name);
    let finding = Finding::new(NAME, Grade::Misleading, one, says).step(format!(
        "{} + {} = {} not served",
        share.text,
        aside.figure.text,
        show_share(share.value + aside.figure.value)
    ));
    Some(finding.cause("rate and times count refusals as served requests; refusals are fast"))
}
