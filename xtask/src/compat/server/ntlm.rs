//! A path that asks who is there by NTLM, and reads the proof by itself: it shares no code with knee.
//!
//! The challenge is constant, as is the time in it. Does not remember connections: each request begins a handshake of its own. What is
//! offered is a step of the path: `NTLM`, `Negotiate`, `all` and more, see [`answer`].

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use md4::Md4;
use md5::{Digest, Md5};
use serde_json::json;

use super::answer::Answer;
use super::request::Request;

const NONCE: [u8; 8] = *b"8 bytes.";
/// UTF-16, names of the target, NTLM, the newer kind of session, what the server says of itself.
const FLAGS: u32 = 0x0088_0205;
const KEY_EXCHANGE: u32 = 1 << 30;

/// The answer to a request of `/ntlm-auth/OFFER/DOMAIN/USER/PASSWORD`; `-` is no domain.
pub fn answer(request: &Request, offer: &str, [domain, user, word]: [&str; 3]) -> Answer {
    let given = request.header("authorization").unwrap_or_default();
    let (scheme, token) = given.split_once(' ').unwrap_or_default();
    let token = STANDARD.decode(token).unwrap_or_default();
    let refused = Answer::text(401, "text/plain", "who are you?\n");
    let offered = match offer {
        "all" => &["Basic realm=\"compat\"", "Negotiate", "NTLM"][..],
        "Basic" => &["Basic realm=\"compat\""],
        "Negotiate" => &["Negotiate"],
        _ => &["NTLM"],
    };
    match (scheme, kind(&token)) {
        ("NTLM" | "Negotiate", 1) if offer == "easy" => Answer::json(&json!({ "asked": false })),
        ("NTLM" | "Negotiate", 1) => {
            let challenge = format!("{scheme} {}", challenge(offer));
            Answer::text(401, "text/plain", "prove it\n").with("WWW-Authenticate", &challenge)
        }
        ("NTLM" | "Negotiate", 3) if request.place > 0 && is_proof(&token, domain, user, word) => {
            Answer::json(&json!({ "scheme": scheme, "who": shown(&token) }))
        }
        _ => offered.iter().fold(refused, |answer, offer| answer.with("WWW-Authenticate", offer)),
    }
}

/// The number of a message; 0 if it is none.
fn kind(message: &[u8]) -> u8 {
    if message.starts_with(b"NTLMSSP\0") { message.get(8).copied().unwrap_or(0) } else { 0 }
}

/// The second message.
fn challenge(offer: &str) -> String {
    if offer == "garbage" {
        return "bm90aGluZw==".to_owned();
    }
    let flags = if offer == "keys" { FLAGS | KEY_EXCHANGE } else { FLAGS };
    let mut info = Vec::new();
    for (id, value) in [(2_u16, utf16("SHOP")), (7, b"\0\x80\x3e\xd5\xde\xb1\x9d\x01".to_vec())] {
        info.extend([id.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat());
        info.extend(value);
    }
    info.extend([0; 4]);
    if offer == "bare" {
        info.clear();
    }
    let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
    message.extend([8, 0, 8, 0, 48, 0, 0, 0]);
    message.extend(flags.to_le_bytes());
    message.extend([NONCE, [0; 8]].concat());
    let length = (info.len() as u16).to_le_bytes();
    message.extend([&length[..], &length, &[56, 0, 0, 0]].concat());
    message.extend(utf16("SHOP"));
    message.extend(info);
    STANDARD.encode(message)
}

/// The part of a message that the eight bytes at `at` describe.
fn part(message: &[u8], at: usize) -> &[u8] {
    let read = |at: usize| message.get(at).copied().map_or(0, usize::from);
    let (length, begin) = (read(at) + 256 * read(at + 1), read(at + 4) + 256 * read(at + 5));
    message.get(begin..begin + length).unwrap_or_default()
}

fn is_proof(message: &[u8], domain: &str, user: &str, word: &str) -> bool {
    let domain = if domain == "-" { "" } else { domain };
    if part(message, 28) != utf16(domain) || part(message, 36) != utf16(user) {
        return false;
    }
    let name = [utf16(&user.to_uppercase()), utf16(domain)].concat();
    let key = keyed(&Md4::digest(utf16(word)), &name);
    let (proof, claims) = part(message, 20).split_at_checked(16).unwrap_or_default();
    let short = part(message, 12);
    let is_short = match short.split_at_checked(16) {
        Some((proof, nonce)) => proof == keyed(&key, &[&NONCE, nonce].concat()),
        None => short.is_empty(),
    };
    is_short && proof == keyed(&key, &[&NONCE, claims].concat())
}

fn keyed(key: &[u8], message: &[u8]) -> Vec<u8> {
    // A key can have any length.
    let Ok(mut keyed) = <Hmac<Md5> as KeyInit>::new_from_slice(key) else { return Vec::new() };
    keyed.update(message);
    keyed.finalize().into_bytes().to_vec()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// What a message says, without what its client made up.
pub fn shown(message: &[u8]) -> String {
    let text = |at| {
        let units: Vec<u16> =
            part(message, at).chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match kind(message) {
        1 => format!("offers {}", message[12..].escape_ascii()),
        3 => {
            let flags = message.get(60..64).unwrap_or_default();
            let lengths = (part(message, 12).len(), part(message, 20).len());
            format!("{}\\{} at '{}', {lengths:?} bytes, flags {flags:?}", text(28), text(36), text(44))
        }
        other => format!("message {other}"),
    }
}
