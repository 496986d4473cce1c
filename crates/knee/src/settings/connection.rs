//! How connections are made: time limits, addresses, TLS files.
//!
//! Does not connect. Checks only the form of certificates. The engine checks whether a key fits its certificate when
//! it sets up TLS, also before any load.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use knee_core::unit::Nanos;
use knee_engine::http::settings::{
    AddressFamily, ConnectTo, EventSettings, HttpVersion, Settings, TlsSettings,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::file::read_file;
use super::number::{size, span_above_zero, whole};
use super::proxy;
use crate::args::{ConnectionFlags, RequestFlags};
use crate::problem::{Problem, reason};

/// Most redirects that can be followed; browsers stop at 20.
const REDIRECTS_MAX: u64 = 100;

/// Resolves the flags.
///
/// # Errors
///
/// When a value is out of range, flags contradict each other, or a file has the wrong content.
pub fn settings(flags: &ConnectionFlags, request: &RequestFlags) -> Result<Settings, Problem> {
    let defaults = Settings::default();
    let connect_timeout = match &flags.connect_timeout {
        Some(text) => span_above_zero("--connect-timeout", text)?,
        None => defaults.connect_timeout,
    };
    let version = version(flags)?;
    let proxy = flags.proxy.as_deref().map(|text| proxy::explicit(text, version)).transpose()?;
    Ok(Settings {
        connect_timeout,
        request_timeout: request_timeout(request)?,
        keep_alive: !flags.disable_keepalive,
        family: family(flags),
        unix_socket: flags.unix_socket.as_deref().map(socket).transpose()?,
        connect_to: flags.connect_to.iter().map(|text| connect_to(text)).collect::<Result<_, _>>()?,
        redirects: redirects(request)?,
        decode: !request.disable_compression && !request.stream,
        events: request.stream.then(|| events(request)),
        decoded_max: request
            .decoded_max
            .as_deref()
            .map_or(Ok(defaults.decoded_max), |text| size("--decoded-max", text))?,
        tls: tls(flags)?,
        version,
        proxy: proxy.map(Arc::new),
        ..defaults
    })
}

fn events(flags: &RequestFlags) -> EventSettings {
    EventSettings { until: flags.until.as_deref().map(|text| text.as_bytes().into()) }
}

fn request_timeout(flags: &RequestFlags) -> Result<Option<Nanos>, Problem> {
    flags.timeout.as_deref().map(|text| span_above_zero("-t", text)).transpose()
}

fn redirects(flags: &RequestFlags) -> Result<u32, Problem> {
    let redirects = flags.redirects.as_deref().map_or(Ok(0), |text| whole("-r", text, 0..=REDIRECTS_MAX))?;
    Ok(redirects as u32)
}

fn version(flags: &ConnectionFlags) -> Result<HttpVersion, Problem> {
    match flags.http_version.as_deref() {
        None if flags.http2 => Ok(HttpVersion::Two),
        None | Some("1.1") => Ok(HttpVersion::One),
        Some("2") => Ok(HttpVersion::Two),
        Some(other) => Err(Problem::new(
            format!("`--http-version {other}`: there is no such version here"),
            "give 1.1 or 2",
        )),
    }
}

const fn family(flags: &ConnectionFlags) -> AddressFamily {
    match (flags.ipv4, flags.ipv6) {
        (true, _) => AddressFamily::V4,
        (_, true) => AddressFamily::V6,
        _ => AddressFamily::Any,
    }
}

/// A Unix socket that exists.
fn socket(path: &Path) -> Result<PathBuf, Problem> {
    use std::os::unix::fs::FileTypeExt;
    let shown = path.display();
    let kind = std::fs::metadata(path).map_err(|error| {
        Problem::new(
            format!("`{shown}` cannot be used, for `--unix-socket`: {}", reason(&error)),
            "check the path, or start the server",
        )
    })?;
    if !kind.file_type().is_socket() {
        return Err(Problem::new(
            format!("`{shown}` is not a socket, for `--unix-socket`"),
            "give the path that the server listens on",
        ));
    }
    Ok(path.to_owned())
}

/// Reads `HOST:PORT:HOST:PORT`, where a host with colons stands in brackets.
fn connect_to(text: &str) -> Result<ConnectTo, Problem> {
    let parts = || {
        let (from_host, rest) = host_part(text)?;
        let (from_port, rest) = rest.strip_prefix(':')?.split_once(':')?;
        let (to_host, rest) = host_part(rest)?;
        let to_port = rest.strip_prefix(':')?;
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        Some(ConnectTo {
            from: (from_host.to_ascii_lowercase(), port(from_port)?),
            to: (to_host.to_ascii_lowercase(), port(to_port)?),
        })
    };
    parts().ok_or_else(|| {
        Problem::new(
            format!("`--connect-to {text}` must be two hosts with ports"),
            "write it as HOST:PORT:HOST:PORT, as in `example.com:443:127.0.0.1:8443`; put IPv6 in brackets",
        )
    })
}

/// The host at the start of `text`, without its brackets, and what follows it.
fn host_part(text: &str) -> Option<(&str, &str)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.split_at(text.find(':')?),
    };
    (!host.is_empty()).then_some((host, rest))
}

