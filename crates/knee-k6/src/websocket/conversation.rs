//! The task of one socket: its handshake, and then what arrives, until the socket ends.
//!
//! Calls no handlers: the VU takes the events when its script has time for them.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use knee_core::unit::Nanos;
use knee_engine::timer::Timer as _;

use super::dial::dial;
use super::line::Line;
use super::request::SocketRequest;
use crate::errand::Errand;

/// Opens the socket of `line` and serves it.
pub async fn converse(errand: Errand, request: SocketRequest, line: Rc<Line>) {
    let sender = errand.sender.clone();
    // Most of a handshake's memory is needed until it is done; a socket can stay open for hours.
    Box::pin(begin(errand, request, line.clone())).await;
    while !line.is_over() {
        let limits = line.limits();
        let until = limits.close_by.min(limits.held);
        let mut patience = pin!(sender.timer.sleep_until(until));
        let is_due = poll_fn(|ctx| {
            if line.poll(ctx, limits).is_ready() {
                return Poll::Ready(false);
            }
            if until == Nanos::MAX {
                return Poll::Pending;
            }
            patience.as_mut().poll(ctx).map(|()| true)
        })
        .await;
        if is_due && until == limits.close_by {
            line.give_up();
        }
    }
}

/// The handshake. A socket that is not open after it is over.
async fn begin(errand: Errand, request: SocketRequest, line: Rc<Line>) {
    let Errand { sender, late, cut } = errand;
    sender.hold_to_ceiling(cut).await;
    line.hold_to(sender.ceiling.clone());
    let dialled = dial(&sender, &request, line.session(), late.take(), cut).await;
    match dialled.result {
        Ok(socket) => line.open(socket, dialled.reply.unwrap_or_default()),
        Err(words) => line.refuse(words, dialled.reply),
    }
}
