//! Calls to other servers: by HTTP over connections that are kept, mails over one connection each, and names by UDP.
//!
//! Does not know the defects, and does not retry.

use std::env;
use std::error::Error;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Method, Request, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::refusal::Refusal;
use crate::servers::Addresses;

/// Longest wait for an address, and for an answer that a thread waits for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The question for the address of `couriers.test` (RFC 1035).
const QUESTION: &[u8] = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x08couriers\x04test\0\0\x01\0\x01";
/// Most redirects that are followed.
const REDIRECTS: usize = 5;
/// What a new member is sent.
const WELCOME: &str = "Welcome to the shop, which has tea and cups. Here is how you find what you need.\r\n";

/// How the shop asks other servers.
pub struct Calls {
    at: Addresses,
    /// The client that all calls share.
    client: HttpClient,
    /// Connections of threads that wait for answers, which no thread uses now.
    free: Mutex<Vec<TcpStream>>,
    /// The servers end when this does.
    _life: Option<ChildStdin>,
}

/// A client that keeps its connections.
#[derive(Clone)]
pub struct HttpClient {
    at: SocketAddr,
    pool: Client<HttpConnector, Full<Bytes>>,
}

impl Calls {
    /// Starts the servers, and waits until they listen. Blocks this thread: nothing is served yet.
    ///
    /// # Errors
    /// The program cannot be started, or does not listen.
    pub fn start() -> Result<Arc<Self>, Refusal> {
        let mut program = Command::new(env::current_exe()?);
        program.args(["servers", "--apart"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn()?;
        let (life, mut addresses) = (child.stdin.take(), String::new());
        let read = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut addresses));
        // It has started the servers, and ends.
        child.wait()?;
        read.transpose()?;
        let at = Addresses::read(&addresses);
        let at = at.ok_or_else(|| Refusal::Server("the other servers did not start".to_owned()))?;
        Ok(Arc::new(Self::new(at, life)))
    }

    fn new(at: Addresses, life: Option<ChildStdin>) -> Self {
        Self { at, client: HttpClient::new(at.http), free: Mutex::default(), _life: life }
    }

    /// A client that shares no connections with others.
    pub fn new_client(&self) -> HttpClient {
        HttpClient::new(self.at.http)
    }

    /// Asks for the document of a thing.
    ///
    /// # Errors
    /// The server fails; it does not know the thing.
    pub async fn ask(&self, kind: &str, number: u64, takes: Duration) -> Result<Value, Refusal> {
        self.client.ask(kind, number, takes).await
    }

    /// Does as `ask`, and goes where the server says that the thing is now.
    ///
    /// # Errors
    /// The server fails; it does not know the thing, or where it is.
    pub async fn follow(&self, kind: &str, number: u64, takes: Duration) -> Result<Value, Refusal> {
        self.client.follow(target(kind, number, Some(takes))).await
    }

    /// Asks a server that never answers.
    ///
    /// # Errors
    /// The connection fails.
    pub async fn ask_dead(&self, kind: &str, number: u64) -> Result<Value, Refusal> {
        self.client.send(Method::GET, &target(kind, number, None), Bytes::new()).await
    }

    /// Sends something to a server.
    ///
    /// # Errors
    /// The server fails.
    pub async fn tell(
        &self,
        kind: &str,
        number: u64,
        takes: Duration,
        what: &Value,
    ) -> Result<Value, Refusal> {
        let body = Bytes::from(what.to_string());
        self.client.send(Method::POST, &target(kind, number, Some(takes)), body).await
    }

    /// Does as `ask`, or as `tell` if there is something to tell, and keeps this thread until the answer is there.
    ///
    /// # Errors
    /// The server fails; it does not know the thing.
    pub fn wait(
        &self,
        kind: &str,
        number: u64,
        takes: Duration,
        what: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let (method, body) = match what {
            Some(what) => (Method::POST, what.to_string()),
            None => (Method::GET, String::new()),
        };
        let (target, host, length) = (target(kind, number, Some(takes)), self.at.http, body.len());
        let request = format!(
            "{method} {target} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        let mut stream = self.take()?;
        stream.write_all(request.as_bytes())?;
        let (status, body) = read(&mut stream)?;
        self.free().push(stream);
        value(status, &body)
    }

    /// Sends a mail to a member.
    ///
    /// # Errors
    /// The server of mails fails, or refuses it.
    pub async fn send_mail(&self, member: i64) -> Result<(), Refusal> {
        let mail = format!(
            "MAIL FROM:<shop@example.com>\r\nRCPT TO:<member{member}@example.com>\r\nDATA\r\n\
             Subject: Welcome\r\n\r\n{WELCOME}.\r\n"
        );
        let mut server = tokio::io::BufReader::new(tokio::net::TcpStream::connect(self.at.mails).await?);
        server.write_all(mail.as_bytes()).await?;
        let mut reply = String::new();
        server.read_line(&mut reply).await?;
        if reply.starts_with("250") { Ok(()) } else { Err(Refusal::Server(format!("mails: {reply:?}"))) }
    }

    /// Looks up the address of the couriers.
    ///
    /// # Errors
    /// The server of names does not answer.
    pub async fn look_up(&self) -> Result<Ipv4Addr, Refusal> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        socket.connect(self.at.names).await?;
        socket.send(QUESTION).await?;
        let mut answer = [0; 512];
        let length = timeout(PATIENCE, socket.recv(&mut answer)).await.map_err(io::Error::from)??;
        let record = answer.get(QUESTION.len()..length).and_then(<[u8]>::last_chunk::<4>);
        let record = record.ok_or_else(|| Refusal::Server("names: no address".to_owned()))?;
        Ok(Ipv4Addr::from(*record))
    }

