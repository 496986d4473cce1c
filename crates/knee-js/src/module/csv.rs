//! `k6/experimental/csv`: the rows of a file of `k6/experimental/fs`, all at once or one by one.
//!
//! Parses nothing itself; see [`knee_k6::csv`].

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::class::Class;
use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, Error, Function, Object, Promise, Result, Value};

use super::current::{out_of_memory, state};
use super::define::{Define as _, array_of};
use super::fs::{File, Opened};
use super::{data, factory, go_error, later};
use crate::runtime::intrinsic::{self, Needs};
use knee_k6::csv::{CsvError, Options, Row, Rows};
use knee_k6::data::Elements;

/// Its exports.
pub const EXPORTS: &[&str] = &["Parser", "parse"];

/// The constructor of parsers, which are what `make` returns.
const PARSER: &str = r"(make) => class Parser { constructor(...given) { return make(...given); } }";

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::PROXY);
    let object = Object::new(ctx.clone())?;
    let make = |ctx: Ctx<'js>, given: Rest<Value<'js>>| parser(&ctx, &given.0);
    let parser: Function<'js> =
        factory::function(ctx, "csv", PARSER)?.call((Function::new(ctx.clone(), make)?,))?;
    object.put("Parser", parser)?;
    let parse = |ctx: Ctx<'js>, given: Rest<Value<'js>>| parse(&ctx, &given.0);
    object.put("parse", Function::new(ctx.clone(), parse)?.with_name("parse")?)?;
    Ok(object)
}

/// `parse(file, options)`: a shared array of all rows.
fn parse<'js>(ctx: &Ctx<'js>, given: &[Value<'js>]) -> Result<Promise<'js>> {
    let file = file_of(ctx, given.first())?;
    let options = match given.get(1) {
        Some(given) => options_of(ctx, given, "failed to interpret the provided Parser options")?,
        None => Options::default(),
    };
    let state = state(ctx)?;
    let name = format!("csv.parse.{}.{options:?}", file.path());
    let mut rows = rows_of(ctx, &file, options)?;
    let elements = match state.program.array(&name) {
        Some(elements) => elements,
        None => match elements_of(ctx, &mut rows)? {
            Ok(elements) => {
                let kept = state.program.keep_array(&name, elements);
                kept.ok_or_else(|| out_of_memory(ctx))?
            }
            Err(error) => {
                let words = format!("failed to read record; reason: {error}");
                return later::rejected(ctx, go_error::made(ctx, &words)?);
            }
        },
    };
    later::fulfilled(ctx, data::shown(ctx, elements)?)
}

/// All rows as JSON. The other error is that of the script, whose memory they exceed.
fn elements_of(ctx: &Ctx<'_>, rows: &mut Rows) -> Result<std::result::Result<Elements, CsvError>> {
    let most = state(ctx)?.program.surroundings.limits.shared;
    let mut elements = Elements::default();
    loop {
        let row = match rows.next_row() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(Ok(elements)),
            Err(error) => return Ok(Err(error)),
        };
        // Texts always serialise.
        elements.push(&serde_json::to_string(&row).unwrap_or_default());
        if elements.bytes() > most {
            return Err(out_of_memory(ctx));
        }
    }
}

/// `new Parser(file, options)`: an object with `next()`.
fn parser<'js>(ctx: &Ctx<'js>, given: &[Value<'js>]) -> Result<Object<'js>> {
    if !state(ctx)?.init.get() {
        return Err(go_error::throw(ctx, "csv Parser constructor must be called in the init context"));
    }
    let Some(file) = given.first().filter(|file| !file.is_null() && !file.is_undefined()) else {
        let words = "csv Parser constructor takes at least one non-nil source argument";
        return Err(go_error::throw(ctx, words));
    };
    let file = file_of(ctx, Some(file))?;
    let options = match given.get(1).filter(|given| !given.is_undefined()) {
        Some(given) => options_of(ctx, given, "encountered an error while interpreting Parser options")?,
        None => Options::default(),
    };
    let rows = RefCell::new(rows_of(ctx, &file, options)?);
    let object = Object::new(ctx.clone())?;
    let next = move |ctx: Ctx<'js>| {
        let row = rows.borrow_mut().next_row();
        next(&ctx, row)
    };
    object.put("next", Function::new(ctx.clone(), next)?.with_name("next")?)?;
    Ok(object)
}

