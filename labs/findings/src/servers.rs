//! The other servers that the shop asks: partners, a bank, a museum and more by HTTP, one that takes mails, and one that
//! knows names. They listen on loopback, in a process of their own.
//!
//! Knows no defect and nothing of the shop. A call says how long its answer takes, so that the times are beside their
//! defects.

use std::fmt;
use std::future::pending;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{env, thread};

use axum::extract::{Path, Query};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// A free port of loopback.
const FREE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// How long the server of mails takes for one, and that of names for an address.
const MAIL: Duration = Duration::from_millis(120);
const NAME: Duration = Duration::from_millis(50);
/// What is appended to a question about a name: the record of an address, 10.0.0.7, that is valid for a minute.
const RECORD: [u8; 16] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 7];
/// Which products have no opinions: every tenth.
const UNKNOWN: u64 = 10;
/// The keys by which tokens are signed, and characters of each.
const KEYS: [u64; 2] = [7, 11];
const KEY: usize = 342;

/// Where the servers listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// All that speak HTTP.
    pub http: SocketAddr,
    /// The one that takes mails.
    pub mails: SocketAddr,
    /// The one that knows names.
    pub names: SocketAddr,
}

impl fmt::Display for Addresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} {}", self.http, self.mails, self.names)
    }
}

impl Addresses {
    /// Reads them from the line that they print.
    pub fn read(line: &str) -> Option<Self> {
        let mut all = line.split_whitespace().map(|one| one.parse::<SocketAddr>().ok());
        Some(Self { http: all.next()??, mails: all.next()??, names: all.next()?? })
    }
}

/// The servers before they serve.
pub struct Servers {
    http: TcpListener,
    mails: TcpListener,
    names: UdpSocket,
}

impl Servers {
    /// Takes free ports.
    ///
    /// # Errors
    /// There are none.
    pub async fn bind() -> io::Result<Self> {
        let (http, mails) = (TcpListener::bind(FREE).await?, TcpListener::bind(FREE).await?);
        Ok(Self { http, mails, names: UdpSocket::bind(FREE).await? })
    }

    /// Where they listen.
    ///
    /// # Errors
    /// The system does not say.
    pub fn addresses(&self) -> io::Result<Addresses> {
        let (http, mails) = (self.http.local_addr()?, self.mails.local_addr()?);
        Ok(Addresses { http, mails, names: self.names.local_addr()? })
    }

    /// Serves without end.
    ///
    /// # Errors
    /// A port fails.
    pub async fn serve(self) -> io::Result<()> {
        let http = self.http.tap_io(|tcp| {
            let _ = tcp.set_nodelay(true);
        });
        let routes = Router::new().route("/{kind}/{number}", any(answer));
        let serving = axum::serve(http, routes).into_future();
        tokio::try_join!(serving, take_mails(self.mails), look_up(self.names)).map(drop)
    }
}

/// Serves until standard input ends, which it does when the shop ends, however that does.
///
/// # Errors
/// A port or the first line fails.
pub async fn run() -> io::Result<()> {
    let servers = Servers::bind().await?;
    writeln!(io::stdout(), "{}", servers.addresses()?)?;
    let (ended, is_ended) = oneshot::channel();
    thread::Builder::new().name("end".to_owned()).spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    })?;
    tokio::select! {
        served = servers.serve() => served,
        _ = is_ended => Ok(()),
    }
}

/// Starts the servers with the input and output of this process, which ends after that: so that they are no descendants
/// of the shop, as servers elsewhere would be none.
///
/// # Errors
/// The program cannot be started.
#[allow(clippy::zombie_processes, reason = "this process ends at once; the system waits for its child")]
pub fn start_apart() -> io::Result<()> {
    let _servers = Command::new(env::current_exe()?).arg("servers").spawn()?;
    Ok(())
}

#[derive(Deserialize)]
struct Asked {
    /// How long the answer takes. A server that is dead never answers.
    ms: Option<u64>,
}

