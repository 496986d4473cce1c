//! What is answered to which path, by httpbin's names.
//!
//! Does not write: an [`Answer`] is pieces of bytes with pauses before them.

use std::time::Duration;

use serde_json::{Value, json};

use super::body::{arguments, cookies, echo, headers};
use super::request::Request;
use super::{auth, encode, events, ntlm, page};

/// Longest pause, so that no case can make a thread wait for long.
const PAUSE_MAX: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    shape: Shape,
    /// Before the first byte.
    pause: Duration,
    /// The method was HEAD: the headers describe the body, which is not sent.
    head: bool,
}

/// Status, headers, body, and the pause before them.
pub type Whole = (u16, Vec<(String, String)>, Vec<u8>, Duration);

/// How an answer travels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// With its length.
    Whole,
    /// In chunks of this many bytes.
    Chunks(usize),
    /// In chunks that end after an empty line, with this pause before each.
    Blocks(Duration),
    /// With its length, one byte at a time over this span.
    Drip(Duration),
    /// Until the connection ends.
    Close,
    /// Half of what was promised.
    Half,
    /// One chunk of this many bytes, and no more.
    HalfChunks(usize),
    /// Not at all: the connection ends.
    HangUp,
    /// Bytes that are not HTTP.
    Noise,
}

impl Answer {
    /// The answer to `request`.
    pub fn to(request: &Request) -> Self {
        Self::by(request, |_| Self::text(404, "text/plain", "not here\n"))
    }

    /// The same, but for a path that is unknown it is what most clients look for: a page, or JSON.
    pub fn to_anything(request: &Request) -> Self {
        Self::by(request, |request| match request.steps().last() {
            None => Self::text(200, "text/html; charset=utf-8", page::INDEX),
            Some(last) if [".html", ".php"].iter().any(|ending| last.ends_with(ending)) => {
                Self::text(200, "text/html; charset=utf-8", page::HTML)
            }
            Some(_) => Self::json(&page::anything()),
        })
    }

    fn by(request: &Request, unknown: fn(&Request) -> Self) -> Self {
        let steps = request.steps();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let answer = plain(request, &steps)
            .or_else(|| redirect(request, &steps))
            .or_else(|| coming_and_going(request, &steps))
            .unwrap_or_else(|| unknown(request));
        Self { head: request.method == "HEAD", ..answer }
    }

