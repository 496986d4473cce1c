//! Listens for changes that others make, so that the list in memory is not kept beyond them.
//!
//! Does not read what changed. While the connection is away, nothing is kept.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::cache::Cache;
use crate::refusal::said;

/// How long after a lost connection the next one is tried.
const AGAIN: Duration = Duration::from_millis(200);

/// Watches until the process ends. `node` is who this process is: its own changes are known already.
pub async fn watch(url: String, node: String, cache: Arc<Cache>) {
    loop {
        if let Err(error) = listen(&url, &node, &cache).await {
            tracing::warn!(reason = said(&error), "nobody tells of changes by others");
        }
        cache.watch(false);
        tokio::time::sleep(AGAIN).await;
    }
}

async fn listen(url: &str, node: &str, cache: &Cache) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let driving = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(change)) => drop(tell.send(Ok(change.payload().to_owned()))),
                Ok(_) => {}
                Err(error) => return drop(tell.send(Err(error))),
            }
        }
    });
    let listened = client.batch_execute("LISTEN todos_changed").await;
    if listened.is_ok() {
        cache.watch(true);
        while let Some(change) = told.recv().await {
            cache.told(change? == node);
        }
    }
    driving.abort();
    listened
}