/// Answers after a time. Reads the body, so that the connection can be kept.
async fn answer(
    Path((kind, number)): Path<(String, u64)>,
    Query(asked): Query<Asked>,
    body: Bytes,
) -> Response {
    let Some(ms) = asked.ms else { return pending().await };
    sleep(Duration::from_millis(ms)).await;
    if let Some(name) = renamed(&kind) {
        let location = [(header::LOCATION, format!("/{name}/{number}?ms={ms}"))];
        return (StatusCode::PERMANENT_REDIRECT, location).into_response();
    }
    if !body.is_empty() {
        return Json(json!({"taken": body.len()})).into_response();
    }
    match document(&kind, number) {
        Some(document) => Json(document).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The name that a kind of things got after this one.
fn renamed(kind: &str) -> Option<&'static str> {
    match kind {
        "sellers" => Some("dealers"),
        "dealers" => Some("vendors"),
        _ => None,
    }
}

/// What is known of a thing: some fields, and as many entries as there are of it.
fn document(kind: &str, number: u64) -> Option<Value> {
    if kind == "opinions" && number.is_multiple_of(UNKNOWN) {
        return None;
    }
    let entries: Vec<Value> = (0..2 + number % 9).map(|place| entry(kind, number, place)).collect();
    Some(match kind {
        // The same document each time.
        "keys" => json!({"keys": KEYS.map(key)}),
        "rates" => json!({"eur": 1, "usd": 1.1, "entries": entries}),
        "tariffs" => json!({"letter": 95, "parcel": 549, "entries": entries}),
        "opinions" | "ratings" => json!({"of": number, "stars": 4, "entries": entries}),
        "insurances" => json!({"of": number, "cents": 120, "entries": entries}),
        "couriers" => json!({"of": number, "cents": 590, "entries": entries}),
        "exhibits" => json!({"of": number, "cents": 100 + number, "entries": entries}),
        _ => json!({"of": number, "says": "fine", "entries": entries}),
    })
}

fn entry(kind: &str, number: u64, place: u64) -> Value {
    let mark = number.wrapping_mul(31).wrapping_add(place * 7919) % 1_000_003;
    json!({"id": mark, "name": format!("{kind} {number}, part {place}"), "note": "as of this morning"})
}

/// A key as in a JSON Web Key Set (RFC 7517).
fn key(number: u64) -> Value {
    let mut random = fastrand::Rng::with_seed(number);
    let modulus: String = (0..KEY).map(|_| random.alphanumeric()).collect();
    json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": number.to_string(), "n": modulus, "e": "AQAB"})
}

async fn take_mails(mails: TcpListener) -> io::Result<()> {
    loop {
        let (connection, _) = mails.accept().await?;
        tokio::spawn(async move {
            // A mail whose sender went away is dropped.
            let _ = take_mail(connection).await;
        });
    }
}

/// Takes one mail, which ends with a line that is a dot (RFC 5321), and says so after a time.
async fn take_mail(connection: TcpStream) -> io::Result<()> {
    let (mut connection, mut line) = (BufReader::new(connection), String::new());
    while line != ".\r\n" {
        line.clear();
        if connection.read_line(&mut line).await? == 0 {
            return Ok(());
        }
    }
    sleep(MAIL).await;
    connection.write_all(b"250 queued\r\n").await
}

/// Answers each question about a name with the same address (RFC 1035).
async fn look_up(names: UdpSocket) -> io::Result<()> {
    let (names, mut question) = (Arc::new(names), [0_u8; 512]);
    loop {
        let (length, from) = names.recv_from(&mut question).await?;
        let mut answer = question.get(..length).unwrap_or_default().to_vec();
        // It is an answer, and has one record.
        for (place, byte) in [(2_usize, 0x85), (7, 1)] {
            if let Some(old) = answer.get_mut(place) {
                *old = byte;
            }
        }
        answer.extend(RECORD);
        let names = Arc::clone(&names);
        tokio::spawn(async move {
            sleep(NAME).await;
            // One that is lost is asked for again.
            let _ = names.send_to(&answer, from).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let [http, mails, names] = [1, 2, 3].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let addresses = Addresses { http, mails, names };
        assert_eq!(Addresses::read(&format!("{addresses}\n")), Some(addresses));
        assert_eq!(Addresses::read("127.0.0.1:1 127.0.0.1:2"), None);
    }

    #[test]
    fn documents_depend_on_what_was_asked_and_keys_do_not() {
        assert_eq!(document("keys", 1), document("keys", 2));
        assert_ne!(document("ratings", 1), document("ratings", 2));
        assert_eq!(document("opinions", 20), None);
        let length = |number| document("ratings", number).map(|document| document.to_string().len());
        assert!(length(8) > length(9), "{:?}, {:?}", length(8), length(9));
    }
}
