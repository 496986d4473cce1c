//! The modules of k6 that scripts import.
//!
//! Each is made when it is imported first; a script pays for what it uses. Modules that are files are found
//! and read in [`crate::loader`].

use rquickjs::module::{Declarations, Declared, Exports, ModuleDef};
use rquickjs::{Ctx, Module, Object, Result, Value};

use crate::loader::uses::Names;
use websocket::{websockets, ws};

pub mod argument;

pub mod batch;

pub mod body;

pub mod bytes;

pub mod check;

pub mod console;

pub mod crypto;

pub mod csv;

pub mod current;

pub mod data;

pub mod deliver;

pub mod define;

pub mod encoding;

pub mod execution;

pub mod expected;

pub mod factory;

pub mod fs;

pub mod global;

pub mod grpc;

pub mod go_error;

pub mod html;

pub mod http;

pub mod jar;

pub mod k6;

pub mod later;

pub mod lazy;

pub mod locale;

pub mod mark;

pub mod metrics;

pub mod page;

pub mod params;

pub mod perform;

pub mod redis;

pub mod response;

pub mod secrets;

pub mod sse;

pub mod streams;

pub mod text;

pub mod subtle;

pub mod go_print;

mod tags;
pub mod timers;

pub mod web;

pub mod websocket;

pub mod x509;

/// Which exports of a module the script imports by name; the others need not exist.
fn imported(ctx: &Ctx<'_>, module: &str) -> Result<Names> {
    Ok(current::state(ctx)?.program.imports_of(module))
}

/// Names of the modules that are here, and what makes each.
macro_rules! modules {
    ($($name:literal $def:ident $exports:expr, $build:path $(, default $default:path)?;)*) => {
        $(
            struct $def;

            impl ModuleDef for $def {
                fn declare(declarations: &Declarations<'_>) -> Result<()> {
                    let imported = imported(declarations.module().ctx(), $name)?;
                    for name in $exports.iter().filter(|name| imported.has(name)) {
                        declarations.declare(*name)?;
                    }
                    declarations.declare("default")?;
                    Ok(())
                }

                fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
                    let object: Object<'js> = $build(ctx)?;
                    let imported = imported(ctx, $name)?;
                    for name in $exports.iter().filter(|name| imported.has(name)) {
                        exports.export(*name, object.get::<_, Value<'js>>(*name)?)?;
                    }
                    $(let object = $default(ctx, &object)?;)?
                    exports.export("default", object)?;
                    Ok(())
                }
            }
        )*

        /// Names of the exports of a module, without `default`; `None` if it is none of ours.
        pub fn exports(name: &str) -> Option<&'static [&'static str]> {
            match name {
                $($name => Some($exports),)*
                _ => None,
            }
        }

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
    "k6/crypto/x509" X509 x509::EXPORTS, x509::build;
    "k6/data" Data data::EXPORTS, data::build;
    "k6/metrics" Metrics metrics::EXPORTS, metrics::build;
    "k6/encoding" Encoding encoding::EXPORTS, encoding::build;
    "k6/net/grpc" Grpc grpc::EXPORTS, grpc::build;
    "k6/execution" Execution execution::EXPORTS, execution::build, default execution::guarded;
    "k6/experimental/csv" Csv csv::EXPORTS, csv::build;
    "k6/experimental/fs" Fs fs::EXPORTS, fs::build;
    "k6/experimental/streams" Streams streams::EXPORTS, streams::build;
    "k6/experimental/redis" FormerRedis redis::EXPORTS, redis::build_former;
    "k6/x/redis" Redis redis::EXPORTS, redis::build;
    "k6/secrets" Secrets secrets::EXPORTS, secrets::build;
    "k6/timers" Timers timers::EXPORTS, timers::build;
    "k6/websockets" WebSockets websockets::EXPORTS, websockets::build;
    "k6/experimental/websockets" FormerWebSockets websockets::EXPORTS, websockets::build;
    "k6/ws" Ws ws::EXPORTS, ws::build;
    "k6/x/sse" Sse sse::EXPORTS, sse::build;
}
