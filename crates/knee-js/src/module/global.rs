//! What scripts find without importing it: `__ENV`, `open`, `global`, and `console` and timers if their code names them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, IntoJs, Object, Result, Value};

use super::bytes::buffer_of;
use super::current::state;
use super::define::Define as _;
use super::lazy::{Members, lazy};
use super::{console, go_error, timers};
use crate::program::Program;
use crate::state::State;

/// Puts everything into the global object.
pub fn install(ctx: &Ctx<'_>) -> Result<()> {
    let globals = ctx.globals();
    let state = state(ctx)?;
    globals.put("__ENV", environment(ctx, &state)?)?;
    globals.put("open", Function::new(ctx.clone(), open)?.with_name("open")?)?;
    globals.put("global", globals.clone())?;
    globals.put("__VU", state.place.borrow().vu as f64)?;
    // k6 has no such global; scripts that feature-test for it would take another path here.
    globals.remove("queueMicrotask")?;
    Ok(())
}

/// Puts `console` into the global object.
pub fn install_console(ctx: &Ctx<'_>) -> Result<()> {
    ctx.globals().put("console", console::build(ctx)?)
}

/// Puts the functions of timers into the global object.
pub fn install_timers(ctx: &Ctx<'_>) -> Result<()> {
    let timers = timers::build(ctx)?;
    timers::EXPORTS.iter().try_for_each(|name| ctx.globals().put(*name, timers.get::<_, Value<'_>>(*name)?))
}

/// A new `__ENV`: the script's variables and those of the VU's scenario.
pub fn environment<'js>(ctx: &Ctx<'js>, state: &State) -> Result<Object<'js>> {
    let (program, own) = (state.program.clone(), state.environment.borrow().clone());
    lazy(ctx, Rc::new(Variables { program, own }))
}

/// The variables of one VU.
struct Variables {
    program: Arc<Program>,
    /// Those of its scenario, which win.
    own: Vec<(String, String)>,
}

impl Variables {
    /// Name and value, those of the script first.
    fn pair(&self, place: usize) -> &(String, String) {
        let common = &self.program.surroundings.environment;
        common.get(place).unwrap_or_else(|| &self.own[place - common.len()])
    }
}

impl Members for Variables {
    fn count(&self) -> usize {
        self.program.surroundings.environment.len() + self.own.len()
    }

    fn name(&self, place: usize) -> &str {
        &self.pair(place).0
    }

    fn place(&self, name: &str) -> Option<usize> {
        // Of two with one name the last one counts.
        (0..self.count()).rev().find(|place| self.name(*place) == name)
    }

    fn make<'js>(&self, ctx: &Ctx<'js>, place: usize) -> Result<Value<'js>> {
        self.pair(place).1.as_str().into_js(ctx)
    }
}

/// Makes `Math.random` repeatable.
pub fn seed_random(ctx: &Ctx<'_>, seed: u64) -> Result<()> {
    let random = Rc::new(RefCell::new(StdRng::seed_from_u64(seed)));
    let math: Object<'_> = ctx.globals().get("Math")?;
    math.set("random", Function::new(ctx.clone(), move || random.borrow_mut().random::<f64>())?)
}

/// Frames between a native function and the module that called it.
const FRAMES_MAX: isize = 4;

/// The module that called; empty if it is unknown.
pub fn caller(ctx: &Ctx<'_>) -> String {
    let name = |level| ctx.script_or_module_name(level)?.to_string().ok();
    (0..FRAMES_MAX).filter_map(name).find(|name| !name.is_empty()).unwrap_or_default()
}

fn open<'js>(ctx: Ctx<'js>, path: Coerced<String>, mode: Opt<Value<'js>>) -> Result<Value<'js>> {
    let state = state(&ctx)?;
    if !state.init.get() {
        let words = "The \"open()\" function is only available in the init stage (i.e. the global scope)";
        return Err(go_error::throw(&ctx, words));
    }
    if path.0.is_empty() {
        return Err(go_error::throw(&ctx, "open() can't be used with an empty filename"));
    }
    let from = caller(&ctx);
    let files = &state.program.files;
    let read = files.read(&files.resolve(&from, &path.0));
    let (_, bytes) = read.map_err(|error| go_error::throw(&ctx, &error.to_string()))?;
    let binary = mode.0.and_then(|mode| mode.get::<String>().ok()).is_some_and(|mode| mode == "b");
    if binary {
        return Ok(buffer_of(&ctx, &bytes)?.into_value());
    }
    String::from_utf8_lossy(&bytes).into_js(&ctx)
}
