//! The settings: k6's variables, and over them the URL after `influxdb=`.

use std::time::Duration;

use url::Url;

use super::super::variables::{Lookup, Variables, flag, span};

/// What begins each of the variables.
const PREFIX: &str = "K6_INFLUXDB_";
/// Most writes at a time, against typing errors: each has a thread.
const WRITES_MAX: usize = 256;
/// Bytes of a datagram if the user names no number, as in k6.
const DATAGRAM: usize = 512;
/// Bytes that a datagram can have.
const DATAGRAM_MAX: usize = 65_507;

/// Where points go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The server.
    pub server: Server,
    /// The database.
    pub database: String,
    /// The retention policy; empty for that of the database.
    pub retention: String,
    /// How many servers must confirm a write; empty for the server's own rule.
    pub consistency: String,
    /// The unit of times.
    pub precision: Precision,
    /// Time between two writes.
    pub interval: Duration,
    /// Writes at a time.
    pub writes: usize,
    /// Tags that are written as fields, sorted by name.
    pub fields: Vec<Field>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// One that is asked over HTTP.
    Http {
        /// Its URL without credentials and without a slash at the end.
        base: String,
        /// The header `authorization`.
        authorization: Option<String>,
        /// Whether any certificate is accepted.
        insecure: bool,
        /// A proxy.
        proxy: Option<String>,
    },
    /// One that gets datagrams.
    Udp {
        /// Host and port.
        address: String,
        /// Bytes of a datagram.
        payload: usize,
    },
}

impl Server {
    /// How messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Http { base, .. } => base.clone(),
            Self::Udp { address, .. } => format!("udp://{address}"),
        }
    }
}

/// A tag that is written as a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// Name of the tag.
    pub name: String,
    /// How its value is written. A value that is not of this kind is text.
    pub kind: FieldKind,
}

/// A kind of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldKind {
    /// Text.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
}

/// A unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// How InfluxDB calls it.
    pub name: &'static str,
    /// Nanoseconds in one.
    pub nanos: u64,
}

impl Precision {
    /// The finest one, and k6's choice.
    pub const NANOSECONDS: Self = Self { name: "ns", nanos: 1 };

    fn parse(name: &str) -> Result<Self, String> {
        let (name, nanos) = match name {
            "" | "n" | "ns" => return Ok(Self::NANOSECONDS),
            "u" | "us" | "µs" => ("u", 1_000),
            "ms" => ("ms", 1_000_000),
            "s" => ("s", 1_000_000_000),
            "m" => ("m", 60_000_000_000),
            "h" => ("h", 3_600_000_000_000),
            other => return Err(format!("`{other}` is no precision of InfluxDB: ns, us, ms, s, m or h")),
        };
        Ok(Self { name, nanos })
    }
}

/// The settings as texts, before they are checked.
#[derive(Default)]
struct Given {
    address: Option<String>,
    database: Option<String>,
    username: Option<String>,
    password: Option<String>,
    insecure: Option<bool>,
    payload: Option<String>,
    precision: Option<String>,
    retention: Option<String>,
    consistency: Option<String>,
    interval: Option<Duration>,
    writes: Option<String>,
    fields: Vec<String>,
}

impl Config {
    /// Reads the variables, and the text after `influxdb=`, which overrides them.
    ///
    /// # Errors
    /// A value is wrong; the text names the variable, or the part of the URL.
    pub fn read(argument: &str, env: Lookup<'_>) -> Result<Self, String> {
        let variables = Variables::new(PREFIX, env);
        let mut given = from_env(&variables)?;
        from_argument(&mut given, argument)?;
        let mut fields: Vec<Field> = if given.fields.is_empty() {
            ["iter", "url", "vu"].map(|name| Field { name: name.to_owned(), kind: FieldKind::Text }).into()
        } else {
            given.fields.iter().map(|text| field(text)).collect::<Result<_, _>>()?
        };
        fields.sort();
        if let Some(pair) = fields.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(format!(
                "the tag `{}` is named twice among the tags of {PREFIX}TAGS_AS_FIELDS",
                pair[0].name
            ));
        }
        let server = server(&given, variables.text("PROXY"))?;
        let precision = Precision::parse(given.precision.as_deref().unwrap_or_default())?;
        Ok(Self {
            // A server that gets datagrams has its own setting for this.
            precision: if matches!(server, Server::Udp { .. }) { Precision::NANOSECONDS } else { precision },
            database: given.database.take().unwrap_or_else(|| "k6".to_owned()),
            retention: given.retention.take().unwrap_or_default(),
            consistency: given.consistency.take().unwrap_or_default(),
            interval: given.interval.unwrap_or(Duration::from_secs(1)),
            writes: number(&format!("{PREFIX}CONCURRENT_WRITES"), given.writes.as_deref(), 4, WRITES_MAX)?,
            server,
            fields,
        })
    }
}

