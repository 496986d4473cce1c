//! Decides whether a server is trusted: every one, one with a trusted authority, or only one with the right name too.
//!
//! libpq has these three degrees, and rustls only the last one. Checks no revocation lists.

use std::collections::HashSet;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The certificate of the client with its chain, and its key.
pub(super) type Own = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The configuration of sessions. Without `authorities`, every server is trusted.
pub(super) fn client_config(
    authorities: Option<Vec<CertificateDer<'static>>>,
    checks_name: bool,
    own: Option<Own>,
) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier {
        trusted: authorities.map(Trusted::new),
        checks_name,
        algorithms: provider.signature_verification_algorithms,
    };
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    match own {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key),
        None => Ok(builder.with_no_client_auth()),
    }
}

/// Certificates that are trusted.
#[derive(Debug)]
struct Trusted {
    roots: RootCertStore,
    /// The same certificates, byte for byte: a server can have one of them as its own.
    known: HashSet<CertificateDer<'static>>,
}

impl Trusted {
    fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        Self { roots, known: certificates.into_iter().collect() }
    }
}

/// Verifies servers.
#[derive(Debug)]
struct Verifier {
    /// `None` trusts every server. Then the signatures of the handshake are not checked either: they prove nothing
    /// about a server that anyone can pretend to be, and rustls cannot read certificates of version 1 for that, which
    /// the commands of PostgreSQL's manual make.
    trusted: Option<Trusted>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

/// Whether a certificate is refused because it is an authority's.
fn is_authority(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            format!("{:?}", other.0) == "CaUsedAsEndEntity"
        }
        _ => false,
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        let all = self.algorithms.all;
        let signed =
            verify_server_cert_signed_by_trust_anchor(&parsed, &trusted.roots, intermediates, now, all);
        match signed {
            // A server that signed its certificate itself, and whose certificate is in the file.
            Err(error) if is_authority(&error) && trusted.known.contains(certificate) => {}
            Err(error) if is_authority(&error) => return Err(CertificateError::UnknownIssuer.into()),
            signed => signed?,
        }
        if self.checks_name {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.trusted.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.trusted.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    /// What the verifier says of a server with this certificate, on a day in 2027.
    fn verified(
        server: &CertificateDer<'static>,
        trusted: &CertificateDer<'static>,
        name: &str,
    ) -> Result<(), Error> {
        let verifier = Verifier {
            trusted: Some(Trusted::new(vec![trusted.clone()])),
            checks_name: true,
            algorithms: rustls::crypto::ring::default_provider().signature_verification_algorithms,
        };
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
        verifier.verify_server_cert(server, &[], &name, &[], now).map(|_| ())
    }

    /// A certificate for the host `db`, signed by itself and marked as an authority's, as `openssl req -x509` makes them.
    fn signed_by_itself(until: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["db".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_certificate_that_signed_itself_is_trusted_if_the_file_has_it_and_it_is_valid_for_the_host() {
        let (own, other, old) = (signed_by_itself(2099), signed_by_itself(2099), signed_by_itself(2020));
        assert_eq!(verified(&own, &own, "db"), Ok(()));
        assert_eq!(
            verified(&own, &other, "db"),
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        );
        let wrong = verified(&own, &own, "cache").unwrap_err();
        assert!(
            matches!(wrong, Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })),
            "{wrong:?}"
        );
        let expired = verified(&old, &old, "db").unwrap_err();
        assert!(
            matches!(expired, Error::InvalidCertificate(CertificateError::ExpiredContext { .. })),
            "{expired:?}"
        );
    }
}
