//! Doors of the server that speak TLS, each with something about it.
//!
//! One authority is made anew for each server; programs that are to trust it get it in `SSL_CERT_FILE`.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::grpc::{Doors, Extras};
use super::{Answer, Journal, Respond, http2};

/// What clients need to know.
pub struct Secure {
    /// PEM of the certificates that are to be trusted.
    pub authority: String,
    /// Names of variables and their values: a URL a door, and a client's certificate with its key.
    pub variables: Vec<(&'static str, String)>,
}

/// An authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    certificate: rcgen::Certificate,
}

/// A certificate and its key.
type Identity = (rcgen::Certificate, KeyPair);

impl Authority {
    fn new(name: &str) -> Result<Self> {
        let (params, key) = (Self::params(name, &[])?, KeyPair::generate()?);
        let certificate = params.self_signed(&key)?;
        Ok(Self { pem: certificate.pem(), issuer: Issuer::new(params, key), certificate })
    }

    fn params(name: &str, hosts: &[&str]) -> Result<CertificateParams> {
        let mut params =
            CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(params)
    }

    /// A server that is its own authority, as on many developers' machines.
    fn own(hosts: &[&str], past: bool) -> Result<Identity> {
        let (mut params, key) = (Self::params("own", hosts)?, KeyPair::generate()?);
        if past {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        Ok((params.self_signed(&key)?, key))
    }

    /// A certificate for `names`; one that is over if `past`.
    fn identity(&self, names: &[&str], past: bool) -> Result<Identity> {
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
        if past {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }
}

/// Opens all doors; what is asked through them goes into the same journal.
pub fn open(journal: &Journal) -> Result<Secure> {
    let (authority, stranger) = (Authority::new("compat")?, Authority::new("nobody knows")?);
    let here = ["127.0.0.1", "localhost"];
    let own = Authority::own(&here, false)?;
    let bundle = format!("{}{}", authority.pem, own.0.pem());
    let all = rustls::ALL_VERSIONS;
    let doors: [(&str, Arc<ServerConfig>); 10] = [
        ("TLS", config(&authority.identity(&here, false)?, all, None)?),
        ("TLS_UNKNOWN", config(&stranger.identity(&here, false)?, all, None)?),
        ("TLS_OTHER", config(&authority.identity(&["elsewhere.test"], false)?, all, None)?),
        ("TLS_PAST", config(&authority.identity(&here, true)?, all, None)?),
        ("TLS_12", config(&authority.identity(&here, false)?, &[&rustls::version::TLS12], None)?),
        ("TLS_OWN", config(&own, all, None)?),
        ("TLS_OWN_UNKNOWN", config(&Authority::own(&here, false)?, all, None)?),
        ("TLS_OWN_OTHER", config(&Authority::own(&["elsewhere.test"], false)?, all, None)?),
        ("TLS_OWN_PAST", config(&Authority::own(&here, true)?, all, None)?),
        ("TLS_CLIENT", config(&authority.identity(&here, false)?, all, Some(&authority))?),
    ];
    let mut variables = Vec::new();
    for (name, config) in doors {
        variables.push((name, door(config, journal)?));
    }
    variables.push(("TLS_NONE", door_without_tls()?));
    let two = config(&authority.identity(&here, false)?, all, None)?;
    variables.push(("TLS_2", http2::door(Arc::unwrap_or_clone(two), journal)?));
    let plain = || -> Result<ServerConfig> {
        Ok(Arc::unwrap_or_clone(config(&authority.identity(&here, false)?, all, None)?))
    };
    let unknown = config(&stranger.identity(&here, false)?, all, None)?;
    let checking = config(&authority.identity(&here, false)?, all, Some(&authority))?;
    let doors = Doors::new(journal)?;
    variables.extend([
        ("GRPC", doors.open(Extras::All, None)?),
        ("GRPC_OLD", doors.open(Extras::Old, None)?),
        ("GRPC_BARE", doors.open(Extras::None, None)?),
        ("GRPC_TLS", doors.open(Extras::All, Some(plain()?))?),
        ("GRPC_UNKNOWN", doors.open(Extras::All, Some(Arc::unwrap_or_clone(unknown)))?),
        ("GRPC_CLIENT", doors.open(Extras::All, Some(Arc::unwrap_or_clone(checking)))?),
        ("GRPC_CA", stranger.pem),
    ]);
    doors.serve();
    let (certificate, key) = authority.identity(&["client"], false)?;
    variables.push(("CLIENT_CERT", certificate.pem()));
    variables.push(("CLIENT_KEY", key.serialize_pem()));
    Ok(Secure { authority: bundle, variables })
}

/// A server that shows `identity`, and wants to see a certificate of `clients` if there are any.
fn config(
    (certificate, key): &Identity,
    versions: &[&'static rustls::SupportedProtocolVersion],
    clients: Option<&Authority>,
) -> Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions)?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.der().clone())?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok(Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key.into())?))
}

/// Opens a port; returns its URL.
fn door(config: Arc<ServerConfig>, journal: &Journal) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on the loopback")?;
    let base = format!("https://{}", listener.local_addr()?);
    let journal = journal.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, journal) = (config.clone(), journal.clone());
            // A session that breaks is what some of the doors are for.
            std::thread::spawn(move || serve(stream, config, &journal, Answer::to).unwrap_or_default());
        }
    });
    Ok(base)
}

/// Opens a port that answers a handshake as a web server without TLS does; returns its URL with `https`.
fn door_without_tls() -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on the loopback")?;
    let base = format!("https://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || -> io::Result<()> {
                let mut hello = [0; 4096];
                if stream.read(&mut hello)? > 0 {
                    stream.write_all(
                        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    )?;
                    stream.shutdown(Shutdown::Write)?;
                }
                io::copy(&mut stream, &mut io::sink()).map(drop)
            });
        }
    });
    Ok(base)
}

/// The first byte of a client that speaks TLS.
pub const HANDSHAKE: u8 = 0x16;

/// A server with a certificate that no client trusts, for clients that do not look at it.
pub fn anyone() -> Result<Arc<ServerConfig>> {
    config(&Authority::own(&["localhost"], false)?, rustls::ALL_VERSIONS, None)
}

/// Answers one session until it ends.
pub fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    journal: &Journal,
    respond: Respond,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(super::IDLE))?;
    let session = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut reader = BufReader::new(Session(StreamOwned::new(session, stream)));
    super::converse(&mut reader, |reader, bytes| reader.get_mut().0.write_all(bytes), journal, respond)
}

/// A session of which an end without a farewell is an end.
struct Session(StreamOwned<ServerConnection, TcpStream>);

impl Read for Session {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }
}
