//! `k6/metrics`: `Counter`, `Gauge`, `Rate`, `Trend`, declared while the script is loaded and fed by
//! its iterations.
//!
//! Does not keep samples; the observer of the worker does.

use rquickjs::{Coerced, Ctx, Function, Object, Result, Value};

use super::current::state;
use super::{factory, go_error};
use crate::program::LogLevel;
use knee_k6::metric::{Contains, Kind, MetricId};

/// Its exports.
pub const EXPORTS: &[&str] = &["Counter", "Gauge", "Rate", "Trend"];

/// Longest value that a warning repeats in full.
const VALUE_MAX: usize = 100;

/// Bytes that a declared metric takes.
const METRIC_BYTES: usize = 1 << 10;

/// The constructors: `(declare, add) => ({Counter, …})`. As in k6 they work without `new`, a metric is
/// a plain object, and its name cannot be changed.
const CONSTRUCTORS: &str = r"(declare, add) => {
  const { defineProperty } = Object;
  const shown = (value) => ({ __proto__: null, value, enumerable: true });
  const constructor = (kind) => {
    const made = function (name, isTime) {
      const id = declare(kind, name === undefined ? '' : name, !!isTime);
      const metric = defineProperty({}, 'name', shown('' + name));
      return defineProperty(metric, 'add', shown((...given) => add(id, given)));
    };
    return defineProperty(made, 'name', { __proto__: null, value: kind });
  };
  return {
    Counter: constructor('Counter'),
    Gauge: constructor('Gauge'),
    Rate: constructor('Rate'),
    Trend: constructor('Trend'),
  };
}";

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let constructors = factory::function(ctx, "metrics", CONSTRUCTORS)?;
    constructors.call((Function::new(ctx.clone(), declare)?, Function::new(ctx.clone(), add)?))
}

fn declare<'js>(ctx: Ctx<'js>, kind: String, name: Coerced<String>, is_time: bool) -> Result<u32> {
    let state = state(&ctx)?;
    if !state.init.get() {
        return Err(go_error::throw(&ctx, "metrics must be declared in the init context"));
    }
    let kind = match kind.as_str() {
        "Counter" => Kind::Counter,
        "Gauge" => Kind::Gauge,
        "Rate" => Kind::Rate,
        _ => Kind::Trend,
    };
    // For as long as the VU lives: all VUs declare the same ones.
    let mut memory = state.metrics_memory.borrow_mut();
    let bytes = memory.bytes() + METRIC_BYTES;
    memory.note(bytes);
    drop(memory);
    let contains = if is_time { Contains::Time } else { Contains::Default };
    let declared = state.program.metrics.declare(&name.0, kind, contains);
    let MetricId(id) = declared.map_err(|error| go_error::throw(&ctx, &error.to_string()))?;
    Ok(id as u32)
}

/// Takes one sample; whether it was taken. `given` is what `add` was called with.
fn add<'js>(ctx: Ctx<'js>, id: u32, given: Vec<Value<'js>>) -> Result<bool> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Adding to metrics in the init context is not supported"));
    }
    let value = match given.first() {
        None => Err("no value was provided for".to_owned()),
        Some(value) => number(value)?.ok_or_else(|| format!("'{}' is an invalid value for", shown(value))),
    };
    let value = match value {
        Ok(value) => value,
        Err(words) => {
            let name = state.program.metrics.name(MetricId(id as usize));
            let words = format!("{words} metric '{name}', a number or a boolean value is expected");
            if state.http.borrow().throw {
                return Err(go_error::throw(&ctx, &words));
            }
            state.program.say(LogLevel::Warn, &words);
            return Ok(false);
        }
    };
    let tags = match given.get(1) {
        Some(tags) => tags_of(&ctx, id, tags)?,
        None => Vec::new(),
    };
    state.observe(&tags, |observer, context| observer.sample(id, value, context));
    Ok(true)
}

/// The value of a sample; `None` for what is no number.
fn number(value: &Value<'_>) -> Result<Option<f64>> {
    if let Some(number) = value.as_number() {
        return Ok(Some(number).filter(|number| !number.is_nan()));
    }
    if value.is_null() || value.is_undefined() {
        return Ok(None);
    }
    let Coerced(number) = value.get::<Coerced<f64>>()?;
    Ok(Some(number).filter(|number| !number.is_nan()))
}

/// A value as a warning shows it.
fn shown(value: &Value<'_>) -> String {
    let text = value
        .get::<Coerced<String>>()
        .map_or_else(|_| "a value that cannot be shown".to_owned(), |text| text.0);
    let length = text.chars().count();
    if length <= VALUE_MAX {
        return text;
    }
    let half = VALUE_MAX / 2;
    let (start, end): (String, String) =
        (text.chars().take(half).collect(), text.chars().skip(length - half).collect());
    format!("{start}... omitting {} characters ...{end}", length - VALUE_MAX)
}

/// Tags given with a sample. What is no object has none.
fn tags_of<'js>(ctx: &Ctx<'js>, id: u32, value: &Value<'js>) -> Result<Vec<(String, String)>> {
    let Some(object) = value.as_object().filter(|_| !value.is_function()) else { return Ok(Vec::new()) };
    let mut tags = Vec::new();
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        if value.is_null() || value.is_undefined() || value.is_object() || value.is_symbol() {
            let metric = state(ctx)?.program.metrics.name(MetricId(id as usize));
            let words = format!(
                "cannot add tags for the '{metric}' custom metric: invalid value for metric tag '{name}': \
                 only String, Boolean and Number types are accepted as a metric tag values"
            );
            return Err(go_error::throw(ctx, &words));
        }
        tags.push((name, value.get::<Coerced<String>>()?.0));
    }
    Ok(tags)
}
