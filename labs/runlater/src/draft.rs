//! Request bodies of new tasks and changes, parsed and validated.
//!
//! Does not store anything or read the clock: the time is a parameter.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use url::Url;

use crate::field::{Fields, whole};
use crate::recurrence::Recurrence;
use crate::refusal::Refusal;

/// Largest body of a call, in bytes.
pub const BODY_MAX: usize = 256 * 1024;
/// Furthest due time and longest delay.
const MAX_AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);
/// A due time can be this old: clocks differ, and requests take time.
const MAX_PAST: SignedDuration = SignedDuration::from_mins(5);
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const HEADERS_MAX: usize = 50;
/// Headers of the transport, which tasks cannot set.
const FORBIDDEN_HEADERS: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "expect"];

/// When a task is to be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// As soon as possible.
    Now,
    /// Once, at this time.
    At(Timestamp),
    /// Recurring: the cron expression and the first time.
    Cron(String, Timestamp),
}

/// Fields common to all tasks; `None` if not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Name.
    pub name: Option<String>,
    /// Target address.
    pub url: Option<String>,
    /// Method.
    pub method: Option<String>,
    /// Headers, as a JSON object of strings.
    pub headers: Option<String>,
    /// Body.
    pub body: Option<String>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: Option<i32>,
    /// Most attempts.
    pub retry_attempts: Option<i32>,
    /// Whether notifications are off.
    pub muted: Option<bool>,
    /// Whether it is executed.
    pub enabled: Option<bool>,
    /// Status codes that count as success.
    pub expected_status_codes: Option<String>,
    /// Text that the response must contain.
    pub expected_body_pattern: Option<String>,
    /// The queue.
    pub queue: Option<String>,
    /// Address for callbacks with results.
    pub callback_url: Option<String>,
}

/// A new task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Fields; `url` is present.
    pub parts: Parts,
    /// When.
    pub when: When,
}

/// A change of a task. Fields that are not given stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Fields.
    pub parts: Parts,
    /// Names of columns to clear.
    pub cleared: Vec<&'static str>,
    /// New time; never `Now`.
    pub when: Option<When>,
}

impl Draft {
    /// Parses the body of a new task.
    ///
    /// # Errors
    /// The body is malformed.
    pub fn read(body: &[u8], now: Timestamp) -> Result<Self, Refusal> {
        let mut fields = Fields::read(body, "task")?;
        let when = when(&mut fields, now)?.unwrap_or(When::Now);
        let parts = parts(&mut fields);
        if parts.url.is_none() {
            fields.refuse("url", "is missing");
        }
        // For a malformed url, its own message says more than that it is missing.
        fields.finish()?;
        Ok(Self { parts, when })
    }

    /// Target address.
    pub fn url(&self) -> &str {
        self.parts.url.as_deref().unwrap_or_default()
    }
}

impl Change {
    /// Parses the body of a change.
    ///
    /// # Errors
    /// The body is malformed.
    pub fn read(body: &[u8], now: Timestamp) -> Result<Self, Refusal> {
        let mut fields = Fields::read(body, "task")?;
        let when = when(&mut fields, now)?;
        let mut cleared = Vec::new();
        for name in ["body", "expected_status_codes", "expected_body_pattern", "queue", "callback_url"] {
            if fields.is_null(name) {
                cleared.push(name);
            }
        }
        for name in ["name", "url", "method", "headers", "timeout_ms", "retry_attempts", "muted", "enabled"] {
            if fields.is_null(name) {
                fields.refuse(name, "may not be null");
            }
        }
        let parts = parts(&mut fields);
        fields.finish()?;
        Ok(Self { parts, cleared, when })
    }
}

/// The first one given: `cron`, `delay`, `run_at`.
fn when(fields: &mut Fields, now: Timestamp) -> Result<Option<When>, Refusal> {
    if let Some(text) = fields.text("cron", 255).or_else(|| fields.text("cron_expression", 255)) {
        let Some(first) = Recurrence::read(&text).and_then(|cron| cron.next(now)) else {
            fields.refuse(
                "cron",
                "has to be five fields of minute, hour, day, month and weekday that come true",
            );
            return Ok(None);
        };
        return Ok(Some(When::Cron(text, first)));
    }
    if let Some(value) = fields.take("delay") {
        let wait = delay(&value).filter(|wait| *wait <= MAX_AHEAD).ok_or(Refusal::BadDelay)?;
        return Ok(Some(When::At(now.saturating_add(wait).unwrap_or(now))));
    }
    if let Some(value) = fields.take("run_at").or_else(|| fields.take("scheduled_at")) {
        let time: Option<Timestamp> = value.as_str().and_then(|text| text.parse().ok());
        let time = time.filter(|time| now.duration_until(*time) <= MAX_AHEAD).ok_or(Refusal::BadRunAt)?;
        if time.duration_until(now) > MAX_PAST {
            fields.refuse("scheduled_at", "may not be in the past");
        }
        return Ok(Some(When::At(time)));
    }
    Ok(None)
}

