//! Endpoints that appear during a run: scripts name them freely.
//!
//! Names that are URLs are recorded without their secrets. Bounded: names beyond the limit share one endpoint, whose name
//! says so. A known name costs a lookup in the worker's own map. A new one takes a lock, until there are as many as there
//! can be.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::plan::{Endpoint, EndpointId};

use crate::secret;

/// Longest name that a worker finds without the lock.
const MET_MAX: usize = 4 << 10;

/// Maximum number of endpoints of a run, including the shared one.
pub const ENDPOINTS_MAX: usize = 1_000;

/// Most bytes of all their names together.
pub const NAMES_MAX: usize = 1 << 20;

/// The name of the endpoint that all names beyond the limit share.
pub const OTHERS: &str = "(other endpoints)";

/// All endpoints of a run, shared by its workers.
#[derive(Debug, Default)]
pub struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    ids: HashMap<String, EndpointId>,
    /// Bytes of the names in `ids`.
    bytes: usize,
    /// The next id; a plan can list one name twice.
    next: u32,
    /// Not yet written to the record.
    unrecorded: Vec<(EndpointId, Endpoint)>,
}

impl Registry {
    /// A registry of the endpoints of a plan.
    pub fn new(planned: &[Endpoint]) -> Self {
        let ids = planned.iter().enumerate().map(|(place, one)| (one.name.clone(), EndpointId(place as u32)));
        Self {
            inner: Mutex::new(Inner {
                ids: ids.collect(),
                bytes: planned.iter().map(|one| one.name.len()).sum(),
                next: planned.len() as u32,
                unrecorded: Vec::new(),
            }),
        }
    }

    /// Takes the endpoints that appeared since the last call.
    pub fn take_new(&self) -> Vec<(EndpointId, Endpoint)> {
        std::mem::take(&mut self.lock().unrecorded)
    }

    /// All names with their ids, once no other name can be added.
    fn complete(&self) -> Option<HashMap<String, EndpointId>> {
        let inner = self.lock();
        (inner.ids.len() >= ENDPOINTS_MAX && inner.ids.contains_key(OTHERS)).then(|| inner.ids.clone())
    }

    fn id(&self, name: &str) -> EndpointId {
        let mut inner = self.lock();
        let has_room = inner.ids.len() + 1 < ENDPOINTS_MAX && inner.bytes + name.len() <= NAMES_MAX;
        let name = if has_room || inner.ids.contains_key(name) { name } else { OTHERS };
        if let Some(id) = inner.ids.get(name) {
            return *id;
        }
        let id = EndpointId(inner.next);
        inner.next += 1;
        inner.bytes += name.len();
        inner.ids.insert(name.to_owned(), id);
        inner.unrecorded.push((id, Endpoint { name: name.to_owned() }));
        id
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic under the lock leaves usable data: ids are only added.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker's view of the registry. Clones share the worker's map.
#[derive(Clone, Debug)]
pub struct Endpoints {
    registry: Arc<Registry>,
    met: Rc<RefCell<HashMap<String, EndpointId>>>,
    /// Every name that there will ever be, so that a script that invents names does not take the lock for each.
    complete: Rc<OnceCell<HashMap<String, EndpointId>>>,
}

impl Endpoints {
    /// A view with an empty map.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry, met: Rc::default(), complete: Rc::default() }
    }

    /// The id of the endpoint with this name; creates the endpoint if it is new.
    pub fn id(&self, name: &str) -> EndpointId {
        if let Some(id) = self.met.borrow().get(name) {
            return *id;
        }
        let id = self.of_registry(&secret::endpoint(name));
        let mut met = self.met.borrow_mut();
        // A script that keeps inventing names must not fill the worker's memory either.
        if met.len() < ENDPOINTS_MAX && name.len() <= MET_MAX {
            met.insert(name.to_owned(), id);
        }
        id
    }

    /// The id of a name without secrets.
    fn of_registry(&self, name: &str) -> EndpointId {
        if self.complete.get().is_none()
            && let Some(all) = self.registry.complete()
        {
            // It was empty a moment ago, and this is the only place that fills it.
            let _ = self.complete.set(all);
        }
        let known = self.complete.get().and_then(|all| all.get(name).or_else(|| all.get(OTHERS)));
        known.copied().unwrap_or_else(|| self.registry.id(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_ids_and_are_recorded_once() {
        let registry = Arc::new(Registry::new(&[Endpoint { name: "planned".into() }]));
        let (one, other) = (Endpoints::new(registry.clone()), Endpoints::new(registry.clone()));
        assert_eq!(one.id("planned"), EndpointId(0));
        assert_eq!(one.id("new"), EndpointId(1));
        assert_eq!(other.id("new"), EndpointId(1));
        assert_eq!(registry.take_new(), [(EndpointId(1), Endpoint { name: "new".into() })]);
        assert_eq!(registry.take_new(), []);
    }

    #[test]
    fn requests_that_differ_in_secrets_alone_share_an_endpoint_without_them() {
        let registry = Arc::new(Registry::default());
        let endpoints = Endpoints::new(registry.clone());
        let ids = ["1", "2"].map(|token| endpoints.id(&format!("GET http://u:p@h/?token={token}")));
        assert_eq!(ids[0], ids[1]);
        assert_eq!(registry.take_new(), [(ids[0], Endpoint { name: "GET http://h/?token=***".into() })]);
    }

    #[test]
    fn names_beyond_the_limit_share_one_endpoint() {
        let endpoints = Endpoints::new(Arc::default());
        let ids: Vec<EndpointId> = (0..5_000).map(|name| endpoints.id(&name.to_string())).collect();
        assert_eq!(ids.iter().max(), Some(&EndpointId(ENDPOINTS_MAX as u32 - 1)));
        assert_eq!(endpoints.id("4999"), endpoints.id("4998"));
        assert_eq!(endpoints.id("7"), ids[7]);
    }

    #[test]
    fn a_worker_knows_the_names_of_others_when_no_more_can_be_added() {
        let registry = Arc::new(Registry::default());
        let (one, other) = (Endpoints::new(registry.clone()), Endpoints::new(registry.clone()));
        let first = one.id("first");
        let others: Vec<EndpointId> = (0..2_000).map(|name| other.id(&name.to_string())).collect();
        assert_eq!((other.id("first"), one.id("5")), (first, others[5]));
        assert_eq!((one.id("new"), one.id("newer")), (others[1_999], others[1_999]));
        assert_eq!(registry.take_new().len(), ENDPOINTS_MAX);
    }

    #[test]
    fn names_of_more_bytes_than_the_limit_share_one_endpoint() {
        let registry = Arc::new(Registry::default());
        let endpoints = Endpoints::new(registry.clone());
        let long = |number: usize| format!("{number} {}", "x".repeat(NAMES_MAX / 2));
        let ids: Vec<EndpointId> = (0..4).map(|number| endpoints.id(&long(number))).collect();
        assert_eq!(ids[1..], [ids[1]; 3]);
        let bytes: usize = registry.take_new().iter().map(|(_, endpoint)| endpoint.name.len()).sum();
        assert!(bytes <= NAMES_MAX + OTHERS.len(), "{bytes}");
    }
}
