//! TLS of observed sources: its parameters in addresses, and the files that they name.
//!
//! Parameters have the names and meanings of libpq: `sslmode`, `sslrootcert`, `sslcert`, `sslkey`. They are in the
//! query of an address; those of a page are behind its `#`, because the query belongs to the page. [`verifier`] decides
//! which servers of PostgreSQL and Redis are trusted. Opens no connection, and reads no file before it is needed.

use std::fs;
use std::path::{Path, PathBuf};

use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use url::Url;

use crate::text::{decoded, harmless};

mod trouble;
mod verifier;

pub(crate) use trouble::explained;

/// How much TLS a session must have, as `sslmode` of libpq says it. The mode `allow` is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server speaks it.
    Prefer,
    /// TLS with any server; with a file of authorities, the same as `VerifyCa`.
    Require,
    /// TLS with a server that a trusted authority signed.
    VerifyCa,
    /// TLS with a server that a trusted authority signed for this host name.
    VerifyFull,
}

impl Mode {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            other => Err(format!("there is no sslmode `{}`", harmless(other))),
        }
    }
}

/// What an address says about TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    mode: Option<Mode>,
    /// PEM file of the only authorities that are trusted; without it, those of this machine are.
    authorities: Option<PathBuf>,
    /// PEM files of the client's certificate and of its key.
    own: Option<(PathBuf, PathBuf)>,
}

/// The client's certificate and key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The key as PEM.
    pub(crate) key_pem: Vec<u8>,
}

/// The address of a database without the parameters of TLS, and these.
pub(crate) fn of_database(url: &Url) -> Result<(Url, Settings), String> {
    let (settings, rest) = split(url.query().unwrap_or_default())?;
    let mut bare = url.clone();
    bare.set_query((!rest.is_empty()).then_some(rest.as_str()));
    Ok((bare, settings))
}

/// The same of a cache, whose scheme says whether it speaks TLS. Without a mode, its server is verified.
pub(crate) fn of_cache(url: &Url) -> Result<(Url, Settings), String> {
    let (bare, settings) = of_database(url)?;
    let settings = settings.by_scheme(url.scheme() == "rediss", "redis://", "rediss://")?;
    Ok((bare, settings))
}

/// The same of a page. The client that fetches it cannot leave out only the name.
pub(crate) fn of_page(url: &Url) -> Result<(Url, Settings), String> {
    let (settings, _) = split(url.fragment().unwrap_or_default())?;
    let settings = settings.by_scheme(url.scheme() == "https", "http://", "https://")?;
    if settings.mode == Some(Mode::VerifyCa) {
        return Err("a page can have sslmode=require or sslmode=verify-full".to_owned());
    }
    if settings.trusts_all() && settings.authorities.is_some() {
        return Err("sslmode=require trusts every page: leave out one of sslmode and sslrootcert".to_owned());
    }
    let mut bare = url.clone();
    bare.set_fragment(None);
    Ok((bare, settings))
}

/// The parameters of TLS in `NAME=VALUE&NAME=VALUE`, and the others as they are.
fn split(text: &str) -> Result<(Settings, String), String> {
    let mut settings = Settings::default();
    let (mut certificate, mut key, mut is_system) = (None, None, false);
    let mut rest = Vec::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let value = decoded(value);
        match name {
            "sslmode" => settings.mode = Some(Mode::parse(&value)?),
            "sslrootcert" if value == "system" => is_system = true,
            "sslrootcert" => settings.authorities = Some(file(name, &value)?),
            "sslcert" => certificate = Some(file(name, &value)?),
            "sslkey" => key = Some(file(name, &value)?),
            _ => rest.push(part),
        }
    }
    settings.own = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err("sslcert and sslkey are needed together".to_owned()),
    };
    if is_system && settings.mode.is_some_and(|mode| mode != Mode::VerifyFull) {
        return Err("sslrootcert=system needs sslmode=verify-full".to_owned());
    }
    if is_system {
        settings.mode = Some(Mode::VerifyFull);
    }
    Ok((settings, rest.join("&")))
}

fn file(name: &str, value: &str) -> Result<PathBuf, String> {
    if value.is_empty() { Err(format!("{name} names no file")) } else { Ok(PathBuf::from(value)) }
}

impl Settings {
    /// The mode; as in libpq, `prefer` if the address has none.
    pub(crate) fn mode(&self) -> Mode {
        self.mode.unwrap_or(Mode::Prefer)
    }

    /// Whether the mode trusts every server.
    pub(crate) fn trusts_all(&self) -> bool {
        matches!(self.mode(), Mode::Disable | Mode::Prefer | Mode::Require)
    }

    /// The settings where the scheme says whether there is TLS: none without it, and with it a mode that needs it.
    fn by_scheme(self, has_tls: bool, plain: &str, secure: &str) -> Result<Self, String> {
        if !has_tls {
            let is_none = self == Self::default();
            return if is_none { Ok(self) } else { Err(format!("{plain} is without TLS: write {secure}")) };
        }
        match self.mode {
            None => Ok(Self { mode: Some(Mode::VerifyFull), ..self }),
            Some(Mode::Disable | Mode::Prefer) => Err(format!("{secure} is with TLS: write {plain}")),
            Some(_) => Ok(self),
        }
    }

