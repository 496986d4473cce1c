//! Settings of the workers' observers.

use std::rc::Rc;
use std::sync::Arc;

use super::iterations::Iterations;
use super::metered::{Metered, Total};
use super::streamed::Streamed;
use super::system_tags::SystemTags;
use super::{Observer, Observers};
use crate::metric::Registry;
use crate::output::Outlet;

/// Settings of the workers' observers.
#[derive(Clone)]
pub struct View {
    /// The metrics, which can still grow.
    pub metrics: Arc<Registry>,
    /// Whether scenarios and groups are kept apart.
    pub by_part: bool,
    /// Sum of the meters of workers that are done.
    pub total: Total,
    /// Which tags samples get by themselves.
    pub system_tags: SystemTags,
    /// Output of every sample, if any.
    pub outlet: Option<Outlet>,
    /// Iterations whose durations are wanted, if any.
    pub iterations: Option<Iterations>,
}

impl View {
    /// A view of the metrics and nothing else.
    pub fn plain(metrics: Arc<Registry>, total: Total) -> Self {
        Self {
            metrics,
            by_part: false,
            total,
            system_tags: SystemTags::default(),
            outlet: None,
            iterations: None,
        }
    }

    /// Makes the observer of one worker, with the metrics that are known now.
    pub fn observer(&self) -> Rc<dyn Observer> {
        let metered =
            Metered::new(self.metrics.catalog(), self.by_part, self.total.clone(), self.system_tags);
        let streamed = self.outlet.as_ref().map(|outlet| Streamed::new(outlet.clone(), self.system_tags));
        match (streamed, self.iterations.clone()) {
            (None, None) => Rc::new(metered),
            (Some(streamed), None) => Rc::new((metered, streamed)),
            (None, Some(iterations)) => Rc::new((metered, iterations)),
            (Some(streamed), Some(iterations)) => Rc::new(((metered, streamed), iterations)),
        }
    }

    /// Makes observers for the workers of a run.
    pub fn observers(self) -> Observers {
        Arc::new(move || self.observer())
    }
}
