//! Messages of NTLM (MS-NLMP), as the Go package that k6 uses writes and reads them.
//!
//! Version 2 of the response with names in UTF-16 only: no older one, no signatures, no key exchange. Knows no HTTP and
//! makes nothing up: time and chance come from outside.

use hmac::{KeyInit, Mac, SimpleHmac};
use md4::Md4;
use md5::{Digest, Md5};

/// How every message begins.
const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";

/// Flags of messages.
mod flag {
    /// Names are UTF-16.
    pub const UNICODE: u32 = 1;
    /// The server wants the oldest kind of key.
    pub const LM_KEY: u32 = 1 << 7;
    pub const NTLM: u32 = 1 << 9;
    pub const ALWAYS_SIGN: u32 = 1 << 15;
    pub const EXTENDED_SESSION_SECURITY: u32 = 1 << 19;
    pub const TARGET_INFO: u32 = 1 << 23;
    /// The message says the version of its program.
    pub const VERSION: u32 = 1 << 25;
    pub const KEYS_128: u32 = 1 << 29;
    /// The server wants to exchange keys.
    pub const KEY_EXCHANGE: u32 = 1 << 30;
    pub const KEYS_56: u32 = 1 << 31;
}

/// What the first message offers.
const OFFERED: u32 = flag::UNICODE
    | flag::NTLM
    | flag::ALWAYS_SIGN
    | flag::EXTENDED_SESSION_SECURITY
    | flag::TARGET_INFO
    | flag::KEYS_128
    | flag::KEYS_56;

/// Bytes of the first message, and of the last one before its names.
const NEGOTIATE_BYTES: u32 = 40;
const AUTHENTICATE_BYTES: usize = 64;
/// Windows 7, with which the package answers.
const VERSION: [u8; 8] = [6, 1, 0xb1, 0x1d, 0, 0, 0, 15];
/// Numbers of fields in the information about the target (`AV_PAIR`): the end of the list, and the server's time.
const END: u16 = 0;
const TIME: u16 = 7;
/// Time from 1601, from which Windows counts, to 1970, in units of 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// The first message: what the client can do.
pub fn negotiate() -> Vec<u8> {
    let mut message = SIGNATURE.to_vec();
    message.extend(1_u32.to_le_bytes());
    message.extend(OFFERED.to_le_bytes());
    for _name in ["domain", "workstation"] {
        message.extend([0; 4]);
        message.extend(NEGOTIATE_BYTES.to_le_bytes());
    }
    message.extend(VERSION);
    message
}

/// The second message: what the server asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    flags: u32,
    /// Made up by the server.
    nonce: [u8; 8],
    /// What the server says of itself.
    info: Option<Vec<u8>>,
    /// The time that is part of this.
    time: Option<Vec<u8>>,
}

impl Challenge {
    /// Reads a message; `None` if it is no challenge.
    pub fn read(message: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(message.get(at..at + 4)?.try_into().ok()?));
        if message.get(..8)? != SIGNATURE || number(8)? != 2 {
            return None;
        }
        let flags = number(20)?;
        let nonce = message.get(24..32)?.try_into().ok()?;
        let info = field(message, 40)?;
        let name = field(message, 12)?;
        if flags & flag::UNICODE != 0 && name.len() % 2 != 0 {
            return None;
        }
        if info.is_empty() {
            return Some(Self { flags, nonce, info: None, time: None });
        }
        Some(Self { flags, nonce, info: Some(info.to_vec()), time: time_of(info)? })
    }
}

/// The bytes that a field of a message points to.
fn field(message: &[u8], at: usize) -> Option<&[u8]> {
    let head = message.get(at..at + 8)?;
    let length = usize::from(u16::from_le_bytes([head[0], head[1]]));
    let begin = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if length == 0 { Some(&[]) } else { message.get(begin..begin.checked_add(length)?) }
}

