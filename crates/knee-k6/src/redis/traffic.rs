//! What the bytes of a command count for. Counts none itself.

use std::rc::Rc;

use knee_core::unit::Nanos;

use crate::http::request::Origins;
use crate::observe::{Context, Observer};

/// What the bytes of a command count for.
pub struct Traffic {
    /// Where samples go.
    pub observer: Rc<dyn Observer>,
    /// Where in the script the command stands.
    pub origin: Origins,
}

impl Traffic {
    /// Reports bytes that were sent and received.
    pub(super) fn note(&self, (sent, received): (u64, u64), at: Nanos) {
        let Origins { scenario, group, tags, metadata } = &self.origin;
        self.observer.traffic(sent, received, &Context { scenario, group, tags, metadata, at });
    }
}
