//! The server of the simulated network over HTTP/2. Its frames are those of the library that the client uses too.

use std::rc::Rc;

use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;
use knee_core::unit::Nanos;
use knee_engine::timer::Timer;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::behaviour::{Behaviour, body_of};
use super::stream::End;
use super::{Conditions, Counted};
use crate::world::SimTimer;

/// The behaviours of this server.
pub const BEHAVIOURS: [Behaviour; 7] = [
    Behaviour::ClosesBefore,
    Behaviour::Hangs,
    Behaviour::Pauses,
    Behaviour::Fails,
    Behaviour::Refuses,
    Behaviour::ResetsStream,
    Behaviour::GoesAway,
];

/// Answers the requests of a connection until it ends.
pub async fn serve(end: End, timer: SimTimer, conditions: Rc<Conditions>, counted: Rc<Counted>, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed.rotate_left(7));
    let streams = random.random_range(1..20);
    let begun = h2::server::Builder::new().max_concurrent_streams(streams).handshake::<_, Bytes>(end).await;
    let Ok(mut connection) = begun else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let path = request.uri().path().trim_start_matches('/').parse().expect("a path is a number");
        counted.request(path);
        let odd = !conditions.behaviours.is_empty() && random.random_range(0..conditions.rarity) == 0;
        let behaviour =
            odd.then(|| conditions.behaviours[random.random_range(0..conditions.behaviours.len())]);
        match behaviour {
            Some(Behaviour::ClosesBefore) => return,
            Some(Behaviour::GoesAway) => connection.graceful_shutdown(),
            _ => {}
        }
        let span = Nanos(random.random_range(0..=conditions.serves_in.0));
        let (timer, counted, seed) = (timer.clone(), counted.clone(), random.random());
        tokio::task::spawn_local(async move {
            timer.sleep_until(timer.now() + span).await;
            let _body = request.into_body();
            answer(respond, path, behaviour, &timer, &counted, seed).await;
        });
    }
}

async fn answer(
    mut respond: SendResponse<Bytes>,
    path: usize,
    behaviour: Option<Behaviour>,
    timer: &SimTimer,
    counted: &Counted,
    seed: u64,
) {
    let mut random = SmallRng::seed_from_u64(seed);
    match behaviour {
        Some(Behaviour::Refuses) => return respond.send_reset(Reason::REFUSED_STREAM),
        Some(Behaviour::ResetsStream) => return respond.send_reset(Reason::INTERNAL_ERROR),
        Some(Behaviour::Hangs) => return std::future::pending().await,
        Some(Behaviour::Pauses) => {
            timer.sleep_until(timer.now() + Nanos(random.random_range(0..2_000_000_000))).await;
        }
        _ => {}
    }
    let status = if behaviour == Some(Behaviour::Fails) { 500 } else { 200 };
    let head = http::Response::builder().status(status).body(()).expect("a valid head");
    let body = body_of(path);
    let Ok(mut stream) = respond.send_response(head, body.is_empty()) else { return };
    let mut left = &*body;
    while !left.is_empty() {
        let (piece, rest) = left.split_at(random.random_range(1..=left.len()));
        if stream.send_data(Bytes::copy_from_slice(piece), rest.is_empty()).is_err() {
            return;
        }
        left = rest;
    }
    counted.responses.set(counted.responses.get() + 1);
}
