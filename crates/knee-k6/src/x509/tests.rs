//! Certificates that were made with OpenSSL, and ways to break them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

const RSA: &str = include_str!("../../../../compat/cases/crypto/certificates/rsa.pem");
const ECDSA: &str = include_str!("../../../../compat/cases/crypto/certificates/ecdsa.pem");
const ED25519: &str = include_str!("../../../../compat/cases/crypto/certificates/ed25519.pem");

fn der(pem: &str) -> Vec<u8> {
    parse_x509_pem(pem.as_bytes()).unwrap().1.contents
}

fn wrapped(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der))
}

fn refused(pem: &str) -> String {
    Certificate::read(pem.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_subject_has_its_parts_in_their_order_and_its_last_common_name() {
    let certificate = Certificate::read(RSA.as_bytes()).unwrap();
    let subject = &certificate.subject;
    assert_eq!((subject.first("2.5.4.6"), subject.last("2.5.4.3")), ("CZ", "shop.test"));
    assert_eq!(subject.all("2.5.4.11").collect::<Vec<_>>(), ["Tests", "Load"]);
    assert_eq!(subject.first("2.5.4.99"), "");
    assert_eq!(certificate.issuer, certificate.subject);
}

#[test]
fn alternative_names_come_by_their_kinds() {
    let certificate = Certificate::read(RSA.as_bytes()).unwrap();
    let names = [
        "shop.test",
        "*.shop.test",
        "ann@shop.test",
        "127.0.0.1",
        "2001:db8::1",
        "https://shop.test/a%20b?c=d",
    ];
    assert_eq!(certificate.alt_names, names);
}

#[test]
fn keys_that_k6_does_not_show_are_refused_only_where_they_are_asked_for() {
    let certificate = Certificate::read(ED25519.as_bytes()).unwrap();
    assert_eq!(certificate.signature_algorithm, "Ed25519");
    assert_eq!(certificate.public_key().unwrap_err().to_string(), "unsupported public key algorithm");
    let certificate = Certificate::read(ECDSA.as_bytes()).unwrap();
    assert_eq!(certificate.public_key().unwrap().algorithm(), "ECDSA");
}

#[test]
fn what_is_no_certificate_is_refused_in_the_words_of_go() {
    for text in ["", "text", "-----BEGIN CERTIFICATE-----\nMII\n", "-----BEGIN", "-----BEGIN \n"] {
        assert_eq!(refused(text), "failed to decode certificate PEM file", "{text:?}");
    }
    let failed = |words: &str| format!("failed to parse certificate: x509: {words}");
    assert_eq!(refused(&wrapped(b"text")), failed("malformed certificate"));
    let mut more = der(ECDSA);
    more.push(0);
    assert_eq!(refused(&wrapped(&more)), failed("trailing data"));
}

#[test]
fn no_change_of_a_byte_and_no_cut_makes_reading_panic() {
    for whole in [der(RSA), der(ECDSA)] {
        for place in 0..whole.len() {
            // Refused or read: both are fine.
            let _ = Certificate::read(wrapped(&whole[..place]).as_bytes());
            for change in [0x80, 0xff, 1] {
                let mut bytes = whole.clone();
                bytes[place] ^= change;
                let _ = Certificate::read(wrapped(&bytes).as_bytes());
            }
        }
    }
}
