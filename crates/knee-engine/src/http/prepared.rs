//! A request, prepared before it is due: the same for every version of HTTP.
//!
//! It is kept as HTTP/1.1 writes it, because so it is sent most often and then costs a single copy to the kernel.
//! Method, target, fields and body can be read from the same bytes. Does not choose fields and does not send.

/// A request ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedRequest {
    /// Request line, fields, empty line, body.
    bytes: Vec<u8>,
    method_end: usize,
    target_end: usize,
    head_end: usize,
    is_repeatable: bool,
}

impl PreparedRequest {
    /// The method.
    pub fn method(&self) -> &[u8] {
        &self.bytes[..self.method_end]
    }

    /// The target as it is sent: usually path and query.
    pub fn target(&self) -> &[u8] {
        &self.bytes[self.method_end + 1..self.target_end]
    }

    /// Names and values of the header fields in order. `host` is one of them.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let line = self.target_end + VERSION.len();
        let mut rest = &self.bytes[line..self.head_end - 2];
        std::iter::from_fn(move || {
            let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
            let (field, after) = (&rest[..end], &rest[end + 2..]);
            rest = after;
            let colon = field.windows(2).position(|pair| pair == b": ")?;
            Some((&field[..colon], &field[colon + 2..]))
        })
    }

    /// The body; empty without one.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.head_end..]
    }

    /// Head and body as HTTP/1.1 writes them.
    pub fn as_http1(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the response has no body, whatever its head says.
    pub fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    /// Whether it can be sent again if the server possibly did not process it.
    pub const fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }
}

const VERSION: &[u8] = b" HTTP/1.1\r\n";

/// Writes a request field by field.
#[derive(Debug)]
pub struct RequestWriter {
    request: PreparedRequest,
}

impl RequestWriter {
    /// Begins a request. `room` is the expected length of fields and body in bytes.
    pub fn new(method: &str, target: &[u8], room: usize) -> Self {
        let method_end = method.len();
        let target_end = method_end + 1 + target.len();
        let mut bytes = Vec::with_capacity(target_end + VERSION.len() + room);
        bytes.extend_from_slice(method.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(target);
        bytes.extend_from_slice(VERSION);
        let request = PreparedRequest { bytes, method_end, target_end, head_end: 0, is_repeatable: false };
        Self { request }
    }

    /// Adds a field. A line break in it becomes a blank: it would end the field and begin another one that the author
    /// of the value chooses.
    pub fn field(&mut self, name: &str, value: &[u8]) {
        let bytes = &mut self.request.bytes;
        let start = bytes.len();
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        for byte in &mut bytes[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        bytes.extend_from_slice(b"\r\n");
    }

    /// Ends the request. A repeatable one is sent again if the server possibly did not process it.
    pub fn finish(self, body: &[u8], is_repeatable: bool) -> PreparedRequest {
        let mut request = self.request;
        request.bytes.extend_from_slice(b"\r\n");
        request.head_end = request.bytes.len();
        request.bytes.extend_from_slice(body);
        request.is_repeatable = is_repeatable;
        request
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_request_reads_as_it_was_written(
            method in "[A-Z]{1,8}",
            target in "/[!-~]{0,40}",
            fields in prop::collection::vec(("[a-zA-Z-]{1,12}", "[ -~]{0,40}"), 0..8),
            body in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut writer = RequestWriter::new(&method, target.as_bytes(), 0);
            for (name, value) in &fields {
                writer.field(name, value.as_bytes());
            }
            let request = writer.finish(&body, true);
            prop_assert_eq!(request.method(), method.as_bytes());
            prop_assert_eq!(request.target(), target.as_bytes());
            let read: Vec<_> = request.fields().map(|(name, value)| (text(name), text(value))).collect();
            prop_assert_eq!(read, fields);
            prop_assert_eq!(request.body(), &body[..]);
            prop_assert_eq!(request.is_head(), method == "HEAD");
        }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn a_line_break_in_a_value_cannot_begin_another_field() {
        let mut writer = RequestWriter::new("GET", b"/", 0);
        writer.field("a", b"1\r\nevil: 2");
        let request = writer.finish(b"", false);
        assert_eq!(request.as_http1(), b"GET / HTTP/1.1\r\na: 1  evil: 2\r\n\r\n");
        assert_eq!(request.fields().count(), 1);
    }
}