fn tls(flags: &ConnectionFlags) -> Result<TlsSettings, Problem> {
    let authorities = flags.cacert.iter().map(|path| authority(path)).collect::<Result<_, _>>()?;
    let client = match (&flags.cert, &flags.key) {
        (Some(cert), Some(key)) => Some((certificate(cert)?, private_key(key)?)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(Problem::new(
                "`--cert` needs `--key`",
                "give the certificate's private key with `--key`",
            ));
        }
        (None, Some(_)) => {
            return Err(Problem::new("`--key` needs `--cert`", "give the key's certificate with `--cert`"));
        }
    };
    Ok(TlsSettings { authorities, client, insecure: flags.insecure, ..TlsSettings::default() })
}

/// PEM of certificates that can be trusted as authorities.
fn authority(path: &Path) -> Result<Vec<u8>, Problem> {
    let pem = read_file("--cacert", path)?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in certificates("--cacert", path, &pem)? {
        roots.add(certificate).map_err(|error| {
            Problem::new(
                format!(
                    "`{}` has a certificate that cannot be read, for `--cacert`: {error}",
                    path.display()
                ),
                "give a file with certificates in PEM form",
            )
        })?;
    }
    Ok(pem)
}

/// PEM of a client's certificate chain.
fn certificate(path: &Path) -> Result<Vec<u8>, Problem> {
    let pem = read_file("--cert", path)?;
    certificates("--cert", path, &pem)?;
    Ok(pem)
}

/// The certificates in `pem`; one at least.
fn certificates(flag: &str, path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(Problem::new(
            format!("`{}` has no certificate, for `{flag}`", path.display()),
            "give a file in PEM form: it has a line `-----BEGIN CERTIFICATE-----`",
        )),
    }
}

fn private_key(path: &Path) -> Result<Vec<u8>, Problem> {
    let pem = read_file("--key", path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        Problem::new(
            format!("`{}` has no private key, for `--key`", path.display()),
            "give a file in PEM form, not encrypted: it has a line `-----BEGIN PRIVATE KEY-----`",
        )
    })?;
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_to_takes_names_and_bracketed_addresses() {
        let pair = |host: &str, port| (host.to_owned(), port);
        assert_eq!(
            connect_to("Example.com:443:[::1]:8443"),
            Ok(ConnectTo { from: pair("example.com", 443), to: pair("::1", 8443) })
        );
        for text in [
            "",
            "a",
            "a:1",
            "a:1:b",
            "a:1:b:0",
            "a:0:b:1",
            ":1:b:1",
            "a:1:b:99999",
            "[::1:1:b:1",
            "a:1:b:1:c",
        ] {
            assert!(connect_to(text).is_err(), "{text}");
        }
    }
}
