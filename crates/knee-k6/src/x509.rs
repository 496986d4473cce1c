//! Certificates as `k6/crypto/x509` reads them: the first block of a text in PEM, and what Go's library says of it.
//!
//! Verifies nothing: neither signatures, nor times, nor chains.

use der::Broken;
use sha1::{Digest as _, Sha1};
use x509_parser::certificate::X509Certificate;
use x509_parser::error::X509Error;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::Oid;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Name;

use crate::http::go_url::GoUrl;

mod algorithm;
mod der;
mod key;

pub use key::PublicKey;

/// Why there is no certificate, in k6's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// There is no block of PEM.
    #[error("failed to decode certificate PEM file")]
    NoPem,
    /// What is in the block is no certificate.
    #[error("failed to parse certificate: {0}")]
    Malformed(String),
    /// The certificate is for a key that k6 does not show.
    #[error("unsupported public key algorithm")]
    Key,
}

/// A part of a name, such as a country.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePart {
    /// Its object identifier, as in `2.5.4.3`.
    pub kind: String,
    /// Its text.
    pub value: String,
}

/// A subject or an issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// All parts, in their order.
    pub parts: Vec<NamePart>,
}

impl Name {
    /// The first part of a kind; empty without one.
    pub fn first(&self, kind: &'static str) -> &str {
        self.all(kind).next().unwrap_or_default()
    }

    /// The last part of a kind; empty without one.
    pub fn last(&self, kind: &'static str) -> &str {
        self.all(kind).last().unwrap_or_default()
    }

    /// All parts of a kind.
    pub fn all(&self, kind: &'static str) -> impl Iterator<Item = &str> {
        self.parts.iter().filter(move |part| part.kind == kind).map(|part| part.value.as_str())
    }
}

/// What k6 shows of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whom it is for.
    pub subject: Name,
    /// Who signed it.
    pub issuer: Name,
    /// The first second in which it is valid, as in `2026-01-31T23:59:59Z`.
    pub not_before: String,
    /// The last one.
    pub not_after: String,
    /// Hosts, then addresses of mail, then addresses of IP, then URLs.
    pub alt_names: Vec<String>,
    /// Go's name of the algorithm that it is signed with.
    pub signature_algorithm: &'static str,
    /// The SHA-1 of the whole certificate.
    pub fingerprint: [u8; 20],
    /// The public key; `None` if k6 does not know its algorithm.
    pub key: Option<PublicKey>,
}

impl Certificate {
    /// Reads the first block of a text in PEM, whatever its label.
    pub fn read(pem: &[u8]) -> Result<Self, CertificateError> {
        let (_, block) = parse_x509_pem(pem).map_err(|_| CertificateError::NoPem)?;
        certificate(&block.contents).map_err(|words| CertificateError::Malformed(format!("x509: {words}")))
    }

    /// The public key.
    pub fn public_key(&self) -> Result<&PublicKey, CertificateError> {
        self.key.as_ref().ok_or(CertificateError::Key)
    }
}

fn certificate(der: &[u8]) -> Result<Certificate, String> {
    let whole = der::outer(der).map_err(|broken| match broken {
        Broken::Certificate => "malformed certificate",
        Broken::Tbs => "malformed tbs certificate",
    })?;
    let (_, parsed) = X509Certificate::from_der(whole).map_err(|error| said(&error.into()).to_owned())?;
    if parsed.version.0 > 2 {
        return Err("invalid version".to_owned());
    }
    if parsed.raw_serial().first().is_some_and(|byte| byte & 0x80 != 0) {
        return Err("negative serial number".to_owned());
    }
    if parsed.signature != parsed.signature_algorithm {
        return Err("inner and outer signature algorithm identifiers don't match".to_owned());
    }
    let certificate = Certificate {
        issuer: name(&parsed.issuer)?,
        subject: name(&parsed.subject)?,
        not_before: time(parsed.validity.not_before),
        not_after: time(parsed.validity.not_after),
        key: key::of(parsed.public_key())?,
        alt_names: alt_names(&parsed)?,
        signature_algorithm: algorithm::name(&parsed.signature_algorithm),
        fingerprint: Sha1::digest(whole).into(),
    };
    if whole.len() < der.len() {
        return Err("trailing data".to_owned());
    }
    Ok(certificate)
}

