//! The handshake (RFC 6455, section 4): the key of a request, the head of the response, and what the response agrees to.
//!
//! Pure, apart from random bytes for the key. Does not send; see [`super::opening`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// What the response to a key is made with (RFC 6455, section 1.3).
const SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Most header lines of a response.
const LINES_MAX: usize = 128;

/// A new key for a request.
pub fn new_key() -> String {
    STANDARD.encode(rand::random::<[u8; 16]>())
}

/// What a server must answer to a key.
pub fn accept_of(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(SUFFIX);
    STANDARD.encode(hash.finalize())
}

/// The response to a handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandshakeReply {
    /// Its status.
    pub status: u16,
    /// Names and values of its header fields, in order.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The start of its body, if it refused.
    pub body: Vec<u8>,
}

/// Why a response does not begin a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another status than 101, or fields that are missing or wrong.
    BadHandshake,
    /// Compression that depends on earlier messages.
    Compression,
}

impl HandshakeReply {
    /// Reads a head; `None` if it is not complete. The other number is its length. Fails with the first line of what is
    /// no response of HTTP/1.
    pub fn read(input: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
        let mut response = httparse::Response::new(&mut lines);
        let first_line = || {
            let line = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
            String::from_utf8_lossy(line.trim_ascii()).into_owned()
        };
        match response.parse(input) {
            Ok(httparse::Status::Complete(length)) => {
                let status = response.code.unwrap_or(0);
                let fields = response.headers.iter().map(|line| (line.name.to_owned(), line.value.to_vec()));
                Ok(Some((Self { status, fields: fields.collect(), body: Vec::new() }, length)))
            }
            Ok(httparse::Status::Partial) => Ok(None),
            Err(_) => Err(first_line()),
        }
    }

    /// The first value of a field, as text.
    pub fn get(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(&field.1).ok()
    }

    /// All values of a field, as texts.
    pub fn all(&self, name: &str) -> Vec<String> {
        let values = self.fields.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        values.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect()
    }

    /// What the server agreed to, by the key that it got: whether messages can be compressed.
    pub fn verify(&self, key: &str) -> Result<bool, Refusal> {
        let is_upgrade = self.has_token("upgrade", "websocket") && self.has_token("connection", "upgrade");
        let accepted = self.get("sec-websocket-accept").map(str::trim) == Some(accept_of(key).as_str());
        if self.status != 101 || !is_upgrade || !accepted {
            return Err(Refusal::BadHandshake);
        }
        for extension in self.all("sec-websocket-extensions").iter().flat_map(|value| value.split(',')) {
            let mut words = extension.split(';').map(str::trim);
            if words.next() != Some("permessage-deflate") {
                continue;
            }
            let words: Vec<&str> = words.collect();
            let has = |word: &str| words.contains(&word);
            let is_stateless = has("server_no_context_takeover") && has("client_no_context_takeover");
            return if is_stateless { Ok(true) } else { Err(Refusal::Compression) };
        }
        Ok(false)
    }

    fn has_token(&self, name: &str, token: &str) -> bool {
        let values = self.all(name);
        values.iter().flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn reply(accept: &str, extra: &str) -> HandshakeReply {
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n{extra}\r\n"
        );
        let (reply, length) = HandshakeReply::read(head.as_bytes()).unwrap().unwrap();
        assert_eq!(length, head.len());
        reply
    }

    #[test]
    fn the_example_of_the_standard_is_accepted() {
        // RFC 6455, section 1.3.
        assert_eq!(accept_of(KEY), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(reply(&accept_of(KEY), "").verify(KEY), Ok(false));
    }

    #[test]
    fn a_response_with_another_key_status_or_field_is_refused() {
        assert_eq!(reply("AAAA", "").verify(KEY), Err(Refusal::BadHandshake));
        let good = reply(&accept_of(KEY), "");
        assert_eq!(HandshakeReply { status: 200, ..good.clone() }.verify(KEY), Err(Refusal::BadHandshake));
        for left_out in 0..3 {
            let mut bad = good.clone();
            bad.fields.remove(left_out);
            assert_eq!(bad.verify(KEY), Err(Refusal::BadHandshake), "{left_out}");
        }
    }

    #[test]
    fn compression_must_not_depend_on_earlier_messages() {
        let with = |words: &str| {
            reply(&accept_of(KEY), &format!("Sec-WebSocket-Extensions: {words}\r\n")).verify(KEY)
        };
        let both = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        assert_eq!(with(both), Ok(true));
        assert_eq!(with("permessage-deflate; server_no_context_takeover"), Err(Refusal::Compression));
        assert_eq!(with("x-other"), Ok(false));
    }

    #[test]
    fn what_is_no_response_is_reported_by_its_first_line() {
        assert_eq!(HandshakeReply::read(b"garbage\r\n\r\n"), Err("garbage".to_owned()));
        assert_eq!(HandshakeReply::read(b"HTTP/1.1 101 Switching"), Ok(None));
    }

    #[test]
    fn no_two_keys_are_alike() {
        let keys = [new_key(), new_key()];
        assert_ne!(keys[0], keys[1]);
        assert_eq!(keys[0].len(), 24);
    }
}
