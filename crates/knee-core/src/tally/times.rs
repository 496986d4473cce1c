//! The times of the requests with one outcome.
//!
//! Does not know which outcome.

use crate::histogram::Histogram;

/// Both times of the requests with one outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeTally {
    /// done - due. For timeout, unsent and censored requests a lower bound. Its count is the
    /// number of requests with this outcome.
    pub response: Histogram,
    /// done - sent. Missing for requests that were never sent.
    pub service: Histogram,
}