/// Go's words for the part that could not be read.
const fn said(error: &X509Error) -> &'static str {
    match error {
        X509Error::InvalidVersion => "malformed version",
        X509Error::InvalidSerial => "malformed serial number",
        X509Error::InvalidAlgorithmIdentifier => "malformed algorithm identifier",
        X509Error::InvalidX509Name => "invalid RDNSequence",
        X509Error::InvalidDate => "malformed validity",
        X509Error::InvalidSPKI => "malformed spki",
        X509Error::InvalidIssuerUID => "malformed issuerUniqueID",
        X509Error::InvalidSubjectUID => "malformed subjectUniqueID",
        X509Error::InvalidExtensions | X509Error::DuplicateExtensions => "malformed extensions",
        X509Error::InvalidSignatureValue => "malformed signature",
        _ => "malformed tbs certificate",
    }
}

fn name(name: &X509Name<'_>) -> Result<Name, String> {
    let parts = name.iter_attributes().map(|part| {
        let value = der::text(part.attr_value().tag().0, part.attr_value().data)
            .map_err(|words| format!("invalid RDNSequence: invalid attribute value: {words}"))?;
        Ok(NamePart { kind: part.attr_type().to_id_string(), value })
    });
    Ok(Name { parts: parts.collect::<Result<_, String>>()? })
}

/// A time of a certificate, which is in whole seconds of UTC.
fn time(time: ASN1Time) -> String {
    let time = time.to_datetime();
    let (date, clock) = (time.date(), time.time());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let (hour, minute, second) = (clock.hour(), clock.minute(), clock.second());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn alt_names(parsed: &X509Certificate<'_>) -> Result<Vec<String>, String> {
    let mut kinds: [Vec<String>; 4] = Default::default();
    for extension in parsed.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => {
                for name in &names.general_names {
                    if let Some((kind, name)) = alt_name(name)? {
                        kinds[kind].push(name);
                    }
                }
            }
            ParsedExtension::ParseError { .. } if is_alt_names(&extension.oid) => {
                return Err("invalid subject alternative names".to_owned());
            }
            _ => {}
        }
    }
    Ok(kinds.into_iter().flatten().collect())
}

fn is_alt_names(oid: &Oid<'_>) -> bool {
    *oid == x509_parser::oid_registry::OID_X509_EXT_SUBJECT_ALT_NAME
}

/// The place of a name's kind in k6's list, and its text; `None` for kinds that k6 does not show.
fn alt_name(name: &GeneralName<'_>) -> Result<Option<(usize, String)>, String> {
    let ascii = |text: &str, kind| {
        let malformed = || format!("SAN {kind} is malformed");
        text.is_ascii().then(|| text.to_owned()).ok_or_else(malformed)
    };
    Ok(match name {
        GeneralName::DNSName(text) => Some((0, ascii(text, "dNSName")?)),
        GeneralName::RFC822Name(text) => Some((1, ascii(text, "rfc822Name")?)),
        GeneralName::IPAddress(bytes) => Some((2, der::address(bytes)?)),
        GeneralName::URI(text) => {
            let text = ascii(text, "uniformResourceIdentifier")?;
            let url = GoUrl::parse(text.as_bytes());
            let shown = crate::go_quote::quoted(text.as_bytes());
            let url = url.map_err(|error| format!("cannot parse URI {shown}: {error}"))?;
            Some((3, url.to_string()))
        }
        GeneralName::Invalid(tag, _) => match tag.0 {
            1 => return Err("SAN rfc822Name is malformed".to_owned()),
            2 => return Err("SAN dNSName is malformed".to_owned()),
            6 => return Err("SAN uniformResourceIdentifier is malformed".to_owned()),
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests;
