//! TLS of the target: a certificate of its own, made at the start.
//!
//! The key never leaves the process. Nobody but those who are given the file trusts it.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Names and addresses that the certificate is for.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// Makes a certificate and writes it to `file`, for callers to trust.
///
/// # Errors
/// The file cannot be written.
pub fn acceptor(file: &Path) -> Result<TlsAcceptor, String> {
    let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned).to_vec())
        .map_err(|error| error.to_string())?;
    write(file, &made.cert.pem()).map_err(|error| format!("{}: {error}", file.display()))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let chain: Vec<CertificateDer<'static>> = vec![made.cert.der().clone()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| error.to_string())?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Writes beside it and renames: whoever looks sees a whole certificate.
fn write(file: &Path, pem: &str) -> std::io::Result<()> {
    let beside = file.with_extension(format!("new-{}", std::process::id()));
    std::fs::write(&beside, pem)?;
    std::fs::rename(&beside, file)
}
