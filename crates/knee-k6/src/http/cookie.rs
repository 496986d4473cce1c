//! A VU's cookies: RFC 6265 as far as tests of HTTP services need it.
//!
//! Keeps no list of public suffixes, because a script loads services that it is allowed to load, not hostile
//! neighbours. Does not read a clock; the caller passes the time.

use std::net::IpAddr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::go_url::GoUrl;
use crate::account::{Account, Charge};

/// One cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value, as received.
    pub value: String,
    /// The host it belongs to, without a leading dot.
    pub domain: String,
    /// Whether its subdomains get it too.
    pub subdomains: bool,
    /// The path it belongs to.
    pub path: String,
    /// Whether it is sent over TLS alone.
    pub secure: bool,
    /// Whether it is hidden from scripts of browsers; kept because k6 shows it.
    pub http_only: bool,
    /// Seconds since the Unix epoch after which it is gone; `None` for the session's end.
    pub expires: Option<i64>,
    /// `Max-Age`, as received; 0 if there was none.
    pub max_age: i64,
}

/// Attributes of a cookie that a script sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `Domain`.
    pub domain: Option<String>,
    /// `Path`.
    pub path: Option<String>,
    /// `Secure`.
    pub secure: bool,
    /// `HttpOnly`.
    pub http_only: bool,
    /// `Max-Age` in seconds; zero and less removes it.
    pub max_age: Option<i64>,
    /// `Expires` as a date of HTTP.
    pub expires: Option<String>,
}

/// Bytes of a cookie. Its texts are counted on their own.
const COOKIE_BYTES: usize = 256;

/// All cookies of one VU, or of a jar that a script has made.
#[derive(Debug)]
pub struct Jar {
    cookies: Vec<Cookie>,
    memory: Charge,
}

/// The cookie in a `Set-Cookie` header that came from `url`, whether or not `url` is allowed to set it.
pub fn parse(header: &str, url: &GoUrl, now: i64) -> Option<Cookie> {
    let mut parts = header.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let mut attributes = Attributes::default();
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" => attributes.domain = Some(value.to_owned()),
            "path" => attributes.path = Some(value.to_owned()),
            "secure" => attributes.secure = true,
            "httponly" => attributes.http_only = true,
            "max-age" => attributes.max_age = value.parse().ok(),
            "expires" => attributes.expires = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(Cookie::new(name, value.trim().trim_matches('"'), url, &attributes, now))
}

