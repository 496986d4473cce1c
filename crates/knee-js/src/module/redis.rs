//! `k6/x/redis`, which is `k6/experimental/redis` too: clients of Redis, whose functions return promises.
//!
//! Sends nothing itself; see [`knee_k6::redis`].

use rquickjs::function::Rest;
use rquickjs::{Ctx, Object, Result, Value};

use super::argument::kind;
use super::current::state;
use super::define::Define as _;
use super::{factory, go_error};
use crate::program::LogLevel;
use knee_k6::redis::options::{Options, OptionsError};

mod client;
pub mod deliver;

/// Its exports.
pub const EXPORTS: &[&str] = &["Client"];

/// The constructor, which gives the client that `native` makes, as in k6 with `new` or without.
const CONSTRUCTOR: &str = "(native) => function Client(...given) { return native(...given); }";

/// k6's words for the former name.
const DEPRECATED: &str = "k6/experimental/redis has been deprecated and will be removed in future versions. Please \
    migrate to the new version by changing your import to 'k6/x/redis'. Read more here: \
    https://grafana.com/docs/k6/latest/javascript-api/k6-x-redis";

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let make = factory::function(ctx, "redis", CONSTRUCTOR)?;
    let native = rquickjs::Function::new(ctx.clone(), client)?;
    let object = Object::new(ctx.clone())?;
    object.put("Client", make.call::<_, Value<'js>>((native,))?)?;
    Ok(object)
}

/// The same under its former name, with k6's warning when the script is loaded first.
pub fn build_former<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let program = state(ctx)?.program.clone();
    if !program.files.is_sealed() {
        program.say(LogLevel::Warn, DEPRECATED);
    }
    build(ctx)
}

fn client<'js>(ctx: Ctx<'js>, given: Rest<Value<'js>>) -> Result<Object<'js>> {
    let [given] = &given.0[..] else { return Err(go_error::throw(&ctx, "must specify one argument")) };
    let options = options(&ctx, given)?.map_err(|words| go_error::throw(&ctx, &words))?;
    client::object(&ctx, options)
}

/// The options in an argument, or k6's words for why there are none.
fn options<'js>(ctx: &Ctx<'js>, given: &Value<'js>) -> Result<std::result::Result<Options, String>> {
    let refused = |error: OptionsError| error.to_string();
    if let Some(text) = given.as_string() {
        return Ok(Options::of_url(&text.to_string()?).map_err(refused));
    }
    let kind = kind(given);
    if kind != "map[string]interface {}" {
        return Ok(Err(format!("invalid options type: {kind}; expected string or object")));
    }
    let json = ctx.json_stringify(given.clone())?.map(|json| json.to_string()).transpose()?;
    let object = serde_json::from_str(&json.unwrap_or_default()).unwrap_or_default();
    Ok(Options::of_object(&object).map_err(refused))
}
