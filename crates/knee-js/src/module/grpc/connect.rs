//! Params of `connect`, with k6's words for what it does not take, and where they lead.

use std::rc::Rc;
use std::sync::Arc;

use knee_core::unit::Nanos;
use rquickjs::{Object, Result, Value};

use super::params::{Made, metadata_of, object_of};
use crate::module::argument;
use crate::module::define::elements;
use crate::module::params::timeout_of;
use knee_engine::http::failure::Failure;
use knee_engine::http::http2::dialling::DialTls;
use knee_engine::http::http2::duplex::FieldList;
use knee_engine::http::network::Network;
use knee_engine::http::origin::Origin;
use knee_engine::http::settings::{HttpVersion, TlsSettings};
use knee_engine::http::tls::{self, TlsError};
use knee_k6::go_quote::quoted;
use knee_k6::grpc::connection::Destination;
use knee_k6::grpc::frame::RECEIVE_MAX;
use knee_k6::grpc::status::not_connected;

/// Time limit of `connect` unless it says otherwise.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// Schemes of addresses that say nothing new.
const SCHEMES: [&str; 3] = ["dns:///", "passthrough:///", "dns:"];

/// Params of `connect`.
#[derive(Clone, Debug)]
pub struct ConnectParams {
    is_plaintext: bool,
    /// The time limit.
    pub timeout: Nanos,
    /// Whether the server is asked for its descriptors.
    pub reflects: bool,
    /// What is added to the head of that question.
    pub reflect_metadata: FieldList,
    receive_max: usize,
    send_max: usize,
    authority: Option<String>,
    tls: Option<TlsParams>,
}

/// Certificates, as PEM.
#[derive(Clone, Debug, Default)]
struct TlsParams {
    certificate: Option<String>,
    key: Option<String>,
    password: Option<String>,
    authorities: Vec<String>,
}

/// Reads the params.
pub fn params(given: Option<&Value<'_>>) -> Result<Made<ConnectParams>> {
    let mut params = ConnectParams {
        is_plaintext: false,
        timeout: TIMEOUT,
        reflects: false,
        reflect_metadata: FieldList::new(),
        receive_max: RECEIVE_MAX,
        send_max: usize::MAX,
        authority: None,
        tls: None,
    };
    let Some(object) = object_of(given) else { return Ok(Ok(params)) };
    for pair in object.props::<String, Value<'_>>() {
        let (name, value) = pair?;
        if let Err(words) = apply(&mut params, &name, &value)? {
            return Ok(Err(words));
        }
    }
    Ok(Ok(params))
}

fn apply(params: &mut ConnectParams, name: &str, value: &Value<'_>) -> Result<Made<()>> {
    let wrong = |needs: &str| {
        let shown = go_syntax(value);
        format!("invalid {name} value: '{shown}', it needs to be {needs}")
    };
    Ok(match name {
        "plaintext" | "reflect" => match value.as_bool() {
            Some(is_so) if name == "plaintext" => {
                params.is_plaintext = is_so;
                Ok(())
            }
            Some(is_so) => {
                params.reflects = is_so;
                Ok(())
            }
            None => Err(wrong("boolean")),
        },
        "timeout" => timeout_of(value)?.map(|timeout| params.timeout = timeout),
        "reflectMetadata" => metadata_of(value)?
            .map(|metadata| params.reflect_metadata = metadata)
            .map_err(|words| format!("invalid reflectMetadata param: {words}")),
        "maxReceiveSize" => size(value)
            .ok_or_else(|| wrong("an integer"))
            .and_then(|size| not_negative(name, size))
            .map(|size| params.receive_max = if size == 0 { RECEIVE_MAX } else { size }),
        "maxSendSize" => size(value)
            .ok_or_else(|| wrong("an integer"))
            .and_then(|size| not_negative(name, size))
            .map(|size| params.send_max = if size == 0 { usize::MAX } else { size }),
        "authority" => match value.as_string() {
            Some(text) => {
                params.authority = Some(text.to_string()?).filter(|text| !text.is_empty());
                Ok(())
            }
            None => Err(wrong("a string")),
        },
        "tls" => tls_of(value)?.map(|tls| params.tls = Some(tls)),
        _ => Err(format!("unknown connect param: {}", quoted(name.as_bytes()))),
    })
}

fn size(value: &Value<'_>) -> Option<f64> {
    value.as_number().filter(|number| number.fract() == 0.0)
}

fn not_negative(name: &str, size: f64) -> Made<usize> {
    // The missing quote is k6's.
    let words = || format!("invalid {name} value: '{size}, it needs to be a positive integer");
    if size < 0.0 { Err(words()) } else { Ok(size as usize) }
}

fn tls_of(value: &Value<'_>) -> Result<Made<TlsParams>> {
    let shown = go_syntax(value);
    let is_map = argument::kind(value) == "map[string]interface {}";
    let Some(object) = value.as_object().filter(|_| is_map) else {
        return Ok(Err(format!(
            "invalid tls value: '{shown}', expected (optional) keys: cert, key, password, and cacerts"
        )));
    };
    let mut tls = TlsParams::default();
    for (name, needs, into) in [
        ("cert", "a PEM formatted string", &mut tls.certificate),
        ("key", "a PEM formatted string", &mut tls.key),
        ("password", "a string", &mut tls.password),
    ] {
        match text_of(object, name)? {
            Some(Ok(text)) => *into = Some(text),
            Some(Err(())) => {
                return Ok(Err(format!("invalid tls {name} value: '{shown}', it needs to be {needs}")));
            }
            None => {}
        }
    }
    let wrong = || {
        format!(
            "invalid tls cacerts value: '{shown}', it needs to be a string or an array of PEM formatted strings"
        )
    };
    let given: Value<'_> = object.get("cacerts")?;
    if given.is_undefined() {
        return Ok(Ok(tls));
    }
    if let Some(text) = given.as_string() {
        tls.authorities.push(text.to_string()?);
        return Ok(Ok(tls));
    }
    let Some(list) = given.as_array() else { return Ok(Err(wrong())) };
    for element in elements(list)? {
        match element?.as_string() {
            Some(text) => tls.authorities.push(text.to_string()?),
            None => return Ok(Err(wrong())),
        }
    }
    Ok(Ok(tls))
}

