//! Options of a drop-down: what may be asked for, and the ways to an answer.
//!
//! Does not know who asks; what is asked for has the tenant in it.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry as Slot};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::config::switch::{QueryCall, Switches};
use crate::encode::Pen;
use crate::group::Group;
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::session::Tenant;
use crate::store::Store;

mod ask;
mod memory;

pub use ask::{Ask, USUAL_LIMIT};
use memory::Memory;

/// Most requests of a batch.
const MOST: usize = 1024;
/// Batches that may be under way at a time. A tenant's requests are all in one of them, so that those that are alike meet.
const LANES: usize = 4;

/// One of the options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The worker's id.
    pub id: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
}

/// Options that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In their order.
    pub choices: Vec<Choice>,
    /// How many there are on all pages, if that was counted.
    pub count: Option<i64>,
}

/// Answers to those who ask.
pub struct Options {
    desk: Arc<Desk>,
    lanes: Vec<Group<Ask, Result<Bytes, Refusal>>>,
    memory: Option<Arc<Memory>>,
    metrics: Metrics,
}

/// Store and encoder.
struct Desk {
    store: Arc<Store>,
    pen: Pen,
    memory: Option<Arc<Memory>>,
}

impl Options {
    /// Answers in the way of the switches.
    pub fn start(store: Arc<Store>, switches: &Switches, metrics: Metrics) -> Self {
        let memory = Memory::new(switches.answer_cache()).map(Arc::new);
        let pen = Pen::new(switches.json, metrics.clone());
        let desk = Arc::new(Desk { store, pen, memory: memory.clone() });
        let lanes = match switches.query_call {
            QueryCall::Each => 0,
            QueryCall::Batch => LANES,
        };
        let lane = |_| {
            let desk = Arc::clone(&desk);
            Group::start(MOST, move |asks| {
                let desk = Arc::clone(&desk);
                async move { desk.all(asks).await }
            })
        };
        let lanes = (0..lanes).map(lane).collect();
        Self { desk, lanes, memory, metrics }
    }

    /// A page, as JSON.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn answer(&self, ask: Ask) -> Result<Bytes, Refusal> {
        if let Some(kept) = self.memory.as_ref().and_then(|memory| memory.recall(&ask, Instant::now())) {
            self.metrics.answer_hits.inc();
            return Ok(kept);
        }
        if self.lanes.is_empty() {
            return Box::pin(self.desk.one(&ask)).await;
        }
        let mut hasher = DefaultHasher::new();
        ask.tenant.hash(&mut hasher);
        let lane = &self.lanes[hasher.finish() as usize % self.lanes.len()];
        lane.join(ask).await.unwrap_or(Err(Refusal::Stopping))
    }

    /// Has nothing in memory any more that was read before this tenant's workers changed.
    pub fn changed(&self, tenant: &Tenant) {
        if let Some(memory) = &self.memory {
            memory.forget(tenant);
        }
    }
}

impl Desk {
    async fn one(&self, ask: &Ask) -> Result<Bytes, Refusal> {
        let begun = self.memory.as_ref().map(|memory| memory.begin(Instant::now()));
        let page = self.store.page(ask).await?;
        Ok(self.written(ask, &page, begun))
    }

    /// Answers to all who wait: those that are alike get the same one, the others share a connection.
    async fn all(&self, asks: Vec<Ask>) -> Vec<Result<Bytes, Refusal>> {
        let (alike, places) = alike(asks);
        let begun = self.memory.as_ref().map(|memory| memory.begin(Instant::now()));
        let client = match self.store.get().await {
            Ok(client) => client,
            Err(problem) => return vec![Err(problem); places.len()],
        };
        let pages = alike.iter().map(|ask| client.within(self.store.page_on(&client, ask)));
        let pages = join_all(pages).await;
        drop(client);
        let answers: Vec<Result<Bytes, Refusal>> =
            pages.into_iter().zip(&alike).map(|(page, ask)| Ok(self.written(ask, &page?, begun))).collect();
        places.into_iter().map(|at| answers[at].clone()).collect()
    }

    fn written(&self, ask: &Ask, page: &Page, begun: Option<memory::Begun>) -> Bytes {
        let text = self.pen.page(ask, page);
        if let (Some(memory), Some(begun)) = (&self.memory, begun) {
            memory.keep(begun, ask, &text);
        }
        text
    }
}

/// Those that are different, and which of them each is.
fn alike(asks: Vec<Ask>) -> (Vec<Ask>, Vec<usize>) {
    let mut known: HashMap<Ask, usize> = HashMap::new();
    let mut alike = Vec::new();
    let places = asks.into_iter().map(|ask| match known.entry(ask) {
        Slot::Occupied(slot) => *slot.get(),
        Slot::Vacant(slot) => {
            alike.push(slot.key().clone());
            *slot.insert(alike.len() - 1)
        }
    });
    let places = places.collect();
    (alike, places)
}
