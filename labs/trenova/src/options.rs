//! Pages of drop-down options: cached, batched or read one by one, by the switches.
//!
//! Does not check permissions; the tenant is part of the request.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::batcher::Batcher;
use crate::config::switch::{QueryCall, Switches};
use crate::encode::Encoder;
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::session::Tenant;
use crate::store::Store;

mod cache;
mod request;

use cache::ResponseCache;
pub use request::{DEFAULT_LIMIT, PageRequest};

/// Most requests per batch.
const MAX_BATCH: usize = 1024;
/// Batches in progress at a time. All requests of a tenant share one batcher, so that equal requests are merged.
const BATCHERS: usize = 4;

/// One drop-down option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Worker id.
    pub id: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
}

/// A page of options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Options, in order.
    pub choices: Vec<Choice>,
    /// Number of options on all pages, if counted.
    pub count: Option<i64>,
}

/// Serves pages of options as JSON.
pub struct Options {
    reader: Arc<PageReader>,
    batchers: Vec<Batcher<PageRequest, Result<Bytes, Refusal>>>,
    cache: Option<Arc<ResponseCache>>,
    metrics: Metrics,
}

/// Reads pages from the store and encodes them.
struct PageReader {
    store: Arc<Store>,
    encoder: Encoder,
    cache: Option<Arc<ResponseCache>>,
}

impl Options {
    /// Starts the batchers that the switches ask for.
    pub fn start(store: Arc<Store>, switches: &Switches, metrics: Metrics) -> Self {
        let cache = ResponseCache::new(switches.answer_cache()).map(Arc::new);
        let encoder = Encoder::new(switches.json, metrics.clone());
        let reader = Arc::new(PageReader { store, encoder, cache: cache.clone() });
        let batchers = match switches.query_call {
            QueryCall::Each => 0,
            QueryCall::Batch => BATCHERS,
        };
        let batcher = |_| {
            let reader = Arc::clone(&reader);
            Batcher::start(MAX_BATCH, move |requests| {
                let reader = Arc::clone(&reader);
                async move { reader.read_batch(requests).await }
            })
        };
        let batchers = (0..batchers).map(batcher).collect();
        Self { reader, batchers, cache, metrics }
    }

    /// A page as JSON, from the cache, a batch or the store.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn answer(&self, request: PageRequest) -> Result<Bytes, Refusal> {
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.get(&request, Instant::now())) {
            self.metrics.answer_hits.inc();
            return Ok(kept);
        }
        if self.batchers.is_empty() {
            return Box::pin(self.reader.read_one(&request)).await;
        }
        let mut hasher = DefaultHasher::new();
        request.tenant.hash(&mut hasher);
        let batcher = &self.batchers[hasher.finish() as usize % self.batchers.len()];
        batcher.submit(request).await.unwrap_or(Err(Refusal::Stopping))
    }

    /// Drops cached pages of a tenant whose workers changed.
    pub fn changed(&self, tenant: &Tenant) {
        if let Some(cache) = &self.cache {
            cache.forget(tenant);
        }
    }
}

impl PageReader {
    async fn read_one(&self, request: &PageRequest) -> Result<Bytes, Refusal> {
        let started = self.cache.as_ref().map(|cache| cache.begin_read(Instant::now()));
        let page = self.store.page(request).await?;
        Ok(self.encode(request, &page, started))
    }

    /// Reads a batch over one connection; equal requests share one response.
    async fn read_batch(&self, requests: Vec<PageRequest>) -> Vec<Result<Bytes, Refusal>> {
        let (distinct, positions) = distinct(requests);
        let started = self.cache.as_ref().map(|cache| cache.begin_read(Instant::now()));
        let client = match self.store.get().await {
            Ok(client) => client,
            Err(problem) => return vec![Err(problem); positions.len()],
        };
        let pages = distinct.iter().map(|request| client.with_timeout(self.store.page_on(&client, request)));
        let pages = join_all(pages).await;
        drop(client);
        let answers: Vec<Result<Bytes, Refusal>> = pages
            .into_iter()
            .zip(&distinct)
            .map(|(page, request)| Ok(self.encode(request, &page?, started)))
            .collect();
        positions.into_iter().map(|position| answers[position].clone()).collect()
    }

    fn encode(&self, request: &PageRequest, page: &Page, started: Option<cache::ReadStart>) -> Bytes {
        let text = self.encoder.page(request, page);
        if let (Some(cache), Some(started)) = (&self.cache, started) {
            cache.insert(started, request, &text);
        }
        text
    }
}

/// The distinct requests, and the index of each request among them.
fn distinct(requests: Vec<PageRequest>) -> (Vec<PageRequest>, Vec<usize>) {
    let mut known: HashMap<PageRequest, usize> = HashMap::new();
    let mut distinct = Vec::new();
    let positions = requests.into_iter().map(|request| match known.entry(request) {
        Entry::Occupied(slot) => *slot.get(),
        Entry::Vacant(slot) => {
            distinct.push(slot.key().clone());
            *slot.insert(distinct.len() - 1)
        }
    });
    let positions = positions.collect();
    (distinct, positions)
}
