//! Passes what happened on a socket of `k6/websockets` to its handlers. Does not wait.

use rquickjs::function::Rest;
use rquickjs::{Ctx, Result};

use super::shown;
use crate::state::State;
use knee_k6::websocket::event::Event;

/// Calls the function that stands for the handlers of socket `id`.
pub fn deliver(ctx: &Ctx<'_>, state: &State, id: u64, event: Event) -> Result<()> {
    let Some(deliver) = state.events.listener(id) else { return Ok(()) };
    let line = state.sockets.find(id);
    if let Some(line) = &line {
        match &event {
            // As in k6, what comes after the script's close does not count.
            Event::Message { .. } if line.is_muted() => return Ok(()),
            Event::Message { at, .. } => line.note_received(*at),
            Event::Written(bytes) => {
                line.note_written(*bytes);
                return Ok(());
            }
            _ => {}
        }
    }
    if matches!(event, Event::Ended(_) | Event::Refused { .. }) {
        state.events.unlisten(id);
        state.sockets.forget(id);
    }
    let buffered = line.map_or(0, |line| line.buffered());
    let shown = shown::values(ctx, state, event, buffered)?;
    deliver.restore(ctx)?.call((Rest(shown),))
}
