//! Secrets in URLs: masked wherever a URL is shown or saved.
//!
//! Judges parameters by their names, so a secret under a harmless name is not found. Neither is one in a path that is
//! no parameter (`;name=value`), nor one in a value that is an encoded URL.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};
use url::Url;

/// A URL that can be shown: without user, password and fragment, and with secret query values masked.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for URLs without a host, which have no credentials either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let masked = url.query().map(masked);
    url.set_query(masked.as_deref());
    if url.path().contains(';') {
        let path = masked_path(url.path());
        url.set_path(&path);
    }
    url.to_string()
}

/// The place of a script that can be shown: a URL without secrets, or a path as it is.
pub fn shown_script(text: &str) -> String {
    if text.contains("://") { redacted(text) } else { text.to_owned() }
}

/// The name of an endpoint in a form that can be shown: where it is a URL, with or without a method before it, without
/// user and password, and with secret query values masked. So are the parameters of a URL without a host. Everything
/// else stays as it is written.
pub fn endpoint(name: &str) -> String {
    let Some(sign) = sign_of_host(name) else { return without_host(&without_user(name)) };
    let (scheme, rest) = name.split_at(sign);
    let (host, rest) = host_and_rest(rest);
    let (path, parameters) = rest.split_at(start_of_parameters(rest));
    format!("{scheme}{host}{}{}", masked_path(path), masked_parameters(parameters))
}

/// Where the sign before a host starts, unless it is in a parameter.
fn sign_of_host(text: &str) -> Option<usize> {
    text.find("://").filter(|sign| !text[..*sign].contains(['?', '#']))
}

/// Where the query or the fragment starts; the end of the text without both. The names of endpoints can be megabytes long,
/// if a script makes them.
fn start_of_parameters(text: &str) -> usize {
    memchr2(b'?', b'#', text.as_bytes()).unwrap_or(text.len())
}

/// Where path, query or fragment start after a host; the end of the text without them.
fn end_of_authority(text: &str) -> usize {
    memchr3(b'/', b'?', b'#', text.as_bytes()).unwrap_or(text.len())
}

/// The host after the sign with which a text starts, with the sign and without a user; and what follows the host.
fn host_and_rest(text: &str) -> (String, &str) {
    let (sign, text) = text.split_at(3);
    let (authority, rest) = text.split_at(end_of_authority(text));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (format!("{sign}{host}"), rest)
}

/// A URL without scheme and host, as scripts make them by mistake, with the values of its secret parameters masked.
fn without_host(text: &str) -> String {
    let (path, parameters) = text.split_at(start_of_parameters(text));
    let path = match path.split_once(';') {
        Some((start, parameters)) => format!("{start};{}", masked_path(parameters)),
        None => path.to_owned(),
    };
    format!("{path}{}", masked_parameters(parameters))
}

/// A text in a form that can be shown: every URL in it as [`endpoint`] shows it. A URL without a host is found in
/// quotes, or if a question mark or a semicolon is before its parameters.
pub fn in_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut is_quoted) = (text, false);
    loop {
        let (word, after) = rest.split_at(end_of_word(rest, is_quoted));
        if is_quoted {
            push_quoted(&mut out, word);
        } else {
            push_word(&mut out, word);
        }
        let Some(gap) = after.chars().next() else { return out };
        out.push(gap);
        rest = &after[gap.len_utf8()..];
        // A quote that nothing ends is a gap like others.
        is_quoted = gap == '"' && !is_quoted && end_of_word(rest, true) < rest.len();
    }
}

/// A word of a text: what is before a URL in it stays.
fn push_word(out: &mut String, word: &str) {
    let start = start_of_url(word).unwrap_or(0);
    out.push_str(&word[..start]);
    out.push_str(&endpoint(&word[start..]));
}

/// Text in quotes: a URL, which can contain blanks, or text in which there can be URLs.
fn push_quoted(out: &mut String, text: &str) {
    match start_of_url(text) {
        Some(0) | None => out.push_str(&endpoint(text)),
        Some(_) => out.push_str(&in_text(text)),
    }
}

/// Where the first URL with a host starts.
fn start_of_url(text: &str) -> Option<usize> {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    Some(text[..sign_of_host(text)?].trim_end_matches(is_scheme).len())
}

/// A text without the user and the password before its host, if it is a URL without a scheme. What stands before it, such
/// as a method, stays.
fn without_user(text: &str) -> Cow<'_, str> {
    let (authority, rest) = text.split_at(end_of_authority(text));
    let (before, authority) = authority.split_at(authority.rfind(' ').map_or(0, |blank| blank + 1));
    match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => format!("{before}***@{host}{rest}").into(),
        _ => text.into(),
    }
}

