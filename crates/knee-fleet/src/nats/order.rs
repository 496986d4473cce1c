//! Questions and signed orders of a controller to agents, and their answers.
//!
//! Does not decide what to order.

use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::time::Duration;

use async_nats::Client;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt;

use super::{ANSWER, signed_headers};
use crate::name::{AgentId, Incarnation, RunId};
use crate::signature::Signer;
use crate::wire::{Action, Info, Order, Refusal, Reply, WIRE, subject};

/// How often a piece of a record is asked for.
const TRIES: usize = 3;

/// An order to be sent.
pub(super) struct Errand {
    pub agent: AgentId,
    pub incarnation: Incarnation,
    pub action: Action,
    pub run: RunId,
    pub lead: u64,
}

pub(super) async fn look(client: &Client, span: Duration) -> Result<Vec<Info>, String> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
    let asked = client.publish_with_reply(subject::ASK_ALL, inbox, Bytes::new()).await;
    asked.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let until = tokio::time::sleep(span);
    tokio::pin!(until);
    loop {
        tokio::select! {
            Some(message) = answers.next() => found.extend(serde_json::from_slice::<Info>(&message.payload)),
            () = &mut until => return Ok(found),
        }
    }
}

pub(super) async fn within<T>(answer: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(ANSWER, answer).await.ok()
}

pub(super) async fn ask(client: &Client, agent: &AgentId) -> Option<Info> {
    let answer = within(client.request(subject::ask(agent), Bytes::new())).await?.ok()?;
    serde_json::from_slice(&answer.payload).ok()
}

/// Asks for a challenge, unless there is one, and sends the signed order.
pub(super) async fn send_order(
    client: &Client,
    signer: &Signer,
    errand: Errand,
    challenge: Option<String>,
) -> Option<Reply> {
    let challenge = match challenge {
        Some(challenge) => challenge,
        None => ask(client, &errand.agent).await?.challenge,
    };
    let Errand { agent, incarnation, action, run, lead } = errand;
    let to = subject::order(&agent);
    let order = Order { wire: WIRE, agent, incarnation, challenge, run, lead, action };
    let body = serde_json::to_vec(&order).ok()?;
    let headers = signed_headers(signer, &body);
    let answer = within(client.request_with_headers(to, headers, body.into())).await?.ok()?;
    serde_json::from_slice(&answer.payload).ok()
}

/// Why a kept record was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The agent refuses, or has none.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The agent does not answer, or not with a piece of a record.
    #[error("no answer")]
    Silent,
    /// A file of this machine.
    #[error("the record cannot be written: {0}")]
    File(#[from] io::Error),
}

/// Copies the record that an agent keeps of a run into a file; returns its bytes.
pub(super) async fn fetch(
    client: &Client,
    signer: &Signer,
    info: &Info,
    run: &RunId,
    to: &mut File,
) -> Result<u64, FetchError> {
    let mut from = 0;
    loop {
        let (of, piece) = piece(client, signer, info, (run, from)).await?;
        to.write_all(&piece)?;
        from += piece.len() as u64;
        if piece.is_empty() || from >= of {
            return Ok(from);
        }
    }
}

/// The length of the record, and what begins at a byte of it.
async fn piece(
    client: &Client,
    signer: &Signer,
    info: &Info,
    (run, from): (&RunId, u64),
) -> Result<(u64, Vec<u8>), FetchError> {
    for _ in 0..TRIES {
        let errand = Errand {
            agent: info.agent.clone(),
            incarnation: info.incarnation.clone(),
            action: Action::Fetch { from },
            run: run.clone(),
            lead: 0,
        };
        match send_order(client, signer, errand, None).await {
            Some(Reply::Record { of, bytes }) => {
                let bytes = STANDARD.decode(bytes).map_err(|_| FetchError::Silent)?;
                return Ok((of, bytes));
            }
            Some(Reply::Refused { why }) => return Err(why.into()),
            Some(Reply::Accepted) | None => {}
        }
    }
    Err(FetchError::Silent)
}
