//! TLS sessions without I/O: bytes of records in, bytes of records out.
//!
//! rustls does the cryptography; this module moves bytes between its unbuffered interface and a
//! connection. [`trust`] decides which servers are trusted, except with `insecure`.

use std::sync::Arc;

use knee_core::outcome::Fault;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

use super::failure::{Failure, TlsProblem};
use super::peer::NegotiatedTls;
use super::settings::{HttpVersion, TlsSettings, TlsVersion};
use trust::TrustStore;

mod trust;

/// Why TLS cannot be set up, found before the run.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM text of authorities without a readable certificate.
    #[error("the file of certificate authorities contains no certificate")]
    NoAuthority,
    /// An unusable client certificate or key.
    #[error("the client certificate cannot be used: {0}")]
    Client(String),
    /// rustls refused the settings.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// The configuration shared by all sessions of a run, which offer these versions of HTTP.
pub fn configure(settings: &TlsSettings, version: HttpVersion) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(provider(settings));
    let known = [(TlsVersion::V1_3, &rustls::version::TLS13), (TlsVersion::V1_2, &rustls::version::TLS12)];
    let spoken = known.iter().filter(|(version, _)| (settings.oldest..=settings.newest).contains(version));
    let spoken: Vec<_> = spoken.map(|(_, version)| *version).collect();
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&spoken)?;
    let verifier: Arc<dyn ServerCertVerifier> = if settings.insecure {
        Arc::new(AcceptAnything { provider })
    } else {
        Arc::new(trusted(settings, &provider)?)
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let unusable = |error: rustls::pki_types::pem::Error| TlsError::Client(error.to_string());
            let chain = certificates(chain).map_err(unusable)?;
            let key = PrivateKeyDer::from_pem_slice(key).map_err(unusable)?;
            builder.with_client_auth_cert(chain, key).map_err(|error| TlsError::Client(error.to_string()))?
        }
    };
    let offered: &[&[u8]] = match version {
        HttpVersion::One => &[HTTP1],
        HttpVersion::Two => &[HTTP2],
        HttpVersion::Negotiated => &[HTTP2, HTTP1],
    };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// The same configuration for what HTTP/2 cannot carry.
pub fn for_http1(config: &Arc<ClientConfig>) -> Arc<ClientConfig> {
    if *config.alpn_protocols == [HTTP1] {
        return config.clone();
    }
    let mut config = (**config).clone();
    config.alpn_protocols = vec![HTTP1.to_vec()];
    // A session with HTTP/2 would be resumed with its protocol.
    config.resumption = Resumption::default();
    Arc::new(config)
}

/// The same configuration for connections that speak only HTTP/2.
pub fn for_http2(config: &Arc<ClientConfig>) -> Arc<ClientConfig> {
    if *config.alpn_protocols == [HTTP2] {
        return config.clone();
    }
    let mut config = (**config).clone();
    config.alpn_protocols = vec![HTTP2.to_vec()];
    // A session with HTTP/1.1 would be resumed with its protocol.
    config.resumption = Resumption::default();
    Arc::new(config)
}

/// The cryptography of rustls, with the allowed cipher suites.
fn provider(settings: &TlsSettings) -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    if !settings.suites.is_empty() {
        let named = |suite: rustls::CipherSuite| {
            suite.as_str().is_some_and(|name| settings.suites.iter().any(|known| known == name))
        };
        provider.cipher_suites.retain(|one| one.tls13().is_some() || named(one.suite()));
    }
    provider
}

