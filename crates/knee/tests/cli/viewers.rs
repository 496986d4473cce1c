//! Watchers of a live page that are in trouble: stopped, behind a proxy that keeps everything back, asleep, or left
//! alone by the command. The run goes on as without them, and they end with the right figures or say what they have.
//!
//! Watchers that send wrong requests are in `web` and `attacks`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::browser::Browser;
use crate::control::wait_until;
use crate::program::{Home, Running};
use crate::server::Server;
use crate::web::{Page, events, moments, started};

/// A process that reads the stream of events into a file.
struct Watcher(Child);

impl Watcher {
    fn of(page: &Page, into: &Path) -> Self {
        let stream = OwnedFd::from(page.send(&page.request("/api/events", "")));
        Self(
            Command::new("cat")
                .stdin(Stdio::from(stream))
                .stdout(File::create(into).unwrap())
                .spawn()
                .unwrap(),
        )
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Requests that the script of [`large`] plans; one more is due sometimes at its end.
const PLANNED: u64 = 250;

/// A load with 50 endpoints whose names have 10 KB each: no system keeps many pieces of its stream for a watcher.
fn large(home: &Home, server: &Server) -> (Running, Page) {
    let text = format!(
        "import http from 'k6/http'; import exec from 'k6/execution';
         export const options = {{ scenarios: {{ a: {{ executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s',
            duration: '5s', preAllocatedVUs: 10 }} }} }};
         const long = 'x'.repeat(10000);
         export default function () {{
            http.get('{}', {{ tags: {{ name: long + exec.scenario.iterationInTest % 50 }} }});
         }}",
        server.url("/")
    );
    let script = home.file("script.js", text);
    started(home, "run --require-valid --web", &script.display().to_string())
}

/// That every request of [`large`] was sent and has one outcome.
fn balances(run: &Value, server: &Server) {
    let requests = run["requests"].as_object().unwrap();
    let count = |name: &str| requests[name].as_u64().unwrap();
    assert_eq!(run["ending"], "completed", "{run:#}");
    let outcomes = ["ok", "http_error", "transport_error", "timeout", "unsent", "censored"].map(count);
    assert!(count("planned") >= PLANNED, "{requests:?}");
    assert_eq!(outcomes.iter().sum::<u64>(), count("planned"), "{requests:?}");
    assert_eq!(server.count() as u64, count("planned") - count("unsent"));
}

#[test]
fn a_watcher_that_is_stopped_to_the_end_takes_nothing_from_the_run_and_does_not_delay_its_end() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = large(&home, &server);
    let file = home.path("watched");
    let watcher = Watcher::of(&page, &file);
    wait_until("it has begun to read", || fs::metadata(&file).unwrap().len() > 0);
    watcher.send(Signal::STOP);
    let run = running.finish().ended_as_it_says(&home);
    balances(&run, &server);
    // It is still stopped: the process has ended without it.
    let kept = fs::metadata(&file).unwrap().len();
    watcher.send(Signal::CONT);
    wait_until("it reads what the system kept for it", || fs::metadata(&file).unwrap().len() > kept);
}

#[test]
fn a_watcher_that_was_stopped_for_a_while_gets_every_second_and_the_end() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = large(&home, &server);
    let file = home.path("watched");
    let mut watcher = Watcher::of(&page, &file);
    wait_until("it has begun to read", || fs::metadata(&file).unwrap().len() > 0);
    watcher.send(Signal::STOP);
    let seconds = || page.state()["run"]["moments"]["rows"].as_array().unwrap().len();
    let before = seconds();
    wait_until("two seconds pass", || seconds() >= before + 2);
    watcher.send(Signal::CONT);
    let run = running.finish().ended_as_it_says(&home);
    balances(&run, &server);
    watcher.0.wait().unwrap();
    let events = events(File::open(&file).unwrap());
    let (name, last) = events.last().unwrap();
    assert_eq!((name.as_str(), &last["run"]["so_far"]["outcomes"]["ok"]), ("ended", &run["requests"]["ok"]));
    let moments = moments(&events);
    assert_eq!(moments.len(), run["series"].as_array().unwrap().len());
    assert!(moments.windows(2).all(|pair| pair[0][1] == pair[1][0]), "no second is missing");
}

/// A proxy that gives an answer away only in pieces of `held` bytes, and what is left at its end.
struct Proxy {
    address: SocketAddr,
    /// Whether a stream of events was asked for.
    streams: Arc<AtomicBool>,
}

impl Proxy {
    fn start(held: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let streams = Arc::new(AtomicBool::new(false));
        let shared = streams.clone();
        thread::spawn(move || {
            for browser in listener.incoming() {
                let streams = shared.clone();
                thread::spawn(move || forward(browser.unwrap(), held, &streams));
            }
        });
        Self { address, streams }
    }
}

