//! What is sent: URLs, method, headers and bodies, ready to be prepared.
//!
//! Does not look up names and does not send. Default headers are the engine's; only what was
//! typed becomes a header here.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine as _;
use knee_core::plan::EndpointId;
use knee_engine::requests::{RequestBody, RequestTemplate};
use knee_engine::secret::{redacted, shown};
use knee_study::definition::Request;
use url::Url;

use super::file::read_file;
use super::{form, number};
use crate::args::RequestFlags;
use crate::problem::Problem;

/// Methods that are recognized in any case.
const USUAL: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"];

/// Most endpoints of a one-liner: further URLs are counted together, so that a list of a million URLs does not make a
/// million tables.
const ENDPOINTS_MAX: usize = 100;

/// A URL and how often it is chosen relative to the others.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedUrl {
    /// The URL.
    pub url: Url,
    /// Above zero.
    pub weight: f64,
}

/// The URLs to load: the one typed, or those of a file.
///
/// # Errors
///
/// When there is none, or one is malformed.
pub fn urls(typed: Option<&str>, file: Option<&Path>) -> Result<Vec<WeightedUrl>, Problem> {
    match (typed, file) {
        (Some(_), Some(_)) => Err(Problem::new(
            "a URL and `--urls-from-file` exclude each other",
            "write the URL into the file, or leave one of them out",
        )),
        (None, Some(path)) => urls_of_file(path),
        (Some(text), None) => Ok(vec![WeightedUrl { url: url(text)?, weight: 1.0 }]),
        (None, None) => Err(Problem::new(
            "no URL is given",
            "write `knee http://127.0.0.1:8080/`, or try `knee demo`; `knee --help` lists flags and commands",
        )),
    }
}

/// Lines of `URL [WEIGHT]`; skips empty lines and those that begin with `#`.
fn urls_of_file(path: &Path) -> Result<Vec<WeightedUrl>, Problem> {
    let content = read_file("--urls-from-file", path)?;
    let text = String::from_utf8(content).map_err(|_| {
        Problem::new(format!("`{}` is not UTF-8", path.display()), "write one URL per line, in UTF-8")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let mut urls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let weighted = weighted_url(line).map_err(|problem| {
            Problem::new(
                format!("{}, line {} of `{}`", problem.what, number + 1, path.display()),
                problem.hint,
            )
        })?;
        urls.push(weighted);
    }
    if urls.is_empty() {
        return Err(Problem::new(
            format!("`{}` has no URL, for `--urls-from-file`", path.display()),
            "write lines of `URL [WEIGHT]`",
        ));
    }
    Ok(urls)
}

fn weighted_url(line: &str) -> Result<WeightedUrl, Problem> {
    let (address, weight) = line.split_once(char::is_whitespace).unwrap_or((line, "1"));
    let weight = number::weight(weight.trim()).ok_or_else(|| {
        Problem::new(
            format!("`{}` is not a weight", weight.trim()),
            "write a number above zero after the URL",
        )
    })?;
    Ok(WeightedUrl { url: url(address)?, weight })
}

/// Reads a URL; `http://` is assumed when there is no scheme.
fn url(text: &str) -> Result<Url, Problem> {
    const HINT: &str = "write it as `http://host:port/path`";
    let typed = redacted(text);
    let malformed = |why: &str| Problem::new(format!("`{typed}` is not a URL: {why}"), HINT);
    let port = text.strip_prefix(':').unwrap_or(text);
    let first = port.split('/').next().unwrap_or_default();
    if !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()) {
        let hint = format!("write the host too, as in `http://127.0.0.1:{port}`");
        return Err(Problem::new(format!("`{typed}` is a number, not a URL"), hint));
    }
    if ["./", "../", "/", "~"].iter().any(|start| text.starts_with(start)) {
        return Err(Problem::new(
            format!("`{typed}` is a path, not a URL"),
            "`knee run FILE` runs a script, `knee report FILE` shows a saved run; a URL is `http://host:port/path`",
        ));
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(malformed("it has white space or a control character"));
    }
    if !text.contains("://") && (text.starts_with("http:") || text.starts_with("https:")) {
        return Err(malformed("two slashes must follow the scheme"));
    }
    let scheme_given = text.split(['/', '?', '#']).next().is_some_and(|start| start.ends_with(':'));
    let whole = if scheme_given { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&whole).map_err(|error| malformed(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Problem::new(
            format!("`{typed}` has the scheme `{}`", url.scheme()),
            "knee loads `http` and `https` only",
        ));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(malformed("it has no host"));
    }
    if url.port() == Some(0) {
        return Err(Problem::new(
            format!("`{typed}` has port 0, where nothing can listen"),
            "give the port that the server listens on",
        ));
    }
    Ok(url)
}

