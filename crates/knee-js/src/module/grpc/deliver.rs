//! Passes what happened on streams to their handlers, and settles the promises of calls. Does not wait.

use rquickjs::{Ctx, Result};

use super::shown;
use crate::module::go_error;
use crate::state::State;
use knee_k6::grpc::event::StreamEvent;
use knee_k6::grpc::reply::Reply;

/// Calls the function that stands for the handlers of stream `number`.
pub fn event(ctx: &Ctx<'_>, state: &State, number: u64, event: StreamEvent) -> Result<()> {
    let Some(deliver) = state.events.listener(number) else { return Ok(()) };
    if matches!(event, StreamEvent::End) {
        state.events.unlisten(number);
        state.streams.forget(number);
    }
    let shown = shown::event(ctx, event)?;
    deliver.restore(ctx)?.call((shown,))
}

/// Settles the promise of a call.
pub fn called(
    ctx: &Ctx<'_>,
    state: &State,
    number: u64,
    reply: std::result::Result<Reply, String>,
) -> Result<()> {
    let Some(promised) = state.events.take_promise(number) else { return Ok(()) };
    match reply {
        Ok(reply) => promised.resolve.restore(ctx)?.call((shown::reply(ctx, reply)?,)),
        Err(words) => promised.reject.restore(ctx)?.call((go_error::bare(ctx, &words)?,)),
    }
}
