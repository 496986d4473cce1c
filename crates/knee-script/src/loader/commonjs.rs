//! What scripts of the older kind, with `require` and `module.exports`, are told.
//!
//! Runs none of them.

use rquickjs::{Coerced, Ctx, Exception, Function, Result};

use super::trouble::Trouble;
use crate::runtime::fault::Thrown;

/// Puts a `require` that says what to do instead into the global object.
pub fn install(ctx: &Ctx<'_>) -> Result<()> {
    let require = |ctx: Ctx<'_>, name: Coerced<String>| -> Result<()> {
        let words = format!("CommonJS is not supported yet: require({:?})", name.0);
        Err(Exception::throw_message(&ctx, &words))
    };
    ctx.globals().set("require", Function::new(ctx.clone(), require)?.with_name("require")?)
}

/// What is behind an error, if that is `CommonJS`.
pub fn trouble(thrown: &Thrown) -> Option<Trouble> {
    let hint = "write `import` and `export` instead of `require` and `module.exports`";
    let place = thrown.frames.first().map(|frame| format!(", {frame}")).unwrap_or_default();
    let missing = |name: &&&str| thrown.message == format!("ReferenceError: {name} is not defined");
    if let Some(name) = ["module", "exports"].iter().find(missing) {
        return Some(Trouble::new(format!("CommonJS is not supported yet: `{name}`{place}"), hint));
    }
    let words = thrown.message.strip_prefix("Error: CommonJS")?;
    Some(Trouble::new(format!("CommonJS{words}{place}"), hint))
}
