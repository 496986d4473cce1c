//! Server-sent events of tasks and executions, at most four messages per second.
//!
//! Covers this node only. A slow client gets the latest events and the number of skipped ones.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{ConnectInfo, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{AppState, HandlerResult};
use crate::event::Event;

/// Least time between two messages.
const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// Most events per message.
const MAX_EVENTS: usize = 100;

#[derive(Debug, Serialize)]
struct Message {
    events: Vec<Event>,
    skipped: u64,
}

struct EventStream {
    happens: Receiver<(Uuid, Event)>,
    organization: Uuid,
    stop: CancellationToken,
}

pub(super) async fn events(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    let stream = EventStream { happens: app.events.subscribe(), organization, stop: app.stop.clone() };
    let messages = stream::unfold(stream, async |mut stream| {
        let message = stream.next().await?;
        let text = serde_json::to_string(&message).unwrap_or_default();
        Some((Ok::<_, Infallible>(sse::Event::default().event("events").data(text)), stream))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::default()).into_response())
}

impl EventStream {
    /// The next message; `None` when the node stops.
    async fn next(&mut self) -> Option<Message> {
        let mut message = Message { events: Vec::new(), skipped: 0 };
        while message.events.is_empty() {
            let received = tokio::select! {
                received = self.happens.recv() => received,
                () = self.stop.cancelled() => return None,
            };
            match received {
                Ok((organization, event)) => self.add(&mut message, organization, event),
                Err(RecvError::Lagged(skipped)) => message.skipped += skipped,
                Err(RecvError::Closed) => return None,
            }
        }
        tokio::time::sleep(MIN_INTERVAL).await;
        loop {
            match self.happens.try_recv() {
                Ok((organization, event)) => self.add(&mut message, organization, event),
                Err(TryRecvError::Lagged(skipped)) => message.skipped += skipped,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        let old = message.events.len().saturating_sub(MAX_EVENTS);
        message.events.drain(..old);
        message.skipped += old as u64;
        Some(message)
    }

    fn add(&self, message: &mut Message, organization: Uuid, event: Event) {
        if organization == self.organization {
            message.events.push(event);
        }
    }
}
