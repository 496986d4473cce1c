//! Passes what happened on a socket of `k6/websockets` to its handlers. Does not wait.

use rquickjs::{Ctx, Result};

use super::shown;
use crate::state::State;
use knee_k6::websocket::event::Event;

/// Calls the function that stands for the handlers of socket `id`.
pub fn deliver(ctx: &Ctx<'_>, state: &State, id: u64, event: Event) -> Result<()> {
    let Some(deliver) = state.events.listener(id) else { return Ok(()) };
    if let (Event::Message { at, .. }, Some(line)) = (&event, state.sockets.find(id)) {
        // As in k6, what comes after the script's close does not count.
        if line.is_muted() {
            return Ok(());
        }
        line.note_received(*at);
    }
    if matches!(event, Event::Ended(_) | Event::Refused { .. }) {
        state.events.unlisten(id);
        state.sockets.forget(id);
    }
    let shown = shown::event(ctx, state, event)?;
    deliver.restore(ctx)?.call((shown,))
}
