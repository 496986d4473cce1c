//! AES in the modes CBC, CTR and GCM (NIST SP 800-38A and 38D).

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::{U12, U13, U14, U15, U16};
use aes_gcm::aead::{Aead, Payload};

use super::key::Key;
use super::refused::Refused;
use super::rsa;

/// How a message is encrypted.
pub enum Cipher {
    /// Blocks in a chain, padded (PKCS #7).
    Cbc {
        /// 16 bytes.
        iv: Vec<u8>,
    },
    /// A stream made by a counter, all of whose bits count.
    Ctr {
        /// The counter of the first block, 16 bytes.
        counter: Vec<u8>,
        /// Bits of the counter that the script names, 1 to 128.
        length: i64,
    },
    /// A stream with a tag that authenticates it.
    Gcm {
        /// 12 bytes.
        iv: Vec<u8>,
        /// What the tag authenticates besides the message.
        additional: Vec<u8>,
        /// Bits of the tag: 96, 104, 112, 120 or 128; 0 stands for 128.
        tag: i64,
    },
    /// RSA, for short messages.
    Oaep {
        /// The label.
        label: Vec<u8>,
    },
}

/// Bytes of a block.
const BLOCK: usize = 16;

/// Evaluates `$body` with `$aes` as AES for keys of the length of `$key`.
macro_rules! with_aes {
    ($key:expr, $aes:ident => $body:expr) => {
        match $key.len() {
            16 => {
                type $aes = aes::Aes128;
                $body
            }
            24 => {
                type $aes = aes::Aes192;
                $body
            }
            32 => {
                type $aes = aes::Aes256;
                $body
            }
            _ => Err(Refused::operation("could not create cipher")),
        }
    };
}

/// Evaluates `$body` with `$size` as the size of a tag of so many bits.
macro_rules! with_tag {
    ($bits:expr, $size:ident => $body:expr, $other:expr) => {
        match $bits {
            96 => {
                type $size = U12;
                $body
            }
            104 => {
                type $size = U13;
                $body
            }
            112 => {
                type $size = U14;
                $body
            }
            120 => {
                type $size = U15;
                $body
            }
            0 | 128 => {
                type $size = U16;
                $body
            }
            _ => $other,
        }
    };
}

/// Encrypts a message.
///
/// # Errors
/// A parameter or the key does not fit.
pub fn encrypt(cipher: &Cipher, key: &Key, message: &[u8]) -> Result<Vec<u8>, Refused> {
    match cipher {
        Cipher::Cbc { iv } => {
            has_block(iv, "iv length is not 16 bytes")?;
            // As in k6.
            if message.is_empty() {
                return Err(Refused::operation("could not pad plaintext"));
            }
            let key = key.secret()?;
            with_aes!(key, A => {
                let cipher = cbc::Encryptor::<A>::new_from_slices(key, iv).map_err(no_cipher)?;
                Ok(cipher.encrypt_padded_vec::<Pkcs7>(message))
            })
        }
        Cipher::Ctr { counter, length } => {
            has_block(counter, "counter length is not 16 bytes")?;
            if !(1..=128).contains(length) {
                return Err(Refused::operation("invalid counter length, out of the 0 < x < 128 bounds"));
            }
            stream(counter, key.secret()?, message)
        }
        Cipher::Gcm { iv, additional, tag } => {
            let iv = <[u8; 12]>::try_from(iv.as_slice()).map_err(|_| short_iv())?;
            if matches!(tag, 32 | 64) {
                return Err(Refused::unsupported("tag length 32 and 64 are not supported"));
            }
            let key = key.secret()?;
            with_tag!(*tag, T => with_aes!(key, A => {
                let cipher = AesGcm::<A, U12, T>::new_from_slice(key).map_err(no_cipher)?;
                let sealed = cipher.encrypt(&iv.into(), Payload { msg: message, aad: additional });
                sealed.map_err(|_| Refused::operation("plaintext length is too long"))
            }), {
                Err(Refused::operation("invalid tag length, should be one of 96, 104, 112, 120, 128"))
            })
        }
        Cipher::Oaep { label } => {
            let (key, hash) = key.rsa_public()?;
            rsa::encrypt(key, hash, label, message)
        }
    }
}

/// Decrypts a message.
///
/// # Errors
/// A parameter, the key or the message does not fit.
pub fn decrypt(cipher: &Cipher, key: &Key, message: &[u8]) -> Result<Vec<u8>, Refused> {
    match cipher {
        Cipher::Cbc { iv } => {
            has_block(iv, "iv length is invalid, should be 16 bytes")?;
            let key = key.secret()?;
            with_aes!(key, A => {
                let cipher = cbc::Decryptor::<A>::new_from_slices(key, iv).map_err(no_cipher)?;
                let plain = cipher.decrypt_padded_vec::<Pkcs7>(message);
                plain.map_err(|_| Refused::operation("invalid padding"))
            })
        }
        Cipher::Ctr { counter, length } => {
            has_block(counter, "counter length is invalid, should be 16 bytes")?;
            if !(1..=128).contains(length) {
                let words = "invalid length, should be within 1 <= length <= 128 bounds";
                return Err(Refused::operation(words));
            }
            stream(counter, key.secret()?, message)
        }
        Cipher::Gcm { iv, additional, tag } => {
            if matches!(tag, 32 | 64) {
                let words = "invalid tag length, should be within 96 <= length <= 128 bounds";
                return Err(Refused::operation(words));
            }
            let key = key.secret()?;
            with_tag!(*tag, T => with_aes!(key, A => {
                if message.len() * 8 < *tag as usize {
                    return Err(Refused::operation("ciphertext is too short"));
                }
                // For another length k6 ends.
                let iv = <[u8; 12]>::try_from(iv.as_slice()).map_err(|_| short_iv())?;
                let cipher = AesGcm::<A, U12, T>::new_from_slice(key).map_err(no_cipher)?;
                let plain = cipher.decrypt(&iv.into(), Payload { msg: message, aad: additional });
                plain.map_err(|_| Refused::operation("could not decrypt ciphertext"))
            }), {
                Err(Refused::operation("invalid tag length, accepted values are 96, 104, 112, 120, 128"))
            })
        }
        Cipher::Oaep { label } => {
            let (key, hash) = key.rsa_private()?;
            rsa::decrypt(key, hash, label, message)
        }
    }
}

/// CTR is the same in both directions.
fn stream(counter: &[u8], key: &[u8], message: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut bytes = message.to_vec();
    with_aes!(key, A => {
        let mut cipher = ctr::Ctr128BE::<A>::new_from_slices(key, counter).map_err(no_cipher)?;
        cipher.apply_keystream(&mut bytes);
        Ok(bytes)
    })
}

fn has_block(bytes: &[u8], words: &str) -> Result<(), Refused> {
    if bytes.len() == BLOCK { Ok(()) } else { Err(Refused::operation(words)) }
}

fn no_cipher(_: aes::cipher::InvalidLength) -> Refused {
    Refused::operation("could not create cipher")
}

fn short_iv() -> Refused {
    Refused::unsupported("only 12 bytes long iv are supported")
}