/// What `next()` yields for a row, or for the end.
fn next<'js>(ctx: &Ctx<'js>, row: std::result::Result<Option<Row>, CsvError>) -> Result<Promise<'js>> {
    let row = match row {
        Ok(row) => row,
        Err(error) => return later::rejected(ctx, go_error::bare(ctx, &error.to_string())?),
    };
    let found = Object::new(ctx.clone())?;
    found.put("done", row.is_none())?;
    let value = match row {
        Some(Row::Object(fields)) => {
            let object = Object::new(ctx.clone())?;
            fields.into_iter().try_for_each(|(name, value)| object.put(name, value))?;
            object.into_value()
        }
        Some(Row::Fields(fields)) => array_of(ctx, fields.into_iter().map(Ok))?.into_value(),
        None => array_of::<String>(ctx, [])?.into_value(),
    };
    found.put("value", value)?;
    later::fulfilled(ctx, found)
}

/// The rows of a file, which a reader of it does not see again.
fn rows_of(ctx: &Ctx<'_>, file: &Opened, options: Options) -> Result<Rows> {
    let rows = Rows::begin(file.content(), file.take_rest(), options);
    rows.map_err(|error| no_parser(ctx, &error.to_string()))
}

fn no_parser(ctx: &Ctx<'_>, words: &str) -> Error {
    go_error::throw(ctx, &format!("failed to create a new parser; reason: {words}"))
}

/// The file that an argument is. k6 takes every other object for a file without contents.
fn file_of<'js>(ctx: &Ctx<'js>, value: Option<&Value<'js>>) -> Result<Rc<Opened>> {
    if let Some(file) = value.and_then(|value| Class::<File>::from_value(value).ok()) {
        return Ok(file.borrow().opened());
    }
    let kind = match value {
        Some(value) if value.is_object() || value.is_null() || value.is_undefined() => {
            return Err(no_parser(ctx, "the reader cannot be nil"));
        }
        Some(value) if value.is_string() => "sobek.asciiString",
        Some(value) if value.is_bool() => "sobek.valueBool",
        Some(value) if value.is_int() => "sobek.valueInt",
        Some(value) if value.is_float() => "sobek.valueFloat",
        _ => "<nil>",
    };
    let words = format!("first argument expected to be a fs.File instance, got {kind} instead");
    Err(go_error::throw(ctx, &words))
}

/// The options of an object. `words` begin the error if they cannot be used.
fn options_of<'js>(ctx: &Ctx<'js>, given: &Value<'js>, words: &str) -> Result<Options> {
    let mut options = Options::default();
    let Some(object) = given.as_object() else { return Ok(options) };
    let wrong = |why: &str| go_error::throw(ctx, &format!("{words}; reason: {why}"));
    let line = |name| -> Result<Option<i64>> {
        Ok(of(object, name)?.map(|value| value.get::<Coerced<f64>>()).transpose()?.map(|line| line.0 as i64))
    };
    let switch = |name| -> Result<bool> {
        let value = of(object, name)?.map(|value| value.get::<Coerced<bool>>()).transpose()?;
        Ok(value.is_some_and(|value| value.0))
    };
    if let Some(delimiter) = of(object, "delimiter")? {
        let text = delimiter.get::<Coerced<String>>()?.0;
        let [byte] = text.as_bytes() else { return Err(wrong("delimiter must be a single character")) };
        options.delimiter = *byte;
    }
    options.skips_first = switch("skipFirstLine")?;
    (options.from, options.to) = (line("fromLine")?, line("toLine")?);
    options.as_objects = switch("asObjects")?;
    if let (Some(from), Some(to)) = (options.from, options.to)
        && from >= to
    {
        return Err(wrong("fromLine must be less than or equal to toLine"));
    }
    Ok(options)
}

/// A property, if there is one.
fn of<'js>(object: &Object<'js>, name: &str) -> Result<Option<Value<'js>>> {
    if object.contains_key(name)? { object.get(name).map(Some) } else { Ok(None) }
}
