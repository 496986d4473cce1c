//! Metadata: header fields and trailers as scripts give and see them.
//!
//! Names are in small letters. The values of names that end in `-bin` are bytes, which travel as base64.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use knee_engine::http::http2::duplex::FieldList;

use crate::go_quote::quoted;
use crate::go_text;

/// Fields that belong to the protocol and are not shown.
const RESERVED: [&str; 7] =
    ["user-agent", "grpc-message-type", "grpc-encoding", "grpc-message", "grpc-status", "grpc-timeout", "te"];

/// The first value of a field.
pub fn field<'a>(fields: &'a FieldList, name: &str) -> Option<&'a [u8]> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..])
}

/// A value as it is sent.
pub fn written(name: &str, value: &[u8]) -> Vec<u8> {
    if name.ends_with("-bin") { STANDARD_NO_PAD.encode(value).into_bytes() } else { value.to_vec() }
}

/// Whether a script can set a field of this name; the others belong to the protocol.
pub fn is_own(name: &str) -> bool {
    !name.starts_with(':') && name != "content-type" && !RESERVED.contains(&name)
}

/// Refuses what grpc-go refuses to send, in its words.
pub fn check(fields: &FieldList) -> Result<(), String> {
    for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with(':')) {
        if name.is_empty() {
            return Err("there is an empty key in the header".to_owned());
        }
        let is_usual =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        if !name.bytes().all(is_usual) {
            return Err(format!(
                "header key {} contains illegal characters not in [0-9a-z-_.]",
                quoted(name.as_bytes())
            ));
        }
        let is_printable = value.iter().all(|byte| matches!(byte, 0x20..=0x7e));
        if !name.ends_with("-bin") && !is_printable {
            return Err(format!(
                "header key {} contains value with non-printable ASCII characters",
                quoted(name.as_bytes())
            ));
        }
    }
    Ok(())
}

/// What scripts see: each name with its values.
pub fn shown(fields: &FieldList) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in fields.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str())) {
        let values = all.entry(name.clone()).or_default();
        if !name.ends_with("-bin") {
            values.push(go_text::text(value));
            continue;
        }
        // Several values can stand in one field.
        for part in value.split(|byte| *byte == b',') {
            let part = part.trim_ascii();
            let end = part.iter().rposition(|byte| *byte != b'=').map_or(0, |place| place + 1);
            let bytes = STANDARD_NO_PAD.decode(&part[..end]).unwrap_or_default();
            values.push(go_text::text(&bytes));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_travel_as_base64_and_are_shown_as_they_were() {
        assert_eq!(written("a-bin", b"\x01\x02\x03\x04"), b"AQIDBA");
        assert_eq!(written("a", b"\x01"), b"\x01");
        let fields = vec![
            ("a-bin".to_owned(), b"aGk=".to_vec()),
            ("b".to_owned(), b"1".to_vec()),
            ("b".to_owned(), b"2".to_vec()),
            ("grpc-status".to_owned(), b"0".to_vec()),
        ];
        let shown = shown(&fields);
        assert_eq!(shown["a-bin"], ["hi"]);
        assert_eq!(shown["b"], ["1", "2"]);
        assert_eq!(shown.len(), 2, "what belongs to the protocol is not shown");
    }
}
