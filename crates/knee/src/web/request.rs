//! Reads one request of a browser, with limits of size and time.
//!
//! Requests are hostile input. A request has no body here. Does not decide whether it is answered.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use knee_core::clock::MonotonicClock;

use super::refusal::Refusal;

/// Longest head of a request.
const HEAD_MAX: usize = 8 * 1_024;
/// Most headers.
const HEADERS_MAX: usize = 64;

/// A request without its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// As sent.
    pub method: String,
    /// Whether only the head of the response is wanted.
    pub is_head: bool,
    /// The part of the target before `?`; begins with `/`.
    pub path: String,
    /// The part after it.
    pub query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
}

impl Request {
    /// All values of a header.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter in the target.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// The request that `stream` sends within `limit`.
///
/// # Errors
///
/// When it is no request, too large, too late or has a body, or can be read in two ways.
pub fn read(mut stream: &TcpStream, limit: Duration) -> Result<Request, Refusal> {
    let clock = MonotonicClock::start();
    let (mut bytes, mut piece) = (Vec::new(), [0; 1_024]);
    loop {
        let left = limit.saturating_sub(Duration::from_nanos(clock.now().0));
        if left.is_zero() {
            return Err(Refusal::Late);
        }
        stream.set_read_timeout(Some(left)).map_err(|_| Refusal::Closed)?;
        match stream.read(&mut piece) {
            Ok(0) => return Err(Refusal::Closed),
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Refusal::Late);
            }
            Err(_) => return Err(Refusal::Closed),
        }
        if let Some(request) = parse(&bytes)? {
            return Ok(request);
        }
    }
}

/// The request whose head `bytes` begin with; `None` if there must be more.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = match parsed.parse(bytes) {
        _ if bytes.len() > HEAD_MAX => return Err(Refusal::TooLarge),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::Malformed),
        Ok(status) => status,
    };
    let head = if let httparse::Status::Complete(length) = status { &bytes[..length] } else { bytes };
    if has_bare_line_feed(head) {
        return Err(Refusal::Malformed);
    }
    if status.is_partial() {
        return Ok(None);
    }
    let target = parsed.path.filter(|target| target.starts_with('/')).ok_or(Refusal::Malformed)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let text = |value: &[u8]| std::str::from_utf8(value).map(str::to_owned).map_err(|_| Refusal::Malformed);
    let headers = parsed
        .headers
        .iter()
        .map(|header| Ok((header.name.to_ascii_lowercase(), text(header.value)?)))
        .collect::<Result<Vec<_>, Refusal>>()?;
    let method = parsed.method.unwrap_or_default().to_owned();
    let (path, query) = (path.to_owned(), query.to_owned());
    let request = Request { is_head: method == "HEAD", method, path, query, headers };
    check_body(&request)?;
    Ok(Some(request))
}

/// Whether a line ends without a carriage return: the parser takes that, and other programs see other lines then.
fn has_bare_line_feed(head: &[u8]) -> bool {
    head.iter().enumerate().any(|(at, c)| *c == b'\n' && (at == 0 || head[at - 1] != b'\r'))
}

/// That there is no body, and that no proxy in between can have found one.
fn check_body(request: &Request) -> Result<(), Refusal> {
    let mut lengths = request.headers("content-length");
    let (length, another) = (lengths.next(), lengths.next());
    let is_number = |length: &str| !length.is_empty() && length.bytes().all(|c| c.is_ascii_digit());
    let is_encoded = request.header("transfer-encoding").is_some();
    match length {
        Some(length) if another.is_some() || is_encoded || !is_number(length) => Err(Refusal::Malformed),
        Some(length) if length != "0" => Err(Refusal::Body),
        None if is_encoded => Err(Refusal::Body),
        _ => Ok(()),
    }
}

/// A request as a test writes it.
#[cfg(test)]
pub fn of(head: &str) -> Result<Option<Request>, Refusal> {
    parse(format!("{}\r\n\r\n", head.trim_end().replace('\n', "\r\n")).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_method_its_target_and_its_headers() {
        let request = of("GET /?token=07&x=1 HTTP/1.1\nHost: a\nCookie: b=c").unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/"));
        assert_eq!(request.parameter("token"), Some("07"));
        assert_eq!(request.header("cookie"), Some("b=c"));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a\r\n"), Ok(None));
    }

    #[test]
    fn what_is_no_request_to_a_page_is_refused() {
        for (head, refusal) in [
            ("GET http://evil.test/ HTTP/1.1\nHost: a", Refusal::Malformed),
            ("CONNECT evil.test:80 HTTP/1.1\nHost: a", Refusal::Malformed),
            ("GET / HTTP/1.1\nHost: a\nno header", Refusal::Malformed),
            ("\u{1}\u{2}", Refusal::Malformed),
            ("POST / HTTP/1.1\nHost: a\nContent-Length: 5", Refusal::Body),
            ("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked", Refusal::Body),
        ] {
            assert_eq!(of(head), Err(refusal), "{head:?}");
        }
        assert_eq!(of("GET / HTTP/1.1\nHost: a\nContent-Length: 0").map(|found| found.is_some()), Ok(true));
        let many = "a: b\n".repeat(HEADERS_MAX + 1);
        assert_eq!(of(&format!("GET / HTTP/1.1\n{many}")), Err(Refusal::TooLarge));
        let long = "a".repeat(HEAD_MAX);
        assert_eq!(of(&format!("GET /{long} HTTP/1.1\nHost: a")), Err(Refusal::TooLarge));
        assert_eq!(parse(format!("GET /{long}").as_bytes()), Err(Refusal::TooLarge));
    }

    #[test]
    fn a_request_whose_end_two_programs_can_see_in_two_places_is_refused() {
        for lengths in [
            "Content-Length: 0\nContent-Length: 5",
            "Content-Length: 0\nContent-Length: 0",
            "Content-Length: 0\nTransfer-Encoding: chunked",
            "Transfer-Encoding: identity\nContent-Length: 5",
            "Content-Length: 0, 0",
            "Content-Length: +0",
            "Content-Length: -1",
            "Content-Length: 0x0",
            "Content-Length:",
        ] {
            let head = format!("GET / HTTP/1.1\nHost: a\n{lengths}");
            assert_eq!(of(&head), Err(Refusal::Malformed), "{lengths:?}");
        }
    }

    #[test]
    fn a_line_that_ends_without_a_carriage_return_is_refused() {
        for head in [
            "GET / HTTP/1.1\nHost: a\n\n",
            "GET / HTTP/1.1\r\nHost: a\nCookie: b=c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
            "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\nHost: a",
        ] {
            assert_eq!(parse(head.as_bytes()), Err(Refusal::Malformed), "{head:?}");
        }
        let whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\nwhat follows\nis no head";
        assert!(parse(whole.as_bytes()).unwrap().is_some());
    }
}
