//! Asks an HTTP proxy for a tunnel (RFC 9110, section 9.3.6).
//!
//! Does not ask again with other credentials: the URL of the proxy has them, or there are none.

use knee_core::outcome::Fault;

use super::super::failure::{Failure, ProxyProblem};
use super::super::origin::Origin;
use super::Proxy;
use super::wire::Wire;

/// Most bytes of an answer.
const ANSWER_MAX: usize = 256 << 10;
/// Most header lines of an answer.
const LINES_MAX: usize = 128;

/// Asks for a tunnel to `origin` and reads the answer.
pub(super) async fn connect(wire: &mut Wire<'_>, proxy: &Proxy, origin: &Origin) -> Result<(), Failure> {
    wire.send(request(proxy, origin).as_bytes()).await?;
    loop {
        wire.receive().await.map_err(closed)?;
        let Some(answer) = Answer::read(&wire.input)? else { continue };
        wire.input.drain(..answer.length);
        return answer.verdict();
    }
}

fn request(proxy: &Proxy, origin: &Origin) -> String {
    let place = origin.place();
    let agent = concat!("knee/", env!("CARGO_PKG_VERSION"));
    let authorization = proxy.authorization();
    let authorization = authorization.map(|value| format!("Proxy-Authorization: {value}\r\n"));
    let authorization = authorization.unwrap_or_default();
    format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nUser-Agent: {agent}\r\n{authorization}\r\n")
}

fn closed(failure: Failure) -> Failure {
    if failure.fault == Fault::ClosedEarly {
        return Failure { proxy: Some(Box::new(ProxyProblem::Closed)), ..failure };
    }
    failure
}

/// The head of an answer.
struct Answer {
    status: u16,
    reason: String,
    length: usize,
}

impl Answer {
    /// Reads a head; `None` if it is not complete.
    fn read(input: &[u8]) -> Result<Option<Self>, Failure> {
        let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
        let mut response = httparse::Response::new(&mut lines);
        match response.parse(input) {
            Ok(httparse::Status::Complete(length)) => {
                let reason = response.reason.unwrap_or_default().to_owned();
                Ok(Some(Self { status: response.code.unwrap_or(0), reason, length }))
            }
            Ok(httparse::Status::Partial) if input.len() <= ANSWER_MAX => Ok(None),
            Ok(httparse::Status::Partial) => {
                Err(Failure::new(Fault::HeadTooLarge, "the proxy's answer is too large"))
            }
            Err(_) => {
                let line = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let line = String::from_utf8_lossy(line.trim_ascii()).into_owned();
                let words = format!("the proxy's answer is no HTTP/1: {line}");
                let proxy = Some(Box::new(ProxyProblem::NotHttp(line)));
                Err(Failure { proxy, ..Failure::new(Fault::MalformedHead, words) })
            }
        }
    }

    /// As in Go, only 200 is a tunnel.
    fn verdict(self) -> Result<(), Failure> {
        let Self { status, reason, .. } = self;
        if status == 200 {
            return Ok(());
        }
        let words = format!("the proxy answered CONNECT with {status} {reason}");
        let proxy = Some(Box::new(ProxyProblem::Answered(reason)));
        Err(Failure { proxy, ..Failure::new(Fault::ProxyRefused, words.trim_end()) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use url::Url;

    use super::*;

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port() {
        let text = |proxy: &str, url: &str| {
            let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
            let proxy = Arc::new(Proxy::parse(proxy).unwrap());
            request(&proxy, &origin.tunnelled(&proxy))
        };
        let plain = text("p:1", "https://[::1]/x");
        assert!(plain.starts_with("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n"), "{plain}");
        assert!(!plain.contains("Authorization"));
        let known = text("u:w@p:1", "http://h:81/");
        assert!(known.contains("CONNECT h:81 "), "{known}");
        assert!(known.ends_with("Proxy-Authorization: Basic dTp3\r\n\r\n"), "{known}");
    }

    #[test]
    fn only_200_is_a_tunnel() {
        let verdict = |head: &str| Answer::read(head.as_bytes()).unwrap().unwrap().verdict();
        assert!(verdict("HTTP/1.0 200 Connection established\r\n\r\n").is_ok());
        let refused = verdict("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").unwrap_err();
        assert_eq!(refused.fault, Fault::ProxyRefused);
        let answered = ProxyProblem::Answered("Proxy Authentication Required".to_owned());
        assert_eq!(refused.proxy.as_deref(), Some(&answered));
        assert_eq!(
            refused.message.unwrap(),
            "the proxy answered CONNECT with 407 Proxy Authentication Required"
        );
        assert!(verdict("HTTP/1.1 201 Created\r\n\r\n").is_err());
    }

    #[test]
    fn an_answer_that_is_no_http_is_an_error_and_an_incomplete_one_is_waited_for() {
        assert!(Answer::read(b"HTTP/1.1 200 OK\r\n").unwrap().is_none());
        let failure = Answer::read(b"SSH-2.0-x\r\n\r\n").err().unwrap();
        assert_eq!(failure.fault, Fault::MalformedHead);
        let endless = [&b"HTTP/1.1 200 OK\r\na: "[..], &vec![b'x'; ANSWER_MAX]].concat();
        assert_eq!(Answer::read(&endless).err().unwrap().fault, Fault::HeadTooLarge);
    }
}
