//! Options of Redis in an object, with the messages of Go's JSON for what does not fit.

use knee_core::unit::Nanos;
use serde_json::{Map, Value};

use super::given::{Certificates, Given, Limit};
use crate::go_quote::quoted;

/// Options of connections that say nothing to a client that opens them when it needs them.
const IGNORED: [&str; 4] = ["minIdleConns", "maxConnAge", "idleTimeout", "idleCheckFrequency"];

/// A field of an object, with Go's name of the object's type and the path to it.
struct Field<'a> {
    holder: &'static str,
    path: String,
    value: &'a Value,
}

impl Field<'_> {
    fn wrong(&self, kind: &str) -> String {
        let shown = match self.value {
            Value::Number(number) if kind == "int" || kind == "int64" => format!("number {number}"),
            value => name(value).to_owned(),
        };
        format!(
            "json: cannot unmarshal {shown} into Go struct field {}.{} of type {kind}",
            self.holder, self.path
        )
    }

    fn text(&self) -> Result<String, String> {
        match self.value {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong("string")),
        }
    }

    fn number(&self, kind: &str) -> Result<i64, String> {
        match self.value {
            Value::Null => Ok(0),
            value => value.as_i64().ok_or_else(|| self.wrong(kind)),
        }
    }

    /// A time in milliseconds.
    fn time(&self) -> Result<Limit, String> {
        Ok(match self.number("int64")? {
            0 => Limit::Usual,
            // Go's client knows no limit of less than a millisecond below zero, and no other one either.
            negative if negative < 0 => Limit::Never,
            number => Limit::After(Nanos(number.unsigned_abs().saturating_mul(1_000_000))),
        })
    }

    /// A time in nanoseconds.
    fn pause(&self) -> Result<Limit, String> {
        Ok(match u64::try_from(self.number("int64")?) {
            Ok(0) => Limit::Usual,
            Ok(number) => Limit::After(Nanos(number)),
            Err(_) => Limit::After(Nanos(0)),
        })
    }

    fn object(&self, kind: &str) -> Result<Option<&Map<String, Value>>, String> {
        match self.value {
            Value::Null => Ok(None),
            Value::Object(object) => Ok(Some(object)),
            _ => Err(self.wrong(kind)),
        }
    }
}

/// The fields of an object. As in Go, upper case is no matter.
fn fields<'a>(
    object: &'a Map<String, Value>,
    holder: &'static str,
    path: &'a str,
    known: &'static [&'static str],
) -> impl Iterator<Item = Result<(&'static str, Field<'a>), String>> {
    object.iter().map(move |(name, value)| {
        let found = known.iter().find(|known| known.eq_ignore_ascii_case(name));
        let found = found.ok_or_else(|| format!("json: unknown field {}", quoted(name.as_bytes())))?;
        let path = if path.is_empty() { (*found).to_owned() } else { format!("{path}.{found}") };
        Ok((*found, Field { holder, path, value }))
    })
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

const NODE: &[&str] = &[
    "socket",
    "username",
    "password",
    "clientName",
    "database",
    "maxRetries",
    "minRetryBackoff",
    "maxRetryBackoff",
];

const SOCKET: &[&str] = &[
    "host",
    "port",
    "tls",
    "dialTimeout",
    "readTimeout",
    "writeTimeout",
    "poolSize",
    "minIdleConns",
    "maxConnAge",
    "poolTimeout",
    "idleTimeout",
    "idleCheckFrequency",
];

/// The options in an object.
pub fn read(object: &Value) -> Result<Given, String> {
    let empty = Map::new();
    let object = object.as_object().unwrap_or(&empty);
    if let Some(Value::Object(cluster)) = object.get("cluster") {
        return Err(cluster_refusal(cluster));
    }
    if object.contains_key("masterName") {
        return Err(unsupported("sentinels"));
    }
    let mut given = Given::default();
    let mut has_socket = false;
    for field in fields(object, "singleNodeOptions", "", NODE) {
        let (name, field) = field?;
        match name {
            "socket" => {
                if let Some(socket) = field.object("redis.socketOptions")? {
                    has_socket = true;
                    read_socket(socket, &mut given)?;
                }
            }
            "username" => given.user = field.text()?,
            "password" => given.password = field.text()?,
            // xk6-redis forgets this name.
            "clientName" => drop(field.text()?),
            "database" => given.database = field.number("int")?,
            "maxRetries" => given.retries = field.number("int")?,
            "minRetryBackoff" => given.pause = field.pause()?,
            _ => given.pause_max = field.pause()?,
        }
    }
    if has_socket { Ok(given) } else { Err("empty socket options".to_owned()) }
}

fn read_socket(socket: &Map<String, Value>, given: &mut Given) -> Result<(), String> {
    for field in fields(socket, "socketOptions", "socket", SOCKET) {
        let (name, field) = field?;
        match name {
            "host" => given.host = field.text()?,
            "port" => {
                let port = field.number("int")?;
                given.port = u16::try_from(port).map_err(|_| format!("address {port}: invalid port"))?;
            }
            "tls" => {
                if let Some(tls) = field.object("redis.tlsOptions")? {
                    given.tls = Some(certificates(tls)?);
                }
            }
            "dialTimeout" => given.dial = field.time()?,
            "readTimeout" => given.read = field.time()?,
            "writeTimeout" => drop(field.time()?),
            "poolSize" => given.connections = field.number("int")?,
            "poolTimeout" => given.wait = field.time()?,
            name => {
                debug_assert!(IGNORED.contains(&name), "{name} is read");
                field.number("int64")?;
            }
        }
    }
    Ok(())
}

fn certificates(tls: &Map<String, Value>) -> Result<Certificates, String> {
    let mut certificates = Certificates::default();
    let (mut own, mut key) = (String::new(), String::new());
    for field in fields(tls, "tlsOptions", "socket.tls", &["ca", "cert", "key"]) {
        let (name, field) = field?;
        match (name, field.value) {
            ("ca", Value::Null) => {}
            ("ca", Value::Array(list)) => {
                for value in list {
                    let element = Field { holder: field.holder, path: field.path.clone(), value };
                    certificates.authorities.push(element.text()?);
                }
            }
            ("ca", _) => return Err(field.wrong("[]string")),
            ("cert", _) => own = field.text()?,
            _ => key = field.text()?,
        }
    }
    if !own.is_empty() && !key.is_empty() {
        if !own.contains("-----BEGIN") {
            return Err("tls: failed to find any PEM data in certificate input".to_owned());
        }
        certificates.own = Some((own, key));
    }
    Ok(certificates)
}

fn unsupported(what: &str) -> String {
    format!("{what} are not supported: name one server")
}

fn cluster_refusal(cluster: &Map<String, Value>) -> String {
    match cluster.get("nodes") {
        Some(Value::Array(nodes)) if nodes.is_empty() => "cluster nodes property cannot be empty".to_owned(),
        Some(Value::Array(_)) => unsupported("clusters"),
        other => {
            let kind = match other {
                None | Some(Value::Null) => "<nil>",
                Some(Value::String(_)) => "string",
                Some(Value::Bool(_)) => "bool",
                Some(Value::Number(number)) if number.is_i64() => "int64",
                Some(Value::Number(_)) => "float64",
                Some(_) => "map[string]interface {}",
            };
            format!("cluster nodes property must be an array; got {kind}")
        }
    }
}
