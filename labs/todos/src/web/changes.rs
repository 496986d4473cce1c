//! Server-sent events of new todos, as they are committed.
//!
//! A slow client is dropped with an event that says so; it does not slow the service down.

use std::convert::Infallible;
use std::num::NonZeroU32;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use serde::Deserialize;

use super::{RouteResult, Shared};
use crate::changes::{Change, End, Reader};
use crate::refusal::Refusal;

/// What a client asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The stream ends after so many changes; without it, it goes on.
    changes: Option<NonZeroU32>,
}

/// The stream after the last event.
struct Ended;

pub(super) async fn changes(
    State(state): Shared,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> RouteResult {
    let Query(wanted) = wanted.map_err(|_| Refusal::BadQuery)?;
    let reader = state.changes.subscribe()?;
    let left = wanted.changes.map(NonZeroU32::get);
    let events = stream::unfold(Ok((reader, left)), next_event);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(state.heartbeat)).into_response())
}

/// A reader, and how many changes it still wants if it does not want them all.
type Watching = Result<(Reader, Option<u32>), Ended>;

async fn next_event(watching: Watching) -> Option<(Result<Event, Infallible>, Watching)> {
    let (mut reader, left) = watching.ok().filter(|(_, left)| *left != Some(0))?;
    Some(match reader.next().await {
        Ok(change) => (Ok(created(&change)), Ok((reader, left.map(|left| left - 1)))),
        Err(end) => (Ok(closed(end)), Err(Ended)),
    })
}

fn created(change: &Change) -> Event {
    // JSON is text, and has no line break outside of its strings, where it is escaped.
    let todo = std::str::from_utf8(&change.todo.json).unwrap_or_default();
    Event::default().event("created").id(change.sequence.to_string()).data(todo)
}

fn closed(end: End) -> Event {
    let reason = match end {
        End::TooSlow => "too_slow",
        End::Stopping => "stopping",
    };
    Event::default().event("closed").data(reason)
}
