//! One request of a script, from its arguments to its response.
//!
//! Does not send; the VU does.

use knee_engine::secret::in_text;
use knee_k6::go_quote::quoted;
use knee_k6::http::answer::Answer;
use rquickjs::class::Class;
use rquickjs::{Ctx, IntoJs, Result, Value};

use super::current::{cut, out_of_memory, state};
use super::go_error;
use super::params::{self, Wanted};
use super::response::Response;
use crate::op::{Op, Reply};
use crate::program::LogLevel;
use crate::state::State;

/// Sends a request and waits for its response. What cannot even be sent is a response too, with an
/// error, unless failures are thrown.
pub fn perform<'js>(ctx: &Ctx<'js>, wanted: &Wanted<'_, 'js>) -> Result<Value<'js>> {
    let state = state(ctx)?;
    if state.init.get() {
        return Err(go_error::throw(ctx, "Making http requests in the init context is not supported"));
    }
    let request = match params::request(&state, wanted)? {
        Ok(request) => request,
        Err(refused) => return refuse(ctx, &state, &refused),
    };
    let Some(Reply::Answer(answer)) = state.ask(Op::Fetch(request)) else { return Err(cut(ctx)) };
    settle(ctx, &state, answer)
}

/// The response object of a request that could not be made.
pub fn refuse<'js>(ctx: &Ctx<'js>, state: &State, refused: &params::Refused) -> Result<Value<'js>> {
    if refused.throw {
        return Err(go_error::throw(ctx, &refused.words));
    }
    state.program.say_with(LogLevel::Warn, "Request Failed", &[("error", &in_text(&refused.words))]);
    Class::instance(ctx.clone(), Response::refused(refused))?.into_js(ctx)
}

/// A response as a JavaScript object, or as the error that is thrown.
pub fn settle<'js>(ctx: &Ctx<'js>, state: &State, answer: Box<Answer>) -> Result<Value<'js>> {
    if answer.is_out_of_memory {
        // What the answer still holds must not be in the way of the error.
        drop(answer);
        return Err(out_of_memory(ctx));
    }
    if let Some((words, _)) = &answer.error {
        let method = title(&answer.request.method);
        let words = answer.detail.as_ref().unwrap_or(words);
        let url = answer.target.url.without_password();
        let shown = format!("{method} {}: {words}", quoted(url.as_bytes()));
        if answer.request.throw {
            return Err(go_error::throw(ctx, &shown));
        }
        // Scripts see what k6 shows them; people who read the log see no secrets.
        state.program.say_with(LogLevel::Warn, "Request Failed", &[("error", &in_text(&shown))]);
    }
    Class::instance(ctx.clone(), Response::new(answer))?.into_js(ctx)
}

/// `GET` as `Get`.
fn title(method: &str) -> String {
    knee_k6::http::request::canonical(method)
}
