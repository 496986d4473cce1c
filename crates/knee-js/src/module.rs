//! The modules of k6 that scripts import.
//!
//! Each is made when it is imported first; a script pays for what it uses. Modules that are files are found
//! and read in [`crate::loader`].

use std::rc::Rc;

use rquickjs::module::{Declarations, Declared, Exports, ModuleDef};
use rquickjs::{Ctx, Error, Exception, JsLifetime, Module, Object, Result, Value};

use crate::runtime::fault::end;
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

pub mod metrics;

pub mod params;

pub mod response;

pub mod timers;

pub mod web;

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
    end(ctx, "interrupted")
}

/// Names of the modules that are here, and what makes each.
macro_rules! modules {
    ($($name:literal $def:ident $exports:expr, $build:path $(, default $default:path)?;)*) => {
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
                    $(let object = $default(ctx, &object)?;)?
                    exports.export("default", object)?;
                    Ok(())
                }
            }
        )*

        /// The module of this name, if it is one of ours.
        pub fn native<'js>(ctx: &Ctx<'js>, name: &str) -> Option<Result<Module<'js, Declared>>> {
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
    "k6/metrics" Metrics metrics::EXPORTS, metrics::build;
    "k6/encoding" Encoding encoding::EXPORTS, encoding::build;
    "k6/execution" Execution execution::EXPORTS, execution::build, default execution::guarded;
    "k6/timers" Timers timers::EXPORTS, timers::build;
}
