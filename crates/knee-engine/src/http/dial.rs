//! Connecting to one of several addresses of a host: attempts race, and the first that connects wins (RFC 8305,
//! "Happy Eyeballs").
//!
//! Generic over the timer and over what connects, so that it is tested on simulated time. Does not resolve names and
//! has no time limit; its caller does.

use std::future::{Future, pending, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::failure::Failure;
use crate::timer::Timer;

/// How long an attempt has before the next one begins beside it (RFC 8305, section 8).
pub const ATTEMPT_DELAY: Nanos = Nanos::from_millis(250);

/// The addresses in the order of the attempts: families alternate, beginning with that of the first address, so that
/// a family that does not work costs one delay. Within a family the order stays.
pub fn interleave(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let Some(first) = addresses.first() else { return Vec::new() };
    let of = |same: bool| addresses.iter().filter(move |one| (one.is_ipv4() == first.is_ipv4()) == same);
    let (mut own, mut other) = (of(true), of(false));
    let mut order = Vec::with_capacity(addresses.len());
    while order.len() < addresses.len() {
        order.extend(own.next());
        order.extend(other.next());
    }
    order
}

/// Connects to the first of `addresses` that accepts; returns the address too. An attempt begins when the last one
/// failed, or [`ATTEMPT_DELAY`] after it began. If all fail, the error is the first that is not a missing route.
pub async fn race<T, C, F>(
    addresses: &[SocketAddr],
    timer: &T,
    connect: impl Fn(SocketAddr) -> F,
) -> Result<(SocketAddr, C), Failure>
where
    T: Timer,
    F: Future<Output = Result<C, Failure>>,
{
    let mut waiting = interleave(addresses).into_iter();
    let mut running = Vec::new();
    let mut failed: Option<Failure> = None;
    loop {
        match waiting.next() {
            Some(address) => running.push(Attempt { address, connecting: Box::pin(connect(address)) }),
            None if running.is_empty() => return Err(failed.unwrap_or(Fault::DnsNotFound.into())),
            None => {}
        }
        let next_at = timer.now().saturating_add(ATTEMPT_DELAY);
        let is_last = waiting.len() == 0;
        let delay = async {
            if is_last {
                pending::<()>().await;
            }
            timer.sleep_until(next_at).await;
        };
        match first_end(&mut running, pin!(delay)).await {
            Some((address, Ok(connection))) => return Ok((address, connection)),
            // Without a route nothing was tried: every other failure says more about the server.
            Some((_, Err(failure))) if failed.as_ref().is_none_or(|one| one.fault == Fault::Unreachable) => {
                failed = Some(failure);
            }
            Some((_, Err(_))) | None => {}
        }
    }
}

/// An attempt in progress.
struct Attempt<F> {
    address: SocketAddr,
    connecting: Pin<Box<F>>,
}

/// Waits until an attempt ends and removes it, or until `delay` is over: `None`.
async fn first_end<C, F>(
    running: &mut Vec<Attempt<F>>,
    mut delay: Pin<&mut impl Future<Output = ()>>,
) -> Option<(SocketAddr, Result<C, Failure>)>
where
    F: Future<Output = Result<C, Failure>>,
{
    poll_fn(|ctx: &mut Context<'_>| {
        for place in 0..running.len() {
            if let Poll::Ready(result) = running[place].connecting.as_mut().poll(ctx) {
                let ended = running.remove(place);
                return Poll::Ready(Some((ended.address, result)));
            }
        }
        delay.as_mut().poll(ctx).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate_beginning_with_that_of_the_first_address() {
        let order = |texts: &[&str]| {
            let addresses: Vec<SocketAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
            interleave(&addresses).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            order(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]),
            ["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]
        );
        assert_eq!(order(&["1.1.1.1:1", "2.2.2.2:1", "[::1]:1"]), ["1.1.1.1:1", "[::1]:1", "2.2.2.2:1"]);
        assert_eq!(order(&["2.2.2.2:1", "1.1.1.1:1"]), ["2.2.2.2:1", "1.1.1.1:1"]);
        assert!(order(&[]).is_empty());
    }
}
