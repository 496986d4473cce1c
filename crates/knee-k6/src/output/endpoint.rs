//! What outputs that send have in common: how they tell the user something, and the client that sends.
//!
//! The client is not the engine's: its connections, counts and faults are those of the load, and they must stay so.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use super::batch::Batch;
use super::columns::Columns;

/// Tells the user something while the load runs.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// An output that sends.
pub trait Push: Send {
    /// Takes samples.
    fn add(&mut self, batch: &Batch);

    /// Takes samples of which only the sums matter: of a worker, or of an interval.
    fn add_columns(&mut self, columns: &Columns);

    /// Sends if it is time.
    fn tick(&mut self);

    /// Sends what is left, and waits until it is sent or its time is over. Returns a warning for the user, if there is
    /// one.
    fn finish(self: Box<Self>) -> Option<String>;
}

/// Bytes of a response that are looked at for its reason.
const RESPONSE_MAX: u64 = 4 << 10;
/// Characters of a reason that are shown.
const REASON_MAX: usize = 200;

/// A client that answers within `limit` and checks certificates against those of the system. `proxy`: those of the
/// environment, or none.
pub fn agent(limit: Duration, is_insecure: bool, proxy: Option<ureq::Proxy>) -> ureq::Agent {
    let tls = ureq::tls::TlsConfig::builder()
        .root_certs(ureq::tls::RootCerts::PlatformVerifier)
        .disable_verification(is_insecure)
        .build();
    agent_with(limit, tls, proxy)
}

/// A client that answers within `limit`, with these settings of TLS.
pub fn agent_with(limit: Duration, tls: ureq::tls::TlsConfig, proxy: Option<ureq::Proxy>) -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(proxy)
        .tls_config(tls)
        .build()
        .into()
}

/// What became of a request.
///
/// # Errors
/// There is no response, or its status is not 2xx; the text has what the endpoint says about it.
pub fn outcome(response: Result<http::Response<ureq::Body>, ureq::Error>) -> Result<(), String> {
    exchange(response).map(|_| ())
}

/// The first bytes of the response to a request.
///
/// # Errors
/// As with [`outcome`].
pub fn exchange(response: Result<http::Response<ureq::Body>, ureq::Error>) -> Result<Vec<u8>, String> {
    let mut response = response.map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    // What cannot be read is not needed: the status counts.
    let _ = response.body_mut().as_reader().take(RESPONSE_MAX).read_to_end(&mut body);
    if (200..300).contains(&status) {
        return Ok(body);
    }
    let reason = reason(&String::from_utf8_lossy(&body));
    let separator = if reason.is_empty() { "" } else { ": " };
    Err(format!("the endpoint answered with status {status}{separator}{reason}"))
}

/// What a body says, on one line: the value of `error` or `message` of a JSON object, or its text.
fn reason(body: &str) -> String {
    let json = serde_json::from_str::<serde_json::Value>(body).ok();
    let named = json.as_ref().and_then(|json| json.get("error").or_else(|| json.get("message"))?.as_str());
    let text = named.unwrap_or(body).split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = text.chars().filter(|c| !c.is_control()).take(REASON_MAX).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(reason(r#"{"error":"database not found: \"a\""}"#), "database not found: \"a\"");
        assert_eq!(reason("two\r\n  lines\u{1b}[31m"), "two lines[31m…");
        assert_eq!(reason(""), "");
        assert_eq!(reason(&"x".repeat(999)).chars().count(), REASON_MAX + 1);
    }
}
