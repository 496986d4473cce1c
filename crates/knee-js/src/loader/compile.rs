//! Modules as QuickJS loads them: compiled by the first VU, loaded as they were compiled by all others.
//!
//! Does not resolve imports; see [`super::finder`].

use std::rc::Rc;
use std::str::from_utf8;

use rquickjs::function::Constructor;
use rquickjs::module::Declared;
use rquickjs::{Coerced, Ctx, Error, Exception, Function, Module, Object, Result};
use serde::de::IgnoredAny;

use super::position::Place;
use super::trouble::Trouble;
use super::uses::Uses;
use super::{commonjs, specifier, syntax, typescript};
use crate::module::define::Define as _;
use crate::module::{global, locale, web};
use crate::program::{Compiled, Program};
use crate::runtime::bytecode::Bytecode;
use crate::runtime::intrinsic::{self, Needs};
use crate::state::State;

/// Modules of k6 that exist and are not here yet, and what to do without each.
const LATER: &[(&str, &str)] =
    &[("k6/experimental/timers", "import `k6/timers`, or use the globals of the same names")];

/// Without anything in particular.
const WITHOUT: &str = "remove the import and what uses it";

/// The name under which a module is imported: that of a `CommonJS` file stands for its exports.
pub fn importable(ctx: &Ctx<'_>, state: &State, name: String) -> Result<String> {
    let is_file = specifier::path_of(&name).is_some() || name.starts_with("https://");
    if !is_file || is_json(&name) || typescript::is_typescript(&name) {
        return Ok(name);
    }
    let is_commonjs = match state.program.module(&name) {
        Some(compiled) => compiled.is_commonjs,
        None => syntax::is_script(&source(ctx, &state.program, &name)?),
    };
    Ok(if is_commonjs { commonjs::shown(&name) } else { name })
}

/// The function that runs a `CommonJS` file.
pub fn body<'js>(ctx: &Ctx<'js>, state: &State, name: &str) -> Result<Function<'js>> {
    let (_, module) = declared(ctx, state, name)?;
    let (module, promise) = module.eval()?;
    promise.finish::<()>()?;
    let made: Object<'js> = module.get("default")?;
    made.get(0)
}

/// A module of the script.
pub fn load<'js>(ctx: &Ctx<'js>, state: &Rc<State>, name: &str) -> Result<Module<'js, Declared>> {
    if typescript::is_typescript(name) {
        state.program.maps.show(ctx)?;
    }
    let (compiled, module) = declared(ctx, state, name)?;
    if compiled.wants_meta {
        describe(&module, state, name)?;
    }
    Ok(module)
}

/// A file as a module, in a VU that has the built-in objects it speaks of.
fn declared<'js>(ctx: &Ctx<'js>, state: &State, name: &str) -> Result<(Compiled, Module<'js, Declared>)> {
    match state.program.module(name) {
        Some(compiled) => {
            give(ctx, compiled.needs)?;
            let module = compiled.code.load(ctx)?;
            Ok((compiled, module))
        }
        None => compile(ctx, &state.program, name),
    }
}

/// Gives the VU the built-in objects that a module uses. Before the module is compiled, because the compiler needs some.
fn give(ctx: &Ctx<'_>, needs: Needs) -> Result<()> {
    let missing = intrinsic::ensure(ctx, needs);
    if missing.has(Needs::WEB) {
        web::install(ctx)?;
    }
    if missing.has(Needs::LOCALE) {
        locale::install(ctx)?;
    }
    if missing.has(Needs::CONSOLE) {
        global::install_console(ctx)?;
    }
    if missing.has(Needs::TIMERS) {
        global::install_timers(ctx)?;
    }
    Ok(())
}

/// Fills `import.meta` as k6 does: with `resolve`, and nothing else.
fn describe(module: &Module<'_, Declared>, state: &Rc<State>, name: &str) -> Result<()> {
    let meta: Object<'_> = module.meta()?;
    let (base, program) = (name.to_owned(), state.program.clone());
    let resolve = move |ctx: Ctx<'_>, specifier: Coerced<String>| {
        specifier::resolve(&base, &specifier.0).map_err(|trouble| refuse(&ctx, &program, trouble))
    };
    meta.put("resolve", Function::new(meta.ctx().clone(), resolve)?.with_name("resolve")?)
}