fn from_env(variables: &Variables<'_>) -> Result<Given, String> {
    let fields = variables.text_or("TAGS_AS_FIELDS", "");
    let interval = variables.text("PUSH_INTERVAL");
    Ok(Given {
        address: variables.text("ADDR"),
        database: variables.text("DB"),
        username: variables.text("USERNAME"),
        password: variables.text("PASSWORD"),
        insecure: variables.flag("INSECURE")?,
        payload: variables.text("PAYLOAD_SIZE"),
        precision: variables.text("PRECISION"),
        retention: variables.text("RETENTION"),
        consistency: variables.text("CONSISTENCY"),
        interval: interval.map(|text| span(&variables.full("PUSH_INTERVAL"), &text)).transpose()?,
        writes: variables.text("CONCURRENT_WRITES"),
        fields: list(&fields),
    })
}

/// Reads `URL/DATABASE?parameters`, or a database alone.
fn from_argument(given: &mut Given, argument: &str) -> Result<(), String> {
    if argument.is_empty() {
        return Ok(());
    }
    // A text without a scheme is a path, as for k6; a host without a scheme would be one by mistake.
    let has_scheme = argument.contains("://");
    if !has_scheme && argument.contains(':') {
        return Err("the URL after `influxdb=` has no scheme".to_owned());
    }
    let text = if has_scheme { argument.to_owned() } else { format!("http://none/{argument}") };
    let url = Url::parse(&text).map_err(|error| format!("the text after `influxdb=` is no URL: {error}"))?;
    if has_scheme {
        given.address = Some(address(&url));
    }
    let database = decoded(url.path().trim_start_matches('/'));
    if !database.is_empty() {
        given.database = Some(database);
    }
    if !url.username().is_empty() {
        given.username = Some(decoded(url.username()));
        given.password = Some(decoded(url.password().unwrap_or_default()));
    }
    let mut fields = Vec::new();
    for (name, value) in url.query_pairs() {
        let value = value.into_owned();
        match name.as_ref() {
            "insecure" if value.is_empty() => {}
            "insecure" => given.insecure = Some(flag("`insecure` after `influxdb=`", &value)?),
            "payload_size" => given.payload = Some(value),
            "precision" => given.precision = Some(value),
            "retention" => given.retention = Some(value),
            "consistency" => given.consistency = Some(value),
            "pushInterval" => given.interval = Some(span("`pushInterval` after `influxdb=`", &value)?),
            "concurrentWrites" => given.writes = Some(value),
            "tagsAsFields" => fields.extend(list(&value)),
            other => return Err(format!("InfluxDB has no parameter `{other}`, which is after `influxdb=`")),
        }
    }
    if !fields.is_empty() {
        given.fields = fields;
    }
    Ok(())
}

/// Scheme, host and port.
fn address(url: &Url) -> String {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

fn server(given: &Given, proxy: Option<String>) -> Result<Server, String> {
    let text = given.address.as_deref().unwrap_or("http://localhost:8086");
    let wrong = || format!("{PREFIX}ADDR is `{text}`, which is no URL of http, https or udp");
    let mut url = Url::parse(text).map_err(|_| wrong())?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong());
    }
    match url.scheme() {
        "udp" => {
            let payload = number(
                &format!("{PREFIX}PAYLOAD_SIZE"),
                given.payload.as_deref().filter(|text| *text != "0"),
                DATAGRAM,
                DATAGRAM_MAX,
            )?;
            Ok(Server::Udp { address: address(&url).trim_start_matches("udp://").to_owned(), payload })
        }
        "http" | "https" => {
            let own = (!url.username().is_empty())
                .then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())));
            let named = given.username.clone().map(|name| (name, given.password.clone().unwrap_or_default()));
            let _ = (url.set_username(""), url.set_password(None));
            url.set_query(None);
            url.set_fragment(None);
            let authorization = named.or(own).map(|(name, password)| {
                knee_engine::http::credentials::basic(format!("{name}:{password}").as_bytes())
            });
            Ok(Server::Http {
                base: url.as_str().trim_end_matches('/').to_owned(),
                authorization,
                insecure: given.insecure.unwrap_or(false),
                proxy: proxy.map(checked_proxy).transpose()?,
            })
        }
        _ => Err(wrong()),
    }
}

fn checked_proxy(text: String) -> Result<String, String> {
    match ureq::Proxy::new(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(format!("{PREFIX}PROXY is no URL of a proxy")),
    }
}

/// A number from 1 to `most`.
fn number(name: &str, text: Option<&str>, otherwise: usize, most: usize) -> Result<usize, String> {
    let Some(text) = text else { return Ok(otherwise) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{name} is `{text}`, not a number from 1 to {most}"))
}

/// The parts of a list.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Reads `name` or `name:kind`.
fn field(text: &str) -> Result<Field, String> {
    let (name, kind) = text.split_once(':').unwrap_or((text, ""));
    let kind = match kind {
        "" | "string" => FieldKind::Text,
        "int" => FieldKind::Int,
        "float" => FieldKind::Float,
        "bool" => FieldKind::Bool,
        other => {
            return Err(format!(
                "`{other}`, for the tag `{name}` of {PREFIX}TAGS_AS_FIELDS, is none of string, int, float and bool"
            ));
        }
    };
    Ok(Field { name: name.to_owned(), kind })
}

/// What a part of a URL means.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