/// The time in what a server says of itself; fails if that is cut.
#[allow(clippy::option_option, reason = "whether it can be read, and whether there is a time")]
fn time_of(mut info: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut time = None;
    loop {
        let (id, rest) = info.split_first_chunk()?;
        if u16::from_le_bytes(*id) == END {
            return Some(time);
        }
        let (length, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        if u16::from_le_bytes(*id) == TIME {
            time = Some(value.to_vec());
        }
        info = rest;
    }
}

/// What the client makes up for its answer.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// By chance.
    pub nonce: [u8; 8],
    /// The time, in units of 100 ns since 1970. Used if the server does not say its own.
    pub time: u64,
}

/// The third message: who asks, and the proof. `None` if the server wants what is not supported, or if there is neither a user nor a password.
///
/// The user can be `DOMAIN\user`.
pub fn authenticate(challenge: &Challenge, user: &str, password: &str, fresh: Fresh) -> Option<Vec<u8>> {
    let is_beyond = challenge.flags & (flag::LM_KEY | flag::KEY_EXCHANGE) != 0;
    if is_beyond || challenge.flags & flag::UNICODE == 0 || (user.is_empty() && password.is_empty()) {
        return None;
    }
    let (domain, user) = user.split_once('\\').unwrap_or(("", user));
    let key = key(domain, user, password);
    let own_time = || fresh.time.saturating_add(EPOCH).to_le_bytes().to_vec();
    let info = challenge.info.as_deref();
    let mut proven = vec![1, 1, 0, 0, 0, 0, 0, 0];
    proven.extend(challenge.time.clone().unwrap_or_else(own_time));
    proven.extend(fresh.nonce);
    proven.extend([0; 4]);
    proven.extend(info.unwrap_or_default());
    proven.extend([0; 4]);
    let mut proof = keyed(&key, &[&challenge.nonce, &proven]).to_vec();
    proof.extend(proven);
    let short = match info {
        Some(_) => Vec::new(),
        None => [&keyed(&key, &[&challenge.nonce, &fresh.nonce])[..], &fresh.nonce].concat(),
    };
    let mut message = SIGNATURE.to_vec();
    message.extend(3_u32.to_le_bytes());
    let fields = [short, proof, utf16(domain), utf16(user), Vec::new()];
    let mut place = AUTHENTICATE_BYTES;
    for field in &fields {
        let length = u16::try_from(field.len()).ok()?.to_le_bytes();
        message.extend([length, length].concat());
        message.extend(u32::try_from(place).ok()?.to_le_bytes());
        place += field.len();
    }
    // There is no key of a session.
    message.extend([0; 8]);
    message.extend((challenge.flags & !flag::VERSION).to_le_bytes());
    message.extend(fields.concat());
    Some(message)
}

/// The key of a user: `NTOWFv2` in MS-NLMP.
fn key(domain: &str, user: &str, password: &str) -> [u8; 16] {
    let upper = |letter: char| {
        let mut upper = letter.to_uppercase();
        // As in Go, a letter that becomes several stays as it is.
        if upper.len() == 1 { upper.next().unwrap_or(letter) } else { letter }
    };
    let name: String = user.chars().map(upper).chain(domain.chars()).collect();
    keyed(&Md4::digest(utf16(password)), &[&utf16(&name)])
}

