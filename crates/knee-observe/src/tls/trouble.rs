//! What is wrong with TLS, in words, and what to write instead.
//!
//! Finds the error of rustls in the errors of the clients of databases, caches and pages. Judges nothing itself.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// What is wrong with TLS; `None` if the error is about something else. `plain` is what to write for a server that does
/// not speak TLS.
pub(crate) fn explained(error: &(dyn StdError + 'static), plain: &str) -> Option<String> {
    Some(match cause(error)? {
        Error::InvalidCertificate(why) => of_certificate(why),
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => {
            format!("it does not speak TLS: write {plain}")
        }
        Error::AlertReceived(alert) => of_alert(*alert),
        other => format!("TLS failed: {other}"),
    })
}

/// The error of rustls behind an error.
fn cause<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found);
        }
        next = if let Some(outer) = error.downcast_ref::<io::Error>() {
            // Its source is not the error that it holds, but the source of that.
            outer.get_ref().map(|inner| inner as &(dyn StdError + 'static))
        } else if let Some(shared) = error.downcast_ref::<Arc<dyn StdError + Send + Sync>>() {
            // The client of Redis names the pointer as its source.
            Some(&**shared as &(dyn StdError + 'static))
        } else {
            error.source()
        };
    }
    None
}

fn of_certificate(why: &CertificateError) -> String {
    match why {
        // The second one is of an authority that has the same name and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is not trusted: name the PEM file of its authority as sslrootcert".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| plain_name(name)).collect();
            let names = if names.is_empty() { "no host name".to_owned() } else { names.join(", ") };
            format!("its certificate is for {names} and not for {}", expected.to_str())
        }
        CertificateError::NotValidForName => "its certificate is for another host name".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::Other(other) => of_other(&format!("{:?}", other.0)),
        other => format!("its certificate is refused: {other}"),
    }
}

/// What rustls has no name for, by that of webpki.
fn of_other(name: &str) -> String {
    match name {
        "CaUsedAsEndEntity" => {
            "its certificate is that of an authority, which a server cannot have: sslmode=require accepts it"
                .to_owned()
        }
        "UnsupportedCertVersion" => {
            "its certificate is of version 1 and has no place for names: sslmode=require accepts it"
                .to_owned()
        }
        name => format!("its certificate is refused: {name}"),
    }
}

/// A name in a certificate without what webpki writes around it: `DnsName("db")`, `IpAddress(127.0.0.1)`.
fn plain_name(name: &str) -> &str {
    let name = name.strip_prefix("DnsName(").or_else(|| name.strip_prefix("IpAddress(")).unwrap_or(name);
    name.trim_end_matches(')').trim_matches('"')
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "it wants a certificate of the client: name PEM files as sslcert and sslkey".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => {
            format!("it refuses the certificate of the client (sslcert): {alert:?}")
        }
        other => format!("it ended the TLS handshake: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;

    fn words(error: Error) -> String {
        explained(&io::Error::new(io::ErrorKind::InvalidData, error), "redis://").unwrap()
    }

    #[test]
    fn the_cause_is_named_with_what_to_write() {
        let unknown = words(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert!(unknown.ends_with("as sslrootcert"), "{unknown}");
        let plain = words(Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert_eq!(plain, "it does not speak TLS: write redis://");
        let wanted = words(Error::AlertReceived(AlertDescription::CertificateRequired));
        assert!(wanted.ends_with("as sslcert and sslkey"), "{wanted}");
        let other = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("db.example".to_owned()).unwrap(),
            presented: vec!["DnsName(\"a.example\")".to_owned(), "IpAddress(127.0.0.1)".to_owned()],
        };
        assert_eq!(
            words(Error::InvalidCertificate(other)),
            "its certificate is for a.example, 127.0.0.1 and not for db.example"
        );
    }

    #[test]
    fn the_cause_is_found_in_an_error_of_the_client_of_redis() {
        let inner = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = redis::RedisError::from(io::Error::new(io::ErrorKind::InvalidData, inner));
        assert!(explained(&error, "redis://").is_some_and(|words| words.contains("sslrootcert")));
    }

    #[test]
    fn an_error_about_something_else_is_not_explained() {
        assert_eq!(explained(&io::Error::from(io::ErrorKind::ConnectionRefused), ""), None);
    }
}
