//! The settings, from k6's variables, and those variables of OpenTelemetry itself that k6 reads too.

use std::time::Duration;

use super::super::variables::{Lookup, Variables};

/// What begins each of k6's variables.
const PREFIX: &str = "K6_OTEL_";

/// Where series go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Names in small letters, and values.
    pub headers: Vec<(String, String)>,
    /// Settings of TLS.
    pub tls: Tls,
    /// What is known about this program, sorted by name.
    pub resource: Vec<(String, String)>,
    /// What begins the name of each metric.
    pub prefix: String,
    /// Time between two pushes.
    pub interval: Duration,
    /// Whether a rate is one counter with the attribute `condition`, and not two counters.
    pub single_counter: bool,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The URL of one that takes messages over HTTP.
    Http(String),
    /// One that takes them over gRPC.
    Grpc {
        /// Host and port.
        address: String,
        /// Whether it is asked without TLS.
        plain: bool,
    },
}

impl Endpoint {
    /// How messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Http(url) => url.clone(),
            Self::Grpc { address, .. } => address.clone(),
        }
    }
}

/// Settings of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// PEM of the authorities that are trusted; those of the system without it.
    pub authorities: Option<Vec<u8>>,
    /// PEM of the client's certificates and of its key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

impl Config {
    /// Reads the variables, and the files that they name.
    ///
    /// # Errors
    /// A value is wrong, or asks for what is not supported; the text names the variable.
    pub fn from_env(env: Lookup<'_>) -> Result<Self, String> {
        let variables = Variables::new(PREFIX, env);
        refuse_others(env)?;
        let tls = tls(&variables)?;
        let endpoint = endpoint(&variables)?;
        let is_plain = matches!(&endpoint, Endpoint::Http(url) if url.starts_with("http://"));
        if is_plain && tls != Tls::default() {
            return Err(format!(
                "{PREFIX}HTTP_EXPORTER_INSECURE is true, so the variables {PREFIX}TLS_* have no effect"
            ));
        }
        // k6 collects samples at this interval before it adds them up; here they are added up at once.
        variables.span("FLUSH_INTERVAL", Duration::from_secs(1))?;
        Ok(Self {
            endpoint,
            headers: headers(&variables, env)?,
            tls,
            resource: resource(&variables, env),
            prefix: variables.text_or("METRIC_PREFIX", ""),
            interval: variables.span("EXPORT_INTERVAL", Duration::from_secs(10))?,
            single_counter: variables.flag("SINGLE_COUNTER_FOR_RATE")?.unwrap_or(true),
        })
    }
}

