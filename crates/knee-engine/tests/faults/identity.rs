//! Certificates for these tests, and how a server can start a new connection.
//!
//! Neither reads nor writes files; nothing is valid outside these tests.

use std::io::{self, Read, Write};
use std::sync::{Arc, OnceLock};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};

use crate::behaviour::response;
use crate::server::Link;

/// What the server does with a connection before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing.
    Plain,
    /// Resets it.
    Reset,
    /// Sends a response before any request.
    Early,
    /// Does a TLS handshake with this certificate.
    Tls(Certificate),
    /// The same with TLS 1.2.
    OlderTls,
    /// The same and requests a client certificate.
    Mutual,
    /// Sends a response with the handshake, before any request.
    Hasty,
    /// Reads the first TLS record and never responds.
    Stall,
    /// Responds in plain HTTP, like a server without TLS.
    PlainResponse,
    /// Responds with another protocol.
    OtherProtocol,
    /// Responds with this fatal alert (RFC 8446, section 6).
    Alert(u8),
    /// Selects TLS 1.0.
    AncientVersion,
    /// Selects a cipher suite that no client offers any more.
    AncientCipher,
    /// Responds with a record that is longer than any can be.
    LongRecord,
    /// Ends within a record.
    CutRecord,
    /// Ends after its first message.
    EndAfterHello,
    /// Sends an alert that is not encrypted after its first message.
    AlertAfterHello,
    /// Sends nothing after its first message.
    StallAfterHello,
    /// Does a TLS handshake for HTTP/2 and for nothing else.
    Http2Only,
    /// The same for HTTP/2 or HTTP/1.1, as the server prefers. With HTTP/2 it sends its settings with the handshake, as
    /// nginx does.
    Http2First,
    /// The same for HTTP/1.1 and for nothing else.
    Http1Only,
    /// Closes in the middle of the handshake.
    Close,
    /// Resets in the middle of the handshake.
    ResetInHandshake,
}

/// A server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Valid for 127.0.0.1, `::1` and localhost.
    Good,
    /// Valid until 2001.
    Expired,
    /// Valid from the year 2900 on.
    Future,
    /// For another host.
    OtherHost,
    /// Signed by an authority that no client trusts.
    OtherAuthority,
    /// Signed by itself.
    SelfSigned,
    /// An authority that is a server as well; the same in all tests.
    Own,
}

/// PEM of the authority of the good certificates.
pub fn authority() -> Vec<u8> {
    pki().authority.as_bytes().to_vec()
}

/// PEM of the authority that is a server as well.
pub fn own() -> Vec<u8> {
    own_identity().0.pem().into_bytes()
}

fn own_identity() -> &'static (rcgen::Certificate, KeyPair) {
    static OWN: OnceLock<(rcgen::Certificate, KeyPair)> = OnceLock::new();
    OWN.get_or_init(|| {
        let (mut params, key) = (params("own"), KeyPair::generate().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.self_signed(&key).unwrap(), key)
    })
}

/// PEM of a good certificate of a server and its key.
pub fn server() -> (Vec<u8>, Vec<u8>) {
    issued("good")
}

/// PEM of a client's certificate and its key.
pub fn client() -> (Vec<u8>, Vec<u8>) {
    issued("test-client")
}

fn issued(name: &str) -> (Vec<u8>, Vec<u8>) {
    let (certificate, key) = pki().issue(name, |_| {});
    (certificate.pem().into_bytes(), key.serialize_pem().into_bytes())
}

/// The authority of all tests, made once.
struct Pki {
    authority: String,
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

fn pki() -> &'static Pki {
    static PKI: OnceLock<Pki> = OnceLock::new();
    PKI.get_or_init(Pki::new)
}