/// A title for a run over these URLs.
pub fn title(urls: &[WeightedUrl]) -> String {
    match urls {
        [] => String::new(),
        [only] => shown(&only.url),
        [first, rest @ ..] => format!("{} and {} more", shown(&first.url), rest.len()),
    }
}

/// Prepares the requests, and names the endpoints they are counted under.
///
/// # Errors
///
/// When a header, the method or a body is malformed or contradicts another, or a file cannot be
/// read.
pub fn requests(
    flags: &RequestFlags,
    urls: &[WeightedUrl],
) -> Result<(Vec<RequestTemplate>, Vec<String>), Problem> {
    let method = method(flags)?;
    let mut headers = headers(flags)?;
    let body = body(flags, &mut headers)?;
    prepared(&method, &headers, &body, urls)
}

/// Prepares the request that a study declares.
///
/// # Errors
///
/// When the method or a header is malformed, or a header contradicts another or the body.
pub fn declared(
    request: &Request,
    urls: &[WeightedUrl],
) -> Result<(Vec<RequestTemplate>, Vec<String>), Problem> {
    let method = canonical(&request.method)?;
    let headers = request.headers.iter().map(|(name, value)| declared_header(name, value));
    let headers = headers.collect::<Result<Headers, _>>()?;
    refuse_repeated(&headers)?;
    let body = request
        .body
        .as_ref()
        .map_or(RequestBody::Empty, |text| RequestBody::Fixed(text.clone().into_bytes()));
    prepared(&method, &headers, &body, urls)
}

fn prepared(
    method: &str,
    headers: &Headers,
    body: &RequestBody,
    urls: &[WeightedUrl],
) -> Result<(Vec<RequestTemplate>, Vec<String>), Problem> {
    check_framing(headers, body)?;
    let mut names = Vec::new();
    let mut known = HashMap::new();
    let requests = urls
        .iter()
        .map(|weighted| {
            let name = format!("{method} {}", shown(&weighted.url));
            let endpoint = *known.entry(name).or_insert_with_key(|name| note_endpoint(&mut names, name));
            RequestTemplate {
                method: method.to_owned(),
                url: weighted.url.clone(),
                headers: headers.clone(),
                body: body.clone(),
                weight: weighted.weight,
                endpoint,
            }
        })
        .collect();
    Ok((requests, names))
}

fn note_endpoint(names: &mut Vec<String>, name: &str) -> EndpointId {
    match names.len() {
        count if count < ENDPOINTS_MAX => names.push(name.to_owned()),
        ENDPOINTS_MAX => names.push("other URLs".to_owned()),
        _ => {}
    }
    EndpointId(names.len() as u32 - 1)
}

fn method(flags: &RequestFlags) -> Result<String, Problem> {
    let default = if flags.form.is_empty() { "GET" } else { "POST" };
    canonical(flags.method.as_deref().unwrap_or(default))
}

/// A method as it is sent.
fn canonical(method: &str) -> Result<String, Problem> {
    if !is_token(method) {
        return Err(Problem::new(format!("`-m {method}` is not a method"), "give one word, as in `-m POST`"));
    }
    if method.eq_ignore_ascii_case("CONNECT") {
        return Err(Problem::new(
            "knee cannot load the tunnel that `-m CONNECT` opens",
            "give another method",
        ));
    }
    // Methods are case-sensitive, but `-m post` always means POST.
    let usual = USUAL.iter().find(|usual| usual.eq_ignore_ascii_case(method));
    Ok(usual.map_or_else(|| method.to_owned(), |usual| (*usual).to_owned()))
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let special = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || special(byte))
}

type Headers = Vec<(String, Vec<u8>)>;

