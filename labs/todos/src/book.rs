//! What may be done with todos: PostgreSQL, the list in memory and the encoder put together.
//!
//! Does not decide who waits; [`crate::desk`] does. A write that was begun is not broken off because somebody stops
//! waiting for it: what it did has to be told to the list in memory.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::cache::{self, Cache, Item};
use crate::config::{Insert, RowCount, Switches};
use crate::encode::Pen;
use crate::group::Group;
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::store::Store;
use crate::todo::Draft;

/// The writing side: whatever changes the table goes through here.
pub struct Ledger {
    store: Store,
    cache: Option<Arc<Cache>>,
    pen: Pen,
    insert: Insert,
    pushes_out: bool,
}

impl Ledger {
    /// Makes todos, which come back as text in the order of the drafts.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn make(&self, drafts: &[Draft]) -> Result<Vec<Bytes>, Refusal> {
        let begun = self.cache.as_ref().map(|cache| cache.epoch());
        let made = match (self.insert, drafts) {
            (Insert::Steps, [draft]) => self.store.insert_in_steps(draft).await.map(|todo| vec![todo]),
            _ => self.store.insert(drafts).await,
        };
        let todos = self.settled(made)?;
        let texts: Vec<Bytes> = todos.iter().map(|todo| self.pen.one(todo)).collect();
        if let (Some(cache), Some(begun)) = (&self.cache, begun) {
            let items = todos.iter().zip(&texts).map(|(todo, text)| Item::new(todo, text.clone()));
            cache.made(begun, items, self.pushes_out);
        }
        Ok(texts)
    }

    async fn set(&self, id: i32, done: bool) -> Result<Bytes, Refusal> {
        let todo = self.settled(self.store.set(id, done).await)?;
        self.forget();
        Ok(self.pen.one(&todo))
    }

    async fn delete(&self, id: i32) -> Result<(), Refusal> {
        self.settled(self.store.delete(id).await)?;
        self.forget();
        Ok(())
    }

    /// What came of a write; whether one that failed will be done after all is not known, unless it was never begun.
    fn settled<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        if let (Some(cache), Err(Refusal::Postgres(_))) = (&self.cache, &result) {
            cache.doubt();
        }
        result
    }

    fn forget(&self) {
        if let Some(cache) = &self.cache {
            cache.forget();
        }
    }
}

/// Todos, for those who serve them.
#[derive(Clone)]
pub struct Book {
    ledger: Arc<Ledger>,
    group: Option<Group>,
    /// One reads the list to keep it; the others wait for that.
    reading: Arc<Mutex<()>>,
    metrics: Metrics,
}

impl Book {
    /// Puts them together in the way of the switches. What works on its own does so on `driver`.
    pub fn new(
        store: Store,
        cache: Option<Arc<Cache>>,
        switches: &Switches,
        driver: &Handle,
        metrics: Metrics,
    ) -> Self {
        let pen = Pen::new(switches, metrics.clone());
        let pushes_out = switches.row_count == RowCount::Fixed;
        let ledger = Arc::new(Ledger { store, cache, pen, insert: switches.insert, pushes_out });
        let group = (switches.insert == Insert::Group).then(|| Group::start(Arc::clone(&ledger), driver));
        Self { ledger, group, reading: Arc::default(), metrics }
    }

    /// The list, if it is in memory.
    pub fn kept(&self) -> Option<Bytes> {
        let body = self.ledger.cache.as_ref()?.body()?;
        self.metrics.list_hits.inc();
        Some(self.ledger.pen.again(body))
    }

    /// The list.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list(self) -> Result<Bytes, Refusal> {
        let Some(cache) = &self.ledger.cache else {
            return Ok(self.ledger.pen.list(&self.ledger.store.list().await?));
        };
        let _alone = self.reading.lock().await;
        if let Some(kept) = self.kept() {
            return Ok(kept);
        }
        self.metrics.list_loads.inc();
        let begun = cache.begin();
        // A replica may lag behind what was answered already, and what is kept would stay so.
        let todos = self.ledger.store.list_of_primary().await?;
        let texts = self.ledger.pen.each(&todos);
        let items: Vec<Item> = todos.iter().zip(texts).map(|(todo, text)| Item::new(todo, text)).collect();
        let body = cache::joined(&items);
        cache.keep(begun, items);
        Ok(body)
    }

    /// One todo.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn show(self, id: i32) -> Result<Bytes, Refusal> {
        Ok(self.ledger.pen.one(&self.ledger.store.show(id).await?))
    }

    /// Makes a todo.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(self, draft: Draft) -> Result<Bytes, Refusal> {
        if let Some(group) = &self.group {
            return group.make(draft).await;
        }
        let ledger = self.ledger;
        let made = to_its_end(async move { ledger.make(&[draft]).await }).await?;
        made.into_iter().next().ok_or_else(|| Refusal::Postgres("no row was returned".to_owned()))
    }

    /// Says whether a todo is done.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn set(self, id: i32, done: bool) -> Result<Bytes, Refusal> {
        let ledger = self.ledger;
        to_its_end(async move { ledger.set(id, done).await }).await
    }

    /// Deletes a todo.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn delete(self, id: i32) -> Result<(), Refusal> {
        let ledger = self.ledger;
        to_its_end(async move { ledger.delete(id).await }).await
    }

    /// Whether PostgreSQL answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(self) -> Result<(), Refusal> {
        self.ledger.store.ping().await
    }

    /// The figures of this process.
    pub fn figures(&self) -> String {
        self.metrics.connections.set(self.ledger.store.connections() as i64);
        self.metrics.text()
    }
}

/// Does it even if nobody waits any more.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::spawn(work).await.map_err(|_| Refusal::Stopping)?
}
