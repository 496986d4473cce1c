//! Operations on todos, for the routes of both doors: combines PostgreSQL, the list cache, the encoder and the changes.
//!
//! Does not decide which thread waits; [`crate::executor`] does. A started write runs to completion even if its request is
//! cancelled: the cache must learn its result.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::cache::{self, Cache, Item};
use crate::changes::Changes;
use crate::config::{Insert, RowCount, Switches};
use crate::encode::{Encoded, Encoder, Format};
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
    changes: Arc<Changes>,
    insert: Insert,
    deletes_oldest: bool,
}

impl Writer {
    /// Creates todos. Returns them encoded, in the order of the drafts.
    ///
    /// Readers of the changes get them last: a list requested after a change shows it.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(&self, drafts: &[Draft]) -> Result<Vec<Encoded>, Refusal> {
        let epoch = self.cache.as_ref().map(|cache| cache.epoch());
        let created = match (self.insert, drafts) {
            (Insert::Steps, [draft]) => self.store.insert_in_steps(draft).await.map(|todo| vec![todo]),
            _ => self.store.insert(drafts).await,
        };
        let todos = self.check_write(created)?;
        let encoded: Vec<Encoded> = todos.iter().map(|todo| self.encoder.in_all_formats(todo)).collect();
        if let (Some(cache), Some(epoch)) = (&self.cache, epoch) {
            let items = todos.iter().zip(&encoded).map(|(todo, encoded)| Item::new(todo, encoded.clone()));
            cache.add_created(epoch, items, self.deletes_oldest);
        }
        self.changes.publish(&encoded);
        Ok(encoded)
    }

    async fn set(&self, id: i32, done: bool, format: Format) -> Result<Bytes, Refusal> {
        let todo = self.check_write(self.store.set(id, done).await)?;
        self.clear();
        Ok(self.encoder.one(&todo, format))
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

/// What the operations are combined of.
pub struct Parts {
    /// The table.
    pub store: Store,
    /// The newest todos in memory, if the switch is on.
    pub cache: Option<Arc<Cache>>,
    /// The encoder.
    pub encoder: Encoder,
    /// Gets each todo that is created.
    pub changes: Arc<Changes>,
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
    pub fn new(parts: Parts, switches: &Switches, driver: &Handle, metrics: Metrics) -> Self {
        let Parts { store, cache, encoder, changes } = parts;
        let deletes_oldest = switches.row_count == RowCount::Fixed;
        let insert = switches.insert;
        let writer = Arc::new(Writer { store, cache, encoder, changes, insert, deletes_oldest });
        let group_writer =
            (switches.insert == Insert::Group).then(|| GroupWriter::start(Arc::clone(&writer), driver));
        Self { writer, group_writer, loading: Arc::default(), metrics }
    }

    /// The list, if it is cached.
    pub fn cached_list(&self, format: Format) -> Option<Bytes> {
        let body = self.writer.cache.as_ref()?.body(format)?;
        self.metrics.list_hits.inc();
        Some(self.writer.encoder.cached(body))
    }

    /// The list.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list(self, format: Format) -> Result<Bytes, Refusal> {
        let Some(cache) = &self.writer.cache else {
            return Ok(self.writer.encoder.list(&self.writer.store.list().await?, format));
        };
        let _guard = self.loading.lock().await;
        if let Some(cached) = self.cached_list(format) {
            return Ok(cached);
        }
        self.metrics.list_loads.inc();
        let epoch = cache.begin_fill();
        // A replica can lag behind acknowledged writes, and the cache would keep the stale list.
        let todos = self.writer.store.list_from_primary().await?;
        let encoded = self.writer.encoder.each(&todos);
        let items: Vec<Item> =
            todos.iter().zip(encoded).map(|(todo, encoded)| Item::new(todo, encoded)).collect();
        let body = cache::list_body(&items, format);
        cache.fill(epoch, items);
        Ok(body)
    }

    /// One todo.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn show(self, id: i32, format: Format) -> Result<Bytes, Refusal> {
        Ok(self.writer.encoder.one(&self.writer.store.show(id).await?, format))
    }

    /// Creates a todo.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(self, draft: Draft) -> Result<Encoded, Refusal> {
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
    pub async fn set(self, id: i32, done: bool, format: Format) -> Result<Bytes, Refusal> {
        let writer = self.writer;
        run_to_completion(async move { writer.set(id, done, format).await }).await
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
