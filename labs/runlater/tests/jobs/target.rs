//! The target stub: its responses, its call log, TLS and signatures.

use std::sync::Arc;

use reqwest::{Client, RequestBuilder};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{Response, fail, send, spawn};
use testbed::{Listening, wait};

const ONE: &str = "018f0000-0000-7000-8000-000000000001";
const OTHER: &str = "018f0000-0000-7000-8000-000000000002";

/// A stub without a delay, with these flags.
struct Stub {
    url: String,
    client: Client,
    /// Killed when dropped.
    _process: Listening,
}

impl Stub {
    fn start(flags: &[&str]) -> Self {
        let fixed = ["target", "--listen", "127.0.0.1:0", "--delay", "0ms", "--log-level", "error"];
        let process = spawn(&[&fixed[..], flags].concat());
        Self { url: process.url.clone(), client: Client::new(), _process: process }
    }

    fn request(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    async fn get(&self, path: &str) -> Response {
        send(self.request(path)).await
    }

    /// A call for an execution.
    async fn call(&self, path: &str, execution: &str) -> Response {
        send(self.request(path).header("x-runlater-execution-id", execution)).await
    }

    async fn counts(&self) -> Value {
        self.get("/counts").await.json()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_counted_per_execution_with_repetitions() {
    let stub = Stub::start(&[]);
    for execution in [ONE, OTHER, ONE] {
        assert_eq!(stub.call("/any/path", execution).await.body, "ok");
    }
    stub.get("/without/an/execution").await;
    assert_eq!(stub.get(&format!("/seen/{ONE}")).await.json()["calls"], 2);
    assert_eq!(stub.get(&format!("/seen/{OTHER}")).await.json()["calls"], 1);
    assert_eq!(stub.get("/seen/018f0000-0000-7000-8000-000000000003").await.status, 404);
    assert_eq!(stub.get("/seen/three").await.status, 400);
    let counts = stub.counts().await;
    let of = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((of("calls"), of("executions"), of("repeated"), of("open")), (4, 2, 1, 0));
    assert_eq!(counts["lag"]["n"], 3, "ids of version 7 tell when they were made: {counts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_an_execution_returns_when_it_is_called() {
    let stub = Stub::start(&[]);
    let seen = format!("/seen/{ONE}?wait=60s");
    let waiting = stub.get(&seen);
    let calling = async {
        // The wait can start before the call or after it: both must work.
        stub.call("/", ONE).await;
    };
    let (answer, ()) = tokio::join!(waiting, calling);
    assert_eq!((answer.status, answer.json()["calls"].as_u64()), (200, Some(1)));
    assert_eq!(stub.get(&format!("/seen/{OTHER}?wait=1ms")).await.status, 404);
    assert_eq!(stub.get(&format!("/seen/{OTHER}?wait=soon")).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_long_delay_is_answered_after_one_without() {
    let stub = Stub::start(&["--delay", "600s"]);
    let slow = tokio::spawn(send(stub.request("/")));
    wait("it is called", async || stub.counts().await["open"] == 1).await;
    let quick = stub.get("/?delay=0ms").await;
    assert_eq!((quick.status, slow.is_finished()), (200, false));
    let counts = stub.counts().await;
    assert_eq!((counts["open"].as_u64(), counts["open_max"].as_u64()), (Some(1), Some(2)));
    slow.abort();
    wait("it went away", async || stub.counts().await["open"] == 0).await;
    assert_eq!(stub.counts().await["answered"], 1, "who went away was not answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_has_the_requested_status_and_body() {
    let stub = Stub::start(&["--status", "202", "--body", "done", "--retry-after", "7"]);
    let usual = stub.get("/").await;
    assert_eq!((usual.status, usual.body.as_str()), (202, "done"));
    assert!(!usual.headers.contains_key("retry-after"), "only those who are to come back are told when");
    let busy = stub.get("/?status=429").await;
    assert_eq!((busy.status, busy.headers["retry-after"].to_str().unwrap()), (429, "7"));
    let own = stub.get("/?status=503&retry_after=Wed,%2021%20Oct%202015%2007:28:00%20GMT").await;
    assert_eq!(own.headers["retry-after"], "Wed, 21 Oct 2015 07:28:00 GMT");
    for query in ["status=nine", "delay=-1s", "status=1000"] {
        assert_eq!(stub.get(&format!("/?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_of_the_calls_gets_an_error_chosen_by_the_seed() {
    let mut found = Vec::new();
    for seed in ["1", "1", "2"] {
        let stub = Stub::start(&["--error-rate", "0.25", "--error-status", "418", "--seed", seed]);
        let mut statuses = Vec::new();
        for _ in 0..200 {
            statuses.push(stub.get("/").await.status);
        }
        let errors = statuses.iter().filter(|status| **status == 418).count();
        assert!((25..=75).contains(&errors), "seed {seed}: {errors} of 200 at a rate of 0.25");
        assert_eq!(stub.counts().await["errors"], errors);
        assert_eq!(stub.get("/?status=200").await.status, 200);
        found.push(statuses);
    }
    assert_eq!(found[0], found[1], "the same seed");
    assert_ne!(found[0], found[2], "another seed");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_with_a_bad_signature_are_refused_and_counted() {
    let stub = Stub::start(&["--secret", "Jefe"]);
    // RFC 4231, test case 2.
    let body = "what do ya want for nothing?";
    let right = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    let call = |signature: &str, body: &'static str| {
        send(stub.client.post(&stub.url).header("x-runlater-signature", signature).body(body))
    };
    assert_eq!(call(right, body).await.status, 200);
    assert_eq!(call(right, "something else").await.status, 401);
    assert_eq!(call("sha256=00", body).await.status, 401);
    assert_eq!(stub.get("/").await.status, 401, "no signature");
    let counts = stub.counts().await;
    assert_eq!((counts["calls"].as_u64(), counts["refused"].as_u64()), (Some(4), Some(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_port_serves_tls_to_clients_that_trust_the_file_and_plain_http_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("certificate.pem");
    let stub = Stub::start(&["--tls", file.to_str().unwrap()]);
    assert_eq!(stub.get("/plain").await.status, 200);
    let mut trusted = rustls::RootCertStore::empty();
    trusted.add(CertificateDer::from_pem_file(&file).unwrap()).unwrap();
    assert!(runlater::target::is_own_certificate(&file), "serve knows it as that of a stub");
    let answer = over_tls(&stub, trusted).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok"), "{answer}");
    let error = over_tls(&stub, rustls::RootCertStore::empty()).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let counts = stub.counts().await;
    assert_eq!((counts["calls"].as_u64(), counts["handshakes"].as_u64()), (Some(2), Some(1)));
}

/// One request over TLS, to its end.
async fn over_tls(stub: &Stub, trusted: rustls::RootCertStore) -> std::io::Result<String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let stream = TcpStream::connect(stub.url.strip_prefix("http://").unwrap()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    stream.write_all(b"GET /tls HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut answer = Vec::new();
    // A close without a TLS close_notify is an error; the data before it counts.
    let _ = stream.read_to_end(&mut answer).await;
    Ok(String::from_utf8(answer).unwrap())
}

#[test]
fn startup_errors_come_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = fail(&["target", "--listen", &taken.local_addr().unwrap().to_string()]);
    assert!(error.contains("error: cannot listen on") && error.contains("hint: "), "{error}");
    let error = fail(&["target", "--listen", "127.0.0.1:0", "--tls", "/missing/folder/certificate.pem"]);
    assert!(error.contains("error: no certificate for TLS: /missing/folder"), "{error}");
    assert!(fail(&["target", "--error-rate", "2"]).contains("a share from 0 to 1"));
}
