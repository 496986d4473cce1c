//! Brings QuickJS the modules it asks for: k6's own, files, and what comes from the network.

use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, Result};

use super::compile::{importable, load, refuse};
use super::{absent, commonjs, require, specifier};
use crate::module::native;
use crate::state::State;

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
        let found = specifier::resolve(base, name).map_err(|mut trouble| {
            trouble.what = format!("{}, in {base}", trouble.what);
            refuse(ctx, &self.state.program, trouble)
        })?;
        let found = importable(ctx, &self.state, found)?;
        let is_commonjs = commonjs::hidden(&found).is_some();
        let copy = self.state.program.copy_of(&found);
        Ok(absent::with(found, is_commonjs, copy, &self.state.program.named(base, name)))
    }
}

impl Loader for Finder {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        match (native(ctx, name), commonjs::hidden(name)) {
            (Some(module), _) => module,
            (None, Some(_)) => require::show(ctx, &self.state, name),
            (None, None) if absent::adds(name) => {
                let copy = self.state.program.copy_of(absent::parts(name).0);
                Module::declare(ctx.clone(), name, absent::source(name, copy))
            }
            (None, None) => load(ctx, &self.state, name),
        }
    }
}

/// The script's first module.
pub fn entry<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Module<'js, Declared>> {
    let name = importable(ctx, state, state.program.entry.clone())?;
    match commonjs::hidden(&name) {
        Some(_) => require::show(ctx, state, &name),
        None => load(ctx, state, &name),
    }
}
