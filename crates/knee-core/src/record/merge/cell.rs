//! The next interval of the merged record: those of all parts with the same number.
//!
//! All parts have one grid: the n-th interval of each ends at the same planned time, and some microseconds later in
//! fact. So intervals are matched by their numbers and not by their times. An interval of the whole ends where the last
//! of its parts does.

use std::io::Read;

use super::error::MergeError;
use super::names::Names;
use super::part::Part;
use crate::interval::Interval;
use crate::metric::Metrics;
use crate::unit::Nanos;

/// Fills `cell` with the next interval, which begins at `from`, and `metrics` with what scripts counted in it; false at the
/// end of all parts.
///
/// # Errors
/// If a record cannot be read.
pub(super) fn next_cell<R: Read>(
    parts: &mut [Part<R>],
    names: &mut Names,
    (cell, metrics): (&mut Interval, &mut Metrics),
    from: Nanos,
) -> Result<bool, MergeError> {
    let Some(number) = parts.iter().filter_map(Part::number).min() else { return Ok(false) };
    (cell.from, cell.to) = (from, from);
    for part in parts {
        if part.number() == Some(number) {
            metrics.merge_beside(&part.take_metrics());
            part.add_next(names, cell)?;
        } else {
            metrics.merge_beside(&part.kept());
        }
    }
    cell.endpoints_met = names.take_met();
    Ok(true)
}
