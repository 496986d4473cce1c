//! Functions of the bindings that are written in JavaScript, because they keep values of JavaScript.
//!
//! The garbage collector sees what such a function keeps. It does not see what a closure of Rust keeps, so a cycle
//! through such a closure would never be freed.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Function, Result};

/// The function that `source` is an expression of. Stack traces leave out its frames.
pub fn function<'js>(ctx: &Ctx<'js>, name: &str, source: &str) -> Result<Function<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some(format!("(knee:{name})"));
    ctx.eval_with_options(source, options)
}
