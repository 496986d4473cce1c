//! What happens, told to those who watch: server-sent events, four times a second at the most.
//!
//! A watcher sees what this node does. Of more than it can read the latest are told, and how many were left out.

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

use super::{Answer, Shared};
use crate::event::Event;

/// The least time between two messages.
const PACE: Duration = Duration::from_millis(250);
/// Events of a message.
const MOST: usize = 100;

#[derive(Debug, Serialize)]
struct Message {
    events: Vec<Event>,
    skipped: u64,
}

struct Watcher {
    happens: Receiver<(Uuid, Event)>,
    organization: Uuid,
    stop: CancellationToken,
}

pub(super) async fn events(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let watcher = Watcher { happens: office.events.watch(), organization, stop: office.stop.clone() };
    let messages = stream::unfold(watcher, async |mut watcher| {
        let message = watcher.next().await?;
        let text = serde_json::to_string(&message).unwrap_or_default();
        Some((Ok::<_, Infallible>(sse::Event::default().event("events").data(text)), watcher))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::default()).into_response())
}

impl Watcher {
    /// What happened, as soon as something did; none when the node stops.
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
        tokio::time::sleep(PACE).await;
        loop {
            match self.happens.try_recv() {
                Ok((organization, event)) => self.add(&mut message, organization, event),
                Err(TryRecvError::Lagged(skipped)) => message.skipped += skipped,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        let old = message.events.len().saturating_sub(MOST);
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
