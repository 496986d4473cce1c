//! Go's names of the algorithms that certificates are signed with.

use x509_parser::x509::AlgorithmIdentifier;

/// The name of an algorithm that Go does not know.
const UNKNOWN: &str = "UnknownSignatureAlgorithm";

/// Algorithms by their object identifiers.
const NAMES: [(&str, &str); 14] = [
    ("1.2.840.113549.1.1.4", "MD5-RSA"),
    ("1.2.840.113549.1.1.5", "SHA1-RSA"),
    ("1.3.14.3.2.29", "SHA1-RSA"),
    ("1.2.840.113549.1.1.11", "SHA256-RSA"),
    ("1.2.840.113549.1.1.12", "SHA384-RSA"),
    ("1.2.840.113549.1.1.13", "SHA512-RSA"),
    ("1.2.840.10040.4.3", "DSA-SHA1"),
    ("2.16.840.1.101.3.4.3.2", "DSA-SHA256"),
    ("1.2.840.10045.4.1", "ECDSA-SHA1"),
    ("1.2.840.10045.4.3.2", "ECDSA-SHA256"),
    ("1.2.840.10045.4.3.3", "ECDSA-SHA384"),
    ("1.2.840.10045.4.3.4", "ECDSA-SHA512"),
    ("1.3.101.112", "Ed25519"),
    (PSS, ""),
];

/// RSA-PSS, whose hash is one of its parameters.
const PSS: &str = "1.2.840.113549.1.1.10";

/// The hashes of RSA-PSS: the last byte of the identifier of SHA-2, the size of the salt, and the name.
const PSS_HASHES: [(u8, u8, &str); 3] =
    [(1, 32, "SHA256-RSAPSS"), (2, 48, "SHA384-RSAPSS"), (3, 64, "SHA512-RSAPSS")];

/// Go's name of an algorithm.
pub fn name(algorithm: &AlgorithmIdentifier<'_>) -> &'static str {
    let oid = algorithm.algorithm.to_id_string();
    if oid == PSS {
        let parameters = algorithm.parameters.as_ref().map_or(&[][..], |parameters| parameters.data);
        let known = PSS_HASHES.iter().find(|(hash, salt, _)| parameters == pss_parameters(*hash, *salt));
        return known.map_or(UNKNOWN, |(_, _, name)| name);
    }
    NAMES.iter().find(|(known, _)| *known == oid).map_or(UNKNOWN, |(_, name)| name)
}

/// The only parameters that Go takes: the same hash twice, and a salt of its size.
fn pss_parameters(hash: u8, salt: u8) -> Vec<u8> {
    // SHA-2 with no parameters of its own.
    let hash = [0x30, 13, 6, 9, 96, 134, 72, 1, 101, 3, 4, 2, hash, 5, 0];
    let mask = [0x30, 26, 6, 9, 42, 134, 72, 134, 247, 13, 1, 1, 8];
    let mut parameters = vec![0xa0, 15];
    parameters.extend(hash);
    parameters.extend([0xa1, 28]);
    parameters.extend(mask);
    parameters.extend(hash);
    parameters.extend([0xa2, 3, 2, 1, salt]);
    parameters
}