fn compile<'js>(ctx: &Ctx<'js>, program: &Program, name: &str) -> Result<(Compiled, Module<'js, Declared>)> {
    if let Some(trouble) = refusal(name) {
        return Err(refuse(ctx, program, trouble));
    }
    let source = &*source(ctx, program, name)?;
    let mut is_commonjs = false;
    let uses =
        if is_json(name) { Uses::default() } else { Uses::of(source, typescript::is_typescript(name)) };
    give(ctx, uses.needs)?;
    program.keep_imports(name, &uses.imports, uses.named);
    let (code, module) = if is_json(name) {
        Bytecode::compile(ctx, name, &json_module(ctx, name, source)?)?
    } else if typescript::is_typescript(name) {
        let transformed = typescript::transform(source)
            .map_err(|mistake| syntax_error(ctx, name, &mistake.message, mistake.place))?;
        // Kept first: a mistake that only the compiler finds has a place too.
        program.maps.keep(name, transformed.map);
        Bytecode::compile(ctx, name, &transformed.code)?
    } else if syntax::is_script(source) {
        is_commonjs = true;
        Bytecode::compile(ctx, name, &commonjs::wrap(source))?
    } else {
        Bytecode::compile(ctx, name, source)?
    };
    let wants_meta = source.contains("import.meta");
    let compiled = Compiled { code, wants_meta, needs: uses.needs, is_commonjs };
    program.keep_module(name, compiled.clone());
    Ok((compiled, module))
}

/// The text of a module.
fn source(ctx: &Ctx<'_>, program: &Program, name: &str) -> Result<String> {
    let bytes = program.source(name).map_err(|trouble| refuse(ctx, program, trouble))?;
    let Ok(source) = from_utf8(&bytes) else {
        return Err(refuse(ctx, program, Trouble::new(format!("{name} is not UTF-8 text"), "")));
    };
    Ok(source.strip_prefix('\u{feff}').unwrap_or(source).to_owned())
}

fn is_json(name: &str) -> bool {
    specifier::ending_of(name) == Some("json")
}

/// JSON as a module. It is parsed as data, so that a `__proto__` in it is a key like any other.
fn json_module(ctx: &Ctx<'_>, name: &str, source: &str) -> Result<String> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(source) {
        let place = (error.line() as u32, error.column() as u32);
        return Err(syntax_error(ctx, name, &format!("{error}"), place));
    }
    // A text always serialises, and the text of a JSON string is one of JavaScript.
    let text = serde_json::to_string(source).unwrap_or_default();
    Ok(format!("export default JSON.parse({text});"))
}

/// Why modules of k6 are refused.
fn refusal(name: &str) -> Option<Trouble> {
    if name == "k6/browser" || name.starts_with("k6/experimental/browser") {
        let hint = "remove the scenarios that use it";
        return Some(Trouble::new(format!("{name} is not supported: knee has no browser"), hint));
    }
    if name.starts_with("k6/x/") {
        let hint = "remove the import, or write its function in JavaScript";
        return Some(Trouble::new(format!("{name} is not supported: knee has no k6 extensions"), hint));
    }
    let later = LATER.iter().find(|(known, _)| *known == name).map(|(_, hint)| *hint);
    if let Some(hint) = later.or_else(|| name.starts_with("k6/experimental/").then_some(WITHOUT)) {
        return Some(Trouble::new(format!("{name} is not supported yet"), hint));
    }
    let unknown = || Trouble::new(format!("{name} is not a k6 module"), "check the name of the import");
    name.starts_with("k6/").then(unknown)
}

/// The error that a script gets when it cannot have a module; the program keeps the reason.
pub fn refuse(ctx: &Ctx<'_>, program: &Program, trouble: Trouble) -> Error {
    let error = Exception::throw_message(ctx, &trouble.what);
    program.keep_trouble(trouble);
    error
}

/// A `SyntaxError` whose place is that of the mistake.
fn syntax_error(ctx: &Ctx<'_>, name: &str, message: &str, place: Place) -> Error {
    let build = || -> Result<Object<'_>> {
        let constructor: Constructor<'_> = ctx.globals().get("SyntaxError")?;
        let error: Object<'_> = constructor.construct((message,))?;
        error.put("stack", format!("    at {name}:{}:{}\n", place.0, place.1))?;
        Ok(error)
    };
    match build() {
        Ok(error) => ctx.throw(error.into_value()),
        Err(error) => error,
    }
}