impl Cookie {
    /// A cookie of `url` with these attributes.
    pub fn new(name: &str, value: &str, url: &GoUrl, attributes: &Attributes, now: i64) -> Self {
        let host = url.hostname().to_ascii_lowercase();
        let domain = attributes.domain.as_deref().map(|domain| domain.trim_start_matches('.').to_lowercase());
        let domain = domain.filter(|domain| !domain.is_empty());
        let path = attributes.path.clone().filter(|path| path.starts_with('/'));
        let expires = match attributes.max_age {
            Some(seconds) => Some(if seconds <= 0 { i64::MIN } else { now.saturating_add(seconds) }),
            None => attributes.expires.as_deref().and_then(parse_date),
        };
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
            subdomains: domain.is_some(),
            domain: domain.unwrap_or(host),
            path: path.unwrap_or_else(|| default_path(&url.path())),
            secure: attributes.secure,
            http_only: attributes.http_only,
            expires,
            max_age: attributes.max_age.unwrap_or(0),
        }
    }

    fn fits(&self, place: &Place, now: i64) -> bool {
        let below = place.host.strip_suffix(&self.domain).is_some_and(|rest| rest.ends_with('.'));
        let by_domain = place.host == self.domain || (self.subdomains && below);
        let rest = place.path.strip_prefix(&self.path);
        let by_path =
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        by_domain && by_path && (!self.secure || place.is_private) && !self.is_over(now)
    }

    fn bytes(&self) -> usize {
        COOKIE_BYTES + self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }

    fn is_over(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

impl Jar {
    /// An empty jar, whose cookies are counted in `account`.
    pub fn new(account: &Account) -> Self {
        Self { cookies: Vec::new(), memory: account.empty() }
    }

    /// Whether it is empty, which makes it free of cost.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes a cookie that came from `url`; a cookie of the same name, domain and path goes. One
    /// for a domain that is not `url`'s is refused.
    pub fn put(&mut self, cookie: Cookie, url: &GoUrl, now: i64) {
        let host = url.hostname().to_ascii_lowercase();
        let below = host.strip_suffix(&cookie.domain).is_some_and(|rest| rest.ends_with('.'));
        if host != cookie.domain && !below {
            return;
        }
        let same = |known: &Cookie| {
            (&known.name, &known.domain, &known.path) == (&cookie.name, &cookie.domain, &cookie.path)
        };
        self.cookies.retain(|known| !same(known));
        if !cookie.is_over(now) {
            self.cookies.push(cookie);
        }
        self.recount();
    }

    /// A server's cookies are small, and a script's are texts that it holds: to count them afterwards is soon enough.
    fn recount(&mut self) {
        self.memory.note(self.cookies.iter().map(Cookie::bytes).sum());
    }

    /// The cookies that a request to `url` carries: longest path first, then oldest first.
    pub fn of(&self, url: &GoUrl, now: i64) -> Vec<&Cookie> {
        let place = Place::of(url);
        let mut found: Vec<&Cookie> = self.cookies.iter().filter(|cookie| cookie.fits(&place, now)).collect();
        found.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        found
    }

    /// Removes what a request to `url` would carry, or the cookie of one name alone.
    pub fn remove(&mut self, url: &GoUrl, name: Option<&str>, now: i64) {
        let place = Place::of(url);
        let goes = |cookie: &Cookie| cookie.fits(&place, now) && name.is_none_or(|name| name == cookie.name);
        self.cookies.retain(|cookie| !goes(cookie));
        self.recount();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.cookies.clear();
        self.recount();
    }
}

/// What decides which cookies go to a URL.
struct Place {
    host: String,
    path: String,
    /// TLS, or this machine itself.
    is_private: bool,
}

impl Place {
    fn of(url: &GoUrl) -> Self {
        let (host, mut path) = (url.hostname().to_ascii_lowercase(), url.path());
        if path.is_empty() {
            path.push('/');
        }
        let is_private = url.scheme() == "https"
            || host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        Self { host, path, is_private }
    }
}

/// RFC 6265, 5.1.4.
fn default_path(path: &str) -> String {
    match path.rfind('/') {
        Some(last) if last > 0 && path.starts_with('/') => path[..last].to_owned(),
        _ => "/".to_owned(),
    }
}

/// Seconds since the Unix epoch of a date such as `Wed, 09 Jun 2021 10:18:14 GMT`, with blanks or
/// dashes between its parts.
fn parse_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.to_ascii_lowercase();
    let mut parts = text.split([' ', '-', ',']).filter(|part| !part.is_empty());
    let first = parts.next()?;
    let day = if first.starts_with(|c: char| c.is_ascii_digit()) { first } else { parts.next()? };
    let (month, year, time) = (parts.next()?, parts.next()?, parts.next()?);
    let (month, _) = (1..).zip(MONTHS).find(|(_, known)| month.starts_with(known))?;
    let (day, mut year): (i8, i16) = (day.parse().ok()?, year.parse().ok()?);
    if (0..100).contains(&year) {
        year += if year < 70 { 2000 } else { 1900 };
    }
    let mut clock = time.split(':').map(|part| part.parse::<i8>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let date = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    Some(TimeZone::UTC.to_timestamp(date).ok()?.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> GoUrl {
        GoUrl::parse(text.as_bytes()).unwrap()
    }

    fn jar(headers: &[(&str, &str)]) -> Jar {
        let mut jar = Jar::new(&Account::default());
        for (from, header) in headers {
            let from = url(from);
            jar.put(parse(header, &from, 0).unwrap(), &from, 0);
        }
        jar
    }

    fn names(jar: &Jar, to: &str, now: i64) -> Vec<String> {
        jar.of(&url(to), now).iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect()
    }

    #[test]
    fn a_cookie_goes_back_to_where_it_came_from_and_nowhere_else() {
        let jar = jar(&[("http://a.test/x/y", "k=v")]);
        assert_eq!(names(&jar, "http://a.test/x/z", 0), ["k=v"]);
        assert_eq!(names(&jar, "http://a.test/xz", 0), [""; 0]);
        assert_eq!(names(&jar, "http://sub.a.test/x/", 0), [""; 0]);
        assert_eq!(names(&jar, "http://b.test/x/", 0), [""; 0]);
    }

    #[test]
    fn a_domain_reaches_the_hosts_below_it_and_none_beside_it() {
        let jar = jar(&[("http://a.test/", "k=v; Domain=.a.test; Path=/")]);
        assert_eq!(names(&jar, "http://sub.a.test/", 0), ["k=v"]);
        assert_eq!(names(&jar, "http://nota.test/", 0), [""; 0]);
        assert!(self::jar(&[("http://b.test/", "k=v; Domain=a.test")]).is_empty());
    }

    #[test]
    fn a_secure_cookie_leaves_this_machine_by_tls_alone() {
        for (host, plain) in [
            ("a.test", false),
            ("localhost", true),
            ("b.localhost", true),
            ("127.0.0.1", true),
            ("[::1]", true),
        ] {
            let jar = jar(&[(&format!("https://{host}/"), "k=v; Secure")]);
            assert_eq!(names(&jar, &format!("https://{host}/"), 0), ["k=v"], "{host}");
            assert_eq!(names(&jar, &format!("http://{host}/"), 0).len(), usize::from(plain), "{host}");
        }
    }

    #[test]
    fn cookies_end_when_they_said_they_would() {
        let jar = jar(&[
            ("http://a.test/", "short=1; Max-Age=10"),
            ("http://a.test/", "dated=1; Expires=Thu, 01 Jan 1970 00:01:00 GMT"),
            ("http://a.test/", "gone=1; Max-Age=0"),
        ]);
        assert_eq!(names(&jar, "http://a.test/", 9), ["short=1", "dated=1"]);
        assert_eq!(names(&jar, "http://a.test/", 59), ["dated=1"]);
        assert_eq!(names(&jar, "http://a.test/", 60), [""; 0]);
    }

    #[test]
    fn dates_count_leap_years() {
        assert_eq!(parse_date("Wed, 09 Jun 2021 10:18:14 GMT"), Some(1_623_233_894));
        assert_eq!(parse_date("Thursday, 29-Feb-24 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(parse_date("soon"), None);
    }

    #[test]
    fn the_longest_path_comes_first_and_a_new_value_replaces_the_old_one() {
        let jar = jar(&[
            ("http://a.test/", "a=1; Path=/"),
            ("http://a.test/", "b=2; Path=/deep"),
            ("http://a.test/", "a=3; Path=/"),
        ]);
        assert_eq!(names(&jar, "http://a.test/deep/er", 0), ["b=2", "a=3"]);
    }
}
