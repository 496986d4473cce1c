//! Group commit: todos that arrive during a commit are written together by the next statement.
//!
//! Invariant: a request gets its response only after the commit of its todo, or its failure. Has no timeout: the store
//! cancels a batch that PostgreSQL does not answer, so that the next one can start.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::encode::Encoded;
use crate::refusal::Refusal;
use crate::todo::Draft;
use crate::todo_service::Writer;

/// Maximum number of todos per statement.
const MAX_BATCH: usize = 256;

type WriteResult = Result<Encoded, Refusal>;

/// A handle to the queue of new todos.
#[derive(Clone)]
pub struct GroupWriter {
    queue: mpsc::Sender<(Draft, oneshot::Sender<WriteResult>)>,
}

impl GroupWriter {
    /// Starts the writer. It ends when the last handle is dropped and the queue is written.
    pub fn start(writer: Arc<Writer>, on: &Handle) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_BATCH);
        on.spawn(write(writer, waiting));
        Self { queue }
    }

    /// Creates a todo. Returns it encoded.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(&self, draft: Draft) -> WriteResult {
        let (reply, result) = oneshot::channel();
        self.queue.send((draft, reply)).await.map_err(|_| Refusal::Stopping)?;
        result.await.map_err(|_| Refusal::Stopping)?
    }
}

async fn write(writer: Arc<Writer>, mut waiting: mpsc::Receiver<(Draft, oneshot::Sender<WriteResult>)>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
        let (drafts, replies): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
        let mut created = writer.create(&drafts).await.map(Vec::into_iter);
        for reply in replies {
            let encoded = match &mut created {
                Ok(todos) => todos
                    .next()
                    .ok_or_else(|| Refusal::Postgres("fewer rows than todos were returned".to_owned())),
                Err(problem) => Err(problem.clone()),
            };
            let _ = reply.send(encoded);
        }
    }
}