fn keyed(key: &[u8], parts: &[&[u8]]) -> [u8; 16] {
    // A key can have any length, so there is always a keyed digest.
    let Ok(mut keyed) = <SimpleHmac<Md5> as KeyInit>::new_from_slice(key) else { return [0; 16] };
    for part in parts {
        Mac::update(&mut keyed, part);
    }
    keyed.finalize().into_bytes().into()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::hex;

    /// The names, the password and the nonces of the examples of MS-NLMP, section 4.2.
    const FRESH: Fresh = Fresh { nonce: [0xaa; 8], time: 0 };
    const NONCE: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
    /// What their server says of itself: the domain `Domain` and the computer `Server`.
    const INFO: &[u8] = b"\x02\0\x0c\0D\0o\0m\0a\0i\0n\0\x01\0\x0c\0S\0e\0r\0v\0e\0r\0\0\0\0\0";

    /// The second message of section 4.2.4.3, without the flag for an exchange of keys.
    fn challenge(info: &[u8]) -> Vec<u8> {
        let name = utf16("Server");
        let mut message = SIGNATURE.to_vec();
        message.extend(2_u32.to_le_bytes());
        message.extend([&[12, 0, 12, 0][..], &56_u32.to_le_bytes()].concat());
        message.extend((0xe28a_8233_u32 & !flag::KEY_EXCHANGE).to_le_bytes());
        message.extend(NONCE);
        message.extend([0; 8]);
        let length = (info.len() as u16).to_le_bytes();
        message.extend([&length[..], &length, &68_u32.to_le_bytes()].concat());
        message.extend([6, 0, 0x70, 0x17, 0, 0, 0, 0x0f]);
        message.extend(name);
        message.extend(info);
        message
    }

    /// The examples have the time 0 of Windows.
    fn answered(info: &[u8]) -> Vec<u8> {
        let mut challenge = Challenge::read(&challenge(info)).unwrap();
        challenge.time = Some(vec![0; 8]);
        authenticate(&challenge, "Domain\\User", "Password", FRESH).unwrap()
    }

    #[test]
    fn a_challenge_is_answered_as_the_specification_computes_it() {
        // MS-NLMP 4.2.4.1.1, 4.2.4.2.2 and 4.2.4.2.1.
        assert_eq!(hex(&key("Domain", "User", "Password")), "0c868a403bfd7a93a3001ef22ef02e3f");
        let message = answered(INFO);
        let proof = field(&message, 20).unwrap();
        assert_eq!(hex(&proof[..16]), "68cd0ab851e51c96aabc927bebef6a1c");
        assert_eq!(&proof[16 + 28..16 + 28 + INFO.len()], INFO);
        let message = answered(&[]);
        assert_eq!(hex(field(&message, 12).unwrap()), "86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa");
    }

    #[test]
    fn the_answer_names_the_user_and_the_domain() {
        let message = answered(INFO);
        assert_eq!(field(&message, 28).unwrap(), utf16("Domain"));
        assert_eq!(field(&message, 36).unwrap(), utf16("User"));
        assert_eq!(field(&message, 12).unwrap(), b"");
        assert_eq!(message.len(), 64 + field(&message, 20).unwrap().len() + 20);
    }

    #[test]
    fn the_time_of_the_server_is_the_time_of_the_answer() {
        let info = [b"\x07\0\x08\0timetime", INFO].concat();
        let challenge = Challenge::read(&challenge(&info)).unwrap();
        let message = authenticate(&challenge, "User", "Password", FRESH).unwrap();
        assert_eq!(&field(&message, 20).unwrap()[24..32], b"timetime");
    }

    #[test]
    fn the_first_message_is_that_of_the_go_package() {
        let expected = "4e544c4d5353500001000000018288a0000000002800000000000000280000000601b11d0000000f";
        assert_eq!(hex(&negotiate()), expected);
    }

    #[test]
    fn what_is_no_challenge_and_what_goes_beyond_is_not_answered() {
        let whole = challenge(INFO);
        for end in 0..whole.len() {
            assert_eq!(Challenge::read(&whole[..end]), None, "{end}");
        }
        assert_eq!(Challenge::read(&negotiate()), None);
        let asked = |flags: u32| {
            let mut challenge = Challenge::read(&whole).unwrap();
            challenge.flags = flags;
            authenticate(&challenge, "User", "Password", FRESH).is_some()
        };
        assert!(asked(flag::UNICODE));
        assert!(
            !asked(0) && !asked(flag::UNICODE | flag::KEY_EXCHANGE) && !asked(flag::UNICODE | flag::LM_KEY)
        );
        let challenge = Challenge::read(&whole).unwrap();
        assert_eq!(authenticate(&challenge, "", "", FRESH), None);
        assert!(authenticate(&challenge, "User", "", FRESH).is_some());
    }
}
