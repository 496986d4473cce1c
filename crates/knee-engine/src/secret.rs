//! Secrets in URLs: masked wherever a URL is shown or saved.
//!
//! Judges parameters by their names, so a secret under a harmless name is not found, and neither is one in
//! a path that is no parameter (`;name=value`).

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
/// user and password, and with secret query values masked. Everything else stays as it is written.
pub fn endpoint(name: &str) -> String {
    let Some(sign) = name.find("://") else { return name.to_owned() };
    let (scheme, rest) = name.split_at(sign + 3);
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (rest, fragment) =
        rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let query = query.map_or_else(String::new, |query| format!("?{}", masked(query)));
    let fragment = fragment.map_or_else(String::new, |fragment| format!("#{}", masked(fragment)));
    format!("{scheme}{host}{}{query}{fragment}", masked_path(path))
}

/// A text in a form that can be shown: every URL in it as [`endpoint`] shows it.
pub fn in_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.find("://") {
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let start = rest[..sign].trim_end_matches(is_scheme).len();
        let is_quoted = rest[..start].ends_with('"');
        let end = sign + end_of_url(&rest[sign..], is_quoted);
        out.push_str(&rest[..start]);
        out.push_str(&endpoint(&rest[start..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Where a URL in a text ends: in quotes with them, otherwise with a blank or a quote.
fn end_of_url(text: &str, is_quoted: bool) -> usize {
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
    let (place, query) = match start.split_once('?') {
        Some((place, query)) => (place, format!("?{}", masked(query))),
        None => (start, String::new()),
    };
    let (scheme, rest) = match place.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), place),
    };
    // A password with a slash ends the authority early, so the last @ counts, wherever it is.
    let rest = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{scheme}{rest}{query}{fragment}")
}

/// A query with the values of secret parameters masked.
fn masked(query: &str) -> String {
    query.split('&').map(masked_pair).collect::<Vec<_>>().join("&")
}

/// A path with the values of secret parameters masked, which follow semicolons.
fn masked_path(path: &str) -> String {
    let segment = |segment: &str| segment.split(';').map(masked_pair).collect::<Vec<_>>().join(";");
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn masked_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=***"),
        _ => pair.to_owned(),
    }
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
            ("http://host/@ann?q=a@b#access_token=abc", "http://host/@ann?q=a@b#access_token=***"),
            ("http://host/users/${}", "http://host/users/${}"),
            ("order token=abc", "order token=abc"),
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
        ] {
            assert_eq!(redacted(text), shown);
        }
        assert_eq!(shown_script("tests/a@b/script.js"), "tests/a@b/script.js");
    }
}
