//! How much memory a run takes while it is read and reported, as far as its record decides.
//!
//! A model in whole bytes: what the parts of a run hold, and what views and texts made of them hold at the same time.
//! Does not measure the process; a test of the program does (`crates/knee/tests/cli/big_record.rs`).

use super::super::Point;
use crate::histogram::HEAP_BYTES_MAX;
use crate::tally::{EndpointTally, UNKNOWN_TIMES_MAX};

/// Most memory of a run that is read from a record, with its report, in bytes. Beside it a reader needs the packed and
/// the unpacked bytes of one frame. Together that is less than 512 MiB.
pub const MEMORY_MAX: usize = 320 << 20;

/// More than any tally of a single endpoint holds in its histograms.
pub(super) const ENDPOINT_BYTES_MAX: usize = (20 + 3 * UNKNOWN_TIMES_MAX) * HEAP_BYTES_MAX;

/// A point, its copy in a view, and its lines in a JSON document.
pub(super) const POINT_BYTES: usize = 2 * size_of::<Point>() + 1_536;

/// The row of an endpoint in a view, and its lines in a JSON document.
pub(super) const ROW_BYTES: usize = 12 << 10;

/// A status code in a tally, in a view, in a document and in its text.
const STATUS_BYTES: usize = 256;

/// A fault in a tally, in a view, in a document and in its text, without its messages.
const FAULT_BYTES: usize = 640;

/// An outcome, a phase or a fault that this version does not know: in a tally, in a view, in a document and in its text.
const UNKNOWN_BYTES: usize = 1_024;

/// How often a name or a message is copied. In a JSON document, six bytes can stand for one.
pub(super) const TEXT_COPIES: usize = 16;

/// What the tally of an endpoint holds beside its fixed part.
pub(super) fn weight(endpoint: &EndpointTally) -> usize {
    let unknown = &endpoint.unknown;
    let messages = endpoint.faults.iter().flat_map(|fault| &fault.examples);
    let messages = messages.chain(unknown.faults.iter().flat_map(|fault| &fault.examples));
    let names = unknown.outcomes.iter().map(|outcome| &outcome.name);
    let names = names.chain(unknown.phases.iter().map(|phase| &phase.name));
    let names = names.chain(unknown.faults.iter().map(|fault| &fault.name));
    let texts: usize = messages.chain(names).map(|text| text_bytes(text)).sum();
    let (statuses, faults) = (endpoint.status.len() * STATUS_BYTES, endpoint.faults.len() * FAULT_BYTES);
    let unknown = unknown.outcomes.len() + unknown.phases.len() + unknown.faults.len();
    endpoint.heap_bytes() + statuses + faults + unknown * UNKNOWN_BYTES + texts
}

/// What a name or a message holds.
pub(super) fn text_bytes(text: &str) -> usize {
    TEXT_COPIES * (text.len() + size_of::<String>())
}