    /// An answer with this status and nothing in it.
    pub fn empty(status: u16) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        Self { status, headers, body, shape: Shape::Whole, pause: Duration::ZERO, head: false }
    }

    /// Bytes of a type.
    pub fn text(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::empty(status) }.with("Content-Type", kind)
    }

    /// JSON.
    pub fn json(value: &Value) -> Self {
        Self::text(200, "application/json", format!("{value:#}\n"))
    }

    /// With one more header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, travelling so.
    pub fn shaped(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    fn after(self, seconds: f64) -> Self {
        Self { pause: span(seconds), ..self }
    }

    /// Whether the connection can be used again.
    pub fn stays_open(&self) -> bool {
        matches!(self.shape, Shape::Whole | Shape::Chunks(_) | Shape::Blocks(_) | Shape::Drip(_))
    }

    /// What to write, and how long to wait before each part.
    pub fn pieces(self) -> Vec<(Duration, Vec<u8>)> {
        let (shape, pause) = (self.shape, self.pause);
        if shape == Shape::HangUp {
            return Vec::new();
        }
        if shape == Shape::Noise {
            return vec![(pause, b"this is not HTTP at all\r\n\r\n".to_vec())];
        }
        let mut pieces = vec![(pause, self.start())];
        if self.head {
            return pieces;
        }
        let now = |bytes: &[u8]| (Duration::ZERO, bytes.to_vec());
        match shape {
            Shape::Chunks(size) => {
                pieces.extend(self.body.chunks(size).map(|part| now(&chunk(part))));
                pieces.push(now(b"0\r\n\r\n"));
            }
            Shape::Blocks(each) => {
                let text = String::from_utf8_lossy(&self.body);
                pieces.extend(text.split_inclusive("\n\n").map(|block| (each, chunk(block.as_bytes()))));
                pieces.push(now(b"0\r\n\r\n"));
            }
            Shape::Drip(over) => {
                let each = over / u32::try_from(self.body.len().max(1)).unwrap_or(u32::MAX);
                pieces.extend(self.body.iter().map(|byte| (each, vec![*byte])));
            }
            Shape::HalfChunks(size) => pieces.push(now(&chunk(&self.body[..size.min(self.body.len())]))),
            Shape::Half => pieces.push(now(&self.body[..self.body.len() / 2])),
            _ => pieces.push(now(&self.body)),
        }
        pieces
    }

    /// Its parts, for versions of HTTP without chunks; `None` if the answer is one that breaks off.
    pub fn whole(self) -> Option<Whole> {
        let is_whole = matches!(
            self.shape,
            Shape::Whole | Shape::Chunks(_) | Shape::Blocks(_) | Shape::Drip(_) | Shape::Close
        );
        let body = if self.head { Vec::new() } else { self.body };
        is_whole.then_some((self.status, self.headers, body, self.pause))
    }

    /// The first line and the headers.
    fn start(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        match self.shape {
            Shape::Chunks(_) | Shape::Blocks(_) | Shape::HalfChunks(_) => {
                text.push_str("Transfer-Encoding: chunked\r\n");
            }
            Shape::Close => text.push_str("Connection: close\r\n"),
            // Statuses that have no body have no length.
            _ if matches!(self.status, 100..200 | 204 | 304) => {}
            _ => text.extend(["Content-Length: ", &self.body.len().to_string(), "\r\n"]),
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// Answers that say something.
fn plain(request: &Request, steps: &[&str]) -> Option<Answer> {
    Some(match steps {
        [] => Answer::text(200, "text/html; charset=utf-8", page::INDEX),
        ["anything", ..] => Answer::json(&echo(request)),
        [verb @ ("get" | "post" | "put" | "patch" | "delete")] => {
            let verb = verb.to_uppercase();
            if matches!(request.method.as_str(), "HEAD" | "OPTIONS") || request.method == verb {
                Answer::json(&echo(request))
            } else {
                Answer::text(405, "text/plain", "").with("Allow", &verb)
            }
        }
        ["headers"] => Answer::json(&json!({ "headers": headers(request) })),
        ["user-agent"] => Answer::json(&json!({ "user-agent": request.header("user-agent") })),
        ["ip"] => Answer::json(&json!({ "origin": "127.0.0.1" })),
        ["cookies"] => Answer::json(&json!({ "cookies": cookies(request) })),
        ["json"] => Answer::text(200, "application/json", page::JSON),
        ["bad-json"] => Answer::text(200, "application/json", "{\"a\": [1, 2"),
        ["xml"] => Answer::text(200, "application/xml", page::XML),
        ["html"] => Answer::text(200, "text/html; charset=utf-8", page::HTML),
        ["forms", "post"] => Answer::text(200, "text/html; charset=utf-8", page::FORM),
        ["echo"] => Answer::text(200, "text/html; charset=utf-8", request.body.clone()),
        ["links"] => Answer::text(200, "text/html; charset=utf-8", page::LINKS),
        ["encoding", "utf8"] => Answer::text(200, "text/plain; charset=utf-8", "žluťoučký kůň ✓ 日本\n"),
        ["robots.txt"] => Answer::text(200, "text/plain", "User-agent: *\nDisallow: /deny\n"),
        ["status", status] => status_of(status.parse().unwrap_or(500)),
        ["bytes", count] => Answer::text(200, "application/octet-stream", sequence(count)),
        [coding @ ("gzip" | "deflate" | "brotli" | "zstd")] => {
            let coded = encode::encode(coding, format!("{:#}\n", echo(request)).as_bytes());
            let name = if *coding == "brotli" { "br" } else { coding };
            Answer::text(200, "application/json", coded).with("Content-Encoding", name)
        }
        ["response-headers"] => request
            .query()
            .iter()
            .fold(Answer::json(&arguments(request)), |answer, (name, value)| answer.with(name, value)),
        ["etag", etag] => etag_of(request, &format!("\"{etag}\"")),
        ["ntlm-auth", offer, domain, user, word] => ntlm::answer(request, offer, [domain, user, word]),
        ["basic-auth" | "hidden-basic-auth" | "bearer" | "digest-auth", ..] => auth::answer(request, steps),
        _ => return None,
    })
}

/// Answers that lead elsewhere.
fn redirect(request: &Request, steps: &[&str]) -> Option<Answer> {
    let to = |path: &str| Answer::empty(302).with("Location", path);
    Some(match steps {
        [kind @ ("redirect" | "relative-redirect" | "absolute-redirect"), left] => {
            let left: u32 = left.parse().unwrap_or(1);
            let next = if left > 1 { format!("/{kind}/{}", left - 1) } else { "/get".to_owned() };
            let host = request.header("host").unwrap_or("127.0.0.1");
            match *kind {
                "absolute-redirect" => to(&format!("http://{host}{next}")),
                _ => to(&next),
            }
        }
        ["redirect-to"] => {
            let status = request.argument("status_code").and_then(|status| status.parse().ok());
            let url = request.argument("url").unwrap_or_default();
            Answer::empty(status.unwrap_or(302)).with("Location", &url)
        }
        ["redirect-loop"] => to("/redirect-loop"),
        ["redirect-nowhere"] => Answer::empty(302),
        ["cookies", "set", name, value] => {
            to("/cookies").with("Set-Cookie", &format!("{name}={value}; Path=/"))
        }
        ["cookies", "set"] => request.query().iter().fold(to("/cookies"), |answer, (name, value)| {
            answer.with("Set-Cookie", &format!("{name}={value}; Path=/"))
        }),
        ["cookies", "set-raw"] => {
            let raw = request.query().into_iter().filter(|(name, _)| name == "c");
            raw.fold(Answer::json(&json!({})), |answer, (_, cookie)| answer.with("Set-Cookie", &cookie))
        }
        ["cookies", "delete"] => request.query().iter().fold(to("/cookies"), |answer, (name, _)| {
            answer.with(
                "Set-Cookie",
                &format!("{name}=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/"),
            )
        }),
        _ => return None,
    })
}

/// Answers whose way of coming is the point.
fn coming_and_going(request: &Request, steps: &[&str]) -> Option<Answer> {
    let number = |name: &str, default: f64| {
        request.argument(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    Some(match steps {
        ["delay", seconds] => Answer::json(&echo(request)).after(seconds.parse().unwrap_or(0.0)),
        ["stream", lines] => {
            let lines: usize = lines.parse().unwrap_or(1);
            let text: Vec<String> = (0..lines).map(|id| format!("{{\"id\": {id}}}\n")).collect();
            Answer::text(200, "application/json", text.concat()).shaped(Shape::Chunks(10))
        }
        ["stream-bytes", count] => {
            let size = number("chunk_size", 1_000.0).max(1.0) as usize;
            Answer::text(200, "application/octet-stream", sequence(count)).shaped(Shape::Chunks(size))
        }
        ["drip"] => {
            let count = number("numbytes", 10.0) as usize;
            let over = span(number("duration", 0.2));
            Answer::text(200, "application/octet-stream", vec![b'*'; count])
                .after(number("delay", 0.0))
                .shaped(Shape::Drip(over))
        }
        ["sse", steps @ ..] => return events::answer(request, steps),
        ["close"] => Answer::json(&echo(request)).shaped(Shape::Close),
        ["half"] => Answer::text(200, "text/plain", "half of this is missing").shaped(Shape::Half),
        ["half-chunked"] => {
            Answer::text(200, "text/plain", "half of this is missing").shaped(Shape::HalfChunks(12))
        }
        ["half-gzip"] => {
            let coded = encode::encode("gzip", &sequence("9000"));
            Answer::text(200, "text/plain", coded).with("Content-Encoding", "gzip").shaped(Shape::Half)
        }
        ["hang-up-reused"] if request.place == 0 => Answer::json(&echo(request)),
        ["hang-up" | "hang-up-reused"] => Answer::empty(200).shaped(Shape::HangUp),
        ["noise"] => Answer::empty(200).shaped(Shape::Noise),
        ["bad-gzip"] => Answer::text(200, "text/plain", "not gzip").with("Content-Encoding", "gzip"),
        _ => return None,
    })
}

fn status_of(status: u16) -> Answer {
    match status {
        301 | 302 | 303 | 307 | 308 => Answer::empty(status).with("Location", "/anything/redirected"),
        100..200 | 204 | 304 => Answer::empty(status),
        _ => Answer::text(status, "text/plain", ""),
    }
}

fn etag_of(request: &Request, etag: &str) -> Answer {
    let known = request.header("if-none-match").is_some_and(|known| known == etag || known == "*");
    let answer = if known { Answer::empty(304) } else { Answer::json(&echo(request)) };
    answer.with("ETag", etag)
}

/// Bytes that count upwards, so that all have the same ones.
fn sequence(count: &str) -> Vec<u8> {
    let count: usize = count.parse().unwrap_or(0);
    (0..count.min(10 << 20)).map(|place| (place % 251) as u8).collect()
}

/// Seconds, up to the longest pause.
fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default().min(PAUSE_MAX)
}

fn chunk(part: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat()
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        418 => "I'm a teapot",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Unnamed",
    }
}
