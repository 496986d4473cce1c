//! The object of a client, and its functions: from the arguments of a script to a command that is under way.
//!
//! Does not send and does not settle promises.

use std::rc::Rc;

use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, Function, Object, Persistent, Promise, Result, Value};

use crate::event_loop::Promised;
use crate::module::current::{Room, charge, cut, state};
use crate::module::define::Define as _;
use crate::module::{go_error, later};
use crate::op::Op;
use crate::state::State;
use knee_k6::errand::{Errand, Work};
use knee_k6::http::request::Origins;
use knee_k6::inbox::Happening;
use knee_k6::redis::client::RedisClient;
use knee_k6::redis::command::{self, Argument, FUNCTIONS, written};
use knee_k6::redis::options::Options;
use knee_k6::redis::traffic::Traffic;

/// What a command takes until it is over: a task, and its share of a connection.
const COMMAND_BYTES: usize = 8 << 10;

/// k6's words for a command while the script is loaded.
const IN_INIT: &str = "connecting to a redis server in the init context is not supported";

/// What the functions of a client share, in which no value of JavaScript is.
type Shared = Rc<RedisClient>;

/// The words of a command, or k6's words for an argument that it does not take.
type Words = std::result::Result<Vec<Vec<u8>>, String>;

/// A client as k6 shows it: an object with functions.
pub fn object<'js>(ctx: &Ctx<'js>, options: Options) -> Result<Object<'js>> {
    let client = Rc::new(RedisClient::new(options, &state(ctx)?.account));
    let object = Object::new(ctx.clone())?;
    for function in FUNCTIONS {
        // In the order of their names, as k6 lists them.
        if function.name == "lindex" {
            let client = client.clone();
            let is_connected = move || client.is_connected();
            object.put("isConnected", Function::new(ctx.clone(), is_connected)?.with_name("isConnected")?)?;
        }
        let client = client.clone();
        let called = move |ctx: Ctx<'js>, given: Rest<Value<'js>>| begin(&ctx, &client, function, &given.0);
        object.put(function.name, Function::new(ctx.clone(), called)?.with_name(function.name)?)?;
    }
    Ok(object)
}

/// Begins a command: a promise of its answer.
fn begin<'js>(
    ctx: &Ctx<'js>,
    client: &Shared,
    function: command::Function,
    given: &[Value<'js>],
) -> Result<Promise<'js>> {
    let state = state(ctx)?;
    let words = words(ctx, function, given)?;
    if state.init.get() {
        return later::rejected(ctx, go_error::bare(ctx, IN_INIT)?);
    }
    client.connect();
    let words = match words {
        Ok(words) => words,
        Err(words) => return later::rejected(ctx, go_error::bare(ctx, &words)?),
    };
    let (promise, resolve, reject) = ctx.promise()?;
    // The words, and the command that is made of them.
    let size = words.iter().map(|word| 2 * word.len() + 32).sum::<usize>();
    let memory = charge(ctx, COMMAND_BYTES + size)?;
    let id = state.inbox.number();
    let [resolve, reject] = [resolve, reject].map(|settle| Persistent::save(ctx, settle));
    state.events.promise(Promised { id, resolve, reject, memory });
    let (client, inbox, traffic) = (client.clone(), state.inbox.clone(), traffic(&state));
    let work: Work = Box::new(move |errand: Errand| {
        Box::pin(async move {
            let answer = client.call(&errand, &words, function.shape, &traffic).await;
            inbox.push(id, Happening::Answered(Box::new(answer)));
        })
    });
    state.ask(Op::Start(work)).ok_or_else(|| cut(ctx))?;
    Ok(promise)
}

fn traffic(state: &State) -> Traffic {
    let origin = Origins {
        scenario: state.place.borrow().scenario.clone(),
        group: state.group.borrow().clone(),
        tags: state.tags.borrow().clone(),
        metadata: state.metadata.borrow().clone(),
    };
    Traffic { observer: state.observer.borrow().clone(), origin }
}

/// The words of a command. Arguments too many are ignored, as in k6.
fn words<'js>(ctx: &Ctx<'js>, function: command::Function, given: &[Value<'js>]) -> Result<Words> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    if !function.command.is_empty() {
        words.push(function.command.into());
    }
    let mut wrong = None;
    for (place, argument) in function.arguments.iter().enumerate() {
        let rest = given.get(place..).unwrap_or_default();
        match argument {
            Argument::Key => words.push(key(rest.first())?),
            Argument::Whole => words.push(whole(rest.first())?.to_string().into()),
            Argument::Expiry => {
                let seconds = whole(rest.first())?;
                if seconds > 0 {
                    words.extend([b"ex".to_vec(), seconds.to_string().into()]);
                }
            }
            Argument::Keys => {
                for value in rest {
                    words.push(key(Some(value))?);
                }
            }
            Argument::Value => match value(rest.first())? {
                Some(word) => words.push(word),
                None => wrong = wrong.or(Some(place)),
            },
            Argument::Values => {
                for (offset, element) in rest.iter().enumerate() {
                    match value(Some(element))? {
                        Some(word) => words.push(word),
                        None => wrong = wrong.or(Some(place + offset)),
                    }
                }
            }
        }
        let size = words.iter().map(Vec::len).sum::<usize>();
        Room::of(ctx)?.take(ctx, size)?;
    }
    Ok(match wrong {
        Some(place) => Err(format!(
            "unsupported type provided for argument at index {place}, \
             supported types are string, number, and boolean"
        )),
        None => Ok(words),
    })
}

/// An argument as text; one that is missing is empty.
fn key(value: Option<&Value<'_>>) -> Result<Vec<u8>> {
    let text = value.map(Value::get::<Coerced<String>>).transpose()?;
    Ok(text.map(|text| text.0.into_bytes()).unwrap_or_default())
}

/// An argument as a whole number.
fn whole(value: Option<&Value<'_>>) -> Result<i64> {
    let number = value.map(Value::get::<Coerced<f64>>).transpose()?;
    Ok(number.map_or(0, |number| number.0 as i64))
}

/// An argument that k6's client takes as a value; `None` for any other.
fn value(value: Option<&Value<'_>>) -> Result<Option<Vec<u8>>> {
    let Some(value) = value else { return Ok(None) };
    if let Some(flag) = value.as_bool() {
        return Ok(Some(if flag { b"1".to_vec() } else { b"0".to_vec() }));
    }
    if let Some(number) = value.as_number() {
        return Ok(Some(written(number).into_bytes()));
    }
    if let Some(symbol) = value.as_symbol() {
        return Ok(Some(symbol.description()?.get::<Coerced<String>>()?.0.into_bytes()));
    }
    let Some(text) = value.as_string() else { return Ok(None) };
    Ok(Some(text.to_string()?.into_bytes()))
}