/// Refuses variables of OpenTelemetry's exporter that would change what k6 sends.
fn refuse_others(env: Lookup<'_>) -> Result<(), String> {
    for (name, known) in [
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative"),
        ("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "explicit_bucket_histogram"),
    ] {
        if let Some(value) = env(name).filter(|value| !value.is_empty() && !value.eq_ignore_ascii_case(known))
        {
            return Err(format!("{name} is `{value}`; only `{known}` is supported"));
        }
    }
    Ok(())
}

fn endpoint(variables: &Variables<'_>) -> Result<Endpoint, String> {
    let known = |name: &str, values: [&str; 2]| match variables.text(name) {
        Some(text) if !values.contains(&text.as_str()) => {
            Err(format!("{} is `{text}`, not `{}` or `{}`", variables.full(name), values[0], values[1]))
        }
        text => Ok(text),
    };
    let protocol = known("EXPORTER_PROTOCOL", ["grpc", "http/protobuf"])?;
    // k6's older name of the same.
    let kind = known("EXPORTER_TYPE", ["grpc", "http"])?;
    if protocol.or(kind).is_none_or(|name| name == "grpc") {
        let address = variables.text_or("GRPC_EXPORTER_ENDPOINT", "localhost:4317");
        let plain = variables.flag("GRPC_EXPORTER_INSECURE")?.unwrap_or(false);
        checked("GRPC_EXPORTER_ENDPOINT", &address, true)?;
        return Ok(Endpoint::Grpc { address, plain });
    }
    let address = variables.text_or("HTTP_EXPORTER_ENDPOINT", "localhost:4318");
    checked("HTTP_EXPORTER_ENDPOINT", &address, false)?;
    let path = variables.text_or("HTTP_EXPORTER_URL_PATH", "/v1/metrics");
    let plain = variables.flag("HTTP_EXPORTER_INSECURE")?.unwrap_or(false);
    let scheme = if plain { "http" } else { "https" };
    Ok(Endpoint::Http(format!("{scheme}://{address}/{}", path.trim_start_matches('/'))))
}

/// Checks host and port of a variable.
fn checked(name: &str, address: &str, must_have_port: bool) -> Result<(), String> {
    let url = url::Url::parse(&format!("http://{address}")).ok().filter(|_| !address.contains("://"));
    let is_address =
        url.is_some_and(|url| url.path() == "/" && url.username().is_empty() && url.query().is_none());
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if is_address && (has_port || !must_have_port) {
        return Ok(());
    }
    Err(format!("{PREFIX}{name} is `{address}`, not a host with a port, such as `localhost:4318`"))
}

fn tls(variables: &Variables<'_>) -> Result<Tls, String> {
    let file = |name: &str| -> Result<Option<Vec<u8>>, String> {
        let Some(path) = variables.text(name) else { return Ok(None) };
        let read = std::fs::read(&path);
        read.map(Some).map_err(|error| format!("`{path}` of {PREFIX}{name} cannot be read: {error}"))
    };
    let client = match (file("TLS_CLIENT_CERTIFICATE")?, file("TLS_CLIENT_KEY")?) {
        (Some(chain), Some(key)) => Some((chain, key)),
        (None, _) => None,
        (Some(_), None) => {
            return Err(format!("{PREFIX}TLS_CLIENT_CERTIFICATE is set without {PREFIX}TLS_CLIENT_KEY"));
        }
    };
    Ok(Tls {
        insecure: variables.flag("TLS_INSECURE_SKIP_VERIFY")?.unwrap_or(false),
        authorities: file("TLS_CERTIFICATE")?,
        client,
    })
}

/// `name=value,name=value`, with escapes of URLs.
fn headers(variables: &Variables<'_>, env: Lookup<'_>) -> Result<Vec<(String, String)>, String> {
    let own = variables.text("HEADERS").map(|text| (variables.full("HEADERS"), text));
    let general = || {
        let names = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
        names.into_iter().find_map(|name| Some((name.to_owned(), env(name).filter(|text| !text.is_empty())?)))
    };
    let Some((variable, text)) = own.or_else(general) else { return Ok(Vec::new()) };
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').map(|(name, value)| (decoded(name), decoded(value)))?;
        let name = name.trim().to_ascii_lowercase();
        let is_header = http::HeaderName::from_bytes(name.as_bytes()).is_ok()
            && http::HeaderValue::from_str(value.trim()).is_ok();
        is_header.then(|| (name, value.trim().to_owned()))
    };
    let wrong = || format!("{variable} is not a list of headers, such as `name=value,name=value`");
    text.split(',').map(|text| pair(text).ok_or_else(wrong)).collect()
}

/// What is known about this program. As in k6, a part of `OTEL_RESOURCE_ATTRIBUTES` without a value is left out.
fn resource(variables: &Variables<'_>, env: Lookup<'_>) -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION");
    let name =
        variables.text("SERVICE_NAME").or_else(|| env("OTEL_SERVICE_NAME").filter(|name| !name.is_empty()));
    let own = [
        ("telemetry.sdk.name", "knee".to_owned()),
        ("telemetry.sdk.language", "rust".to_owned()),
        ("telemetry.sdk.version", version.to_owned()),
        ("service.name", name.unwrap_or_else(|| "k6".to_owned())),
        ("service.version", variables.text_or("SERVICE_VERSION", version)),
    ];
    let given = env("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let given = given.split(',').filter_map(|pair| pair.split_once('='));
    let mut all: std::collections::BTreeMap<String, String> =
        given.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim()))).collect();
    all.extend(own.map(|(name, value)| (name.to_owned(), value)));
    all.into_iter().collect()
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