/// Where a word of a text ends: in quotes with them, otherwise with a blank or a quote.
fn end_of_word(text: &str, is_quoted: bool) -> usize {
    let mut escaped = false;
    let ends = |(_, c): &(usize, char)| {
        let is_gap = c.is_whitespace() || matches!(c, '\'' | '`' | '<' | '>');
        let is_end = (*c == '"' && !escaped) || (!is_quoted && is_gap);
        escaped = *c == '\\' && !escaped;
        is_end
    };
    text.char_indices().find(ends).map_or(text.len(), |(place, _)| place)
}

/// Text typed as a URL, in a form that can be shown even if it is not a URL.
pub fn redacted(text: &str) -> String {
    let (start, fragment) = text.split_once('#').map_or((text, ""), |(start, _)| (start, "#***"));
    let (place, query) = start.split_at(start.find('?').unwrap_or(start.len()));
    let (scheme, rest) = match place.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), place),
    };
    // A password with a slash ends the authority early, so the last @ counts, wherever it is.
    let rest = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{scheme}{}{fragment}", without_host(&format!("{rest}{query}")))
}

/// A query, a fragment or both, with their signs, with the values of secret parameters masked.
fn masked_parameters(text: &str) -> String {
    let (query, fragment) = text.split_at(text.find('#').unwrap_or(text.len()));
    let part = |part: &str| match part.chars().next() {
        Some(sign) => format!("{sign}{}", masked(&part[1..])),
        None => String::new(),
    };
    part(query) + &part(fragment)
}

/// A query with the values of secret parameters masked.
fn masked(query: &str) -> String {
    query.split('&').map(masked_pair).collect::<Vec<_>>().join("&")
}

/// A path with the values of secret parameters masked, which follow semicolons.
fn masked_path(path: &str) -> String {
    path.split('/').map(masked_pair).collect::<Vec<_>>().join("/")
}

/// Parameters between which are semicolons, and the value that follows the first secret name masked to its end. A value
/// can be a URL that nothing encodes, with a user and a query of its own.
fn masked_pair(pair: &str) -> String {
    let mut end = 0;
    for part in pair.split_inclusive([';', '?']) {
        if let Some((name, _)) = part.split_once('=')
            && is_secret(name)
        {
            return format!("{}{name}=***", without_nested_user(&pair[..end]));
        }
        end += part.len();
    }
    without_nested_user(pair)
}

/// A value without the user of the first URL in it.
fn without_nested_user(value: &str) -> String {
    let Some(sign) = value.find("://") else { return value.to_owned() };
    let (start, rest) = value.split_at(sign);
    let (host, rest) = host_and_rest(rest);
    format!("{start}{host}{rest}")
}

/// Whether a query parameter, by its name, holds a secret: `accessToken`, `api_key`,
/// `access%5Ftoken`, `TOKEN[]`, `user[password]`.
fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 35] = [
        "token",
        "tokens",
        "password",
        "passwd",
        "pass",
        "passcode",
        "pwd",
        "passphrase",
        "secret",
        "secrets",
        "signature",
        "sig",
        "hmac",
        "jwt",
        "jws",
        "bearer",
        "auth",
        "authorization",
        "assertion",
        "saml",
        "code",
        "verifier",
        "otp",
        "totp",
        "pin",
        "key",
        "apikey",
        "session",
        "sid",
        "credential",
        "credentials",
        "cred",
        "creds",
        "ticket",
        "cookie",
    ];
    const ENDINGS: [&str; 11] = [
        "sessionid",
        "sessid",
        "token",
        "password",
        "secret",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "signature",
        "samlresponse",
    ];
    let decoded: String =
        url::form_urlencoded::parse(name.as_bytes()).map(|(name, _)| name.into_owned()).collect();
    let words = words(&decoded);
    let Some(last) = words.last() else { return false };
    let whole = words.concat();
    WORDS.contains(&last.as_str()) || ENDINGS.iter().any(|ending| whole.ends_with(ending))
}

