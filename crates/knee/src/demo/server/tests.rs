//! The demo server as a plain client sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use super::*;

/// A server that stops when this is dropped.
struct Running {
    address: SocketAddr,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    fn start(service: Service) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = mpsc::channel();
        let wait = move || {
            let _ = stopped.recv();
        };
        let thread = thread::spawn(move || serve(listener, &service, wait));
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    fn client(&self) -> BufReader<TcpStream> {
        BufReader::new(TcpStream::connect(self.address).unwrap())
    }

    fn end(&mut self) -> io::Result<()> {
        self.stop.take();
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn fast() -> Service {
    Service { service_time: Nanos::ZERO, ..Service::default() }
}

/// Sends one request on a connection that stays open; returns the status and the body.
fn ask(client: &mut BufReader<TcpStream>, method: &str, path: &str) -> (u16, String) {
    write!(client.get_mut(), "{method} {path} HTTP/1.1\r\nhost: demo\r\n\r\n").unwrap();
    let mut status = 0;
    let mut length = 0;
    loop {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; if method == "HEAD" { 0 } else { length }];
    client.read_exact(&mut body).unwrap();
    (status, String::from_utf8(body).unwrap())
}

#[test]
fn one_connection_gets_answer_after_answer() {
    let server = Running::start(fast());
    let mut client = server.client();
    for _ in 0..3 {
        assert_eq!(ask(&mut client, "GET", "/"), (200, ORDER.to_owned()));
    }
    assert_eq!(ask(&mut client, "HEAD", "/").0, 200);
    assert_eq!(ask(&mut client, "GET", "/healthz"), (200, r#"{"state":"ok"}"#.to_owned()));
    assert_eq!(ask(&mut client, "GET", "/nowhere").0, 404);
    assert_eq!(ask(&mut client, "DELETE", "/").0, 405);
}

#[test]
fn a_stream_has_ten_events_of_which_the_last_one_says_so() {
    let server = Running::start(fast());
    let mut client = server.client();
    write!(client.get_mut(), "GET /events HTTP/1.1\r\nhost: demo\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let events: Vec<&str> = answer.lines().filter(|line| line.starts_with("data: ")).collect();
    assert_eq!((events.len(), events[0], events[9]), (10, "data: The", "data: [DONE]"));
}

#[test]
fn health_is_answered_while_every_worker_is_busy() {
    // An hour's work for the only worker: whatever does not wait for it is answered at once.
    let service = Service { workers: 1, service_time: Nanos::from_secs(3_600), seed: 1 };
    let server = Running::start(service);
    let mut busy = server.client();
    write!(busy.get_mut(), "GET / HTTP/1.1\r\nhost: demo\r\n\r\n").unwrap();
    assert_eq!(ask(&mut server.client(), "GET", "/healthz").0, 200);
}

#[test]
fn it_stops_with_connections_open() {
    let mut server = Running::start(fast());
    let mut client = server.client();
    assert_eq!(ask(&mut client, "GET", "/").0, 200);
    assert!(server.end().is_ok());
    let mut rest = Vec::new();
    // Closed or reset, but no answer any more.
    let _ = client.read_to_end(&mut rest);
    assert_eq!(rest, b"");
}

#[test]
fn service_times_follow_the_seed_and_have_the_mean_that_the_knee_is_predicted_from() {
    let service = Service::default();
    let times = |clerk: &Clerk| (0..100_000).map(|_| clerk.draw()).collect::<Vec<_>>();
    let drawn = times(&Clerk::new(service.service_time, service.seed));
    assert_eq!(drawn, times(&Clerk::new(service.service_time, service.seed)));
    let mean = drawn.iter().map(|time| time.as_secs_f64()).sum::<f64>() / drawn.len() as f64;
    // The standard error of the mean of n exponential times is mean / sqrt(n), 0.3 % here.
    assert!((mean / 0.002 - 1.0).abs() < 0.015, "mean {mean} s");
    let above = drawn.iter().filter(|time| **time > service.service_time).count();
    // Of exponential times 1/e are above their mean: 36,788 of these, +- 153.
    assert!((36_000..37_600).contains(&above), "{above} above the mean");
}

#[test]
fn the_knee_is_workers_over_service_time() {
    assert!((Service::default().knee() - 4_000.0).abs() < 1e-9);
}
