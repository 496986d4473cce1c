//! Responses of the live page: its files, its data, and the headers that protect both.
//!
//! All files are part of the program. Does not decide whether a request is answered, and does not stream events.

use std::borrow::Cow;
use std::io::{self, Write};

use super::guard::cookie_name;
use super::protection::PROTECTION;
use super::refusal::Refusal;
use super::request::Request;
use super::token::Token;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// The files of the page: path, type, content.
const FILES: [(&str, &str, &str); 5] = [
    ("/", HTML, include_str!("page.html")),
    ("/assets/page.css", CSS, include_str!("page.css")),
    ("/assets/page.js", SCRIPT, include_str!("page.js")),
    ("/assets/chart.js", SCRIPT, include_str!("chart.js")),
    ("/assets/number.js", SCRIPT, include_str!("number.js")),
];

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: &'static str,
    kind: &'static str,
    body: Cow<'static, str>,
    /// More headers, each with its line end.
    more: String,
}

impl Answer {
    fn ok(kind: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        Self { status: "200 OK", kind, body: body.into(), more: String::new() }
    }

    /// Why a request is not answered.
    pub fn refusal(refusal: Refusal) -> Self {
        let more = if refusal == Refusal::Method { "allow: GET, HEAD\r\n" } else { "" };
        let body = format!("{refusal}\n").into();
        Self { status: refusal.status(), kind: TEXT, body, more: more.to_owned() }
    }

    /// Writes the response; of `is_head` only its head.
    ///
    /// # Errors
    ///
    /// When the other side is gone or does not read.
    pub fn write(&self, mut out: impl Write, is_head: bool) -> io::Result<()> {
        let Self { status, kind, body, more } = self;
        let mut text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{PROTECTION}{more}\r\n",
            body.len()
        );
        if !is_head {
            text.push_str(body);
        }
        out.write_all(text.as_bytes())
    }
}

/// The response to an admitted request. `state` makes the data.
pub fn of(request: &Request, token: &Token, port: u16, state: impl FnOnce() -> String) -> Answer {
    if request.path == "/api/state" {
        return Answer::ok(JSON, state());
    }
    if request.path == "/api/events" {
        return Answer::ok(super::stream::KIND, "");
    }
    let Some((_, kind, content)) = FILES.iter().find(|(path, ..)| *path == request.path) else {
        return Answer::refusal(Refusal::Path);
    };
    let mut answer = Answer::ok(kind, *content);
    if request.path == "/" {
        // Of this tab's browser alone, gone when that closes; scripts cannot read it.
        let name = cookie_name(port);
        answer.more = format!("set-cookie: {name}={}; Path=/; HttpOnly; SameSite=Strict\r\n", token.text());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::super::request;
    use super::*;

    fn answered(target: &str) -> String {
        let request = request::of(&format!("GET {target} HTTP/1.1\nHost: a")).unwrap().unwrap();
        let mut bytes = Vec::new();
        let answer = of(&request, &Token::new().unwrap(), 4711, || "{}".to_owned());
        answer.write(&mut bytes, false).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn paths_are_looked_up_and_never_joined() {
        for target in ["/assets/", "/assets/../page.js", "/assets/%2e%2e/page.js", "//", "/api", "/page.html"]
        {
            assert!(answered(target).starts_with("HTTP/1.1 404 "), "{target}");
        }
        for (target, ..) in FILES {
            assert!(answered(target).starts_with("HTTP/1.1 200 "), "{target}");
        }
    }

    #[test]
    fn the_page_has_no_script_style_or_address_but_its_own() {
        let page = FILES[0].2;
        for inline in ["<style", "style=", "javascript:", "http://", "https://", " onload=", " onclick="] {
            assert!(!page.contains(inline), "{inline}");
        }
        for (_, _, script) in &FILES[2..] {
            for sink in
                ["innerHTML", "outerHTML", "insertAdjacent", "eval(", "document.write", "new Function"]
            {
                assert!(!script.contains(sink), "{sink}");
            }
        }
    }

    #[test]
    fn every_response_is_protected_and_only_the_page_sets_the_cookie() {
        for target in ["/", "/api/state", "/nothing"] {
            let answer = answered(target);
            assert!(answer.contains("default-src 'none'") && answer.contains("nosniff"), "{answer}");
            assert!(!answer.contains("access-control"), "{answer}");
            assert_eq!(answer.contains("HttpOnly; SameSite=Strict"), target == "/", "{answer}");
        }
    }
}
