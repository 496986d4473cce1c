//! Streams of server-sent events: `/sse/NAME`.
//!
//! Does not write; see [`super::answer`].

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::answer::{Answer, Shape};
use super::body::echo;
use super::encode;
use super::request::Request;

/// The answer to `/sse/NAME`; `None` for a name that is not known.
pub fn answer(request: &Request, steps: &[&str]) -> Option<Answer> {
    let stream = |body: &str| Answer::text(200, "text/event-stream", body);
    let whole = |body: &str| stream(body).shaped(Shape::Chunks(usize::MAX));
    Some(match steps {
        ["count", many] => whole(&counted(many)),
        ["slow", many, millis] => {
            let pause = Duration::from_millis(millis.parse().unwrap_or(0)).min(Duration::from_secs(1));
            stream(&counted(many)).shaped(Shape::Blocks(pause))
        }
        ["until-close", many] => stream(&counted(many)).shaped(Shape::Close),
        ["with-length", many] => stream(&counted(many)),
        // One byte at a time, so that every place is one where a read can end.
        ["bytes", many] => stream(&counted(many)).shaped(Shape::Chunks(1)),
        ["fields"] => {
            whole(": a comment\nid: 7\nevent: tick\ndata: first\ndata:second\nretry: 100\n\nid:8\n:x\n\n")
        }
        ["crlf"] => whole("id: 7\r\nevent: tick\r\ndata: a\r\ndata: b\r\n\r\n"),
        ["comments"] => whole(": ping\n\n:\n\n\n"),
        ["unknown"] => whole("data: a\nwhat is this\nid\ndata: b\n\n"),
        ["unfinished"] => whole("data: whole\n\ndata: not ended\n"),
        ["unicode"] => stream("data: žluťoučký kůň ✓ 日本\n\n").shaped(Shape::Chunks(5)),
        ["binary"] => Answer::text(200, "text/event-stream", b"data: a\xff\xfeb\n\n".to_vec()),
        ["empty"] => whole(""),
        ["json"] => Answer::json(&echo(request)),
        ["echo"] => {
            const SHOWN: [&str; 7] = [
                "accept",
                "accept-encoding",
                "content-type",
                "cookie",
                "authorization",
                "x-own",
                "content-length",
            ];
            let shown = |name: &str| request.header(name).map(|value| format!("{name}: {value}"));
            let headers: Vec<String> = SHOWN.into_iter().filter_map(shown).collect();
            let body = String::from_utf8_lossy(&request.body);
            let seen = json!({ "method": request.method, "body": body, "headers": headers });
            whole(&format!("data: {seen}\n\n"))
                .with("Set-Cookie", "seen=1; Path=/")
                .with("X-Two", "a")
                .with("X-Two", "b")
        }
        ["gzip"] => {
            let coded = encode::encode("gzip", counted("3").as_bytes());
            Answer::text(200, "text/event-stream", coded).with("Content-Encoding", "gzip")
        }
        ["status", status] => {
            let answer = Answer::text(status.parse().unwrap_or(500), "text/event-stream", "data: sorry\n\n");
            answer.with("X-Why", "asked")
        }
        ["cut"] => stream("data: one\n\ndata: two\n\n").shaped(Shape::HalfChunks(18)),
        ["long", bytes] => {
            let count: usize = bytes.parse().unwrap_or(1);
            whole(&format!("data: {}\n\n", "x".repeat(count.min(8 << 20))))
        }
        _ => return None,
    })
}

/// So many events, numbered from 1.
fn counted(many: &str) -> String {
    let many: u32 = many.parse().unwrap_or(1);
    (1..=many.min(100_000)).fold(String::new(), |mut text, number| {
        let _ = write!(text, "id: {number}\ndata: event {number}\n\n");
        text
    })
}