fn trusted(settings: &TlsSettings, provider: &CryptoProvider) -> Result<TrustStore, TlsError> {
    let mut store = TrustStore::new(provider.signature_verification_algorithms);
    // A system without a store, or with entries that rustls cannot read, fails at the handshake.
    store.add(rustls_native_certs::load_native_certs().certs);
    for pem in &settings.authorities {
        let found = certificates(pem).map_err(|_| TlsError::NoAuthority)?;
        if store.add(found) == 0 {
            return Err(TlsError::NoAuthority);
        }
    }
    Ok(store)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

/// Verifies the signatures of the handshake but no certificate, for `--insecure`.
#[derive(Debug)]
struct AcceptAnything {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AcceptAnything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// One session.
pub struct Session {
    connection: UnbufferedClientConnection,
    /// Received bytes of an incomplete record.
    incoming: Vec<u8>,
    /// Records to write; the bytes before `written` are done.
    outgoing: Vec<u8>,
    written: usize,
    peer_closed: bool,
}

/// State of a session after all received records were processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// In the handshake; more records are needed.
    Handshaking,
    /// Requests can be sent.
    Open,
    /// The peer closed the stream properly.
    Closed,
}

impl Session {
    /// A session with the host `name`; its first records are pending.
    pub fn new(config: Arc<ClientConfig>, name: &str) -> Result<Self, Failure> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|error| Failure::new(Fault::TlsHandshake, format!("{name}: {error}")))?;
        let connection = UnbufferedClientConnection::new(config, name).map_err(failure_of)?;
        let mut session =
            Self { connection, incoming: Vec::new(), outgoing: Vec::new(), written: 0, peer_closed: false };
        session.process(&mut [], &mut |_| Ok(()))?;
        Ok(session)
    }

    /// Version and cipher suite of the session.
    pub fn negotiated(&self) -> NegotiatedTls {
        let suite = self.connection.negotiated_cipher_suite().map(|suite| suite.suite());
        NegotiatedTls::new(self.connection.protocol_version(), suite)
    }

    /// The application protocol that the server chose, if it chose one.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// Whether the peer closed the stream properly.
    pub const fn is_closed(&self) -> bool {
        self.peer_closed
    }

    /// Bytes to write.
    pub fn pending(&self) -> &[u8] {
        &self.outgoing[self.written..]
    }

    /// Marks the first `count` pending bytes as written.
    pub fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written == self.outgoing.len() {
            self.outgoing.clear();
            self.written = 0;
        }
    }

    /// Processes received bytes; passes decrypted data to `deliver`, whose fault ends the processing.
    pub fn receive(
        &mut self,
        bytes: &mut [u8],
        deliver: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<SessionState, Failure> {
        if self.incoming.is_empty() {
            let (used, session_state) = self.process(bytes, deliver)?;
            self.incoming.extend_from_slice(&bytes[used..]);
            return Ok(session_state);
        }
        let mut incoming = std::mem::take(&mut self.incoming);
        incoming.extend_from_slice(bytes);
        let (used, session_state) = self.process(&mut incoming, deliver)?;
        incoming.drain(..used);
        self.incoming = incoming;
        Ok(session_state)
    }

    /// Encrypts a request; its records are then pending.
    pub fn encrypt(&mut self, plain: &[u8]) -> Result<(), Failure> {
        let status = self.connection.process_tls_records(&mut []);
        let ConnectionState::WriteTraffic(mut traffic) = status.state.map_err(failure_of)? else {
            return Err(Failure::new(Fault::TlsBroken, "the TLS session is not ready to send"));
        };
        let start = self.outgoing.len();
        // Records hold 16 KiB and carry fewer than 64 bytes of overhead each.
        let mut room = plain.len() + 64 * (plain.len() / 16_384 + 1);
        loop {
            self.outgoing.resize(start + room, 0);
            match traffic.encrypt(plain, &mut self.outgoing[start..]) {
                Ok(length) => {
                    self.outgoing.truncate(start + length);
                    return Ok(());
                }
                Err(EncryptError::InsufficientSize(need)) => room = need.required_size,
                Err(error) => return Err(Failure::new(Fault::TlsBroken, error)),
            }
        }
    }

    /// Lets rustls process `incoming` until it needs more; returns how many bytes it used.
    fn process(
        &mut self,
        incoming: &mut [u8],
        deliver: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(usize, SessionState), Failure> {
        let mut used = 0;
        loop {
            let status = self.connection.process_tls_records(&mut incoming[used..]);
            let discard = status.discard;
            let session_state = match status.state.map_err(failure_of)? {
                ConnectionState::EncodeTlsData(mut data) => {
                    encode(&mut self.outgoing, |out| data.encode(out))?;
                    None
                }
                ConnectionState::TransmitTlsData(data) => {
                    // The bytes are pending; they are written before anything else.
                    data.done();
                    None
                }
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        deliver(record.map_err(failure_of)?.payload)?;
                    }
                    None
                }
                ConnectionState::BlockedHandshake => Some(SessionState::Handshaking),
                ConnectionState::WriteTraffic(_) => Some(SessionState::Open),
                ConnectionState::PeerClosed => {
                    self.peer_closed = true;
                    None
                }
                _ => Some(SessionState::Closed),
            };
            used += discard;
            if let Some(session_state) = session_state {
                return Ok((used, if self.peer_closed { SessionState::Closed } else { session_state }));
            }
        }
    }
}

/// Appends what `encode` writes to `out`, which grows as needed.
fn encode(
    out: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), Failure> {
    let start = out.len();
    let mut room = 1_024;
    loop {
        out.resize(start + room, 0);
        match encode(&mut out[start..]) {
            Ok(length) => {
                out.truncate(start + length);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(need)) => room = need.required_size,
            Err(error) => return Err(Failure::new(Fault::TlsHandshake, error)),
        }
    }
}

fn failure_of(error: rustls::Error) -> Failure {
    let fault = match &error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            Fault::TlsCertificate
        }
        rustls::Error::DecryptError | rustls::Error::PeerSentOversizedRecord => Fault::TlsBroken,
        _ => Fault::TlsHandshake,
    };
    Failure { tls: tls_problem(&error), ..Failure::new(fault, error) }
}

fn tls_problem(error: &rustls::Error) -> Option<TlsProblem> {
    use rustls::{CertificateError as Certificate, InvalidMessage as Message};
    match error {
        rustls::Error::AlertReceived(alert) => Some(TlsProblem::Alert(u8::from(*alert))),
        rustls::Error::InvalidMessage(Message::InvalidContentType | Message::UnknownProtocolVersion) => {
            Some(TlsProblem::NotTls)
        }
        rustls::Error::InvalidCertificate(why) => match why {
            Certificate::UnknownIssuer => Some(TlsProblem::UnknownIssuer),
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                Some(TlsProblem::OtherName)
            }
            Certificate::Expired
            | Certificate::ExpiredContext { .. }
            | Certificate::NotValidYet
            | Certificate::NotValidYetContext { .. } => Some(TlsProblem::OutOfDate),
            _ => None,
        },
        _ => None,
    }
}
