//! Modules compiled once and loaded by every VU.
//!
//! Does not find or read source files; see [`crate::program`].

use std::sync::Arc;

use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{Ctx, Module};

/// A module compiled by this process. Cannot be made from bytes that came from elsewhere.
#[derive(Clone, Debug)]
pub struct Bytecode {
    bytes: Arc<[u8]>,
}

impl Bytecode {
    /// Compiles `source`, whose stack traces will say `name`; gives back the module too.
    pub fn compile<'js>(
        ctx: &Ctx<'js>,
        name: &str,
        source: &str,
    ) -> rquickjs::Result<(Self, Module<'js, Declared>)> {
        let module = Module::declare(ctx.clone(), name, source)?;
        let options = WriteOptions { strip_source: true, ..WriteOptions::default() };
        let bytes = module.write(options)?;
        Ok((Self { bytes: bytes.into() }, module))
    }

    /// The module in another runtime. The bytecode must outlive that runtime.
    pub fn load<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Module<'js, Declared>> {
        // SAFETY: the bytes were written by `compile` in this process by the same QuickJS; there
        // is no other way to make a `Bytecode`. A program, which owns its bytecode, is owned by
        // every VU and dropped after the VU's runtime.
        #[allow(unsafe_code, reason = "QuickJS trusts bytecode; this is its own")]
        unsafe {
            Module::load(ctx.clone(), &self.bytes)
        }
    }
}
