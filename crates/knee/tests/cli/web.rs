//! The live page of a run: what a browser gets, what everything else does not get, and that the run goes on as without.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::program::{Home, Running};
use crate::server::Server;

/// The page of a process.
pub struct Page {
    pub address: SocketAddr,
    pub token: String,
}

impl Page {
    /// The page whose URL is in `line`.
    pub fn of(line: &str) -> Self {
        let url = line.strip_prefix("page: http://").unwrap_or_else(|| panic!("{line}"));
        let (address, token) = url.split_once("/?token=").unwrap();
        Self { address: address.parse().unwrap(), token: token.to_owned() }
    }

    /// Sends `text` and returns the connection.
    pub fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server that refuses can close before it has everything.
        let _ = stream.write_all(text.as_bytes());
        stream
    }

    /// The whole response to `text`.
    pub fn answer(&self, text: &str) -> String {
        let mut answer = Vec::new();
        let _ = self.send(text).read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    /// A request with the token as a browser sends it, and more headers.
    pub fn request(&self, target: &str, more: &str) -> String {
        let Self { address, token } = self;
        let port = address.port();
        format!("GET {target} HTTP/1.1\r\nhost: {address}\r\ncookie: knee-{port}={token}\r\n{more}\r\n")
    }

    /// A form as a browser sends it, with the token that shows.
    pub fn form(&self, target: &str, fields: &str) -> String {
        let more = format!(
            "content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n",
            fields.len()
        );
        self.request(target, &more).replacen("GET", "POST", 1) + fields
    }

    pub fn state(&self) -> Value {
        let answer = self.answer(&self.request("/api/state", ""));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        serde_json::from_str(body).unwrap()
    }

    /// The elements that a browser has some seconds after it opened the URL.
    pub fn in_a_browser(&self) -> String {
        let profile = tempfile::tempdir().unwrap();
        let shown = std::process::Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("http://{}/?token={}", self.address, self.token))
            .output()
            .unwrap();
        String::from_utf8(shown.stdout).unwrap()
    }

    /// Everything that a watcher gets until the command ends: names of events with their data.
    pub fn watch(&self) -> Vec<(String, Value)> {
        events(self.send(&self.request("/api/events", "")))
    }
}

/// The events of a stream up to its end: their names with their data.
pub fn events(stream: impl Read) -> Vec<(String, Value)> {
    let (mut name, mut events) = (String::new(), Vec::new());
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if let Some(event) = line.strip_prefix("event: ") {
            event.clone_into(&mut name);
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((name.clone(), serde_json::from_str(data).unwrap()));
        }
    }
    events
}

/// Starts `knee` with a page and waits until a second of its run is over.
pub fn started(home: &Home, line: &str, url: &str) -> (Running, Page) {
    let mut running = home.knee(line).arg(url).start();
    let page = Page::of(&running.wait_for("page: http://"));
    while page.state()["run"]["moments"]["rows"].as_array().is_none_or(Vec::is_empty) {
        std::thread::sleep(Duration::from_millis(50));
    }
    (running, page)
}

/// The moments that a watcher knows after these pieces.
pub fn moments(events: &[(String, Value)]) -> Vec<Value> {
    let mut known: Vec<Value> = Vec::new();
    for (_, state) in events {
        let moments = &state["run"]["moments"];
        known.truncate(moments["first"].as_u64().unwrap() as usize);
        known.extend(moments["rows"].as_array().unwrap().iter().cloned());
    }
    known
}

#[test]
fn the_page_needs_its_token_its_own_host_and_a_small_request() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 50 -z 1h -c 4 --web", &server.url("/"));
    let (address, token) = (page.address, page.token.clone());
    assert!(address.ip().is_loopback());
    let status = |text: &str| page.answer(text).lines().next().unwrap_or_default().to_owned();

    let first = page.answer(&format!("GET /?token={token} HTTP/1.1\r\nhost: {address}\r\n\r\n"));
    assert!(first.starts_with("HTTP/1.1 200 OK") && first.contains("<title>knee</title>"), "{first}");
    assert!(first.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{first}");
    let cookie = format!("knee-{}={token}; Path=/; HttpOnly; SameSite=Strict", address.port());
    assert!(first.contains(&cookie), "{first}");
    for asset in ["page.css", "page.js", "chart.js", "number.js", "observed.js"] {
        assert_eq!(status(&page.request(&format!("/assets/{asset}"), "")), "HTTP/1.1 200 OK", "{asset}");
    }

    let host = format!("host: {address}\r\n");
    let get = |target: &str, headers: &str| status(&format!("GET {target} HTTP/1.1\r\n{headers}\r\n"));
    assert_eq!(get("/api/state", &host), "HTTP/1.1 403 Forbidden");
    assert_eq!(get("/", &host), "HTTP/1.1 403 Forbidden");
    assert_eq!(get("/assets/page.js", &host), "HTTP/1.1 403 Forbidden");
    assert_eq!(get(&format!("/api/state?token={token}"), &host), "HTTP/1.1 403 Forbidden");
    let evil = format!("host: evil.test:{}\r\n", address.port());
    assert_eq!(get(&format!("/?token={token}"), &evil), "HTTP/1.1 421 Misdirected Request");
    assert_eq!(status(&page.request("/api/state", "origin: http://evil.test\r\n")), "HTTP/1.1 403 Forbidden");
    let post = page.request("/api/state", "content-length: 0\r\n").replacen("GET", "POST", 1);
    assert_eq!(status(&post), "HTTP/1.1 405 Method Not Allowed");
    let large = page.request("/api/state", &format!("x: {}\r\n", "a".repeat(20_000)));
    assert_eq!(status(&large), "HTTP/1.1 431 Request Header Fields Too Large");
    assert_eq!(page.state()["contract"], "knee.live/1");

    running.send(Signal::INT);
    let finished = running.finish();
    finished.ended_as_it_says(&home);
    assert!(!home.files().iter().any(|path| contains(&std::fs::read(path).unwrap(), token.as_bytes())));
}

pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_late_watcher_sees_every_second_and_the_end_with_the_figures_of_the_report() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 100 -z 4s -c 4 --web", &server.url("/"));
    let events = page.watch();
    let run = running.finish().ended_as_it_says(&home);
    assert_eq!(events[0].0, "snapshot");
    let (name, last) = events.last().unwrap();
    assert_eq!((name.as_str(), &last["over"]), ("ended", &Value::Bool(true)));
    let known: Vec<[f64; 2]> =
        moments(&events).iter().map(|row| [row[0].as_f64().unwrap(), row[1].as_f64().unwrap()]).collect();
    assert_eq!(known.len(), run["series"].as_array().unwrap().len(), "{known:?}");
    assert!(known[0][0] == 0.0 && known.windows(2).all(|pair| (pair[0][1] - pair[1][0]).abs() < 1e-6));
    let shown = &last["run"];
    assert_eq!((&shown["phase"], &shown["missed_s"]), (&Value::from("ended"), &Value::from(0.0)));
    assert_eq!(shown["so_far"]["outcomes"]["ok"], run["requests"]["ok"]);
    assert_eq!(shown["validity"]["final"], true);
    assert_eq!(shown["validity"]["state"], run["validity"]);
    let close = |one: &Value, other: &Value| {
        let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
        assert!((one - other).abs() <= 1e-3 * other, "{one} and {other}");
    };
    close(&shown["so_far"]["response_time_ms"]["p50"], &run["response_time_ms"]["p50"]);
    close(&shown["so_far"]["goodput_per_s"], &run["goodput_per_s"]);
}

#[test]
fn a_watcher_that_never_reads_takes_nothing_from_the_run() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 100 -z 3s -c 4 --web", &server.url("/"));
    let silent: Vec<TcpStream> = (0..5).map(|_| page.send(&page.request("/api/events", ""))).collect();
    let run = running.finish().ended_as_it_says(&home);
    assert_eq!((&run["ending"], &run["requests"]["planned"]), (&"completed".into(), &300.into()));
    drop(silent);
}

#[test]
fn scripts_and_sweeps_have_the_page_too() {
    let (home, server) = (Home::new(), Server::start());
    let text = format!(
        "import http from 'k6/http'; import {{ sleep }} from 'k6'; export const options = {{ vus: 1, duration: '3s' }};
         export default function () {{ http.get('{}'); sleep(0.05); }}",
        server.url("/")
    );
    let script = home.file("script.js", text);
    let (running, page) = started(&home, "run --web", &script.display().to_string());
    let events = page.watch();
    running.finish();
    assert_eq!(events.last().unwrap().1["run"]["phase"], "ended");

    let (running, page) = started(&home, "sweep --web --rates 50,100 --step 1s", &server.url("/"));
    let events = page.watch();
    running.finish();
    let last = &events.last().unwrap().1;
    assert_eq!(last["command"], "sweep");
    assert!(last["run"]["number"].as_u64().unwrap() >= 2, "{last}");
    assert!(last["lines"].as_array().is_some_and(|lines| lines.len() >= 2), "{last}");
}

#[test]
fn an_address_that_cannot_be_served_is_reported_before_the_load() {
    let (home, server) = (Home::new(), Server::start());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    home.knee(&format!("--web={address}")).arg(server.url("/")).run().refused(
        &format!("the live page cannot be served on {address}: address already in use"),
        "give another address, or `--web` alone for a free port",
    );
    home.knee("--web=nowhere").arg(server.url("/")).run().refused(
        "`--web`: `nowhere` is not an address",
        "write an address with a port, such as `--web=127.0.0.1:8089`, or nothing for a free port",
    );
    assert_eq!(server.count(), 0);
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn a_browser_shows_the_answer_and_keeps_it_when_the_run_has_ended() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 200 -z 4s -c 4 --web", &server.url("/"));
    let dom = page.in_a_browser();
    running.finish();
    assert!(dom.contains("run ended; the figures stay"), "{dom}");
    assert!(dom.contains("800 requests") && dom.contains("ended after"), "{dom}");
    assert!(!dom.contains(&page.token), "the token is neither in the page nor in its address");
}
