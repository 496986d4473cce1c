//! Passes what happened on a socket of `k6/websockets` to its handlers, between two jobs of the script.
//!
//! Waits only when the script has thrown and its sockets are closed.

use knee_core::unit::Nanos;
use rquickjs::{Ctx, Result};

use super::shown;
use crate::op::Op;
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

/// The script has thrown: closes its sockets, and waits until their handlers have seen it, as k6 does. What handlers
/// throw now is lost, because the iteration has failed already.
pub fn wind_up(ctx: &Ctx<'_>, state: &State) {
    for id in state.sockets.close_all() {
        state.events.unlisten(id);
    }
    while state.events.has_listeners() && !state.must_end() {
        if let Some((id, event)) = state.sockets.take() {
            if deliver(ctx, state, id, event).is_err() {
                ctx.catch();
            }
        } else if !ctx.execute_pending_job() && state.ask(Op::Await(Nanos::MAX)).is_none() {
            return;
        }
    }
}