    /// A connection that no other thread uses.
    fn take(&self) -> Result<TcpStream, Refusal> {
        let taken = self.free().pop();
        if let Some(stream) = taken {
            return Ok(stream);
        }
        let stream = TcpStream::connect(self.at.http)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    fn free(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpClient {
    fn new(at: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { at, pool: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// Asks for the document of a thing.
    ///
    /// # Errors
    /// The server fails; it does not know the thing.
    pub async fn ask(&self, kind: &str, number: u64, takes: Duration) -> Result<Value, Refusal> {
        self.send(Method::GET, &target(kind, number, Some(takes)), Bytes::new()).await
    }

    async fn follow(&self, mut target: String) -> Result<Value, Refusal> {
        for _ in 0..=REDIRECTS {
            let (status, location, body) = self.exchange(Method::GET, &target, Bytes::new()).await?;
            match location {
                Some(location) => target = location,
                None => return value(status, &body),
            }
        }
        Err(Refusal::Server("too many redirects".to_owned()))
    }

    async fn send(&self, method: Method, target: &str, body: Bytes) -> Result<Value, Refusal> {
        let (status, _, body) = self.exchange(method, target, body).await?;
        value(status, &body)
    }

    /// The status of a response, where the thing is now if the server says that, and the body.
    async fn exchange(
        &self,
        method: Method,
        target: &str,
        body: Bytes,
    ) -> Result<(u16, Option<String>, Bytes), Refusal> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{target}", self.at))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| failed(&error))?;
        let response = self.pool.request(request).await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let location = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        let location = location.map(str::to_owned);
        let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
        Ok((status, location, body))
    }
}

/// The address of a thing. Without a time, there is never an answer.
fn target(kind: &str, number: u64, takes: Option<Duration>) -> String {
    match takes {
        Some(takes) => format!("/{kind}/{number}?ms={}", takes.as_millis()),
        None => format!("/{kind}/{number}"),
    }
}

fn failed(error: &dyn Error) -> Refusal {
    let cause = error.source().map(|cause| format!(": {cause}"));
    Refusal::Server(format!("{error}{}", cause.unwrap_or_default()))
}

/// What a response says.
fn value(status: u16, body: &[u8]) -> Result<Value, Refusal> {
    match status {
        200 => serde_json::from_slice(body).map_err(|error| failed(&error)),
        404 => Err(Refusal::Missing),
        _ => Err(Refusal::Server(format!("status {status}"))),
    }
}

/// Reads a response with a length, and returns its status and body.
fn read(stream: &mut TcpStream) -> io::Result<(u16, Vec<u8>)> {
    let (mut stream, mut line, mut length) = (BufReader::new(stream), String::new(), 0_usize);
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()).unwrap_or_default();
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, text)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = text.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((status, body))
}

#[cfg(test)]
impl Calls {
    /// Calls to servers on a thread of this process, which ends with it.
    pub(crate) fn in_thread() -> Arc<Self> {
        let (sender, addresses) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let servers = crate::servers::Servers::bind().await.unwrap();
                sender.send(servers.addresses().unwrap()).unwrap();
                servers.serve().await.unwrap();
            });
        });
        Arc::new(Self::new(addresses.recv().unwrap(), None))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const TAKES: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn both_clients_get_the_same_answer_after_its_time() {
        let calls = Calls::in_thread();
        for _ in 0..2 {
            let start = Instant::now();
            let asked = calls.ask("exhibits", 7, TAKES).await.unwrap();
            assert_eq!(asked["cents"], 107);
            assert_eq!(calls.wait("exhibits", 7, TAKES, None).unwrap(), asked);
            assert!(start.elapsed() >= TAKES * 2, "{:?}", start.elapsed());
        }
        // The second call used the connection of the first one.
        assert_eq!(calls.free().len(), 1);
    }

    #[tokio::test]
    async fn what_a_server_does_not_know_is_missing() {
        let calls = Calls::in_thread();
        assert!(matches!(calls.ask("opinions", 20, TAKES).await, Err(Refusal::Missing)));
        assert!(matches!(calls.wait("opinions", 20, TAKES, None), Err(Refusal::Missing)));
        assert!(timeout(TAKES * 5, calls.ask_dead("ratings", 1)).await.is_err());
    }

    #[tokio::test]
    async fn a_server_gets_what_it_is_sent() {
        let (calls, what) = (Calls::in_thread(), serde_json::json!(["tea", "cups"]));
        assert_eq!(calls.tell("parts", 1, TAKES, &what).await.unwrap()["taken"], 14);
        assert_eq!(calls.wait("parts", 1, TAKES, Some(&what)).unwrap()["taken"], 14);
        calls.send_mail(7).await.unwrap();
        assert_eq!(calls.look_up().await.unwrap(), Ipv4Addr::new(10, 0, 0, 7));
    }
}
