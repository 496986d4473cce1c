//! A request as it was read.
//!
//! Trusts its clients: they are the two programs of the comparison.

use std::io::{BufRead, Result};
use std::time::SystemTime;

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method, as sent.
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Header lines, as sent.
    pub headers: Vec<(String, String)>,
    /// The body, without the framing of chunks.
    pub body: Vec<u8>,
    /// When its first line was read.
    pub arrived: Option<SystemTime>,
    /// How many requests came before it on its connection.
    pub place: usize,
}

impl Request {
    /// Reads one; `None` at the end of the connection.
    pub fn read(from: &mut impl BufRead) -> Result<Option<Self>> {
        let mut first = String::new();
        if from.read_line(&mut first)? == 0 {
            return Ok(None);
        }
        let arrived = Some(SystemTime::now());
        let (method, rest) = first.trim_end().split_once(' ').unwrap_or_default();
        // Blanks can be in a target, because Go sends a query as it is written.
        let target = rest.rsplit_once(' ').map_or(rest, |(target, _version)| target);
        let (method, target) = (method.to_owned(), target.to_owned());
        let mut request =
            Self { method, target, headers: read_headers(from)?, body: Vec::new(), arrived, place: 0 };
        request.body = request.read_body(from)?;
        Ok(Some(request))
    }

    fn read_body(&self, from: &mut impl BufRead) -> Result<Vec<u8>> {
        if self.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            return read_chunks(from);
        }
        let length = self.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        Ok(body)
    }

    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&self.target, |(path, _)| path)
    }

    /// The parts of the path, decoded.
    pub fn steps(&self) -> Vec<String> {
        self.path().split('/').filter(|step| !step.is_empty()).map(|step| decoded(step, false)).collect()
    }

    /// Pairs of the query, decoded, in their order.
    pub fn query(&self) -> Vec<(String, String)> {
        pairs(self.target.split_once('?').map_or("", |(_, query)| query))
    }

    /// The first value of this name in the query.
    pub fn argument(&self, name: &str) -> Option<String> {
        self.query().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Pairs of a form in the body, decoded.
    pub fn form(&self) -> Vec<(String, String)> {
        let kind = self.header("content-type").unwrap_or_default();
        if kind.starts_with("application/x-www-form-urlencoded") {
            pairs(&String::from_utf8_lossy(&self.body))
        } else {
            Vec::new()
        }
    }

    /// Names and values of the cookies, as sent.
    pub fn cookies(&self) -> Vec<(String, String)> {
        let lines = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let pairs = lines.flat_map(|(_, line)| line.split("; "));
        pairs
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}

fn read_headers(from: &mut impl BufRead) -> Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok(headers) };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_chunks(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; length + 2];
        from.read_exact(&mut chunk)?;
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// `a=1&b=2` as pairs.
fn pairs(text: &str) -> Vec<(String, String)> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name, true), decoded(value, true))
    };
    parts.map(pair).collect()
}

/// Without percent signs; `plus` says whether `+` is a space.
fn decoded(text: &str, plus: bool) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let pair = rest.as_slice().get(..2).filter(|_| byte == b'%');
        let code = pair.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        match (code, byte) {
            (Some(code), _) => {
                bytes.push(code);
                rest.nth(1);
            }
            (None, b'+') if plus => bytes.push(b' '),
            (None, byte) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Request {
        Request::read(&mut text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_query_is_split_and_decoded() {
        let request = read("GET /a%20b/c?x=1+2&y=%26&z HTTP/1.1\r\n\r\n");
        assert_eq!(request.steps(), ["a b", "c"]);
        let expected = [("x", "1 2"), ("y", "&"), ("z", "")];
        assert_eq!(request.query(), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_body_in_chunks_is_put_together() {
        let request =
            read("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n");
        assert_eq!(request.body, b"abcd");
    }

    #[test]
    fn the_end_of_a_connection_is_no_request() {
        assert!(Request::read(&mut "".as_bytes()).unwrap().is_none());
    }
}
