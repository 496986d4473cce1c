//! `crypto.subtle` as k6 has it: keys, and what is computed with them.
//!
//! Follows k6 1.8 where it differs from the Web Cryptography API (<https://www.w3.org/TR/WebCryptoAPI/>): its messages,
//! what it checks and in which order, and what it lacks (wrapping of keys, HKDF, Ed25519). Knows no JavaScript: the
//! caller reads the arguments of a script and makes promises of the results. All arithmetic is that of libraries; their
//! errors have other words than those of Go.

pub mod aes;
pub mod curve;
pub mod derive;
pub mod export;
pub mod generate;
pub mod hash;
pub mod import;
mod jwk;
pub mod key;
pub mod refused;
pub mod rsa;
pub mod sign;

#[cfg(test)]
mod tests;