impl Pki {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority for tests");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            authority: certificate.pem(),
            root: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    fn issue(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (rcgen::Certificate, KeyPair) {
        let mut params = params(name);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

fn params(name: &str) -> CertificateParams {
    let names = ["127.0.0.1", "::1", "localhost"].map(str::to_owned);
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Certificate {
    fn make(self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        if self == Self::Own {
            let (certificate, key) = own_identity();
            return (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap());
        }
        let (certificate, key) = match self {
            Self::Good => pki().issue("good", |_| {}),
            Self::Expired => pki().issue("expired", |params| {
                params.not_before = date_time_ymd(2000, 1, 1);
                params.not_after = date_time_ymd(2001, 1, 1);
            }),
            Self::Future => pki().issue("future", |params| {
                params.not_before = date_time_ymd(2900, 1, 1);
                params.not_after = date_time_ymd(2901, 1, 1);
            }),
            Self::OtherAuthority => Pki::new().issue("unknown", |_| {}),
            Self::OtherHost => pki().issue("other", |params| {
                *params = CertificateParams::new(["other.example".to_owned()]).unwrap();
            }),
            Self::SelfSigned | Self::Own => {
                let key = KeyPair::generate().unwrap();
                (params("self").self_signed(&key).unwrap(), key)
            }
        };
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    }
}

fn configure(
    certificate: Certificate,
    versions: &[&'static SupportedProtocolVersion],
    mutual: bool,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(versions).unwrap();
    let builder = if mutual {
        let mut roots = RootCertStore::empty();
        roots.add(pki().root.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let (chain, key) = certificate.make();
    Arc::new(builder.with_single_cert(vec![chain], key).unwrap())
}

impl Greeting {
    /// Greets the client; `None` if the connection is over after that.
    pub fn open(self, mut link: Link) -> io::Result<Option<Link>> {
        match self {
            Self::Plain => return Ok(Some(link)),
            Self::Reset => link.reset()?,
            Self::Early => {
                link.write_all(&response(200, "", b"not asked for"))?;
                return Ok(Some(link));
            }
            Self::Tls(certificate) => {
                return secure(link, configure(certificate, rustls::ALL_VERSIONS, false));
            }
            Self::OlderTls => {
                return secure(link, configure(Certificate::Good, &[&rustls::version::TLS12], false));
            }
            Self::Mutual => return secure(link, configure(Certificate::Good, rustls::ALL_VERSIONS, true)),
            Self::Hasty => return hasty(link),
            Self::Stall => while first_record(&mut link)? > 0 {},
            Self::PlainResponse => {
                answer_first(&mut link, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
            }
            Self::OtherProtocol => answer_first(&mut link, b"220 mail.example ESMTP ready\r\n")?,
            Self::Alert(number) => answer_first(&mut link, &alert(number))?,
            Self::AncientVersion => answer_first(&mut link, &hello(0x01, 0x2f))?,
            Self::AncientCipher => {
                // TLS 1.2 with RC4 and MD5.
                answer_first(&mut link, &hello(0x03, 0x04))?;
            }
            Self::LongRecord => {
                first_record(&mut link)?;
                link.write_all(&[0x16, 0x03, 0x03, 0xff, 0xff])?;
                link.write_all(&[0; 4_096])?;
                first_record(&mut link)?;
            }
            Self::CutRecord => {
                first_record(&mut link)?;
                link.write_all(&[0x16, 0x03, 0x03, 0x00, 0x50, 0x02, 0x00])?;
            }
            Self::EndAfterHello => {
                first_message(&mut link)?;
            }
            Self::AlertAfterHello => {
                first_message(&mut link)?;
                link.write_all(&alert(80))?;
                first_record(&mut link)?;
            }
            Self::StallAfterHello => {
                first_message(&mut link)?;
                while first_record(&mut link)? > 0 {}
            }
            Self::Http2Only => return secure(link, with_protocols(&["h2"])),
            Self::Http1Only => return secure(link, with_protocols(&["http/1.1"])),
            Self::Http2First => return http2_first(link),
            Self::Close => {
                first_record(&mut link)?;
            }
            Self::ResetInHandshake => {
                first_record(&mut link)?;
                link.reset()?;
            }
        }
        Ok(None)
    }
}

/// Sends `bytes` after the first record of the client, and reads what it says to that.
fn answer_first(link: &mut Link, bytes: &[u8]) -> io::Result<()> {
    first_record(link)?;
    link.write_all(bytes)?;
    first_record(link).map(drop)
}

/// Sends data before the client has finished the handshake, as TLS 1.3 allows.
fn hasty(link: Link) -> io::Result<Option<Link>> {
    let Link::Plain(mut stream) = link else { panic!("TLS is spoken over TCP here") };
    let mut config = (*configure(Certificate::Good, rustls::ALL_VERSIONS, false)).clone();
    config.send_half_rtt_data = true;
    let mut connection = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
    connection.read_tls(&mut stream)?;
    connection.process_new_packets().map_err(io::Error::other)?;
    connection.writer().write_all(&response(200, "", b"not asked for"))?;
    let mut flight = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut flight)?;
    }
    stream.write_all(&flight)?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(None)
}

/// Greets a client that chose HTTP/2 with the settings of the server.
fn http2_first(link: Link) -> io::Result<Option<Link>> {
    let Link::Plain(mut stream) = link else { panic!("TLS is spoken over TCP here") };
    let mut config = (*with_protocols(&["h2", "http/1.1"])).clone();
    config.send_half_rtt_data = true;
    let mut connection = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
    connection.read_tls(&mut stream)?;
    connection.process_new_packets().map_err(io::Error::other)?;
    if connection.alpn_protocol() == Some(b"h2") {
        connection.writer().write_all(b"\0\0\0\x04\0\0\0\0\0")?;
    }
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(Some(Link::Tls(Box::new(StreamOwned::new(connection, stream)))))
}

fn first_record(link: &mut Link) -> io::Result<usize> {
    link.read(&mut [0; 16_384])
}

/// A fatal alert.
const fn alert(number: u8) -> [u8; 7] {
    [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, number]
}

/// Receives the client's first message and responds with the first record of a real handshake.
fn first_message(link: &mut Link) -> io::Result<()> {
    let config = configure(Certificate::Good, rustls::ALL_VERSIONS, false);
    let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
    connection.read_tls(link)?;
    connection.process_new_packets().map_err(io::Error::other)?;
    let mut flight = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut flight)?;
    }
    let length = 5 + usize::from(u16::from_be_bytes([flight[3], flight[4]]));
    link.write_all(&flight[..length])
}

fn with_protocols(protocols: &[&str]) -> Arc<ServerConfig> {
    let mut config = (*configure(Certificate::Good, rustls::ALL_VERSIONS, false)).clone();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A `ServerHello` with this minor version, 1 for TLS 1.0, that picks a cipher suite without forward secrecy.
fn hello(minor: u8, suite: u8) -> Vec<u8> {
    let mut hello = vec![0x03, minor];
    hello.extend([7; 32]);
    hello.extend([0x00, 0x00, suite, 0x00]);
    let length = hello.len() as u8;
    [&[0x16, 0x03, minor, 0x00, length + 4, 0x02, 0x00, 0x00, length][..], &hello].concat()
}

fn secure(link: Link, config: Arc<ServerConfig>) -> io::Result<Option<Link>> {
    let Link::Plain(mut stream) = link else { panic!("TLS is spoken over TCP here") };
    let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut stream) {
            // Sends the alert, if the client still reads.
            let _ = connection.write_tls(&mut stream);
            // Closing with unread bytes would reset the connection and could overtake the alert.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = io::copy(&mut stream, &mut io::sink());
            return Err(error);
        }
    }
    Ok(Some(Link::Tls(Box::new(StreamOwned::new(connection, stream)))))
}
