//! A VU's world: its runtime, its globals, its script, and the calls made into it.
//!
//! Everything here runs on the VU's own stack. Does not perform the script's operations; the VU around it does.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::promise::PromiseState;
use rquickjs::{Atom, Ctx, Function, Module, Object, Promise, Runtime, Value};
use serde::{Deserialize, Serialize};

use crate::exported;
use crate::handled::Handled;
use crate::loader::finder::{self, Finder};
use crate::loader::require;
use crate::module::current::Slot;
use crate::module::deliver::{deliver, wind_up};
use crate::module::{global, perform};
use crate::op::{Call, Ended, Op, Reply, Stage};
use crate::program::{LogLevel, Program};
use crate::runtime::fiber::Link;
use crate::runtime::intrinsic;
use crate::runtime::memory::Allowance;
use crate::runtime::thrown::Thrown;
use crate::state::State;
use knee_engine::secret::in_text;
use knee_k6::http::answer::Answer;
use knee_k6::http::targets::Targets;

/// Part of the stack that scripts cannot use, so that the functions they call have room.
const STACK_MARGIN: usize = 128 << 10;
/// Bytes a VU can add before its garbage is collected again.
const GC_THRESHOLD: usize = 256 << 10;

/// Exports of a loaded script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// JSON of the exported `options`; `None` if there are none.
    pub options: Option<String>,
    /// Names of exported functions.
    pub functions: Vec<String>,
}

/// Passes the state from the world to the VU.
pub type StateCell = Rc<OnceCell<Rc<State>>>;

/// Loads the script and runs calls until the VU ends it.
pub fn live(
    program: &Arc<Program>,
    targets: Rc<Targets>,
    link: Link<Reply, Op>,
    number: u64,
    cell: &StateCell,
) {
    let state = Rc::new(State::new(program.clone(), link, targets));
    state.place.borrow_mut().vu = number;
    // The VU makes one cell for one world, so it is empty.
    let _ = cell.set(state.clone());
    let limits = program.surroundings.limits;
    let built = Runtime::new_with_alloc(Allowance::new(state.account.clone())).and_then(|runtime| {
        runtime.set_max_stack_size(limits.stack.saturating_sub(STACK_MARGIN));
        runtime.set_gc_threshold(GC_THRESHOLD);
        let breathing = state.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || breathing.breathe())));
        let refused = state.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
            refused.rejected(&ctx, &promise, &reason, handled);
        })));
        runtime.set_loader(Finder { state: state.clone() }, Finder { state: state.clone() });
        intrinsic::context(&runtime).map(|context| (runtime, context))
    });
    match built {
        Ok((_runtime, context)) => context.with(|ctx| {
            serve(&ctx, &state);
            // Functions of this runtime must not outlive it.
            state.forget_values();
        }),
        Err(error) => {
            state.ask(Op::Rest(Ended::Thrown(Thrown::new(format!("no runtime for a VU: {error}")))));
        }
    }
}

/// The loaded script, as calls into it need it.
struct Script<'js> {
    exports: Object<'js>,
    /// The function called last, and its name; a VU usually calls the same one repeatedly.
    last: Option<(Rc<str>, Function<'js>)>,
    /// `__ITER` as the runtime keeps names.
    iteration: Atom<'js>,
    /// The result of `setup`, parsed when first needed.
    data: Option<Value<'js>>,
}

fn serve<'js>(ctx: &Ctx<'js>, state: &Rc<State>) {
    let (mut script, mut ended) = match load(ctx, state) {
        Ok((script, description)) => {
            // Two texts and a list of texts always serialise.
            let json = serde_json::to_string(&description).unwrap_or_default();
            (Some(script), Ended::Returned(Some(json)))
        }
        Err(thrown) => (None, state.abort.take().map_or(Ended::Thrown(thrown), Ended::Aborted)),
    };
    state.init.set(false);
    // Nothing can be required any more.
    state.required.take();
    state.link.stack().release_unused();
    loop {
        let Some(Reply::Call(call)) = state.ask(Op::Rest(ended)) else { return };
        let Some(script) = &mut script else { return };
        let result = script.call(ctx, state, &call);
        if result.is_err() && !state.must_end() {
            wind_up(ctx, state);
        }
        state.forget_values();
        let abort = state.abort.borrow_mut().take();
        ended = match (result, abort) {
            (_, Some(words)) => Ended::Aborted(words),
            _ if state.quitting.replace(false) => Ended::Cut,
            (Ok(json), None) => Ended::Returned(json),
            (Err(thrown), None) => Ended::Thrown(thrown),
        };
    }
}

fn load<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<(Script<'js>, Description), Thrown> {
    let caught = |error| Thrown::from_error(ctx, error);
    if ctx.store_userdata(Slot::new(state.clone())).is_err() {
        return Err(Thrown::new("a VU cannot load its script twice"));
    }
    global::install(ctx).map_err(caught)?;
    require::install(ctx).map_err(caught)?;
    let module = finder::entry(ctx, state).map_err(caught)?;
    let (module, promise): (Module<'js, _>, Promise<'js>) = module.eval().map_err(caught)?;
    settle(ctx, state, Some(promise))?;
    let exports = module.namespace().map_err(caught)?;
    let description = describe(ctx, &exports).map_err(caught)?;
    let iteration = Atom::from_str(ctx.clone(), "__ITER").map_err(caught)?;
    Ok((Script { exports, last: None, iteration, data: None }, description))
}

fn describe<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<Description> {
    let mut description = Description::default();
    for pair in exports.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        if value.is_function() {
            description.functions.push(name);
        } else if name == "options" && value.is_object() {
            description.options = ctx.json_stringify(value)?.map(|json| json.to_string()).transpose()?;
        }
    }
    Ok(description)
}

