//! The modules that scripts import, and how they are found.
//!
//! Each is made when it is imported first; a script pays for what it uses. Remote modules and
//! TypeScript are not read here.

use std::path::Path;
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declarations, Declared, Exports, ModuleDef};
use rquickjs::{Ctx, Error, Exception, JsLifetime, Module, Object, Result, Value};

use crate::runtime::bytecode::Bytecode;
use crate::state::State;

pub mod batch;

pub mod body;

pub mod console;

pub mod crypto;

pub mod data;

pub mod encoding;

pub mod execution;

pub mod fault;

pub mod global;

pub mod html;

pub mod http;

pub mod jar;

pub mod k6;

pub mod params;

pub mod response;

pub mod timers;

/// The state of a VU, as its runtime keeps it.
#[derive(Clone, JsLifetime)]
pub struct Slot {
    state: Shared,
}

/// A reference that the runtime's garbage collector need not know: no value of JavaScript is in it.
type Shared = Rc<State>;

impl Slot {
    /// A slot with `state` in it.
    pub fn new(state: Rc<State>) -> Self {
        Self { state }
    }
}

/// The state of the VU that runs.
pub fn state(ctx: &Ctx<'_>) -> Result<Rc<State>> {
    let slot = ctx.userdata::<Slot>();
    slot.map(|slot| slot.state.clone()).ok_or_else(|| Exception::throw_internal(ctx, "no VU is running here"))
}

/// The error that ends a script when everything is to end.
pub fn cut(ctx: &Ctx<'_>) -> Error {
    Exception::throw_internal(ctx, "interrupted")
}

/// Names of the modules that are here, and what makes each.
macro_rules! modules {
    ($($name:literal $def:ident $exports:expr, $build:path;)*) => {
        $(
            struct $def;

            impl ModuleDef for $def {
                fn declare(declarations: &Declarations<'_>) -> Result<()> {
                    for name in $exports {
                        declarations.declare(*name)?;
                    }
                    declarations.declare("default")?;
                    Ok(())
                }

                fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
                    let object: Object<'js> = $build(ctx)?;
                    for name in $exports {
                        exports.export(*name, object.get::<_, Value<'js>>(*name)?)?;
                    }
                    exports.export("default", object)?;
                    Ok(())
                }
            }
        )*

        /// The module of this name, if it is one of ours.
        fn native<'js>(ctx: &Ctx<'js>, name: &str) -> Option<Result<Module<'js, Declared>>> {
            match name {
                $($name => Some(Module::declare_def::<$def, _>(ctx.clone(), name)),)*
                _ => None,
            }
        }
    };
}

modules! {
    "k6" K6 k6::EXPORTS, k6::build;
    "k6/html" Html html::EXPORTS, html::build;
    "k6/http" Http http::EXPORTS, http::build;
    "k6/crypto" Crypto crypto::EXPORTS, crypto::build;
    "k6/data" Data data::EXPORTS, data::build;
    "k6/encoding" Encoding encoding::EXPORTS, encoding::build;
    "k6/execution" Execution execution::EXPORTS, execution::build;
    "k6/timers" Timers timers::EXPORTS, timers::build;
}

/// Modules that are refused for good, and why.
fn refusal(name: &str) -> Option<String> {
    if name == "k6/browser" || name.starts_with("k6/experimental/browser") {
        return Some(format!("{name} is not supported: knee has no browser"));
    }
    if name.starts_with("k6/x/") {
        return Some(format!("{name} is not supported: knee has no k6 extensions"));
    }
    name.starts_with("k6/").then(|| format!("{name} is not supported yet"))
}

/// Finds modules for a script.
pub struct Finder {
    /// The VU that asks.
    pub state: Rc<State>,
}

impl Resolver for Finder {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if name == "k6" || name.starts_with("k6/") {
            return Ok(name.to_owned());
        }
        let local = ["./", "../", "/", "file://"].iter().any(|start| name.starts_with(start));
        if !local {
            let words = format!(
                "The moduleSpecifier {name:?} couldn't be recognised as something knee supports: \
                 use a path that starts with ./ or ../ for a file beside the script"
            );
            return Err(Exception::throw_message(ctx, &words));
        }
        let path = self.state.program.files.resolve(base, name);
        let real = path.canonicalize().unwrap_or(path);
        Ok(format!("file://{}", real.display()))
    }
}

impl Loader for Finder {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if let Some(module) = native(ctx, name) {
            return module;
        }
        if let Some(words) = refusal(name) {
            return Err(Exception::throw_message(ctx, &words));
        }
        load(ctx, &self.state, name)
    }
}

/// A module of the script: compiled by the first VU, loaded as it was compiled by all others.
pub fn load<'js>(ctx: &Ctx<'js>, state: &State, name: &str) -> Result<Module<'js, Declared>> {
    let program = &state.program;
    if let Some(code) = program.module(name) {
        return code.load(ctx);
    }
    let thrown = |words: &str| Exception::throw_message(ctx, words);
    let path = program.files.resolve(&program.entry, name);
    let (_, bytes) = program.files.read(&path).map_err(|error| thrown(&error.to_string()))?;
    let source = std::str::from_utf8(&bytes).map_err(|_| thrown(&format!("{name} is not UTF-8")))?;
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let (code, module) = if Path::new(name).extension().is_some_and(|ending| ending == "json") {
        Bytecode::compile(ctx, name, &format!("export default {source};"))?
    } else {
        Bytecode::compile(ctx, name, source)?
    };
    program.keep_module(name, code);
    Ok(module)
}
