//! Settles the promises of commands of Redis. Does not wait.

use knee_k6::account::Charge;
use knee_k6::redis::command::{Answer, CommandError};
use knee_k6::redis::reply::Reply;
use rquickjs::{Ctx, Function, IntoJs as _, Object, Result, Value};

use crate::module::current::{out_of_memory, worked};
use crate::module::define::{Define as _, array_of};
use crate::module::go_error;
use crate::state::State;

/// Settles the promise of a command.
pub fn answered(
    ctx: &Ctx<'_>,
    state: &State,
    number: u64,
    answer: std::result::Result<(Answer, Charge), CommandError>,
) -> Result<()> {
    let Some(promised) = state.events.take_promise(number) else { return Ok(()) };
    match answer {
        Ok((answer, memory)) => {
            worked(ctx, memory.bytes())?;
            let value = shown(ctx, answer)?;
            drop(memory);
            promised.resolve.restore(ctx)?.call((value,))
        }
        Err(CommandError::Memory) => Err(out_of_memory(ctx)),
        Err(error) => promised.reject.restore(ctx)?.call((shown_error(ctx, &error)?,)),
    }
}

/// An error as k6 shows it: those of the server have one function more.
fn shown_error<'js>(ctx: &Ctx<'js>, error: &CommandError) -> Result<Object<'js>> {
    let shown = go_error::bare(ctx, &error.to_string())?;
    if matches!(error, CommandError::Nothing | CommandError::Refused(_)) {
        shown.put("redisError", Function::new(ctx.clone(), || ())?)?;
    }
    Ok(shown)
}

fn shown<'js>(ctx: &Ctx<'js>, answer: Answer) -> Result<Value<'js>> {
    match answer {
        Answer::Reply(reply) => of_reply(ctx, reply),
        Answer::Number(number) => number.into_js(ctx),
        Answer::Flag(flag) => flag.into_js(ctx),
        Answer::Map(pairs) => {
            let object = Object::new(ctx.clone())?;
            for (name, value) in pairs {
                object.put(name, value)?;
            }
            Ok(object.into_value())
        }
    }
}

/// A reply; lists are in one another only so often as the reader of replies allows.
fn of_reply<'js>(ctx: &Ctx<'js>, reply: Reply) -> Result<Value<'js>> {
    match reply {
        Reply::Text(text) => String::from_utf8_lossy(&text).into_owned().into_js(ctx),
        Reply::Number(number) => (number as f64).into_js(ctx),
        Reply::Nothing => Ok(Value::new_null(ctx.clone())),
        Reply::List(list) => {
            Ok(array_of(ctx, list.into_iter().map(|element| of_reply(ctx, element)))?.into_value())
        }
        // Within a list, k6 shows it as a text.
        Reply::Error(words) => words.into_js(ctx),
    }
}
