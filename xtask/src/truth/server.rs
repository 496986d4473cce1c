//! The oracle's server: answers HTTP requests at the moments that a [`Law`] fixes, to within
//! microseconds, and states how exactly it did.
//!
//! One thread that spins while answers are due, because a sleeping thread wakes up tens of
//! microseconds late. When a turn ends is a matter of arithmetic, so one answer that is late makes
//! no other late. Understands just enough of HTTP/1.1 for requests without a body.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use super::law::{Law, Service, Turn};
use super::statement::{Notes, Statement};
use crate::process::{self, Running, SERVER_CPU};

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// The end of a request's head.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// ab speaks HTTP/1.0, and reuses a connection only if a header says so and it finds the length in this spelling.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\
    Connection: keep-alive\r\n\r\nok\n";

/// A server in a process of its own.
pub struct OracleServer {
    process: Running,
    /// Where it listens.
    pub url: String,
}

impl OracleServer {
    /// Starts one, on the CPU that belongs to servers.
    pub fn start(law: Law) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("oracle-server").arg(serde_json::to_string(&law)?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = process::spawn_on(SERVER_CPU, &mut command)?;
        let mut port = [0; 6];
        let stdout = process.child().stdout.as_mut().context("the pipe is missing")?;
        stdout.read_exact(&mut port).context("the oracle's server did not start")?;
        let port = String::from_utf8_lossy(&port).trim().to_owned();
        Ok(Self { process, url: format!("http://127.0.0.1:{port}/") })
    }

    /// Stops it for `span`; returns for how long it really stood still.
    pub fn freeze(&self, span: Duration) -> Result<Duration> {
        self.process.freeze(span)
    }

    /// Ends it and returns what it says of itself.
    pub fn end(mut self) -> Result<Statement> {
        drop(self.process.child().stdin.take());
        let mut text = String::new();
        let stdout = self.process.child().stdout.as_mut().context("the pipe is missing")?;
        stdout.read_to_string(&mut text)?;
        serde_json::from_str(&text).context("the oracle's server stated nothing")
    }
}

/// Runs a server in this process until its standard input ends. Prints the port, padded to five
/// places, and in the end the [`Statement`] as JSON.
pub fn serve(law: &str) -> Result<()> {
    let law = serde_json::from_str(law).context("the law is none")?;
    let mut server = Server::new(law)?;
    println!("{:>5}", server.listener.local_addr()?.port());
    std::io::stdout().flush()?;
    // Kept beyond the thread: a waker that is dropped takes its wake-up with it.
    let stop = Arc::new(Waker::new(server.poll.registry(), STOP)?);
    let waker = stop.clone();
    std::thread::spawn(move || {
        let mut input = Vec::new();
        // However it ends, it has ended.
        let _ = std::io::stdin().read_to_end(&mut input);
        let _ = waker.wake();
    });
    server.run()?;
    drop(stop);
    println!("{}", serde_json::to_string(&server.notes.sum_up())?);
    Ok(())
}

/// An answer that is due, soonest first.
type Due = Reverse<(u64, u64, usize)>;

struct Server {
    poll: Poll,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    open: usize,
    service: Service,
    agenda: BinaryHeap<Due>,
    notes: Notes,
    clock: Instant,
    requests: u64,
}

struct Connection {
    stream: TcpStream,
    /// Bytes of a head that has not ended.
    head: Vec<u8>,
    /// The request that is being served: when it came, and its turn.
    serving: Option<(u64, Turn)>,
}

impl Server {
    fn new(law: Law) -> Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(([127, 0, 0, 1], 0).into())?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            poll,
            listener,
            connections: Vec::new(),
            open: 0,
            service: Service::new(law),
            agenda: BinaryHeap::new(),
            notes: Notes::default(),
            clock: Instant::now(),
            requests: 0,
        })
    }

    fn now(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    fn run(&mut self) -> Result<()> {
        let mut events = Events::with_capacity(1_024);
        let mut looked = self.now();
        loop {
            // With clients it spins; without, it can sleep.
            let wait = (self.open > 0).then_some(Duration::ZERO);
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                Err(_) => continue,
                Ok(()) => {}
            }
            let now = self.now();
            if wait.is_some() {
                self.notes.gap(now - looked);
            }
            looked = now;
            for event in &events {
                match event.token() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    Token(place) => self.read(place),
                }
            }
            self.answer_due();
        }
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nodelay(true)?;
            let free = self.connections.iter().position(Option::is_none);
            let place = free.unwrap_or(self.connections.len());
            self.poll.registry().register(&mut stream, Token(place), Interest::READABLE)?;
            let connection = Some(Connection { stream, head: Vec::new(), serving: None });
            match self.connections.get_mut(place) {
                Some(seat) => *seat = connection,
                None => self.connections.push(connection),
            }
            self.open += 1;
        }
    }

    fn close(&mut self, place: usize) {
        if self.connections[place].take().is_some() {
            self.open -= 1;
        }
    }

    fn read(&mut self, place: usize) {
        let now = self.now();
        let Some(connection) = &mut self.connections[place] else { return };
        match connection.receive() {
            Received::Nothing => {}
            Received::End => self.close(place),
            Received::Request => {
                let turn = self.service.admit(now);
                connection.serving = Some((now, turn));
                self.requests += 1;
                self.agenda.push(Reverse((turn.ends, self.requests, place)));
            }
        }
    }

    fn answer_due(&mut self) {
        while let Some(Reverse((ends, _, place))) = self.agenda.peek().copied() {
            if ends > self.now() {
                return;
            }
            self.agenda.pop();
            self.answer(place, ends);
        }
    }

    fn answer(&mut self, place: usize, ends: u64) {
        let Some(connection) = &mut self.connections[place] else { return };
        // The slot can belong to another connection by now, if the client gave up the first.
        let Some((came, turn)) = connection.serving.take_if(|(_, turn)| turn.ends == ends) else { return };
        let sent = connection.stream.write(ANSWER);
        let written = self.now();
        match sent {
            Ok(count) if count == ANSWER.len() => self.notes.answer(came, turn.begins, ends, written),
            Ok(_) | Err(_) => self.close(place),
        }
    }
}

/// What reading a connection brought.
enum Received {
    /// No whole head.
    Nothing,
    /// A request.
    Request,
    /// The end of the connection, in order or not.
    End,
}

impl Connection {
    fn receive(&mut self) -> Received {
        let mut buffer = [0; 4_096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Received::End,
                Ok(count) if self.head.is_empty() && buffer[..count].ends_with(HEAD_END) => {
                    return Received::Request;
                }
                Ok(count) => {
                    self.head.extend_from_slice(&buffer[..count]);
                    if self.head.ends_with(HEAD_END) {
                        self.head.clear();
                        return Received::Request;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Received::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Received::End,
            }
        }
    }
}
