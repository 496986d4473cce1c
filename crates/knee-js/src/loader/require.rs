//! `require`, and what `CommonJS` modules export.
//!
//! The exports of such a file exist only after it has run. So it runs when it is first required, and an `import` of it
//! gets a module that holds the exports. As in k6, `require` works while a script is loaded, and in both kinds of
//! files.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rquickjs::function::This;
use rquickjs::module::Declared;
use rquickjs::{Coerced, Ctx, Error, Function, Module, Object, Persistent, Promise, Result, Value};

use super::commonjs::hidden;
use super::trouble::Trouble;
use super::{absent, compile, specifier};
use crate::module::current::state;
use crate::module::define::Define as _;
use crate::module::{global, go_error};
use crate::state::State;

/// Message of a `require` after the init stage.
const TOO_LATE: &str = "the \"require\" function is only available in the init stage (i.e. the global scope)";

/// Puts `require` into the global object.
pub fn install(ctx: &Ctx<'_>) -> Result<()> {
    ctx.globals().put("require", Function::new(ctx.clone(), require)?.with_name("require")?)
}

/// `require(specifier)`.
fn require<'js>(ctx: Ctx<'js>, specifier: Coerced<String>) -> Result<Value<'js>> {
    let state = state(&ctx)?;
    if !state.init.get() {
        return Err(go_error::throw(&ctx, TOO_LATE));
    }
    if specifier.0.is_empty() {
        return Err(go_error::throw(&ctx, "require() can't be used with an empty specifier"));
    }
    let base = global::caller(&ctx);
    let found = specifier::resolve(&base, &specifier.0).map_err(|trouble| refuse(&ctx, &state, trouble))?;
    let name = compile::importable(&ctx, &state, found)?;
    if let Some(file) = hidden(&name) {
        return run(&ctx, &state, file);
    }
    let rejections = state.count_rejections();
    let promise: Promise<'js> = Module::import(&ctx, name.as_str())?;
    let namespace: Object<'js> = promise.finish().inspect_err(|_| {
        // It is thrown here instead.
        state.forget_rejections(rejections);
    })?;
    let is_module = specifier::path_of(&name).is_some() || name.starts_with("https://");
    if is_module && specifier::ending_of(&name) != Some("json") {
        return Ok(namespace.into_value());
    }
    namespace.get("default")
}

fn refuse(ctx: &Ctx<'_>, state: &State, trouble: Trouble) -> Error {
    compile::refuse(ctx, &state.program, trouble)
}

/// Exports of a `CommonJS` file; it runs once per VU.
fn run<'js>(ctx: &Ctx<'js>, state: &State, name: &str) -> Result<Value<'js>> {
    let ran = ran(ctx, state)?;
    if let Some(module) = ran.get::<_, Option<Object<'js>>>(name)? {
        return module.get("exports");
    }
    let body = compile::body(ctx, state, name)?;
    let (module, exports) = (Object::new(ctx.clone())?, Object::new(ctx.clone())?);
    module.put("exports", exports.clone())?;
    // Before it runs: of two files that require each other, one sees what there is of the other.
    ran.put(name, module.clone())?;
    if let Err(error) = body.call::<_, Value<'js>>((This(exports.clone()), module.clone(), exports)) {
        ran.remove(name)?;
        return Err(error);
    }
    module.get("exports")
}

/// The files that have run in this VU, by name.
fn ran<'js>(ctx: &Ctx<'js>, state: &State) -> Result<Object<'js>> {
    let known = state.required.borrow().clone();
    if let Some(known) = known {
        return known.restore(ctx);
    }
    let object = Object::new(ctx.clone())?;
    object.set_prototype(None)?;
    state.required.replace(Some(Persistent::save(ctx, object.clone())));
    Ok(object)
}

/// A module that exports what a `CommonJS` file does: `default` is all of it, unless it has a `default`
/// of its own. As in k6, other names that the importer wants are undefined.
pub fn show<'js>(ctx: &Ctx<'js>, state: &State, name: &str) -> Result<Module<'js, Declared>> {
    let (shown, wanted) = absent::parts(name);
    let mut keys: BTreeSet<String> = wanted.map(str::to_owned).collect();
    let exports = run(ctx, state, hidden(shown).unwrap_or(shown))?;
    let mut source = String::from("const all = import.meta.exports;");
    let mut default = "all";
    let of_its_own = |exports: &Object<'js>| exports.contains_key("default");
    if exports.as_object().map(of_its_own).transpose()?.unwrap_or(false) {
        default = "all.default";
    }
    for key in exports.as_object().into_iter().flat_map(Object::keys::<String>) {
        keys.insert(key?);
    }
    for key in keys.iter().filter(|key| *key != "default" && absent::is_identifier(key)) {
        // A variable of its own, because the name can be a word of the language.
        let _ = write!(source, "const _{key} = all?.{key}; export {{ _{key} as {key} }};");
    }
    // Writing into a text cannot fail.
    let _ = write!(source, "export default {default};");
    let module = Module::declare(ctx.clone(), name, source)?;
    module.meta()?.put("exports", exports)?;
    Ok(module)
}