    /// The configuration of sessions: reads the files that are needed.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, String> {
        // With a file, libpq verifies in every mode.
        let verifies = !self.trusts_all() || self.authorities.is_some();
        let authorities = if verifies { Some(self.authorities()?) } else { None };
        let own = self.identity()?.map(|own| (own.chain, own.key));
        let config = verifier::client_config(authorities, self.mode() == Mode::VerifyFull, own);
        config.map_err(|error| format!("TLS cannot be set up: {error}"))
    }

    /// The authorities that are trusted.
    pub(crate) fn authorities(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        match &self.authorities {
            Some(path) => certificates("sslrootcert", path),
            // A machine without a store, or with entries that cannot be read, trusts fewer.
            None => Ok(rustls_native_certs::load_native_certs().certs),
        }
    }

    /// The client's certificate and key, if the address names them.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, String> {
        let Some((certificate, key)) = &self.own else { return Ok(None) };
        let chain = certificates("sslcert", certificate)?;
        let key_pem = read("sslkey", key)?;
        let unusable = "has no private key in PEM format, or one with a password";
        let key = PrivateKeyDer::from_pem_slice(&key_pem)
            .map_err(|_| format!("sslkey: {} {unusable}", key.display()))?;
        let provider = rustls::crypto::ring::default_provider();
        CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider)
            .map_err(|error| format!("sslcert and sslkey cannot be used together: {error}"))?;
        Ok(Some(Identity { chain, key, key_pem }))
    }
}

fn certificates(name: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = read(name, path)?;
    let found: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.unwrap_or_default();
    if found.is_empty() {
        return Err(format!("{name}: {} has no certificate in PEM format", path.display()));
    }
    Ok(found)
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{name}: cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_database_has_the_parameters_of_libpq_and_keeps_its_others_as_they_are() {
        let given =
            url("postgres://u@db/x?options=-c%20a%3Db+c&sslmode=verify-ca&sslrootcert=/ca%20dir/ca.pem&a=b");
        let (bare, settings) = of_database(&given).unwrap();
        assert_eq!(bare.as_str(), "postgres://u@db/x?options=-c%20a%3Db+c&a=b");
        assert_eq!(settings.mode(), Mode::VerifyCa);
        assert_eq!(settings.authorities, Some(PathBuf::from("/ca dir/ca.pem")));
        let (bare, settings) = of_database(&url("postgres://db/x?sslmode=require")).unwrap();
        assert_eq!((bare.as_str(), settings.mode()), ("postgres://db/x", Mode::Require));
        let (bare, settings) = of_database(&url("postgres://db/x")).unwrap();
        assert_eq!((bare.as_str(), settings.mode()), ("postgres://db/x", Mode::Prefer));
        let (_, settings) = of_database(&url("postgres://db/x?sslrootcert=system")).unwrap();
        assert_eq!((settings.mode(), settings.authorities), (Mode::VerifyFull, None));
    }

    #[test]
    fn a_cache_and_a_page_are_verified_unless_they_say_otherwise() {
        assert_eq!(of_cache(&url("rediss://db")).unwrap().1.mode(), Mode::VerifyFull);
        assert!(of_cache(&url("rediss://db?sslmode=require")).unwrap().1.trusts_all());
        let (bare, settings) = of_page(&url("https://app/metrics?a=b#sslrootcert=/ca.pem")).unwrap();
        assert_eq!((bare.as_str(), settings.mode()), ("https://app/metrics?a=b", Mode::VerifyFull));
        assert_eq!(of_page(&url("http://app/metrics#top")).unwrap().1, Settings::default());
    }

    #[test]
    fn parameters_that_cannot_be_meant_are_refused() {
        for text in ["sslmode=allow", "sslmode=", "sslrootcert=", "sslcert=/c", "sslkey=/k"] {
            assert!(of_database(&url(&format!("postgres://db/x?{text}"))).is_err(), "{text}");
        }
        assert!(of_database(&url("postgres://db/x?sslrootcert=system&sslmode=require")).is_err());
        let refused = of_cache(&url("redis://db?sslmode=require")).unwrap_err();
        assert_eq!(refused, "redis:// is without TLS: write rediss://");
        assert!(of_cache(&url("rediss://db?sslmode=prefer")).is_err());
        assert!(of_page(&url("http://app/#sslrootcert=/ca.pem")).is_err());
        assert!(of_page(&url("https://app/#sslmode=verify-ca")).is_err());
        assert!(of_page(&url("https://app/#sslmode=require&sslrootcert=/ca.pem")).is_err());
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let settings = Settings { authorities: Some(path.clone()), ..Settings::default() };
        let missing = settings.client_config().unwrap_err();
        assert!(missing.starts_with("sslrootcert: cannot read ") && missing.contains("ca.pem"), "{missing}");
        fs::write(&path, "not PEM").unwrap();
        let empty = settings.client_config().unwrap_err();
        assert!(empty.ends_with("ca.pem has no certificate in PEM format"), "{empty}");
    }
}
