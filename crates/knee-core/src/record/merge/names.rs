//! The endpoints of the merged record: those of all parts, joined by name.
//!
//! An endpoint that appears during a run has the number that its machine gave it, and another machine can have met
//! another one first.

use std::collections::BTreeMap;

use crate::plan::{Endpoint, EndpointId, Plan};

/// All endpoints by name.
#[derive(Clone, Debug)]
pub(super) struct Names {
    known: BTreeMap<String, EndpointId>,
    /// Those that are not announced yet.
    met: Vec<(EndpointId, Endpoint)>,
}

impl Names {
    /// The endpoints of the plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let known = plan.endpoints.iter().map(|endpoint| endpoint.name.clone()).zip((0..).map(EndpointId));
        Self { known: known.collect(), met: Vec::new() }
    }

    /// The endpoint of this name, which is new if none has it.
    pub(super) fn id(&mut self, name: &str) -> EndpointId {
        if let Some(id) = self.known.get(name) {
            return *id;
        }
        let id = EndpointId(self.known.len() as u32);
        self.known.insert(name.to_owned(), id);
        self.met.push((id, Endpoint { name: name.to_owned() }));
        id
    }

    /// Those that were met since the last call.
    pub(super) fn take_met(&mut self) -> Vec<(EndpointId, Endpoint)> {
        std::mem::take(&mut self.met)
    }
}
