//! A small server that answers as the scripts of the tests need it, and keeps what it was asked.
//!
//! One thread a connection, HTTP/1.1 with keep-alive, bodies by length alone.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What the server was asked: `METHOD /path?query`, in the order of arrival.
pub type Journal = Arc<Mutex<Vec<String>>>;

/// A running server.
pub struct Server {
    /// Its URL, without a slash at the end.
    pub base: String,
    /// What it was asked.
    pub journal: Journal,
}

impl Server {
    /// Starts one on a free port.
    pub fn start() -> Self {
        Self::start_with(answer)
    }

    /// Starts one that answers with what `answer` returns, and hangs up when that is `None`.
    pub fn start_with(answer: impl Fn(&Asked) -> Option<String> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let journal = Journal::default();
        let kept = journal.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (journal, answer) = (kept.clone(), answer.clone());
                thread::spawn(move || drop(serve(stream, &journal, &*answer)));
            }
        });
        Self { base, journal }
    }
}

/// A request.
pub struct Asked {
    /// Its method.
    pub method: String,
    /// The path with the query.
    pub path: String,
    headers: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
}

impl Asked {
    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// An answer without headers of its own.
pub fn reply(status: u16, body: &str) -> String {
    answer_with(status, "", body)
}

fn serve(
    stream: TcpStream,
    journal: &Journal,
    answer: &dyn Fn(&Asked) -> Option<String>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut asked = Asked { method, path, headers, body: String::new() };
        let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        asked.body = String::from_utf8_lossy(&body).into_owned();
        journal.lock().unwrap().push(format!("{} {}", asked.method, asked.path));
        let Some(answer) = answer(&asked) else { return Ok(()) };
        writer.write_all(answer.as_bytes())?;
    }
}

/// The answer; `None` hangs up.
fn answer(asked: &Asked) -> Option<String> {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
    let mut extra = String::new();
    let (status, body) = match steps.as_slice() {
        ["status", status] => (status.parse().unwrap_or(500), String::new()),
        ["hangup"] => return None,
        ["redirect", left] => {
            let left: u32 = left.parse().unwrap_or(0);
            let to = if left > 1 { format!("/redirect/{}", left - 1) } else { "/echo".to_owned() };
            let _ = write!(extra, "Location: {to}\r\n");
            (302, String::new())
        }
        ["cookies", "set"] => {
            for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
                let _ = write!(extra, "Set-Cookie: {name}={value}; Path=/\r\n");
            }
            extra.push_str("Location: /echo\r\n");
            (302, String::new())
        }
        ["json"] => (200, r#"{"a":{"b":[10,20,{"c":"deep"}]},"ok":true}"#.to_owned()),
        _ => (200, echo(asked)),
    };
    let body = if asked.method == "HEAD" { String::new() } else { body };
    Some(answer_with(status, &extra, &body))
}

fn answer_with(status: u16, extra: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Word\r\nContent-Type: application/json\r\n{extra}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn echo(asked: &Asked) -> String {
    let headers: serde_json::Map<String, serde_json::Value> =
        asked.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    serde_json::json!({
        "method": asked.method, "path": asked.path, "headers": headers, "body": asked.body,
    })
    .to_string()
}
