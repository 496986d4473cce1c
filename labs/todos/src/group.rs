//! One writer for all: todos that wait while a commit is under way are written together by the next one.
//!
//! Invariant: nobody is answered before the commit of its todo is, or has failed. Does not keep time: the store gives a
//! batch up that PostgreSQL does not answer, so that the next one has its turn.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::book::Ledger;
use crate::refusal::Refusal;
use crate::todo::Draft;

/// Most todos of one statement.
const MOST: usize = 256;

type Answer = Result<Bytes, Refusal>;

/// Where new todos queue.
#[derive(Clone)]
pub struct Group {
    queue: mpsc::Sender<(Draft, oneshot::Sender<Answer>)>,
}

impl Group {
    /// Starts the writer; it ends when the last of these is gone and what waits is written.
    pub fn start(ledger: Arc<Ledger>, on: &Handle) -> Self {
        let (queue, waiting) = mpsc::channel(MOST);
        on.spawn(write(ledger, waiting));
        Self { queue }
    }

    /// Makes a todo, and comes back with its text.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn make(&self, draft: Draft) -> Answer {
        let (answer, is_answered) = oneshot::channel();
        self.queue.send((draft, answer)).await.map_err(|_| Refusal::Stopping)?;
        is_answered.await.map_err(|_| Refusal::Stopping)?
    }
}

async fn write(ledger: Arc<Ledger>, mut waiting: mpsc::Receiver<(Draft, oneshot::Sender<Answer>)>) {
    let mut batch = Vec::with_capacity(MOST);
    while waiting.recv_many(&mut batch, MOST).await > 0 {
        let (drafts, answers): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
        let mut made = ledger.make(&drafts).await.map(Vec::into_iter);
        for answer in answers {
            let text = match &mut made {
                Ok(texts) => texts
                    .next()
                    .ok_or_else(|| Refusal::Postgres("fewer rows than todos were returned".to_owned())),
                Err(problem) => Err(problem.clone()),
            };
            let _ = answer.send(text);
        }
    }
}
