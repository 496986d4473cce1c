//! TLS: PostgreSQL, Redis and pages with certificates of an authority of the test's own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use knee_core::observation::SourceState;
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::postgres::Sql;
use crate::redis::run;
use crate::world::{Beside, World, last};

/// An authority, with a folder for its PEM files. Its own certificate is `ca.pem`.
pub struct Authority {
    pub folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority for tests");
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key) }
    }

    /// The path of a file in its folder.
    pub fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A certificate for a host name and its key, which are also in the files `HOST.pem` and `HOST.key`.
    pub fn issue(&self, host: &str) -> (Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, host);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.folder.path().join(format!("{host}.pem")), certificate.pem()).unwrap();
        fs::write(self.folder.path().join(format!("{host}.key")), key.serialize_pem()).unwrap();
        (certificate, key)
    }
}

/// Why a target is refused.
pub fn refusal(target: &str) -> String {
    let seen = Beside::start(&[target]).stop();
    let SourceState::Refused { reason } = &seen.sources[0].state else {
        panic!("{target}: {:?}", seen.sources)
    };
    reason.clone()
}

/// Waits until a server does what it was asked to do.
pub fn wait(what: &str, done: impl Fn() -> bool) {
    let waited = (0..250).any(|_| {
        thread::sleep(Duration::from_millis(20));
        done()
    });
    assert!(waited, "never: {what}");
}

/// Writes a file into the data folder of a server of PostgreSQL, as its user and for that user only.
fn save(service: &Sql, name: &str, text: &str) {
    let lines = format!("SELECT unnest(string_to_array('{}', E'\\n'))", text.replace('\r', ""));
    service.ask(&format!("COPY ({lines}) TO PROGRAM 'umask 077; cat > {name}'"));
}

/// Lets a server of PostgreSQL speak TLS as this host.
fn encrypt(url: &str, service: &Sql, (certificate, key): &(Certificate, KeyPair)) {
    save(service, "server.crt", &certificate.pem());
    save(service, "server.key", &key.serialize_pem());
    service.ask("ALTER SYSTEM SET ssl = on");
    service.ask("SELECT pg_reload_conf()");
    wait("a server with TLS", || Sql::connect(url).ask("SHOW ssl") == "on");
}