/// Hands on one request, without the name of the server in its target, and then its answer.
fn forward(mut browser: TcpStream, held: usize, streams: &AtomicBool) -> Option<()> {
    let mut lines = BufReader::new(browser.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let rest: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let (server, _) = first.split_once("http://")?.1.split_once('/')?;
    let asked =
        format!("{}\r\n{}\r\n\r\n", first.replacen(&format!("http://{server}"), "", 1), rest.join("\r\n"));
    let mut server = TcpStream::connect(server).ok()?;
    server.write_all(asked.as_bytes()).ok()?;
    streams.fetch_or(asked.starts_with("GET /api/events"), Ordering::Relaxed);
    let (mut kept, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let length = server.read(&mut piece).unwrap_or_default();
        kept.extend_from_slice(&piece[..length]);
        if length == 0 || kept.len() >= held {
            browser.write_all(&kept).ok()?;
            kept.clear();
        }
        if length == 0 {
            return Some(());
        }
    }
}

/// The end of a run of 500 requests, as the page shows it.
fn shows_the_end(browser: &mut Browser) {
    browser.sees("run ended; the figures stay");
    browser.sees("of 500 requests");
    browser.finds("/^ended after/.test(document.getElementById('clock').textContent)");
    browser.finds("/the validity check of the run$/.test(document.getElementById('validity').textContent)");
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_behind_a_proxy_that_keeps_pieces_back_the_last_figures_are_right() {
    // A few events at a time, and none at all before the end.
    for held in [20_000, usize::MAX] {
        let (home, server) = (Home::new(), Server::start());
        let proxy = Proxy::start(held);
        let mut browser = Browser::behind(proxy.address);
        let (running, page) = started(&home, "-q 50 -z 10s -c 4 --web", &server.url("/"));
        browser.open(&format!("http://{}/?token={}", page.address, page.token));
        wait_until("it watches", || proxy.streams.load(Ordering::Relaxed));
        let run = running.finish().ended_as_it_says(&home);
        assert_eq!((&run["ending"], &run["requests"]["planned"]), (&"completed".into(), &500.into()));
        shows_the_end(&mut browser);
        let failed = format!("{} of 500 requests", 500 - run["requests"]["ok"].as_u64().unwrap());
        browser.sees(&failed);
    }
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_the_figures_stay_when_the_command_is_killed_and_the_page_says_so() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 100 -z 1h -c 4 --web", &server.url("/"));
    let mut browser = Browser::start();
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.sees("live");
    browser.finds("/[0-9]/.test(document.getElementById('goodput').textContent)");
    running.send(Signal::KILL);
    running.finish();
    browser.sees("connection lost");
    let figures = "['title', 'goodput', 'typical', 'not-ok-beside', 'endpoints'].map((id) => \
                   document.getElementById(id).textContent).join('|')";
    let shown = browser.read(figures);
    assert!(shown.as_str().unwrap().contains("requests"), "{shown}");
    browser.sees("these are the last figures that arrived; the saved run has all");
    assert_eq!(browser.read(figures), shown, "they stay");
    let clock = browser.read("document.getElementById('clock').textContent");
    browser.read("new Promise((resolve) => setTimeout(resolve, 1500))");
    assert_eq!(browser.read("document.getElementById('clock').textContent"), clock, "the clock stands still");
    assert_eq!(browser.read("document.getElementById('control').hidden"), true);
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_a_tab_that_slept_shows_the_newest_state_when_it_wakes() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 100 -z 1h -c 4 --web", &server.url("/"));
    let mut browser = Browser::start();
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.sees("live");
    let ended = || page.state()["run"]["so_far"]["ended"].as_u64().unwrap();
    browser.freeze();
    let before = ended();
    wait_until("seconds pass", || ended() > before + 400);
    let missed = ended();
    let shown = "Number(document.getElementById('not-ok-beside').textContent.match(/of ([0-9,]+)/)[1].replaceAll(',', ''))";
    assert!(browser.read(shown).as_f64().unwrap() < missed as f64, "it slept");
    browser.wake();
    browser.finds(&format!("{shown} >= {missed}"));
    browser.sees("live");
    // Now it sleeps through the end.
    browser.freeze();
    running.send(Signal::INT);
    let run = running.finish().ended_as_it_says(&home);
    browser.wake();
    let total = run["requests"]["planned"].as_u64().unwrap();
    browser.finds(
        "/run ended|these are the last figures/.test(document.getElementById('connection').textContent)",
    );
    let shown = browser.read("document.getElementById('not-ok-beside').textContent");
    let connection = browser.read("document.getElementById('connection').textContent");
    assert!(connection.as_str().unwrap().starts_with("run ended"), "{connection}: {shown}, {total} planned");
}
