//! Listens for changes by other processes, which invalidate the list cache.
//!
//! Does not read what changed. Without a connection, nothing is cached.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::cache::Cache;
use crate::refusal::error_text;

/// Pause before a reconnect.
const RECONNECT_DELAY: Duration = Duration::from_millis(200);

/// Listens until the process ends. `node` is this process, whose own changes are known already.
pub async fn follow_changes(url: String, node: String, cache: Arc<Cache>) {
    loop {
        if let Err(error) = listen(&url, &node, &cache).await {
            tracing::warn!(reason = error_text(&error), "nobody tells of changes by others");
        }
        cache.set_listening(false);
        tokio::time::sleep(RECONNECT_DELAY).await;
    }
}

async fn listen(url: &str, node: &str, cache: &Cache) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let (sender, mut changes) = mpsc::unbounded_channel();
    let connection_task = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(change)) => drop(sender.send(Ok(change.payload().to_owned()))),
                Ok(_) => {}
                Err(error) => return drop(sender.send(Err(error))),
            }
        }
    });
    let result = client.batch_execute("LISTEN todos_changed").await;
    if result.is_ok() {
        cache.set_listening(true);
        while let Some(change) = changes.recv().await {
            cache.notified(change? == node);
        }
    }
    connection_task.abort();
    result
}
