//! Operations on todos: combines PostgreSQL, the list cache and the encoder.
//!
//! Does not decide which thread waits; [`crate::executor`] does. A started write runs to completion even if its request is
//! cancelled: the cache must learn its result.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::cache::{self, Cache, Item};
use crate::config::{Insert, RowCount, Switches};
use crate::encode::Encoder;
use crate::group_writer::GroupWriter;
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::store::Store;
use crate::todo::Draft;

/// The write path: every change of the table goes through it.
pub struct Writer {
    store: Store,
    cache: Option<Arc<Cache>>,
    encoder: Encoder,
    insert: Insert,
    deletes_oldest: bool,
}

impl Writer {
    /// Creates todos. Returns them encoded, in the order of the drafts.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(&self, drafts: &[Draft]) -> Result<Vec<Bytes>, Refusal> {
        let epoch = self.cache.as_ref().map(|cache| cache.epoch());
        let created = match (self.insert, drafts) {
            (Insert::Steps, [draft]) => self.store.insert_in_steps(draft).await.map(|todo| vec![todo]),
            _ => self.store.insert(drafts).await,
        };
        let todos = self.check_write(created)?;
        let texts: Vec<Bytes> = todos.iter().map(|todo| self.encoder.one(todo)).collect();
        if let (Some(cache), Some(epoch)) = (&self.cache, epoch) {
            let items = todos.iter().zip(&texts).map(|(todo, text)| Item::new(todo, text.clone()));
            cache.add_created(epoch, items, self.deletes_oldest);
        }
        Ok(texts)
    }

    async fn set(&self, id: i32, done: bool) -> Result<Bytes, Refusal> {
        let todo = self.check_write(self.store.set(id, done).await)?;
        self.clear();
        Ok(self.encoder.one(&todo))
    }

    async fn delete(&self, id: i32) -> Result<(), Refusal> {
        self.check_write(self.store.delete(id).await)?;
        self.clear();
        Ok(())
    }

    /// Marks the cache as uncertain if a write failed after it was started: PostgreSQL may still execute it.
    fn check_write<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        if let (Some(cache), Err(Refusal::Postgres(_))) = (&self.cache, &result) {
            cache.mark_uncertain();
        }
        result
    }

    fn clear(&self) {
        if let Some(cache) = &self.cache {
            cache.clear();
        }
    }
}

/// Operations on todos, for the routes.
#[derive(Clone)]
pub struct TodoService {
    writer: Arc<Writer>,
    group_writer: Option<GroupWriter>,
    /// Held by the one request that loads the list; the others wait for it.
    loading: Arc<Mutex<()>>,
    metrics: Metrics,
}

impl TodoService {
    /// Combines the parts as configured by the switches. Background tasks run on `driver`.
    pub fn new(
        store: Store,
        cache: Option<Arc<Cache>>,
        switches: &Switches,
        driver: &Handle,
        metrics: Metrics,
    ) -> Self {
        let encoder = Encoder::new(switches, metrics.clone());
        let deletes_oldest = switches.row_count == RowCount::Fixed;
        let writer = Arc::new(Writer { store, cache, encoder, insert: switches.insert, deletes_oldest });
        let group_writer =
            (switches.insert == Insert::Group).then(|| GroupWriter::start(Arc::clone(&writer), driver));
        Self { writer, group_writer, loading: Arc::default(), metrics }
    }

    /// The list, if it is cached.
    pub fn cached_list(&self) -> Option<Bytes> {
        let body = self.writer.cache.as_ref()?.body()?;
        self.metrics.list_hits.inc();
        Some(self.writer.encoder.cached(body))
    }

    /// The list.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list(self) -> Result<Bytes, Refusal> {
        let Some(cache) = &self.writer.cache else {
            return Ok(self.writer.encoder.list(&self.writer.store.list().await?));
        };
        let _guard = self.loading.lock().await;
        if let Some(cached) = self.cached_list() {
            return Ok(cached);
        }
        self.metrics.list_loads.inc();
        let epoch = cache.begin_fill();
        // A replica can lag behind acknowledged writes, and the cache would keep the stale list.
        let todos = self.writer.store.list_from_primary().await?;
        let texts = self.writer.encoder.each(&todos);
        let items: Vec<Item> = todos.iter().zip(texts).map(|(todo, text)| Item::new(todo, text)).collect();
        let body = cache::json_array(&items);
        cache.fill(epoch, items);
        Ok(body)
    }

    /// One todo.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn show(self, id: i32) -> Result<Bytes, Refusal> {
        Ok(self.writer.encoder.one(&self.writer.store.show(id).await?))
    }

    /// Creates a todo.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(self, draft: Draft) -> Result<Bytes, Refusal> {
        if let Some(group_writer) = &self.group_writer {
            return group_writer.create(draft).await;
        }
        let writer = self.writer;
        let created = run_to_completion(async move { writer.create(&[draft]).await }).await?;
        created.into_iter().next().ok_or_else(|| Refusal::Postgres("no row was returned".to_owned()))
    }

    /// Sets whether a todo is done.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn set(self, id: i32, done: bool) -> Result<Bytes, Refusal> {
        let writer = self.writer;
        run_to_completion(async move { writer.set(id, done).await }).await
    }

    /// Deletes a todo.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn delete(self, id: i32) -> Result<(), Refusal> {
        let writer = self.writer;
        run_to_completion(async move { writer.delete(id).await }).await
    }

    /// Checks that PostgreSQL responds.
    ///
    /// # Errors
    /// PostgreSQL does not respond.
    pub async fn ping(self) -> Result<(), Refusal> {
        self.writer.store.ping().await
    }

    /// The metrics of this process, in the text format of Prometheus.
    pub fn metrics_text(&self) -> String {
        self.metrics.connections.set(self.writer.store.connections() as i64);
        self.metrics.text()
    }
}

/// Runs `work` to completion, even if the caller is cancelled.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::spawn(work).await.map_err(|_| Refusal::Stopping)?
}
