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
