//! Decides whether a server's certificate is trusted, as most clients decide it: dates first, then
//! the name, then the authority. Certificates of the store are trusted as they are.
//!
//! rustls asks for the authority before the name, and never accepts an authority as a server, not
//! even one that is in the store. Checks no revocation lists.

use std::collections::HashSet;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The certificates that a run trusts.
#[derive(Debug)]
pub struct TrustStore {
    roots: RootCertStore,
    /// The same certificates, byte for byte.
    known: HashSet<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl TrustStore {
    /// A store without certificates, which refuses all servers.
    pub fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { roots: RootCertStore::empty(), known: HashSet::new(), algorithms }
    }

    /// Adds certificates; returns how many of them are usable as authorities.
    pub fn add(&mut self, certificates: Vec<CertificateDer<'static>>) -> usize {
        let (usable, _) = self.roots.add_parsable_certificates(certificates.iter().cloned());
        self.known.extend(certificates);
        usable
    }
}

/// Whether a certificate cannot be a server's because it is an authority's.
fn is_authority(error: &Error) -> bool {
    is_other(error, "CaUsedAsEndEntity")
}

/// Whether rustls refuses a certificate for a reason that it has no name for.
fn is_other(error: &Error, reason: &str) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => format!("{:?}", other.0) == reason,
        _ => false,
    }
}

/// Whether the dates of a certificate are why it is refused.
const fn is_out_of_date(error: &Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        error,
        Error::InvalidCertificate(Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. })
    )
}

impl ServerCertVerifier for TrustStore {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(certificate).map_err(|error| {
            // A certificate of version 1 has no place for names.
            let is_old = is_other(&error, "UnsupportedCertVersion");
            if is_old { CertificateError::NotValidForName.into() } else { error }
        })?;
        let all = self.algorithms.all;
        let signed = verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, all);
        if let Err(error) = &signed
            && is_out_of_date(error)
        {
            return Err(error.clone());
        }
        verify_server_name(&parsed, name)?;
        match signed {
            Err(error) if is_authority(&error) && !self.known.contains(certificate) => {
                Err(CertificateError::UnknownIssuer.into())
            }
            Err(error) if !is_authority(&error) => Err(error),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
