//! Passes what happened beside the script to its handlers, between two jobs of the script.
//!
//! Waits only when the script has thrown and its sockets are closed.

use knee_core::unit::Nanos;
use rquickjs::{Ctx, Result};

use super::{grpc, redis, websocket};
use crate::op::Op;
use crate::state::State;
use knee_k6::inbox::Happening;

/// Calls what stands for the handlers of `number`.
pub fn deliver(ctx: &Ctx<'_>, state: &State, number: u64, happening: Happening) -> Result<()> {
    match happening {
        Happening::Socket(event) => {
            state.sockets.heard(number, &event);
            websocket::deliver::deliver(ctx, state, number, event)
        }
        Happening::Stream(event) => {
            state.streams.heard(number, &event);
            grpc::deliver::event(ctx, state, number, event)
        }
        // A script waits for these where it opened their stream.
        Happening::Events(_) => Ok(()),
        Happening::Called(called) => grpc::deliver::called(ctx, state, number, *called),
        Happening::Answered(answer) => redis::deliver::answered(ctx, state, number, *answer),
    }
}

/// The script has thrown: ends its streams, closes its sockets, and waits until the handlers of sockets have seen it, as
/// k6 does. What handlers throw now is lost, because the iteration has failed already.
pub fn wind_up(ctx: &Ctx<'_>, state: &State) {
    for number in state.sockets.close_all().into_iter().chain(state.streams.clear()) {
        state.events.unlisten(number);
        state.inbox.forget(number);
    }
    while state.events.has_listeners() && !state.must_end() {
        if let Some((number, happening)) = state.inbox.pop() {
            if deliver(ctx, state, number, happening).is_err() {
                ctx.catch();
            }
        } else if !ctx.execute_pending_job() && state.ask(Op::Await(Nanos::MAX)).is_none() {
            return;
        }
    }
}
