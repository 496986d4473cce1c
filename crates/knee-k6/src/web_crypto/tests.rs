//! Vectors of the standards, and round trips.

use std::convert::Infallible;

use super::aes::{Cipher, decrypt, encrypt};
use super::curve::{Curve, Private, Public};
use super::derive::{Password, shared_bits};
use super::export::{Exported, export};
use super::generate::{Generated, Generation, generate};
use super::hash::Hash;
use super::import::{Data, Import, import};
use super::key::Key;
use super::rsa::Padding;
use super::sign::{Signing, sign, verify};
use crate::digest::hex;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn usages(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn aes_key(key: &str) -> Key {
    let data = Data::Raw(bytes(key));
    import(&data, &Import::Aes("AES-GCM"), true, usages(&["encrypt", "decrypt"])).unwrap()
}

fn pair(what: &Generation, names: &[&str]) -> (Key, Key) {
    match generate(what, true, usages(names)).unwrap() {
        Generated::Pair(pair) => *pair,
        Generated::Secret(_) => panic!("a pair was asked for"),
    }
}

#[test]
fn aes_computes_the_vectors_of_nist() {
    // SP 800-38A, F.2.1 (CBC, first block) and F.5.1 (CTR, first block).
    let key = aes_key("2b7e151628aed2a6abf7158809cf4f3c");
    let plain = bytes("6bc1bee22e409f96e93d7e117393172a");
    let cbc = Cipher::Cbc { iv: bytes("000102030405060708090a0b0c0d0e0f") };
    let sealed = encrypt(&cbc, &key, &plain).unwrap();
    assert_eq!(hex(&sealed[..16]), "7649abac8119b246cee98e9b12e9197d");
    assert_eq!(sealed.len(), 32, "a block of padding follows");
    assert_eq!(decrypt(&cbc, &key, &sealed).unwrap(), plain);
    let ctr = Cipher::Ctr { counter: bytes("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), length: 64 };
    assert_eq!(hex(&encrypt(&ctr, &key, &plain).unwrap()), "874d6191b620e3261bef6864990db6ce");
}

#[test]
fn gcm_authenticates_the_message_with_tags_of_five_lengths() {
    // The third test case of the specification of GCM.
    let key = aes_key("feffe9928665731c6d6a8f9467308308");
    let plain = bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5\
         aa0de657ba637b391aafd255",
    );
    let with = |tag| Cipher::Gcm { iv: bytes("cafebabefacedbaddecaf888"), additional: Vec::new(), tag };
    let sealed = encrypt(&with(0), &key, &plain).unwrap();
    assert_eq!(hex(&sealed[plain.len()..]), "4d5c2af327cd64a62cf35abd2ba6fab4");
    for tag in [96, 104, 112, 120, 128] {
        let short = &sealed[..plain.len() + tag as usize / 8];
        assert_eq!(encrypt(&with(tag), &key, &plain).unwrap(), short);
        assert_eq!(decrypt(&with(tag), &key, short).unwrap(), plain);
        let mut changed = short.to_vec();
        changed[0] ^= 1;
        assert_eq!(decrypt(&with(tag), &key, &changed).unwrap_err().message, "could not decrypt ciphertext");
    }
    assert_eq!(encrypt(&with(64), &key, &plain).unwrap_err().name, "NotSupportedError");
    assert!(decrypt(&with(0), &key, &sealed[..3]).is_err());
}

#[test]
fn wrong_messages_and_parameters_are_refused_and_end_nothing() {
    let key = aes_key("2b7e151628aed2a6abf7158809cf4f3c");
    for iv in [0, 12, 15, 16, 17] {
        for size in [0, 1, 15, 16, 17, 32] {
            let message = vec![7; size];
            let _ = decrypt(&Cipher::Cbc { iv: vec![0; iv] }, &key, &message);
            let _ = decrypt(&Cipher::Gcm { iv: vec![0; iv], additional: vec![], tag: 96 }, &key, &message);
            let _ = decrypt(&Cipher::Ctr { counter: vec![0; iv], length: -1 }, &key, &message);
            let _ = decrypt(&Cipher::Oaep { label: vec![] }, &key, &message);
        }
    }
}

#[test]
fn pbkdf2_computes_the_vectors_of_rfc_6070_and_can_be_ended() {
    let derive = |rounds, length, password: &[u8], salt: &[u8]| {
        let derivation = Password { hash: Hash::Sha1, salt: salt.to_vec(), rounds };
        hex(&derivation.bytes(password, length, || Ok::<(), Infallible>(())).unwrap())
    };
    assert_eq!(derive(1, 20, b"password", b"salt"), "0c60c80f961f0e71f3a9b524af6012062fe037a6");
    assert_eq!(derive(4096, 20, b"password", b"salt"), "4b007901b765489abead49d926f721d065a429c1");
    assert_eq!(
        derive(4096, 25, b"passwordPASSWORDpassword", b"saltSALTsaltSALTsaltSALTsaltSALTsalt"),
        "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"
    );
    let endless = Password { hash: Hash::Sha512, salt: vec![], rounds: u64::MAX };
    let mut asked = 0;
    let mut breathe = || {
        asked += 1;
        if asked == 3 { Err("enough") } else { Ok(()) }
    };
    assert_eq!(endless.bytes(b"", 8, &mut breathe), Err("enough"));
}

#[test]
fn ecdsa_signs_as_the_vectors_of_rfc_6979_for_all_curves_and_digests() {
    // RFC 6979, A.2.5: P-256, SHA-256, "sample".
    let key = bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    let private = Private::from_scalar(Curve::P256, &key).unwrap();
    assert_eq!(
        hex(&private.sign(Hash::Sha256, b"sample").unwrap()),
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
         f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    );
    for curve in Curve::ALL {
        let private = Private::random(curve);
        for hash in Hash::ALL {
            let signature = private.sign(hash, b"a message").unwrap();
            assert_eq!(signature.len(), 2 * curve.bytes());
            assert!(private.public().verify(hash, b"a message", &signature), "{curve:?} {hash:?}");
            assert!(!private.public().verify(hash, b"another", &signature));
            assert!(!private.public().verify(hash, b"a message", &signature[1..]));
        }
    }
}

#[test]
fn a_digest_that_is_short_for_its_curve_is_signed_as_by_others() {
    // Both made by OpenSSL 3.0: SHA-1 on P-521.
    let public = bytes(
        "30819b301006072a8648ce3d020106052b81040023038186000401419a07f73210eb8c62b6d98618c66c8845f7fe75857c73d930796e\
         e6410edc2c8416aaf8734b4341b53ce0ea7f7984cc561cacdeb72d9a082067a01ebb0b0bd87901ee9fde8a9a74a1ae0a82034b1d8190\
         f17dfec5d9f28dfff032b216a927c462dcd9ab4d44fe143fa6b64f1e2ec4a7230b9dd394b383f499d11e5829642efcf60ce1",
    );
    let signature = bytes(
        "007da4e3258efae96cdef18d558a0e89b6c1cc5e50bb7819d6e90f5d60cf361b3fbe039292da3e694036c70f2dde7313c4c6fa5cefb2\
         529f679dc84c4e937d65cb16007fbe8cf55a3b8a12a66a258aafd4b0a118c3339921390905305b0edeaf2dda3abfbbeb264e1b17f257\
         1df401fea944146e16e0b77f4bb9569d7e6a38bdad842365",
    );
    let public = Public::from_spki(&public).expect("a key of OpenSSL");
    assert!(public.verify(Hash::Sha1, b"a message", &signature));
    assert!(!public.verify(Hash::Sha1, b"another", &signature));
}

#[test]
fn two_keys_have_the_same_secret_and_keys_of_two_curves_have_none() {
    for curve in ["P-256", "P-384", "P-521"] {
        let what = Generation::Curve { name: "ECDH", curve: curve.to_owned() };
        let (mine, theirs) = (pair(&what, &["deriveBits"]), pair(&what, &["deriveBits"]));
        let secret = shared_bits(&mine.0, &theirs.1, 256).unwrap();
        assert_eq!(secret, shared_bits(&theirs.0, &mine.1, 256).unwrap());
        assert_eq!(shared_bits(&mine.0, &theirs.1, 600).unwrap_err().message, "length is too large");
        let other = Generation::Curve {
            name: "ECDH",
            curve: if curve == "P-256" { "P-384" } else { "P-256" }.into(),
        };
        let other = pair(&other, &["deriveBits"]);
        assert_eq!(shared_bits(&mine.0, &other.1, 256).unwrap_err().name, "InvalidAccessError");
    }
}

#[test]
fn every_key_is_the_same_after_export_and_import_in_every_format_it_has() {
    let curve = Generation::Curve { name: "ECDSA", curve: "P-384".to_owned() };
    let rsa = |name| Generation::Rsa { name, bits: 1024, exponent: vec![1, 0, 1], hash: Hash::Sha256 };
    let imports = [
        (curve, Import::Curve { name: "ECDSA", curve: "P-384".to_owned() }, Signing::Ecdsa(Hash::Sha256)),
        (
            rsa("RSASSA-PKCS1-v1_5"),
            Import::Rsa { name: "RSASSA-PKCS1-v1_5", hash: Hash::Sha256 },
            Signing::Rsa(Padding::Pkcs1),
        ),
        (
            rsa("RSA-PSS"),
            Import::Rsa { name: "RSA-PSS", hash: Hash::Sha256 },
            Signing::Rsa(Padding::Pss { salt: 32 }),
        ),
    ];
    for (generation, what, signing) in imports {
        let (private, public) = pair(&generation, &["sign", "verify"]);
        let again = |key: &Key, format: &str, usage: &str| {
            let data = match (export(key, format).unwrap(), format) {
                (Exported::Bytes(bytes), "raw") => Data::Raw(bytes),
                (Exported::Bytes(bytes), "pkcs8") => Data::Pkcs8(bytes),
                (Exported::Bytes(bytes), _) => Data::Spki(bytes),
                (Exported::Jwk(json), _) => Data::Jwk(json),
            };
            import(&data, &what, true, usages(&[usage])).unwrap()
        };
        let private_again = ["pkcs8", "jwk"].map(|format| again(&private, format, "sign"));
        let public_again = ["spki", "jwk"].map(|format| again(&public, format, "verify"));
        for private in &private_again {
            let signature = sign(signing, private, b"a message").unwrap();
            for public in &public_again {
                assert_eq!(public.algorithm, private.algorithm);
                assert!(verify(signing, public, &signature, b"a message").unwrap());
                assert!(!verify(signing, public, &signature, b"another").unwrap());
            }
        }
        assert!(sign(signing, &public, b"").is_err() && verify(signing, &private, b"", b"").is_err());
    }
}

#[test]
fn oaep_returns_the_message_only_with_the_same_label() {
    let what = Generation::Rsa { name: "RSA-OAEP", bits: 1024, exponent: vec![1, 0, 1], hash: Hash::Sha1 };
    let (private, public) = pair(&what, &["encrypt", "decrypt"]);
    let cipher = Cipher::Oaep { label: b"label".to_vec() };
    let sealed = encrypt(&cipher, &public, b"a message").unwrap();
    assert_eq!(decrypt(&cipher, &private, &sealed).unwrap(), b"a message");
    assert!(decrypt(&Cipher::Oaep { label: vec![] }, &private, &sealed).is_err());
    assert!(encrypt(&cipher, &public, &[0; 128]).is_err(), "longer than the key allows");
}

#[test]
fn usages_and_formats_are_checked_as_k6_does() {
    let aes = Generation::Aes { name: "AES-CBC", bits: 128 };
    let refused = |what: &Generation, names: &[&str]| match generate(what, true, usages(names)) {
        Err(refused) => refused.to_string(),
        Ok(_) => panic!("accepted"),
    };
    assert_eq!(refused(&aes, &["sign"]), "SyntaxError: invalid key usage");
    assert_eq!(
        refused(&aes, &[]),
        "SyntaxError: usages cannot not be empty for a secret or private CryptoKey"
    );
    let odd = Generation::Aes { name: "AES-CBC", bits: 129 };
    assert_eq!(refused(&odd, &["encrypt"]), "OperationError: invalid key length");
    let even = Generation::Rsa { name: "RSA-PSS", bits: 1024, exponent: vec![2], hash: Hash::Sha1 };
    assert_eq!(refused(&even, &["sign"]), "OperationError: invalid public exponent: public exponent is even");
    let key = import(&Data::Raw(vec![1; 16]), &Import::Aes("AES-CBC"), false, usages(&["encrypt"])).unwrap();
    let error = |result: Result<Exported, super::refused::Refused>| result.err().unwrap().to_string();
    assert_eq!(error(export(&key, "raw")), "InvalidAccessError: the key is not extractable");
}
