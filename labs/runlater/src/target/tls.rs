//! TLS for the target, with a self-signed certificate created at the start.
//!
//! The key never leaves the process; only clients that load the certificate file trust it.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::CERTIFICATE_MARK;

/// Names and addresses in the certificate.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// Creates a certificate and writes it to `file`, for clients to trust.
///
/// # Errors
/// The file cannot be written.
pub fn acceptor(file: &Path) -> Result<TlsAcceptor, String> {
    let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned).to_vec())
        .map_err(|error| error.to_string())?;
    let pem = format!("{CERTIFICATE_MARK}{}", made.cert.pem());
    write(file, &pem).map_err(|error| format!("{}: {error}", file.display()))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let chain: Vec<CertificateDer<'static>> = vec![made.cert.der().clone()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| error.to_string())?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Writes a temporary file and renames it, so that readers never see a partial certificate.
fn write(file: &Path, pem: &str) -> std::io::Result<()> {
    let beside = file.with_extension(format!("new-{}", std::process::id()));
    std::fs::write(&beside, pem)?;
    std::fs::rename(&beside, file)
}
