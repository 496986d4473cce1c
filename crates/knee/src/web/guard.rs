//! Which requests a page answers: those of its own tabs, under its own name, with its token.
//!
//! Any site can send requests to this machine from a browser on it, and can give its own name an address of this
//! machine. So a loopback address alone protects nothing. Does not read or answer requests.

use std::net::{IpAddr, SocketAddr};

use knee_core::unit::Nanos;

use super::refusal::Refusal;
use super::request::Request;
use super::token::Token;

/// Wrong tokens per second before all further ones are refused alike.
const GUESSES_MAX: u32 = 20;

/// Checks host, origin and method, in this order. `local` is this end of the connection. `takes_forms`: whether the site
/// takes a form at this path.
///
/// # Errors
///
/// The first rule that the request breaks.
pub fn check(request: &Request, local: SocketAddr, takes_forms: bool) -> Result<(), Refusal> {
    let mut hosts = request.headers("host");
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Refusal::Host) };
    if !is_here(host, local) {
        return Err(Refusal::Host);
    }
    let own = format!("http://{host}");
    if request.headers("origin").any(|origin| !origin.eq_ignore_ascii_case(&own)) {
        return Err(Refusal::Origin);
    }
    if !is_of_this_site(request) {
        return Err(Refusal::Origin);
    }
    match request.method.as_str() {
        "GET" | "HEAD" => Ok(()),
        "POST" if takes_forms && request.is_form() => Ok(()),
        _ => Err(Refusal::Method),
    }
}

/// Whether a `Host` header is a loopback name or address, or the address of this end, with its port.
fn is_here(host: &str, local: SocketAddr) -> bool {
    let name_and_port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|c| c.is_ascii_digit()));
    let (name, port) = name_and_port.unwrap_or((host, "80"));
    // As text: `04711` is a number too, but no browser writes it.
    if port != local.port().to_string() {
        return false;
    }
    let address: Option<IpAddr> = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(name) => name.parse().ok().map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    };
    name.eq_ignore_ascii_case("localhost")
        || address.is_some_and(|address| address.is_loopback() || address == local.ip())
}

/// What the browser says of the sender: a tab of this page, or a person who opens it.
fn is_of_this_site(request: &Request) -> bool {
    match request.header("sec-fetch-site") {
        None | Some("same-origin" | "none") => true,
        // A link in a chat or a mail leads to the page, but no other site can embed or read it.
        Some(_) => {
            request.path == "/"
                && request.method != "POST"
                && request.header("sec-fetch-dest") == Some("document")
        }
    }
}

/// The name of the cookie: pages on other ports of this machine have their own.
pub fn cookie_name(port: u16) -> String {
    format!("knee-{port}")
}

/// Whether the request has the token: in the cookie, in the header of a program, or, for the page alone, in its URL.
pub fn has_token(request: &Request, token: &Token, port: u16) -> bool {
    let name = cookie_name(port);
    let pairs = request.headers("cookie").flat_map(|cookies| cookies.split(';'));
    let mut cookies =
        pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(known, _)| *known == name);
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let in_url = request.parameter("token").filter(|_| request.path == "/");
    cookies.any(|(_, value)| token.is(value))
        || bearer.is_some_and(|value| token.is(value))
        || in_url.is_some_and(|value| token.is(value))
}

/// Wrong tokens of the second in progress.
#[derive(Debug, Default)]
pub struct Guesses {
    second: u64,
    count: u32,
}