impl<'js> Script<'js> {
    fn call(&mut self, ctx: &Ctx<'js>, state: &Rc<State>, call: &Call) -> Result<Option<String>, Thrown> {
        let caught = |error| Thrown::from_error(ctx, error);
        let function = self.function(&call.export).map_err(caught)?;
        let Some(function) = function else {
            let words = format!("function '{}' not found in exports", call.export);
            return Err(Thrown::new(words));
        };
        let argument = self.argument(ctx, call).map_err(caught)?;
        self.number(ctx, state, call.stage).map_err(caught)?;
        let returned: Value<'js> = function.call((argument,)).map_err(caught)?;
        let promise = returned.clone().into_promise();
        let awaited = promise.is_some();
        let settled = settle(ctx, state, promise)?;
        let value = if awaited { settled } else { Some(returned) };
        if call.stage == Stage::Summary {
            let handled = Handled::read(value).map_err(caught)?;
            return Ok(serde_json::to_string(&handled).ok());
        }
        if call.stage != Stage::Setup {
            return Ok(None);
        }
        let Some(value) = value.filter(|value| !value.is_undefined()) else { return Ok(None) };
        let json = exported::json(ctx, value).map_err(caught)?;
        json.map(Some).map_err(|words| Thrown::new(format!("error marshaling setup() data to JSON: {words}")))
    }

    /// The exported function of this name.
    fn function(&mut self, name: &Rc<str>) -> rquickjs::Result<Option<Function<'js>>> {
        if let Some((known, function)) = &self.last
            && Rc::ptr_eq(known, name)
        {
            return Ok(Some(function.clone()));
        }
        let function: Option<Function<'js>> = self.exports.get(&**name)?;
        self.last = function.clone().map(|function| (name.clone(), function));
        Ok(function)
    }

    /// The argument of the function; the result of `setup` is parsed once.
    fn argument(&mut self, ctx: &Ctx<'js>, call: &Call) -> rquickjs::Result<Value<'js>> {
        if let (Some(data), Stage::Iteration) = (&self.data, call.stage) {
            return Ok(data.clone());
        }
        let value = match &call.argument {
            Some(json) => ctx.json_parse(json.as_bytes())?,
            None => Value::new_undefined(ctx.clone()),
        };
        if call.stage == Stage::Iteration {
            self.data = Some(value.clone());
        }
        Ok(value)
    }

    /// Sets the globals with the numbers of the VU and of its iteration. They can be what the script has made of them,
    /// so that its code runs here.
    fn number(&self, ctx: &Ctx<'js>, state: &State, during: Stage) -> rquickjs::Result<()> {
        if during != Stage::Iteration {
            return Ok(());
        }
        let (vu, iteration) = {
            let place = state.place.borrow();
            (place.vu, place.iteration)
        };
        let globals = ctx.globals();
        globals.set(self.iteration.clone(), iteration as f64)?;
        if state.activated.replace(false) {
            globals.set("__VU", vu as f64)?;
            globals.set("__ENV", global::environment(ctx, state)?)?;
        }
        Ok(())
    }
}

/// Runs jobs, timers, pending requests, sockets and streams until `promise` is settled and nothing is left to do.
fn settle<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    promise: Option<Promise<'js>>,
) -> Result<Option<Value<'js>>, Thrown> {
    let caught = |error| Thrown::from_error(ctx, error);
    loop {
        loop {
            // Before the first job too: what comes after the end of a test is not to run.
            if state.must_end() {
                return Err(Thrown::new("interrupted"));
            }
            if !ctx.execute_pending_job() {
                break;
            }
            state.breathe();
        }
        if let Some(promise) = promise.as_ref().filter(|promise| promise.state() == PromiseState::Rejected) {
            let rejected: Option<rquickjs::Result<Value<'js>>> = promise.result();
            let thrown = |error| {
                let thrown = caught(error);
                // QuickJS loads modules through promises; users do not see them.
                if state.init.get() { thrown } else { thrown.in_promise() }
            };
            return rejected.transpose().map_err(thrown);
        }
        if let Some(thrown) = state.take_rejection(ctx) {
            return Err(thrown);
        }
        if let Some((number, happening)) = state.inbox.pop() {
            deliver(ctx, state, number, happening).map_err(caught)?;
            continue;
        }
        if let Some(callback) = state.events.take_due(|| state.now()) {
            callback.call(ctx).map_err(caught)?;
            continue;
        }
        let Some(until) = state.events.idle_until() else { break };
        if state.init.get() {
            // Timers and requests are not waited for while scripts are loaded.
            break;
        }
        match state.ask(Op::Await(until)) {
            Some(Reply::Done(done)) => {
                for (id, answer) in done {
                    let Some(promised) = state.events.take_promise(id) else { continue };
                    fulfil(ctx, state, promised, answer).map_err(caught)?;
                }
            }
            Some(_) => {}
            None => return Err(Thrown::new("interrupted")),
        }
    }
    match promise {
        None => Ok(None),
        Some(promise) => match promise.result::<Value<'js>>() {
            Some(result) => result.map(Some).map_err(caught),
            None => Err(Thrown::new("an awaited promise can never settle")),
        },
    }
}

fn fulfil<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    promised: crate::event_loop::Promised,
    answer: Box<Answer>,
) -> rquickjs::Result<()> {
    match perform::settle(ctx, state, answer) {
        Ok(response) => promised.resolve.restore(ctx)?.call((response,)),
        Err(_) => promised.reject.restore(ctx)?.call((ctx.catch(),)),
    }
}

/// Logs what a script threw, as k6 does.
pub fn tell(program: &Program, thrown: &Thrown) {
    let words = in_text(&thrown.to_string());
    program.say_with(LogLevel::Error, &words, &[("source", "stacktrace")]);
}
