//! Hints about words, for which another server is asked in batches.
//!
//! Does not use the stores, and does not parse HTTP: [`crate::calls`] asks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;

/// How long the defect collects questions, from the first one on.
const WINDOW: Duration = Duration::from_millis(80);
/// Most questions of a batch.
const BATCH_MAX: usize = 64;
/// How long the server takes for a batch.
const TAKES: Duration = Duration::from_millis(4);

/// A question, and where its answer goes: how many questions its batch had.
struct Question {
    word: u64,
    answer: oneshot::Sender<Result<usize, Refusal>>,
}

/// Questions that wait for their batch.
pub struct Hints {
    questions: mpsc::UnboundedSender<Question>,
}

impl Hints {
    /// Starts to collect questions. A healthy shop sends what is there at the time; the defect waits for more, also if
    /// there is one question alone.
    pub fn start(calls: &Arc<Calls>, defect: Defect) -> Self {
        let (questions, asked) = mpsc::unbounded_channel();
        let window = (defect == Defect::BatchWindow).then_some(WINDOW);
        tokio::spawn(collect(asked, window, Arc::clone(calls)));
        Self { questions }
    }

    /// A hint about a word.
    ///
    /// # Errors
    /// The server fails.
    pub async fn hint(&self, word: u64) -> Result<Value, Refusal> {
        Ok(json!({"word": word, "batch": self.ask(word).await?}))
    }

    async fn ask(&self, word: u64) -> Result<usize, Refusal> {
        let (answer, is_answered) = oneshot::channel();
        let ended = || Refusal::Server("nothing collects questions".to_owned());
        self.questions.send(Question { word, answer }).map_err(|_| ended())?;
        is_answered.await.map_err(|_| ended())?
    }
}

async fn collect(mut asked: mpsc::UnboundedReceiver<Question>, window: Option<Duration>, calls: Arc<Calls>) {
    while let Some(first) = asked.recv().await {
        match window {
            Some(window) => sleep(window).await,
            None => yield_now().await,
        }
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX
            && let Ok(next) = asked.try_recv()
        {
            batch.push(next);
        }
        tokio::spawn(answer(batch, Arc::clone(&calls)));
    }
}

async fn answer(batch: Vec<Question>, calls: Arc<Calls>) {
    let words: Vec<u64> = batch.iter().map(|question| question.word).collect();
    let said = calls.tell("hints", 1, TAKES, &Value::from(words)).await;
    let count = batch.len();
    for question in batch {
        let of_one = said.as_ref().map(|_| count).map_err(|error| Refusal::Server(error.to_string()));
        // A request that went away needs no answer.
        let _ = question.answer.send(of_one);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_question_alone_waits_for_others_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (defect, waits) in [(Defect::None, false), (Defect::BatchWindow, true)] {
            let (hints, mut shortest) = (Hints::start(&calls, defect), Duration::MAX);
            for word in 0..5 {
                let start = Instant::now();
                assert_eq!(hints.ask(word).await.unwrap(), 1, "{defect:?}");
                shortest = shortest.min(start.elapsed());
            }
            assert_eq!(shortest >= WINDOW, waits, "{defect:?}: {shortest:?}");
            // Questions at the same time are one batch, with the defect and without it.
            let batches = join_all((0..8).map(|word| hints.ask(word))).await;
            assert!(batches.into_iter().all(|batch| batch.unwrap() == 8), "{defect:?}");
        }
    }
}
