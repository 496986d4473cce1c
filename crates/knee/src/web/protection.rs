//! The headers that protect a page and its data in a browser.
//!
//! Does not decide which requests are answered; `guard` does.

use std::borrow::Cow;

use knee_report::html::inline::Inline;

/// What a browser can load and run for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The files of the page: its scripts and styles, and its data.
    OwnFiles,
    /// One document with a style within it, and no script. It can send its own forms.
    Document,
    /// The same with the one script that reports have, and without forms.
    Report,
    /// The same with the one script that forms with the second token have.
    Control,
}

impl Policy {
    /// The header. No other site can embed the page.
    pub fn header(self) -> Cow<'static, str> {
        match self {
            Self::OwnFiles => "\
content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
require-trusted-types-for 'script'; trusted-types 'none'\r\n"
                .into(),
            Self::Document => "\
content-security-policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
form-action 'self'; frame-ancestors 'none'\r\n"
                .into(),
            Self::Report => with_script(Inline::Cursor, "'none'").into(),
            Self::Control => with_script(Inline::Control, "'self'").into(),
        }
    }
}

/// The header of a document that runs one script, and whose forms are sent to `forms`.
fn with_script(script: Inline, forms: &str) -> String {
    format!(
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
         form-action {forms}; frame-ancestors 'none'; script-src {}\r\n",
        script.source()
    )
}

/// Headers of every response: no other site can read it, no browser keeps it, and no site learns its URL.
pub const COMMON: &str = "\
x-content-type-options: nosniff\r\n\
referrer-policy: no-referrer\r\n\
cache-control: no-store\r\n\
cross-origin-opener-policy: same-origin\r\n\
cross-origin-resource-policy: same-origin\r\n\
connection: close\r\n";
