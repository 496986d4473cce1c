//! Params of calls and streams, with k6's words for what it does not take.

use knee_core::unit::Nanos;
use rquickjs::{Coerced, Ctx, Exception, Object, Result, Value};

use crate::module::argument;
use crate::module::bytes::bytes_of;
use crate::module::current::Room;
use crate::module::params::timeout_of;
use crate::state::State;
use knee_engine::http::http2::duplex::FieldList;
use knee_k6::go_quote::quoted;
use knee_k6::grpc::session::Session;
use knee_k6::http::request::Origins;

/// What params say; or k6's words.
pub type Made<T> = std::result::Result<T, String>;

/// Params of a call or a stream.
#[derive(Clone, Debug, Default)]
pub struct CallParams {
    /// What is added to the head.
    pub metadata: FieldList,
    /// Tags of its samples.
    pub tags: Vec<(String, String)>,
    /// Its time limit, if it has one.
    pub timeout: Option<Nanos>,
    /// Whether the script does not want messages of the server.
    pub is_discarding: bool,
}

impl CallParams {
    /// The samples of a call of `path` on a client that is connected to `address`.
    pub fn session(&self, state: &State, address: &str, path: &str) -> Session {
        let observer = state.observer.borrow().clone();
        Session::of_call(observer, origins(state), self.tags.clone(), address, path)
    }
}

/// Where in the script it stands now.
pub fn origins(state: &State) -> Origins {
    Origins {
        scenario: state.place.borrow().scenario.clone(),
        group: state.group.borrow().clone(),
        tags: state.tags.borrow().clone(),
        metadata: state.metadata.borrow().clone(),
    }
}

/// The object in an argument; `None` for none.
pub fn object_of<'a, 'js>(value: Option<&'a Value<'js>>) -> Option<&'a Object<'js>> {
    value.filter(|value| !value.is_null() && !value.is_undefined()).and_then(Value::as_object)
}

/// The params of a call or a stream.
pub fn call<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>) -> Result<Made<CallParams>> {
    let mut params = CallParams::default();
    let Some(object) = object_of(given) else { return Ok(Ok(params)) };
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        let made = match name.as_str() {
            "metadata" => metadata_of(&value)?
                .map(|metadata| params.metadata = metadata)
                .map_err(|words| format!("invalid metadata param: {words}")),
            "tags" => tags_of(ctx, &value)?
                .map(|tags| params.tags = tags)
                .map_err(|words| format!("metric tags: {words}")),
            // As in k6, no time is no limit of its own.
            "timeout" => timeout_of(&value)?
                .map(|timeout| params.timeout = Some(timeout).filter(|timeout| *timeout > Nanos::ZERO)),
            "discardResponseMessage" => {
                params.is_discarding = value.get::<Coerced<bool>>()?.0;
                Ok(())
            }
            _ => Err(format!("unknown param: {}", quoted(name.as_bytes()))),
        };
        if let Err(words) = made {
            return Ok(Err(words));
        }
    }
    Ok(Ok(params))
}

/// Metadata: texts, and bytes for names that end in `-bin`.
pub fn metadata_of(value: &Value<'_>) -> Result<Made<FieldList>> {
    if value.is_null() || value.is_undefined() {
        return Ok(Ok(FieldList::new()));
    }
    let object = value.as_object().filter(|_| argument::kind(value) == "map[string]interface {}");
    let Some(object) = object else {
        return Ok(Err("must be an object with key-value pairs".to_owned()));
    };
    let mut room = Room::of(value.ctx())?;
    let mut fields = FieldList::new();
    for pair in object.props::<String, Value<'_>>() {
        let (name, value) = pair?;
        let shown = quoted(name.as_bytes());
        let bytes = if name.ends_with("-bin") {
            match bytes_of(&value).filter(|_| argument::kind(&value) == "[]uint8") {
                Some(bytes) => bytes,
                None => return Ok(Err(format!("{shown} value must be binary"))),
            }
        } else {
            match value.as_string() {
                Some(text) => text.to_string()?.into_bytes(),
                None => return Ok(Err(format!("{shown} value must be a string"))),
            }
        };
        room.take(object.ctx(), name.len() + bytes.len())?;
        fields.push((name.to_ascii_lowercase(), bytes));
    }
    Ok(Ok(fields))
}

fn tags_of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Made<Vec<(String, String)>>> {
    let Some(object) = object_of(Some(value)) else { return Ok(Ok(Vec::new())) };
    let mut room = Room::of(ctx)?;
    let mut tags = Vec::new();
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        if value.is_object() || value.is_null() || value.is_undefined() {
            return Ok(Err(format!(
                "invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag values"
            )));
        }
        let text = value.get::<Coerced<String>>()?.0;
        room.take(ctx, name.len() + text.len())?;
        tags.push((name, text));
    }
    Ok(Ok(tags))
}

/// The texts of an array; none for nothing.
pub fn texts<'js>(ctx: &Ctx<'js>, value: Option<&Value<'js>>) -> Result<Vec<String>> {
    let value = value.filter(|value| !value.is_null() && !value.is_undefined());
    let Some(value) = value else { return Ok(Vec::new()) };
    let Some(list) = value.as_array() else {
        let Coerced(shown) = value.get::<Coerced<String>>()?;
        let words =
            format!("could not convert function call parameter 0: could not convert {shown} to []string");
        return Err(Exception::throw_type(ctx, &words));
    };
    crate::module::define::elements(list)?.map(|element| Ok(element?.get::<Coerced<String>>()?.0)).collect()
}