fn headers(flags: &RequestFlags) -> Result<Headers, Problem> {
    let mut headers = flags.headers.iter().map(|text| header(text)).collect::<Result<Headers, _>>()?;
    let credentials = flags.basic_auth.as_deref().map(basic_auth).transpose()?;
    let single = [
        ("-A", "accept", flags.accept.as_deref()),
        ("-T", "content-type", flags.content_type.as_deref()),
        ("-U", "user-agent", flags.user_agent.as_deref()),
        ("--host", "host", flags.host.as_deref()),
        ("-a", "authorization", credentials.as_deref()),
    ];
    for (flag, name, value) in single {
        let Some(value) = value else { continue };
        if has(&headers, name) {
            return Err(Problem::new(
                format!("the header `{name}` is given twice, by `{flag}` and by `-H`"),
                "leave one of them out",
            ));
        }
        check_value(flag, value)?;
        headers.push((name.to_owned(), value.as_bytes().to_vec()));
    }
    refuse_repeated(&headers)?;
    Ok(headers)
}

/// Refuses two values of a header that has only one.
fn refuse_repeated(headers: &Headers) -> Result<(), Problem> {
    for name in ["host", "content-length", "content-type", "authorization", "user-agent"] {
        if headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).count() > 1 {
            return Err(Problem::new(format!("the header `{name}` is given twice"), "leave one of them out"));
        }
    }
    Ok(())
}

fn declared_header(name: &str, value: &str) -> Result<(String, Vec<u8>), Problem> {
    if !is_token(name) {
        return Err(Problem::new(
            format!("`{name}` is not the name of a header"),
            "use letters, digits and dashes in the name",
        ));
    }
    let value = value.trim_matches([' ', '\t']);
    check_value(name, value)?;
    Ok((name.to_owned(), value.as_bytes().to_vec()))
}

fn has(headers: &Headers, name: &str) -> bool {
    headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

fn header(text: &str) -> Result<(String, Vec<u8>), Problem> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| Problem::new(format!("`-H {text}` has no colon"), "write it as `-H 'name: value'`"))?;
    if !is_token(name) {
        return Err(Problem::new(
            format!("`{name}` is not the name of a header, in `-H {text}`"),
            "write it as `-H 'name: value'`, with letters, digits and dashes in the name",
        ));
    }
    let value = value.trim_matches([' ', '\t']);
    check_value("-H", value)?;
    Ok((name.to_owned(), value.as_bytes().to_vec()))
}

/// Refuses line breaks and other control characters, which could turn a value into a header or a request.
fn check_value(flag: &str, value: &str) -> Result<(), Problem> {
    if value.chars().any(|c| c.is_ascii_control() && c != '\t') {
        return Err(Problem::new(
            format!("`{flag} {value}` has a control character in the header's value"),
            "remove line breaks and other control characters",
        ));
    }
    Ok(())
}

fn basic_auth(text: &str) -> Result<String, Problem> {
    if !text.contains(':') {
        return Err(Problem::new(
            "`-a` has no colon between user and password",
            "write it as `-a USER:PASS`",
        ));
    }
    Ok(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text)))
}

fn body(flags: &RequestFlags, headers: &mut Headers) -> Result<RequestBody, Problem> {
    let given: Vec<&str> = [
        ("-d", flags.body.is_some()),
        ("-D", flags.body_file.is_some()),
        ("-Z", flags.body_lines.is_some()),
        ("-F", !flags.form.is_empty()),
    ]
    .into_iter()
    .filter_map(|(flag, given)| given.then_some(flag))
    .collect();
    if let [first, second, ..] = given[..] {
        return Err(Problem::new(
            format!("`{first}` and `{second}` exclude each other"),
            "a request has one body; leave one of them out",
        ));
    }
    if let Some(text) = &flags.body {
        return Ok(RequestBody::Fixed(text.clone().into_bytes()));
    }
    if let Some(path) = &flags.body_file {
        return Ok(RequestBody::Fixed(read_file("-D", path)?));
    }
    if let Some(path) = &flags.body_lines {
        return lines(path).map(RequestBody::Choice);
    }
    if flags.form.is_empty() {
        return Ok(RequestBody::Empty);
    }
    let (body, content_type) = form::form(&flags.form)?;
    if has(headers, "content-type") {
        return Err(Problem::new(
            "a form sets its own `content-type`",
            "leave `-T` and `-H 'content-type: …'` out",
        ));
    }
    headers.push(("content-type".to_owned(), content_type.into_bytes()));
    Ok(RequestBody::Fixed(body))
}

