//! A value of a script as k6 keeps it between VUs: exported to Go and written as JSON.
//!
//! Go's JSON is not JavaScript's: `toJSON` is not asked, `undefined` is null, NaN and functions are
//! errors. Does not read JSON; every VU parses it with its own engine.

use rquickjs::class::Class;
use rquickjs::function::This;
use rquickjs::{Array, Coerced, Ctx, Error, Function, Object, Result, Value};

use crate::module::argument;
use crate::module::bytes::bytes_of;
use crate::module::response::Response;
use knee_k6::encoding::Alphabet;

/// Most levels of objects in objects, so that a value cannot use up the stack.
const DEPTH_MAX: usize = 200;
/// Most bytes of JSON.
const BYTES_MAX: usize = 256 << 20;

/// The JSON of `value`; or why there is none, in Go's words.
pub fn json<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<std::result::Result<String, String>> {
    let mut writer = Writer { ctx: ctx.clone(), out: String::new(), path: Vec::new(), wrong: None };
    match writer.value(value) {
        Ok(()) => Ok(Ok(writer.out)),
        Err(error) => writer.wrong.map_or(Err(error), |words| Ok(Err(format!("json: {words}")))),
    }
}

struct Writer<'js> {
    ctx: Ctx<'js>,
    out: String,
    /// The objects around the current value.
    path: Vec<Object<'js>>,
    /// What Go's JSON cannot have.
    wrong: Option<String>,
}

impl<'js> Writer<'js> {
    fn refuse(&mut self, words: &str) -> Result<()> {
        self.wrong = Some(words.to_owned());
        Err(Error::Unknown)
    }

    fn value(&mut self, value: Value<'js>) -> Result<()> {
        if self.out.len() > BYTES_MAX {
            return self.refuse("unsupported value: more than 256 MiB");
        }
        if value.is_null() || value.is_undefined() {
            self.out.push_str("null");
            return Ok(());
        }
        if value.is_function() {
            return self.refuse("unsupported type: func(sobek.FunctionCall) sobek.Value");
        }
        if let Some(number) = value.as_number() {
            return self.number(number, &value);
        }
        if let Some(symbol) = value.as_symbol() {
            return self.plain(symbol.description()?);
        }
        if value.as_big_int().is_some() {
            self.out.push_str(&value.get::<Coerced<String>>()?.0);
            return Ok(());
        }
        match value.as_object().cloned() {
            Some(object) => self.nested(object),
            None => self.plain(value),
        }
    }

    fn number(&mut self, number: f64, value: &Value<'js>) -> Result<()> {
        match number {
            number if number.is_nan() => self.refuse("unsupported value: NaN"),
            f64::INFINITY => self.refuse("unsupported value: +Inf"),
            f64::NEG_INFINITY => self.refuse("unsupported value: -Inf"),
            _ => self.plain(value.clone()),
        }
    }

    /// A value that both kinds of JSON write alike.
    fn plain(&mut self, value: Value<'js>) -> Result<()> {
        let json = self.ctx.json_stringify(value)?;
        self.out.push_str(&json.map_or_else(|| Ok("null".to_owned()), |json| json.to_string())?);
        Ok(())
    }
}

impl<'js> Writer<'js> {
    fn nested(&mut self, object: Object<'js>) -> Result<()> {
        if self.path.contains(&object) {
            return self.refuse("unsupported value: encountered a cycle via map[string]interface {}");
        }
        if self.path.len() >= DEPTH_MAX {
            return self.refuse("unsupported value: more than 200 levels");
        }
        self.path.push(object.clone());
        self.object(object)?;
        self.path.pop();
        Ok(())
    }

    fn object(&mut self, object: Object<'js>) -> Result<()> {
        let value = object.clone().into_value();
        if let Some(array) = value.as_array() {
            return self.list(array.len(), |place| array.get(place));
        }
        if Class::<Response>::from_value(&value).is_ok() {
            return self.plain(value);
        }
        match argument::kind(&value) {
            "ArrayBuffer" => self.out.push_str("{}"),
            "[]uint8" => {
                let text = Alphabet::default().encode(&bytes_of(&value).unwrap_or_default());
                self.out.extend(["\"", &text, "\""]);
            }
            kind if kind.starts_with("[]") => {
                let length: usize = object.get("length")?;
                return self.list(length, |place| object.get(place as u32));
            }
            _ if self.is_a("Date", &object)? => self.date(&object)?,
            // As k6 has it, the text of a `String` is lost.
            _ if self.is_a("String", &object)? => self.out.push_str("{}"),
            _ if self.is_a("Number", &object)? || self.is_a("Boolean", &object)? => return self.plain(value),
            _ if self.is_a("Map", &object)? || self.is_a("Set", &object)? => {
                let array: Object<'js> = self.ctx.globals().get("Array")?;
                let from: Function<'js> = array.get("from")?;
                let list: Array<'js> = from.call((object,))?;
                return self.list(list.len(), |place| list.get(place));
            }
            _ => return self.map(&object),
        }
        Ok(())
    }

    fn list(&mut self, length: usize, at: impl Fn(usize) -> Result<Value<'js>>) -> Result<()> {
        self.out.push('[');
        for place in 0..length {
            if place > 0 {
                self.out.push(',');
            }
            self.value(at(place)?)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn map(&mut self, object: &Object<'js>) -> Result<()> {
        self.out.push('{');
        for (place, pair) in object.props::<Value<'js>, Value<'js>>().enumerate() {
            let (name, value) = pair?;
            if place > 0 {
                self.out.push(',');
            }
            self.plain(name)?;
            self.out.push(':');
            self.value(value)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn is_a(&self, class: &str, object: &Object<'js>) -> Result<bool> {
        let class: Option<Object<'js>> = self.ctx.globals().get(class)?;
        Ok(class.is_some_and(|class| object.is_instance_of(&class)))
    }

    /// A date as Go writes one: without a fraction that is zero.
    fn date(&mut self, date: &Object<'js>) -> Result<()> {
        let number: Coerced<f64> = date.clone().into_value().get()?;
        let text = if number.0.is_nan() {
            "0001-01-01T00:00:00Z".to_owned()
        } else {
            let to_text: Function<'js> = date.get("toISOString")?;
            let text: String = to_text.call((This(date.clone()),))?;
            let text = text.trim_end_matches('Z');
            let text =
                text.split_once('.').map_or(text, |_| text.trim_end_matches('0').trim_end_matches('.'));
            format!("{text}Z")
        };
        self.out.extend(["\"", &text, "\""]);
        Ok(())
    }
}