/// A text in an object; `Err` for what is none.
fn text_of(object: &Object<'_>, name: &str) -> Result<Option<std::result::Result<String, ()>>> {
    let value: Value<'_> = object.get(name)?;
    if value.is_undefined() {
        return Ok(None);
    }
    Ok(Some(match value.as_string() {
        Some(text) => Ok(text.to_string()?),
        None => Err(()),
    }))
}

/// Certificates that cannot be used, in k6's words as far as they are known.
fn unusable(error: &TlsError) -> String {
    match error {
        TlsError::NoAuthority => "failed to append ca certificate [0] from PEM".to_owned(),
        TlsError::Client(_) => {
            "failed to append certificate from PEM: tls: failed to find any PEM data in certificate input"
                .to_owned()
        }
        TlsError::Setup(error) => error.to_string(),
    }
}

/// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value<'_>) -> String {
    if let Some(text) = value.as_string() {
        return quoted(text.to_string().unwrap_or_default().as_bytes());
    }
    if let Some(number) = value.as_number() {
        return number.to_string();
    }
    if let Some(is_so) = value.as_bool() {
        return is_so.to_string();
    }
    let kind = argument::kind(value);
    match value.as_object() {
        Some(object) if kind == "map[string]interface {}" => {
            let pairs = object.props::<String, Value<'_>>().flatten();
            let mut shown: Vec<String> = pairs
                .map(|(name, value)| format!("{}:{}", quoted(name.as_bytes()), go_syntax(&value)))
                .collect();
            shown.sort_unstable();
            format!("{kind}{{{}}}", shown.join(", "))
        }
        Some(_) if value.is_array() => {
            let list = value.as_array().map(elements).and_then(Result::ok);
            let shown: Vec<String> =
                list.into_iter().flatten().flatten().map(|element| go_syntax(&element)).collect();
            format!("{kind}{{{}}}", shown.join(", "))
        }
        _ => kind.to_owned(),
    }
}

impl ConnectParams {
    /// Where an address leads; k6's words for one that leads nowhere, or for certificates that cannot be used.
    pub fn destination(&self, network: &Network, address: &Rc<str>) -> Made<Destination> {
        let written = SCHEMES.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
        let (host, port) = split(written).map_err(|words| {
            let address = if written.is_empty() { String::new() } else { format!("address {written}: ") };
            format!("connection error: desc = \"transport: error while dialing: {address}{words}\"")
        })?;
        let authority = self.authority.clone().unwrap_or_else(|| written.to_owned());
        let config = match (&self.tls, self.is_plaintext) {
            (_, true) => None,
            (None, false) => network.tls_http2().cloned(),
            (Some(tls), false) => {
                let settings = tls.over(network.tls_settings())?;
                Some(tls::configure(&settings, HttpVersion::Two).map_err(|error| unusable(&error))?)
            }
        };
        // As in grpc-go, the certificate must be for the authority.
        let name = split(&authority).map_or_else(|_| authority.clone(), |(host, _)| host);
        let tls = config.map(|config| DialTls { config, name });
        Ok(Destination {
            origin: Arc::new(Origin { tls: !self.is_plaintext, host, port, via: None }),
            tls,
            address: address.clone(),
            authority: Some(authority),
            receive_max: self.receive_max,
            send_max: self.send_max,
        })
    }
}

impl TlsParams {
    /// The settings of the run with these certificates.
    fn over(&self, settings: &TlsSettings) -> Made<TlsSettings> {
        if self.password.as_ref().is_some_and(|password| !password.is_empty()) {
            let is_pem = self.key.as_ref().is_some_and(|key| key.contains("-----BEGIN"));
            let words = "a key with a password is not supported: decrypt it, and leave the password out";
            return Err(if is_pem { words } else { "failed to decode PEM key" }.to_owned());
        }
        let bytes = |text: &String| text.clone().into_bytes();
        let client = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((bytes(certificate), bytes(key))),
            _ => None,
        };
        Ok(TlsSettings {
            client,
            authorities: self.authorities.iter().map(bytes).collect(),
            ..settings.clone()
        })
    }
}

/// Host and port.
fn split(address: &str) -> std::result::Result<(String, u16), &'static str> {
    let (host, port) = address.rsplit_once(':').ok_or("missing port in address")?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if bare.is_none() && host.contains(':') {
        return Err("too many colons in address");
    }
    let port = port.parse().map_err(|_| "invalid port")?;
    Ok((bare.unwrap_or(host).to_owned(), port))
}

/// Why there is no connection, in k6's words.
pub fn refused(failure: &Failure, origin: &Origin) -> String {
    use knee_core::outcome::Fault;
    match failure.fault {
        Fault::ConnectTimeout | Fault::DnsTimeout => "context deadline exceeded".to_owned(),
        _ => not_connected(failure, origin),
    }
}