/// `30s`, `5m`, `2h`, `1d`, or a number of seconds.
fn delay(value: &Value) -> Option<SignedDuration> {
    let (number, unit) = match value {
        Value::Number(_) => (whole(value)?, 1),
        Value::String(text) => {
            let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
            let unit = match &text[split..] {
                "" | "s" => 1,
                "m" => 60,
                "h" => 3600,
                "d" => 86_400,
                _ => return None,
            };
            (text[..split].parse().ok()?, unit)
        }
        _ => return None,
    };
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds > 0)?;
    Some(SignedDuration::from_secs(seconds))
}

fn parts(fields: &mut Fields) -> Parts {
    Parts {
        name: fields.text("name", 255).filter(|name| {
            let is_some = !name.trim().is_empty();
            if !is_some {
                fields.refuse("name", "may not be empty");
            }
            is_some
        }),
        url: address(fields, "url"),
        method: method(fields),
        headers: headers(fields),
        body: fields.text("body", BODY_MAX),
        timeout_ms: fields.number("timeout_ms", 1000..=300_000),
        retry_attempts: fields.number("retry_attempts", 0..=10),
        muted: fields.truth("muted"),
        enabled: fields.truth("enabled"),
        expected_status_codes: codes(fields),
        expected_body_pattern: fields.text("expected_body_pattern", 1000),
        queue: fields.text("queue", 255).filter(|queue| {
            let is_name = !queue.is_empty() && queue != "none";
            if !is_name {
                fields.refuse("queue", "has to be a name, and not `none`");
            }
            is_name
        }),
        callback_url: address(fields, "callback_url"),
    }
}

/// A callable address.
pub(crate) fn address(fields: &mut Fields, name: &'static str) -> Option<String> {
    let text = fields.text(name, 255)?;
    let is_address = Url::parse(&text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && text.parse::<hyper::Uri>().is_ok()
    });
    if !is_address {
        fields.refuse(name, "has to be an address like https://host/path");
    }
    is_address.then_some(text)
}

fn method(fields: &mut Fields) -> Option<String> {
    let method = fields.text("method", 20)?.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        fields.refuse("method", "has to be one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS");
    }
    Some(method)
}

fn headers(fields: &mut Fields) -> Option<String> {
    let value = fields.take("headers")?;
    let is_header = |(name, value): (&String, &Value)| {
        let named = hyper::header::HeaderName::try_from(name.as_str())
            .is_ok_and(|name| !FORBIDDEN_HEADERS.contains(&name.as_str()));
        named && value.as_str().is_some_and(|text| text.bytes().all(is_of_header))
    };
    let text = value.to_string();
    match value.as_object() {
        Some(object) if object.len() > HEADERS_MAX || text.len() > 16 * 1024 => {
            fields.refuse("headers", "may be 50 and have 16 KiB at the most");
        }
        Some(object) if object.iter().all(is_header) => return Some(text),
        _ => fields.refuse("headers", "has to be an object of texts that are headers of a request"),
    }
    None
}

/// Bytes allowed in a header value: targets decode bytes beyond ASCII differently.
fn is_of_header(byte: u8) -> bool {
    byte == b'\t' || byte == b' ' || byte.is_ascii_graphic()
}

fn codes(fields: &mut Fields) -> Option<String> {
    let text = fields.text("expected_status_codes", 255)?;
    let is_code = |code: &str| code.trim().parse().is_ok_and(|code: u16| (100..=599).contains(&code));
    if !text.split(',').all(is_code) {
        fields.refuse("expected_status_codes", "has to be a list like 200,201 of numbers from 100 to 599");
    }
    Some(text)
}

#[cfg(test)]
mod tests;