/// The lines of a file, without their ends; the empty ones do not count.
fn lines(path: &Path) -> Result<Vec<Vec<u8>>, Problem> {
    let content = read_file("-Z", path)?;
    let lines: Vec<Vec<u8>> = content
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return Err(Problem::new(
            format!("`{}` is empty, for `-Z`", path.display()),
            "write one body per line",
        ));
    }
    Ok(lines)
}

/// Refuses a wrong length: the server would split such a request in two.
fn check_framing(headers: &Headers, body: &RequestBody) -> Result<(), Problem> {
    if has(headers, "transfer-encoding") {
        return Err(Problem::new(
            "`transfer-encoding` cannot be set: bodies are sent with their length",
            "leave that header out",
        ));
    }
    let Some((_, value)) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
    else {
        return Ok(());
    };
    let says = std::str::from_utf8(value).ok().and_then(|text| text.parse::<usize>().ok());
    let fits = match body {
        RequestBody::Empty => says == Some(0),
        RequestBody::Fixed(bytes) => says == Some(bytes.len()),
        RequestBody::Choice(bodies) => bodies.iter().all(|bytes| says == Some(bytes.len())),
    };
    if fits {
        return Ok(());
    }
    Err(Problem::new(
        format!("`content-length: {}` is not the length of the body", String::from_utf8_lossy(value)),
        "leave that header out: knee adds it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_scheme_is_http() {
        for (text, whole) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("localhost:80/a?b=c", "http://localhost/a?b=c"),
            ("[::1]:8080/", "http://[::1]:8080/"),
            ("host/?next=http://other/", "http://host/?next=http://other/"),
            ("HTTPS://Example.com", "https://example.com/"),
        ] {
            assert_eq!(url(text).map(String::from).as_deref(), Ok(whole), "{text}");
        }
    }

    #[test]
    fn credentials_and_secrets_are_not_shown() {
        let url = url("http://me:secret@host/a?access_token=abc&monkey=1&key=2#part").unwrap();
        assert_eq!(shown(&url), "http://host/a?access_token=***&monkey=1&key=***");
    }

    #[test]
    fn the_error_of_a_bad_url_repeats_no_credentials() {
        for text in [
            "http://user:pw@127.0.0.1:99999/",
            "user:pw@host:99999",
            "ftp://user:pw@h/",
            "http://user:p/w@h:0/",
            "http://user:pw@h:0/",
            "http://user:pw@h /",
            "http:user:pw@h",
            "http://h:99999/?token=pw",
        ] {
            let problem = url(text).unwrap_err().to_string();
            assert!(!problem.contains("pw") && !problem.contains("p/w"), "{problem}");
        }
    }

    #[test]
    fn a_list_of_many_urls_has_a_bounded_number_of_endpoints() {
        let urls: Vec<_> = (0..1_000)
            .map(|n| WeightedUrl { url: url(&format!("http://h/{n}")).unwrap(), weight: 1.0 })
            .collect();
        let (requests, names) = requests(&RequestFlags::default(), &urls).unwrap();
        assert_eq!((requests.len(), names.len()), (1_000, ENDPOINTS_MAX + 1));
        assert_eq!(names[ENDPOINTS_MAX], "other URLs");
        assert!(requests.iter().all(|request| (request.endpoint.0 as usize) < names.len()));
        assert_eq!(requests[999].endpoint, EndpointId(ENDPOINTS_MAX as u32));
    }

    #[test]
    fn the_same_url_twice_is_one_endpoint() {
        let urls = vec![WeightedUrl { url: url("http://h/").unwrap(), weight: 1.0 }; 2];
        let (requests, names) = requests(&RequestFlags::default(), &urls).unwrap();
        assert_eq!(names, ["GET http://h/"]);
        assert_eq!(requests[1].endpoint, EndpointId(0));
    }
}