/// Whether the newest session of an observer is encrypted: `t` or `f`.
fn is_encrypted(service: &Sql) -> String {
    service.ask(
        "SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a ON a.pid = s.pid \
         WHERE a.application_name = 'knee-observe' ORDER BY a.backend_start DESC LIMIT 1",
    )
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_database_is_read_over_tls_if_its_certificate_is_trusted_and_refused_with_the_reason_if_not() {
    let (authority, other) = (Authority::new(), Authority::new());
    let world = World::up("[postgres.db]\n");
    let url = world.store().url;
    let none = refusal(&format!("{url}?sslmode=require"));
    assert!(none.starts_with("it does not speak TLS: "), "{none}");
    let service = Sql::connect(&url);
    encrypt(&url, &service, &authority.issue("localhost"));
    let (ca, wrong) = (authority.file("ca.pem"), other.file("ca.pem"));
    let by_name = url.replace("@127.0.0.1:", "@localhost:");
    for (target, encrypted) in [
        (url.clone(), "t"),
        (format!("{url}?sslmode=disable"), "f"),
        (format!("{url}?sslmode=require"), "t"),
        (format!("{url}?sslmode=verify-ca&sslrootcert={ca}"), "t"),
        (format!("{by_name}?sslmode=verify-full&sslrootcert={ca}"), "t"),
    ] {
        let mut beside = Beside::start(&[&target]);
        beside.until("a reading", |seen| last(seen, "connections.max", "").is_some());
        assert_eq!(is_encrypted(&service), encrypted, "{target}");
    }
    for (parameters, part) in [
        (format!("sslmode=verify-ca&sslrootcert={wrong}"), "as sslrootcert"),
        (format!("sslmode=require&sslrootcert={wrong}"), "as sslrootcert"),
        ("sslmode=verify-full".to_owned(), "as sslrootcert"),
        (format!("sslmode=verify-full&sslrootcert={ca}"), "is for localhost and not for 127.0.0.1"),
        ("sslmode=verify-ca&sslrootcert=/none".to_owned(), "sslrootcert: cannot read /none: "),
    ] {
        let reason = refusal(&format!("{url}?{parameters}"));
        assert!(reason.contains(part), "{parameters}: {reason}");
    }
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_database_that_accepts_only_tls_is_read_without_a_word_about_it_and_says_why_it_is_refused() {
    let world = World::up("[postgres.db]\n");
    let url = world.store().url;
    let service = Sql::connect(&url);
    encrypt(&url, &service, &Authority::new().issue("127.0.0.1"));
    save(&service, "pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256");
    service.ask("SELECT pg_reload_conf()");
    wait("a server with TLS only", || Sql::try_connect(&url).is_err());
    let plain = refusal(&format!("{url}?sslmode=disable"));
    assert!(plain.contains("if it accepts only TLS, write sslmode=require"), "{plain}");
    let mut beside = Beside::start(&[&url]);
    beside.until("a reading", |seen| last(seen, "connections.max", "").is_some());
    assert_eq!(is_encrypted(&service), "t");
    drop(beside);
    // And one that accepts only sessions without it, although it speaks it.
    save(&service, "pg_hba.conf", "local all all trust\nhostnossl all all 127.0.0.1/32 scram-sha-256");
    service.ask("SELECT pg_reload_conf()");
    wait("a server without TLS only", || Sql::try_connect(&url).is_ok());
    let mut beside = Beside::start(&[&url]);
    beside.until("a reading", |seen| last(seen, "connections.max", "").is_some());
    assert_eq!(is_encrypted(&service), "f");
    drop(beside);
    // And one that speaks no TLS and accepts no session at all: TLS would not help.
    save(&service, "pg_hba.conf", "local all all trust");
    service.ask("ALTER SYSTEM SET ssl = off");
    service.ask("SELECT pg_reload_conf()");
    wait("a server that accepts nothing", || Sql::try_connect(&url).is_err());
    let none = refusal(&url);
    assert!(none.contains("pg_hba.conf") && !none.contains("TLS"), "{none}");
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_cache_is_read_over_tls_by_a_user_with_few_rights_and_refused_with_the_reason_if_not_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    authority.issue("127.0.0.1");
    authority.issue("client");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (ca, wrong) = (authority.file("ca.pem"), other.file("ca.pem"));
    let world = World::up(&format!(
        "[redis.cache.settings]\ntls-port = {port}\ntls-cert-file = {:?}\ntls-key-file = {:?}\n\
         tls-ca-cert-file = {ca:?}\ntls-auth-clients = \"no\"\n",
        authority.file("127.0.0.1.pem"),
        authority.file("127.0.0.1.key"),
    ));
    let plain = world.store().url;
    run(&plain, &["ACL", "SETUSER", "watcher", "on", ">hunter2", "+info", "+ping", "+select"]);
    let at = format!("watcher:hunter2@127.0.0.1:{port}/1");
    for parameters in [format!("sslrootcert={ca}"), "sslmode=require".to_owned()] {
        let mut beside = Beside::start(&[&format!("rediss://{at}?{parameters}")]);
        let seen = beside.until("a reading", |seen| last(seen, "redis.clients", "").is_some());
        assert!(seen.sources[0].version.is_some() && seen.sources[0].name.starts_with("rediss://127.0.0.1:"));
        assert!(seen.sources[0].without.len() == 2, "{:?}", seen.sources);
    }
    run(&plain, &["CONFIG", "SET", "tls-auth-clients", "yes"]);
    let own = format!("sslcert={}&sslkey={}", authority.file("client.pem"), authority.file("client.key"));
    let mut beside = Beside::start(&[&format!("rediss://{at}?sslrootcert={ca}&{own}")]);
    beside.until("a reading", |seen| last(seen, "redis.clients", "").is_some());
    for (target, part) in [
        (format!("rediss://{at}"), "as sslrootcert"),
        (format!("rediss://{at}?sslrootcert={wrong}"), "as sslrootcert"),
        (format!("rediss://{at}?sslrootcert={ca}"), "sslcert"),
        (format!("rediss://{at}?sslrootcert={ca}&{own}").replace("hunter2", "hunter3"), "WRONGPASS"),
        (format!("redis://{at}"), "write rediss://"),
        (plain.replacen("redis://", "rediss://", 1), "write redis://"),
    ] {
        let reason = refusal(&target);
        assert!(reason.contains(part) && !reason.contains("hunter"), "{target}: {reason}");
    }
}

/// A server with a page of metrics over TLS; without a configuration, one that does not speak TLS. Returns the port.
fn serve(tls: Option<Arc<ServerConfig>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let socket: TcpStream = socket.unwrap();
            match &tls {
                Some(tls) => {
                    let session = ServerConnection::new(tls.clone()).unwrap();
                    answer(StreamOwned::new(session, socket));
                }
                None => refuse(socket),
            }
        }
    });
    port
}

/// Reads a request and answers it. A client that does not trust the server ends the connection.
fn answer(stream: impl Read + Write) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 2) {
        line.clear();
    }
    let page = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nup 1\n";
    let _ = stream.get_mut().write_all(page.as_bytes());
    let _ = stream.get_mut().flush();
}

/// Answers what is no request, as servers of HTTP do.
fn refuse(mut socket: TcpStream) {
    let _ = socket.read_exact(&mut [0; 5]);
    let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn a_page_is_fetched_over_https_if_its_certificate_is_trusted_and_refused_with_the_reason_if_not() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.issue("127.0.0.1");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let (secure, plain) = (serve(Some(Arc::new(config))), serve(None));
    let (ca, wrong) = (authority.file("ca.pem"), other.file("ca.pem"));
    for parameters in [format!("sslrootcert={ca}"), "sslmode=require".to_owned()] {
        let target = format!("prometheus:https://127.0.0.1:{secure}/metrics#{parameters}");
        let mut beside = Beside::start(&[&target]);
        let seen = beside.until("a reading", |seen| last(seen, "prometheus.up", "") == Some(1.0));
        assert_eq!(seen.sources[0].name, format!("https://127.0.0.1:{secure}/metrics"));
    }
    for (target, part) in [
        (format!("prometheus:https://127.0.0.1:{secure}/metrics"), "as sslrootcert"),
        (format!("nginx:https://127.0.0.1:{secure}/#sslrootcert={wrong}"), "as sslrootcert"),
        (format!("prometheus:https://localhost:{secure}/metrics#sslrootcert={ca}"), "not for localhost"),
        (format!("prometheus:https://127.0.0.1:{plain}/metrics#sslrootcert={ca}"), "write http://"),
    ] {
        let reason = refusal(&target);
        assert!(reason.contains(part), "{target}: {reason}");
    }
}