/// The words of a name in lower case: cut where letters end and where lower case turns to upper.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut inside, mut lower) = (false, false);
    for c in name.chars() {
        let is_part = c.is_alphanumeric();
        if is_part {
            if !inside || (lower && c.is_uppercase()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        (inside, lower) = (is_part, c.is_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Usual names of secrets in URLs.
    const SPELLINGS: &[&str] = &[
        "token",
        "Token",
        "TOKEN[]",
        "tokens",
        "accessToken",
        "access_token",
        "access-token",
        "ACCESS_TOKEN",
        "access%5Ftoken",
        "authtoken",
        "id_token",
        "refreshToken",
        "csrf_token",
        "X-Amz-Security-Token",
        "key",
        "api_key",
        "apikey",
        "apiKey",
        "APIKEY",
        "x-api-key",
        "accesskey",
        "privateKey",
        "subscription-key",
        "secret",
        "clientSecret",
        "client_secret",
        "password",
        "passwd",
        "pwd",
        "pass",
        "passphrase",
        "user[password]",
        "newPassword",
        "sig",
        "signature",
        "X-Amz-Signature",
        "hmac",
        "jwt",
        "bearer",
        "auth",
        "authorization",
        "code",
        "otp",
        "pin",
        "session",
        "sessionId",
        "session_id",
        "PHPSESSID",
        "JSESSIONID",
        "connect.sid",
        "ticket",
        "credentials",
        "X-Amz-Credential",
        "SAMLResponse",
        "oauth_verifier",
    ];

    #[test]
    fn urls_in_a_text_are_shown_without_secrets_and_the_rest_stays() {
        for (text, shown) in [
            ("Get \"http://u:p@h/a?token=x y&b=1\": EOF", "Get \"http://h/a?token=***&b=1\": EOF"),
            ("Get \"http://h/?key=a\\\"b\": token=c", "Get \"http://h/?key=***\": token=c"),
            (
                "see http://u:p@h/;jsessionid=x and https://h?sig=y, z",
                "see http://h/;jsessionid=*** and https://h?sig=*** z",
            ),
            ("nothing: //here", "nothing: //here"),
            ("://", "://"),
            ("Get \"/x?q=a b&token=c\": no scheme \"\"", "Get \"/x?q=a b&token=***\": no scheme \"\""),
            (
                "at undefined/x;sid=a?page=1&key=b#code=c d",
                "at undefined/x;sid=***?page=1&key=***#code=*** d",
            ),
            ("parse \"u:p@h/x\": a colon", "parse \"***@h/x\": a colon"),
            (
                "5\" and http://u:p@h/ and \"see http://u:p@h/?sig=a b\"",
                "5\" and http://h/ and \"see http://h/?sig=*** b\"",
            ),
            ("u:p@h has token=a; and q ? r : s", "***@h has token=a; and q ? r : s"),
        ] {
            assert_eq!(in_text(text), shown);
        }
    }

    #[test]
    fn secrets_are_masked_however_their_names_are_written() {
        let shown = |name: &str| shown(&Url::parse(&format!("http://h/?a=1&{name}=abc")).unwrap());
        for name in SPELLINGS {
            assert!(!shown(name).contains("abc"), "{}", shown(name));
            assert!(!in_text(&shown(name)).contains("abc"), "{name}");
        }
        for name in ["monkey", "page", "author", "q", "codec", "design", "keyboard"] {
            assert!(shown(name).contains("abc"), "{}", shown(name));
        }
    }

    #[test]
    fn an_endpoint_named_by_a_url_shows_no_secret_and_any_other_name_stays() {
        for (name, shown) in [
            ("GET http://ann:pw@host:80/a?token=abc&page=2", "GET http://host:80/a?token=***&page=2"),
            ("https://ann:p@w@host?api_key=abc", "https://host?api_key=***"),
            ("GET ann:p@w@host/x?token=abc", "GET ***@host/x?token=***"),
            ("http://host/@ann?q=a@b#access_token=abc", "http://host/@ann?q=a@b#access_token=***"),
            ("http://host/users/${}", "http://host/users/${}"),
            ("http://h/?page=1;token=a;b&next=/y?code=c", "http://h/?page=1;token=***&next=/y?code=***"),
            ("/x?next=http://u:p@h/?code=c&key=abc", "/x?next=http://h/?code=***&key=***"),
            ("order token=abc", "order token=abc"),
            ("GET /a;sid=abc?token=abc&page=2", "GET /a;sid=***?token=***&page=2"),
            ("http://", "http://"),
        ] {
            assert_eq!(endpoint(name), shown);
        }
    }

    #[test]
    fn what_is_no_url_shows_no_credentials_either() {
        for (text, shown) in [
            ("http://user:pw@127.0.0.1:99999/", "http://***@127.0.0.1:99999/"),
            ("user:pw@host:99999", "***@host:99999"),
            ("http://user:p/w@h:0/", "http://***@h:0/"),
            ("http:user:pw@h", "***@h"),
            ("http://h:99999/?token=pw&a=b#pw", "http://h:99999/?token=***&a=b#***"),
            ("h:99999/a;token=pw/b;c=d?a=b", "h:99999/a;token=***/b;c=d?a=b"),
        ] {
            assert_eq!(redacted(text), shown);
        }
        assert_eq!(shown_script("tests/a@b/script.js"), "tests/a@b/script.js");
    }
}
