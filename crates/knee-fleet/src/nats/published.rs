//! Reads what the agents of a run publish, for its controller.
//!
//! Does not judge it.

use std::time::Duration;

use async_nats::Message;
use async_nats::jetstream;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use futures_util::StreamExt;
use tokio::sync::mpsc::UnboundedSender;

use super::stream_of;
use crate::controller::Input;
use crate::name::RunId;
use crate::wire::{Event, EventKind, header, subject};

/// Before the stream is read again that could not be read.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// Reads the stream of a run from its beginning, again and again from where it broke off. What scripts wrote up to the
/// message `shown` is left out.
pub(super) async fn read_stream(
    context: jetstream::Context,
    run: RunId,
    shown: u64,
    inbox: UnboundedSender<Input>,
) {
    let mut next = 1;
    loop {
        if inbox.is_closed() {
            return;
        }
        // The reason does not matter: while NATS is down, this is tried again.
        let _ = read_from(&context, &run, (&mut next, shown), &inbox).await;
        tokio::time::sleep(READ_AGAIN).await;
    }
}

async fn read_from(
    context: &jetstream::Context,
    run: &RunId,
    (next, shown): (&mut u64, u64),
    inbox: &UnboundedSender<Input>,
) -> Result<(), String> {
    let mut stream = stream_of(context, run).await.map_err(|error| error.to_string())?;
    let last = stream.info().await.map_err(|error| error.to_string())?.state.last_sequence;
    if last + 1 < *next {
        // The stream was lost and made again: what is in it now is new.
        *next = 1;
    }
    let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence: *next };
    let config = OrderedConfig { deliver_policy, ..OrderedConfig::default() };
    let consumer = stream.create_consumer(config).await.map_err(|error| error.to_string())?;
    let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
    while let Some(message) = messages.next().await {
        let message = message.map_err(|error| error.to_string())?;
        let sequence = message.info().map(|info| info.stream_sequence).map_err(|error| error.to_string())?;
        let was_shown = |input: &Input| sequence <= shown && is_text(input);
        if let Some(input) = input_of(&message).filter(|input| !was_shown(input)) {
            inbox.send(input).map_err(|error| error.to_string())?;
        }
        *next = sequence + 1;
    }
    Ok(())
}

fn input_of(message: &Message) -> Option<Input> {
    let (is_journal, agent, incarnation) = subject::sender(&message.subject)?;
    if !is_journal {
        let event: Event = serde_json::from_slice(&message.payload).ok()?;
        return Some(Input::Event { agent, incarnation, event });
    }
    let headers = message.headers.as_ref()?;
    let number = |name: &str| headers.get(name)?.as_str().parse::<u64>().ok();
    let (from, copy) = (number(header::OFFSET)?, u32::try_from(number(header::COPY)?).ok()?);
    Some(Input::Piece { agent, incarnation, copy, from, bytes: message.payload.clone() })
}

fn is_text(input: &Input) -> bool {
    matches!(input, Input::Event { event, .. } if matches!(event.kind, EventKind::Wrote { .. }))
}
