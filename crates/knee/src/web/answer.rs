//! A response of a page, with its content type and the headers that protect it.
//!
//! Does not decide whether a request is answered, and does not stream.

use std::borrow::Cow;
use std::io::{self, Write};

use super::protection::{COMMON, Policy};
use super::refusal::Refusal;

/// A document.
pub const HTML: &str = "text/html; charset=utf-8";
/// A style sheet.
pub const CSS: &str = "text/css; charset=utf-8";
/// A script.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Data.
pub const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: &'static str,
    kind: &'static str,
    body: Cow<'static, str>,
    policy: Policy,
    /// More headers, each with its line end.
    more: String,
}

impl Answer {
    /// What was asked for.
    pub fn ok(kind: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        Self { status: "200 OK", kind, body: body.into(), policy: Policy::OwnFiles, more: String::new() }
    }

    /// Why a request is not answered.
    pub fn refusal(refusal: Refusal) -> Self {
        let more = if refusal == Refusal::Method { "allow: GET, HEAD\r\n" } else { "" };
        let answer = Self::ok(TEXT, format!("{refusal}\n"));
        Self { status: refusal.status(), more: more.to_owned(), ..answer }
    }

    /// The same under another policy.
    #[must_use]
    pub const fn under(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The same with another status.
    #[must_use]
    pub const fn with_status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    /// The same with one more header, which ends in a line end.
    #[must_use]
    pub fn with(mut self, header: &str) -> Self {
        self.more.push_str(header);
        self
    }

    /// Writes the response; of `is_head` only its head.
    ///
    /// # Errors
    ///
    /// When the other side is gone or does not read.
    pub fn write(&self, mut out: impl Write, is_head: bool) -> io::Result<()> {
        let Self { status, kind, body, policy, more } = self;
        let mut text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{}{COMMON}{more}\r\n",
            body.len(),
            policy.header()
        );
        if !is_head {
            text.push_str(body);
        }
        out.write_all(text.as_bytes())
    }
}

/// That an answer has every header that protects it, and none that lets others read it.
#[cfg(test)]
pub fn assert_protected(answer: &str) {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer}"));
    for header in [
        "content-security-policy: default-src 'none'; ",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
    ] {
        let found = head.lines().filter(|line| line.starts_with(header)).count();
        assert_eq!(found, 1, "{header} in {head}");
    }
    assert!(head.contains("; frame-ancestors 'none'") && !head.contains("access-control"), "{head}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_protected_like_the_page_itself() {
        for refusal in Refusal::ALL {
            let mut bytes = Vec::new();
            Answer::refusal(refusal).write(&mut bytes, false).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {}\r\n", refusal.status())), "{text}");
            assert_protected(&text);
        }
    }
}
