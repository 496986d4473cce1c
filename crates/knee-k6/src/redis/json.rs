//! Options of Redis in an object, with the messages of Go's JSON for what does not fit.

use knee_core::unit::Nanos;
use serde_json::{Map, Value};

use super::given::{Certificates, Given, Layout, Limit};
use super::url;
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

    fn flag(&self) -> Result<bool, String> {
        match self.value {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.wrong("bool")),
        }
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

const SENTINEL: &[&str] = &["masterName", "sentinelUsername", "sentinelPassword"];

const CLUSTER: &[&str] = &["maxRedirects", "readOnly", "routeByLatency", "routeRandomly", "nodes"];

/// The options in an object.
pub fn read(object: &Value) -> Result<Given, String> {
    let empty = Map::new();
    let object = object.as_object().unwrap_or(&empty);
    if let Some(Value::Object(cluster)) = object.get("cluster") {
        return read_cluster(cluster);
    }
    if !object.contains_key("masterName") {
        return read_node(object, "singleNodeOptions", "");
    }
    let is_own = |name: &str| SENTINEL.iter().any(|known| known.eq_ignore_ascii_case(name));
    let (own, node): (Map<String, Value>, Map<String, Value>) =
        object.clone().into_iter().partition(|(name, _)| is_own(name));
    let (mut master, mut user, mut password) = Default::default();
    for field in fields(&own, "sentinelOptions", "", SENTINEL) {
        let (name, field) = field?;
        let to = match name {
            "masterName" => &mut master,
            "sentinelUsername" => &mut user,
            _ => &mut password,
        };
        *to = field.text()?;
    }
    Ok(Given {
        layout: Layout::Sentinel { master, user, password },
        ..read_node(&node, "sentinelOptions", "singleNodeOptions")?
    })
}

/// The options of one server, below `path` in those of Go's type `holder`.
fn read_node(object: &Map<String, Value>, holder: &'static str, path: &str) -> Result<Given, String> {
    let mut given = Given::default();
    let mut has_socket = false;
    for field in fields(object, holder, path, NODE) {
        let (name, field) = field?;
        match name {
            "socket" => {
                if let Some(socket) = field.object("redis.socketOptions")? {
                    has_socket = true;
                    read_socket(socket, &field.path, &mut given)?;
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

/// The options of a cluster.
fn read_cluster(cluster: &Map<String, Value>) -> Result<Given, String> {
    let Some(Value::Array(elements)) = cluster.get("nodes") else {
        let shown = cluster.get("nodes").map_or("<nil>", kind);
        return Err(format!("cluster nodes property must be an array; got {shown}"));
    };
    let (first, holder) = match elements.first() {
        None => return Err("cluster nodes property cannot be empty".to_owned()),
        Some(first @ Value::Object(_)) => (first, "clusterNodesMapOptions"),
        Some(first @ Value::String(_)) => (first, "clusterNodesStringOptions"),
        Some(other) => {
            let words = "cluster nodes array must contain string or object elements; got";
            return Err(format!("{words} {}", kind(other)));
        }
    };
    let (mut redirects, mut is_reader, mut fastest, mut randomly) = Default::default();
    let mut nodes: Vec<Given> = Vec::new();
    for field in fields(cluster, holder, "commonClusterOptions", CLUSTER) {
        let (name, field) = field?;
        match name {
            "maxRedirects" => redirects = field.number("int")?,
            "readOnly" => is_reader = field.flag()?,
            "routeByLatency" => fastest = field.flag()?,
            "routeRandomly" => randomly = field.flag()?,
            _ => {
                for value in elements {
                    let element = Field { holder, path: "nodes".to_owned(), value };
                    nodes.push(match (first, value) {
                        (Value::Object(_), Value::Object(node)) => {
                            read_node(node, "singleNodeOptions", "nodes")?
                        }
                        (Value::Object(_), Value::Null) => return Err("empty socket options".to_owned()),
                        (Value::Object(_), _) => return Err(element.wrong("redis.singleNodeOptions")),
                        _ => url::read(&element.text()?)?,
                    });
                }
            }
        }
    }
    let addresses = nodes.iter().map(|node| node.address.clone()).collect();
    let layout = Layout::Cluster { nodes: addresses, redirects, is_reader, fastest, randomly };
    Ok(Given { layout, ..together(nodes)? })
}

/// The options of all servers of a cluster: those of the last one, as in k6, with which those of the others agree.
fn together(nodes: Vec<Given>) -> Result<Given, String> {
    let mut nodes = nodes.into_iter();
    let mut all = nodes.next().unwrap_or_default();
    for node in nodes {
        let text = |name: &str, one: &str, two: &str| {
            let differs = !one.is_empty() && !two.is_empty() && one != two;
            let shown = if name == "password" { String::new() } else { format!(": {one} != {two}") };
            if differs { Err(format!("inconsistent {name} option{shown}")) } else { Ok(()) }
        };
        let number = |name: &str, one: i64, two: i64| {
            let differs = one != 0 && two != 0 && one != two;
            if differs { Err(format!("inconsistent {name} option: {one} != {two}")) } else { Ok(()) }
        };
        let time = |name: &str, one: Limit, two: Limit| number(name, nanos(one), nanos(two));
        number("db", all.database, node.database)?;
        text("username", &all.user, &node.user)?;
        text("password", &all.password, &node.password)?;
        text("clientName", &all.name, &node.name)?;
        number("maxRetries", all.retries, node.retries)?;
        time("minRetryBackoff", all.pause, node.pause)?;
        time("maxRetryBackoff", all.pause_max, node.pause_max)?;
        time("dialTimeout", all.dial, node.dial)?;
        time("readTimeout", all.read, node.read)?;
        number("poolSize", all.connections, node.connections)?;
        time("poolTimeout", all.wait, node.wait)?;
        let (address, tls) = (all.address, all.tls.or_else(|| node.tls.clone()));
        all = Given { address, tls, ..node };
    }
    Ok(all)
}

/// A limit as Go counts it.
fn nanos(limit: Limit) -> i64 {
    match limit {
        Limit::Usual => 0,
        Limit::Never => -1,
        Limit::After(time) => i64::try_from(time.0).unwrap_or(i64::MAX),
    }
}

/// Go's name for the type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn read_socket(socket: &Map<String, Value>, path: &str, given: &mut Given) -> Result<(), String> {
    for field in fields(socket, "socketOptions", path, SOCKET) {
        let (name, field) = field?;
        match name {
            "host" => given.address.host = field.text()?,
            "port" => {
                let port = field.number("int")?;
                given.address.port =
                    u16::try_from(port).map_err(|_| format!("address {port}: invalid port"))?;
            }
            "tls" => {
                if let Some(tls) = field.object("redis.tlsOptions")? {
                    given.tls = Some(certificates(tls, &field.path)?);
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

fn certificates(tls: &Map<String, Value>, path: &str) -> Result<Certificates, String> {
    let mut certificates = Certificates::default();
    let (mut own, mut key) = (String::new(), String::new());
    for field in fields(tls, "tlsOptions", path, &["ca", "cert", "key"]) {
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
