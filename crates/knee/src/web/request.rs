//! Reads one request of a browser, with limits of size and time.
//!
//! Requests are hostile input. The only body is that of a form, which is read after the request was admitted. Does not
//! decide whether it is answered.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use url::form_urlencoded;

use super::refusal::Refusal;

/// Longest head of a request.
const HEAD_MAX: usize = 8 * 1_024;
/// Most headers.
const HEADERS_MAX: usize = 64;
/// Longest form.
const FORM_MAX: usize = 16 * 1_024;
/// How browsers name the type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// A request.
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
    /// What arrived of the body: with the head, and then the rest of it.
    body: Vec<u8>,
    /// How long the body is.
    length: usize,
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

    /// Whether it is a form that a page sends.
    pub fn is_form(&self) -> bool {
        let kind = self.header("content-type").and_then(|kind| kind.split(';').next());
        self.method == "POST" && kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM))
    }

    /// The first value of a field of the form; `None` if there is no such field.
    pub fn field(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(&self.body)
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The value of a parameter in the target.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// The head of the request that `stream` sends within `limit`, with what came of its body along with it.
///
/// # Errors
///
/// When it is no request, too large or too late, has a body that is no form, or can be read in two ways.
pub fn read(stream: &TcpStream, limit: Duration) -> Result<Request, Refusal> {
    let (clock, mut bytes) = (MonotonicClock::start(), Vec::new());
    loop {
        read_some(stream, limit, clock, &mut bytes)?;
        if let Some(request) = parse(&bytes)? {
            return Ok(request);
        }
    }
}

/// Reads what is missing of the form that `request` brings, within `limit`.
///
/// # Errors
///
/// When it does not arrive, or more arrives than was announced.
pub fn read_form(request: &mut Request, stream: &TcpStream, limit: Duration) -> Result<(), Refusal> {
    let clock = MonotonicClock::start();
    while request.body.len() < request.length {
        read_some(stream, limit, clock, &mut request.body)?;
    }
    if request.body.len() > request.length { Err(Refusal::Malformed) } else { Ok(()) }
}

/// Appends what can be read until `limit` has passed on `clock`.
fn read_some(
    mut stream: &TcpStream,
    limit: Duration,
    clock: MonotonicClock,
    bytes: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let mut piece = [0; 1_024];
    let left = limit.saturating_sub(Duration::from_nanos(clock.now().0));
    if left.is_zero() {
        return Err(Refusal::Late);
    }
    stream.set_read_timeout(Some(left)).map_err(|_| Refusal::Closed)?;
    match stream.read(&mut piece) {
        Ok(0) => Err(Refusal::Closed),
        Ok(length) => {
            bytes.extend_from_slice(&piece[..length]);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(Refusal::Late)
        }
        Err(_) => Err(Refusal::Closed),
    }
}

/// The request whose head `bytes` begin with; `None` if there must be more.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length > HEAD_MAX => return Err(Refusal::TooLarge),
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_MAX => return Err(Refusal::TooLarge),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::Malformed),
        Ok(status) => status,
    };
    let (head, body) = match status {
        httparse::Status::Complete(length) => bytes.split_at(length),
        httparse::Status::Partial => (bytes, &[][..]),
    };
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
    let mut request =
        Request { is_head: method == "HEAD", method, path, query, headers, ..Request::default() };
    request.length = body_length(&request)?;
    // What follows a request without a body is not looked at: a connection carries one request.
    request.body = if request.length > 0 { body.to_vec() } else { Vec::new() };
    Ok(Some(request))
}

/// Whether a line ends without a carriage return: the parser takes that, and other programs see other lines then.
fn has_bare_line_feed(head: &[u8]) -> bool {
    head.iter().enumerate().any(|(at, c)| *c == b'\n' && (at == 0 || head[at - 1] != b'\r'))
}

/// How long the body is, so that no proxy in between can have found another length. Only a form has one.
fn body_length(request: &Request) -> Result<usize, Refusal> {
    let mut lengths = request.headers("content-length");
    let (length, another) = (lengths.next(), lengths.next());
    let is_number = |length: &str| !length.is_empty() && length.bytes().all(|c| c.is_ascii_digit());
    let is_encoded = request.header("transfer-encoding").is_some();
    match length {
        Some(length) if another.is_some() || is_encoded || !is_number(length) => Err(Refusal::Malformed),
        Some(length) if request.is_form() => {
            length.parse().ok().filter(|length| *length <= FORM_MAX).ok_or(Refusal::LongBody)
        }
        Some("0") => Ok(0),
        None if !is_encoded => Ok(0),
        _ => Err(Refusal::Body),
    }
}

/// A form as a test sends it.
#[cfg(test)]
pub fn form(path: &str, body: &str) -> Request {
    let request = Request { method: "POST".to_owned(), path: path.to_owned(), ..Request::default() };
    Request { body: body.as_bytes().to_vec(), length: body.len(), ..request }
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
    fn a_form_has_fields_and_a_limit() {
        let head = |length: usize| {
            format!("POST /a HTTP/1.1\nHost: a\nContent-Type: {FORM};charset=UTF-8\nContent-Length: {length}")
        };
        let request = of(&head(5)).unwrap().unwrap();
        assert!(request.is_form() && request.length == 5);
        assert_eq!(of(&head(FORM_MAX + 1)), Err(Refusal::LongBody));
        let sent = form("/a", "rate=1+000&url=http%3A%2F%2Fa%2F&rate=2");
        assert_eq!(sent.field("rate").as_deref(), Some("1 000"));
        assert_eq!(sent.field("url").as_deref(), Some("http://a/"));
        assert_eq!(sent.field("other"), None);
        for kind in ["text/plain", "application/json", "multipart/form-data; boundary=x"] {
            let head = format!("POST /a HTTP/1.1\nHost: a\nContent-Type: {kind}\nContent-Length: 5");
            assert_eq!(of(&head), Err(Refusal::Body), "{kind}");
        }
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
