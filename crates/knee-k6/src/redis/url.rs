//! URLs of Redis, with the messages of the Go client that k6 uses.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;

use super::given::{Certificates, Given, Limit, PORT};
use crate::duration::SignedDuration;
use crate::go_quote::quoted;
use crate::http::go_url::GoUrl;

/// Parameters that say nothing to a client that opens connections when it needs them.
const IGNORED: [&str; 9] = [
    "protocol",
    "min_idle_conns",
    "max_idle_conns",
    "max_active_conns",
    "max_concurrent_dials",
    "conn_max_idle_time",
    "idle_timeout",
    "conn_max_lifetime",
    "max_conn_age",
];

/// The options in a URL.
pub fn read(text: &str) -> Result<Given, String> {
    let url = GoUrl::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let mut given = Given::default();
    if let Some(user) = url.user() {
        given.user = String::from_utf8_lossy(&user.name).into_owned();
        given.password = String::from_utf8_lossy(user.password.as_deref().unwrap_or_default()).into_owned();
    }
    match url.scheme() {
        "redis" | "rediss" => {
            given.address.host = url.hostname();
            given.address.port = url.port().and_then(|port| port.parse().ok()).unwrap_or(PORT);
            given.database = database(&url.path())?;
            given.tls = (url.scheme() == "rediss").then(Certificates::default);
        }
        "unix" => {
            let path = url.path();
            if path.is_empty() {
                return Err("redis: empty unix socket path".to_owned());
            }
            given.socket = Some(path);
        }
        other => return Err(format!("redis: invalid URL scheme: {other}")),
    }
    parameters(&url.query(), &mut given)?;
    Ok(given)
}

fn database(path: &str) -> Result<i64, String> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next()) {
        (None, _) => Ok(0),
        (Some(number), None) => number
            .parse()
            .map_err(|_| format!("redis: invalid database number: {}", quoted(number.as_bytes()))),
        (Some(_), Some(_)) => Err(format!("redis: invalid URL path: {path}")),
    }
}

/// The parameters of a URL that were not read yet.
struct Parameters(BTreeMap<String, String>);

impl Parameters {
    fn text(&mut self, name: &str) -> String {
        self.0.remove(name).unwrap_or_default()
    }

    fn number(&mut self, name: &str) -> Result<i64, String> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(0);
        }
        text.parse().map_err(|_| format!("redis: invalid {name} number: {}", no_number(&text)))
    }

    fn time(&mut self, name: &str) -> Result<Limit, String> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(Limit::Usual);
        }
        if let Ok(seconds) = text.parse::<i64>() {
            return Ok(match u64::try_from(seconds) {
                Ok(0) | Err(_) => Limit::Never,
                Ok(seconds) => Limit::After(Nanos(seconds.saturating_mul(1_000_000_000))),
            });
        }
        let time = SignedDuration::parse_go(&text)
            .map_err(|error| format!("redis: invalid {name} duration: {error}"))?;
        Ok(if time == SignedDuration::ZERO { Limit::Usual } else { Limit::After(time.to_nanos()) })
    }

    fn flag(&mut self, name: &str) -> Result<bool, String> {
        match self.text(name).as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" | "" => Ok(false),
            other => Err(format!(
                "redis: invalid {name} boolean: expected true/false/1/0 or an empty string, got {}",
                quoted(other.as_bytes())
            )),
        }
    }
}

/// Go's words for a text that is no number.
fn no_number(text: &str) -> String {
    format!("strconv.Atoi: parsing {}: invalid syntax", quoted(text.as_bytes()))
}

fn parameters(query: &str, given: &mut Given) -> Result<(), String> {
    // Of several values of a name, the last one counts.
    let pairs = ::url::form_urlencoded::parse(query.as_bytes());
    let mut left = Parameters(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect());
    let number = left.text("db");
    if !number.is_empty() {
        let wrong = |_| format!("redis: invalid database number: {}", no_number(&number));
        given.database = number.parse().map_err(wrong)?;
    }
    given.name = left.text("client_name");
    given.retries = left.number("max_retries")?;
    given.pause = left.time("min_retry_backoff")?;
    given.pause_max = left.time("max_retry_backoff")?;
    given.dial = left.time("dial_timeout")?;
    given.read = left.time("read_timeout")?;
    left.time("write_timeout")?;
    left.flag("pool_fifo")?;
    given.connections = left.number("pool_size")?;
    given.wait = left.time("pool_timeout")?;
    for name in IGNORED {
        left.0.remove(name);
    }
    if let Some(tls) = given.tls.as_mut().filter(|_| left.0.contains_key("skip_verify")) {
        tls.is_lenient = left.flag("skip_verify")?;
    }
    if left.0.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = left.0.keys().map(String::as_str).collect();
    Err(format!("redis: unexpected option: {}", names.join(", ")))
}