impl Guesses {
    /// Counts a wrong token at `now`: `refusal`, or that there were too many.
    pub fn refuse(&mut self, refusal: Refusal, now: Nanos) -> Refusal {
        let second = now.0 / 1_000_000_000;
        if second != self.second {
            *self = Self { second, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        if self.count > GUESSES_MAX { Refusal::Guessing } else { refusal }
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::of;
    use super::*;

    const LOCAL: &str = "127.0.0.1:4711";

    fn checked(head: &str) -> Result<(), Refusal> {
        check(&of(head).unwrap().unwrap(), LOCAL.parse().unwrap(), false)
    }

    #[test]
    fn only_names_of_this_machine_with_the_right_port_are_served() {
        for host in ["127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711", "[::1]:4711", "127.0.0.2:4711"] {
            assert_eq!(checked(&format!("GET / HTTP/1.1\nHost: {host}")), Ok(()), "{host}");
        }
        for host in [
            "evil.test:4711",
            "127.0.0.1.evil.test:4711",
            "localhost.evil.test:4711",
            "0.0.0.0:4711",
            "127.0.0.1:4712",
            "127.0.0.1",
            "192.0.2.7:4711",
            "127.0.0.1:4711:4711",
            // Names that another site can give an address of this machine.
            "attacker.example:4711",
            "localhost.attacker.example:4711",
            "127.0.0.1.nip.io:4711",
            "user@127.0.0.1:4711",
            // Ports that only some programs read as 4711.
            "127.0.0.1:04711",
            "127.0.0.1:+4711",
            "127.0.0.1: 4711",
            "127.0.0.1:",
            "[127.0.0.1]:4711",
            "::1:4711",
            "",
        ] {
            assert_eq!(checked(&format!("GET / HTTP/1.1\nHost: {host}")), Err(Refusal::Host), "{host}");
        }
        assert_eq!(checked("GET / HTTP/1.1"), Err(Refusal::Host));
        assert_eq!(checked(&format!("GET / HTTP/1.1\nHost: {LOCAL}\nHost: {LOCAL}")), Err(Refusal::Host));
    }

    #[test]
    fn a_page_that_is_bound_elsewhere_is_served_under_that_address() {
        let local = "192.0.2.7:4711".parse().unwrap();
        assert!(is_here("192.0.2.7:4711", local) && !is_here("192.0.2.8:4711", local));
    }

    #[test]
    fn other_sites_can_neither_read_nor_embed_the_page() {
        let head = format!("GET /api/state HTTP/1.1\nHost: {LOCAL}\n");
        for header in [
            "Origin: null",
            "Origin: http://evil.test",
            "Origin: https://127.0.0.1:4711",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
        ] {
            assert_eq!(checked(&format!("{head}{header}")), Err(Refusal::Origin), "{header}");
        }
        for header in ["Origin: http://127.0.0.1:4711", "Sec-Fetch-Site: same-origin", "Accept: */*"] {
            assert_eq!(checked(&format!("{head}{header}")), Ok(()), "{header}");
        }
        let page = format!("GET / HTTP/1.1\nHost: {LOCAL}\nSec-Fetch-Site: cross-site\nSec-Fetch-Dest: ");
        assert_eq!(checked(&format!("{page}document")), Ok(()));
        assert_eq!(checked(&format!("{page}iframe")), Err(Refusal::Origin));
    }

    #[test]
    fn nothing_but_reading_is_allowed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "PROPFIND"] {
            assert_eq!(
                checked(&format!("{method} /api/state HTTP/1.1\nHost: {LOCAL}")),
                Err(Refusal::Method),
                "{method}"
            );
        }
        assert_eq!(checked(&format!("HEAD / HTTP/1.1\nHost: {LOCAL}")), Ok(()));
    }

    #[test]
    fn a_form_is_taken_where_the_site_takes_one_and_only_from_itself() {
        let form = "Content-Type: application/x-www-form-urlencoded\nContent-Length: 3";
        let sent = |more: &str, takes: bool| {
            let head = format!("POST /api/run/stop HTTP/1.1\nHost: {LOCAL}\n{form}\n{more}");
            check(&of(&head).unwrap().unwrap(), LOCAL.parse().unwrap(), takes)
        };
        assert_eq!(sent("Origin: http://127.0.0.1:4711", true), Ok(()));
        assert_eq!(sent("Accept: */*", false), Err(Refusal::Method));
        for other in ["Origin: null", "Origin: http://evil.test", "Sec-Fetch-Site: cross-site"] {
            assert_eq!(sent(other, true), Err(Refusal::Origin), "{other}");
        }
        let to_the_page = format!(
            "POST / HTTP/1.1\nHost: {LOCAL}\n{form}\nSec-Fetch-Site: cross-site\nSec-Fetch-Dest: document"
        );
        assert_eq!(
            check(&of(&to_the_page).unwrap().unwrap(), LOCAL.parse().unwrap(), true),
            Err(Refusal::Origin)
        );
    }

    #[test]
    fn the_token_is_taken_from_the_cookie_from_a_header_and_from_the_url_of_the_page_alone() {
        let token = Token::new().unwrap();
        let text = token.text();
        let has = |head: String| has_token(&of(&head).unwrap().unwrap(), &token, 4711);
        assert!(has(format!("GET /?token={text} HTTP/1.1\nHost: a")));
        assert!(has(format!("GET /api/state HTTP/1.1\nCookie: a=b; knee-4711={text}")));
        assert!(has(format!("GET /api/state HTTP/1.1\nAuthorization: Bearer {text}")));
        assert!(!has(format!("GET /api/state?token={text} HTTP/1.1\nHost: a")));
        assert!(!has(format!("GET /api/state HTTP/1.1\nCookie: knee-4712={text}")));
        assert!(!has("GET / HTTP/1.1\nCookie: knee-4711=".to_owned()));
        assert!(!has("GET /?token= HTTP/1.1".to_owned()));
    }

    #[test]
    fn the_cookie_of_an_older_page_and_a_wrong_token_of_the_right_length_open_nothing() {
        let (token, older) = (Token::new().unwrap(), Token::new().unwrap());
        let (text, older) = (token.text(), older.text());
        let last = if text.ends_with('0') { "1" } else { "0" };
        let almost = format!("{}{last}", &text[..31]);
        for wrong in [older, &almost, &text.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")] {
            assert_eq!(wrong.len(), text.len());
            for request in [
                format!("GET /?token={wrong} HTTP/1.1\nHost: a"),
                format!("GET / HTTP/1.1\nCookie: knee-4711={wrong}"),
                format!("GET / HTTP/1.1\nAuthorization: Bearer {wrong}"),
            ] {
                assert!(!has_token(&of(&request).unwrap().unwrap(), &token, 4711), "{request}");
            }
        }
    }

    #[test]
    fn guessing_is_limited_per_second() {
        let mut guesses = Guesses::default();
        let mut refusals = |second: u64| -> Vec<Refusal> {
            (0..=GUESSES_MAX).map(|_| guesses.refuse(Refusal::Token, Nanos::from_secs(second))).collect()
        };
        for second in [1, 2] {
            let refusals = refusals(second);
            assert_eq!(refusals[0], Refusal::Token);
            assert_eq!(refusals[GUESSES_MAX as usize], Refusal::Guessing);
        }
    }
}
