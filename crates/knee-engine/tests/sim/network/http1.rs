//! The server of the simulated network over HTTP/1.1. It reads requests with a parser of its own.

use std::cell::Cell;
use std::fmt::Write;
use std::io;
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::timer::Timer;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::behaviour::{Behaviour, body_of};
use super::stream::End;
use super::{Conditions, Counted};
use crate::world::SimTimer;

/// The behaviours of this server.
pub const BEHAVIOURS: [Behaviour; 10] = [
    Behaviour::ClosesAfter,
    Behaviour::ClosesBefore,
    Behaviour::Cuts,
    Behaviour::Resets,
    Behaviour::Hangs,
    Behaviour::Late,
    Behaviour::Pauses,
    Behaviour::Fails,
    Behaviour::Repeats,
    Behaviour::Babbles,
];

/// Answers the requests of a connection until it ends.
pub async fn serve(
    mut end: End,
    timer: SimTimer,
    conditions: Rc<Conditions>,
    counted: Rc<Counted>,
    seed: u64,
) {
    let mut random = SmallRng::seed_from_u64(seed.rotate_left(7));
    let mut received = Vec::new();
    // Errors are expected: clients hang up in the middle.
    while let Ok(Some(path)) = next_request(&mut end, &mut received).await {
        counted.request(path);
        let span = Nanos(random.random_range(0..=conditions.serves_in.0));
        let odd = !conditions.behaviours.is_empty() && random.random_range(0..conditions.rarity) == 0;
        let behaviour =
            odd.then(|| conditions.behaviours[random.random_range(0..conditions.behaviours.len())]);
        let span = if behaviour == Some(Behaviour::Late) { span + Nanos::from_secs(3) } else { span };
        timer.sleep_until(timer.now() + span).await;
        match answer(&mut end, path, behaviour, &timer, &counted.responses, &mut random).await {
            Ok(After::Reads) => {}
            Ok(After::Closes) | Err(_) => return,
            Ok(After::Resets) => return end.reset(),
            Ok(After::Hangs) => {
                // It holds the connection open as long as its client does.
                while next_request(&mut end, &mut received).await.is_ok_and(|path| path.is_some()) {}
                return;
            }
        }
    }
}

/// What follows an answer.
enum After {
    Reads,
    Closes,
    Resets,
    Hangs,
}

/// Answers; counts the answers that were written to their end in `whole`.
async fn answer(
    end: &mut End,
    path: usize,
    behaviour: Option<Behaviour>,
    timer: &SimTimer,
    whole: &Cell<u64>,
    random: &mut SmallRng,
) -> io::Result<After> {
    let status = if behaviour == Some(Behaviour::Fails) { 500 } else { 200 };
    let (bytes, closes) = response(path, status, random);
    let cut = random.random_range(0..bytes.len());
    match behaviour {
        Some(Behaviour::ClosesBefore) => return Ok(After::Closes),
        Some(Behaviour::Hangs) => return Ok(After::Hangs),
        Some(Behaviour::Cuts) => {
            end.write_all(&bytes[..cut]).await?;
            return Ok(After::Closes);
        }
        Some(Behaviour::Resets) => {
            end.write_all(&bytes[..cut]).await?;
            return Ok(After::Resets);
        }
        Some(Behaviour::Babbles) => {
            end.write_all(b"this is no response\r\n\r\n").await?;
            return Ok(After::Closes);
        }
        Some(Behaviour::Pauses) => {
            end.write_all(&bytes[..cut]).await?;
            timer.sleep_until(timer.now() + Nanos(random.random_range(0..2_000_000_000))).await;
            end.write_all(&bytes[cut..]).await?;
        }
        _ => end.write_all(&bytes).await?,
    }
    whole.set(whole.get() + 1);
    if behaviour == Some(Behaviour::Repeats) {
        end.write_all(&bytes).await?;
        whole.set(whole.get() + 1);
    }
    Ok(if closes || behaviour == Some(Behaviour::ClosesAfter) { After::Closes } else { After::Reads })
}

/// A response in one of the forms that HTTP/1.1 has, and whether the connection ends with it.
fn response(path: usize, status: u16, random: &mut SmallRng) -> (Vec<u8>, bool) {
    let body = body_of(path);
    let mut head = String::new();
    if random.random_range(0..8) == 0 {
        head.push_str("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
    }
    write!(head, "HTTP/1.1 {status} As Asked\r\nx-padding: {}\r\n", "p".repeat(random.random_range(0..300)))
        .expect("writing to a string");
    match random.random_range(0..4) {
        0 => {
            head.push_str("transfer-encoding: chunked\r\n\r\n");
            let mut bytes = head.into_bytes();
            let mut left = &*body;
            while !left.is_empty() {
                let (chunk, rest) = left.split_at(random.random_range(1..=left.len()));
                bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
                left = rest;
            }
            bytes.extend(b"0\r\n\r\n");
            (bytes, false)
        }
        1 if random.random_range(0..4) == 0 => {
            let head = head + &format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len());
            ([head.into_bytes(), body].concat(), true)
        }
        _ => {
            let head = head + &format!("content-length: {}\r\n\r\n", body.len());
            ([head.into_bytes(), body].concat(), false)
        }
    }
}

/// The path of the next request; `None` at the end of the connection.
async fn next_request(end: &mut End, received: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut buffer = [0; 4_096];
    loop {
        if let Some((path, length)) = parse(received) {
            received.drain(..length);
            return Ok(Some(path));
        }
        let count = end.read(&mut buffer).await?;
        if count == 0 {
            return Ok(None);
        }
        received.extend(&buffer[..count]);
    }
}

/// The path of a request and its length, once all of it is there.
fn parse(bytes: &[u8]) -> Option<(usize, usize)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).expect("clients send text");
    let path = text.split(' ').nth(1).and_then(|path| path.trim_start_matches('/').parse().ok());
    let length = text
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let whole = head + length.unwrap_or(0);
    (bytes.len() >= whole).then(|| (path.expect("a path is a number"), whole))
}
