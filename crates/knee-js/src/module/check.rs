//! `check` of `k6`.
//!
//! A script makes the same few checks again and again. So a VU keeps their names as QuickJS has them, and makes no text
//! of a name that it has met. Does not count; the observer does.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::atom::PredefinedAtom;
use rquickjs::function::Opt;
use rquickjs::{Atom, Coerced, Ctx, Exception, Function, JsLifetime, Object, Result, Value};

use super::current::state;
use super::go_error;
use super::tags::tags_of;

/// Most names that a VU keeps; scripts that put ids into names fill it repeatedly.
const NAMES_MAX: usize = 64;

/// The names as the runtime keeps them.
#[derive(Clone, JsLifetime)]
struct Slot<'js> {
    names: Rc<Names<'js>>,
}

/// The names of checks that a VU has made.
#[derive(JsLifetime)]
struct Names<'js> {
    known: RefCell<Vec<Name<'js>>>,
    /// The prototype of ordinary functions, which functions declared with `async` do not have.
    ordinary: Option<Object<'js>>,
}

/// A name, as QuickJS has it and as text.
#[derive(JsLifetime)]
struct Name<'js> {
    atom: Atom<'js>,
    text: String,
}

impl<'js> Names<'js> {
    /// Keeps a name, which must be one that a check can have.
    fn meet(&self, ctx: &Ctx<'js>, name: &Atom<'js>) -> Result<()> {
        if self.known.borrow().iter().any(|known| known.atom == *name) {
            return Ok(());
        }
        let text = name.to_string()?;
        refuse_colons(ctx, &text)?;
        let mut known = self.known.borrow_mut();
        if known.len() >= NAMES_MAX {
            known.clear();
        }
        known.push(Name { atom: name.clone(), text });
        Ok(())
    }

    /// Whether a condition was declared with `async`. Most are ordinary functions, which is known by their prototype.
    fn is_async(&self, condition: &Function<'js>) -> bool {
        let is_ordinary = self.ordinary.is_some() && condition.get_prototype() == self.ordinary;
        !is_ordinary && is_async(condition)
    }

    /// Calls `then` with the text of a name.
    fn with(&self, name: &Atom<'js>, then: impl FnOnce(&str)) -> Result<()> {
        let known = self.known.borrow();
        match known.iter().find(|known| known.atom == *name) {
            Some(known) => then(&known.text),
            // A condition made so many other checks that this one is not known any more.
            None => then(&name.to_string()?),
        }
        Ok(())
    }
}

/// Makes the function.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Function<'js>> {
    let function = Function::new(ctx.clone(), check)?.with_name("check")?;
    let names = Names { known: RefCell::default(), ordinary: function.get_prototype() };
    let slot = Slot { names: Rc::new(names) };
    ctx.store_userdata(slot).map_err(|_| Exception::throw_internal(ctx, "names are in use"))?;
    Ok(function)
}

/// The names of the VU that runs.
fn names<'js>(ctx: &Ctx<'js>) -> Result<Rc<Names<'js>>> {
    let slot = ctx.userdata::<Slot<'js>>();
    slot.map(|slot| slot.names.clone()).ok_or_else(|| Exception::throw_internal(ctx, "no VU is running"))
}

fn check<'js>(
    ctx: Ctx<'js>,
    value: Value<'js>,
    sets: Opt<Value<'js>>,
    tags: Opt<Value<'js>>,
) -> Result<bool> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Using check() in the init context is not supported"));
    }
    let Some(sets) = sets.0.and_then(Value::into_object) else {
        return Err(go_error::throw(&ctx, "no checks provided to `check`"));
    };
    let tags = tags_of(tags.0.as_ref())?;
    let names = names(&ctx)?;
    let mut all = true;
    for pair in sets.props::<Atom<'js>, Value<'js>>() {
        let (name, condition) = pair?;
        names.meet(&ctx, &name)?;
        let passed = match condition.as_function() {
            Some(function) if names.is_async(function) => {
                let words = "check() does not support async functions: await the value first, then check it";
                return Err(go_error::throw(&ctx, words));
            }
            // A promise that a plain function returns is an object like any other, and true, as in k6.
            Some(function) => function.call::<_, Value<'js>>((value.clone(),)),
            None => Ok(condition),
        };
        let passed = passed.and_then(|passed| passed.get::<Coerced<bool>>());
        let counted = matches!(passed, Ok(Coerced(true)));
        names.with(&name, |name| {
            state.observe(&tags, |observer, context| observer.check(name, counted, context));
        })?;
        // What a condition throws ends the check after it was counted as failed, as in k6.
        all &= passed?.0;
    }
    Ok(all)
}

/// Whether a function was declared with `async`.
pub fn is_async(function: &Function<'_>) -> bool {
    let kind = function.get::<_, Value<'_>>(PredefinedAtom::SymbolToStringTag);
    let kind = kind.ok().and_then(Value::into_string).and_then(|kind| kind.to_string().ok());
    kind.is_some_and(|kind| kind == "AsyncFunction")
}

/// Paths of groups and checks are joined with `::`, which therefore cannot be in a name.
pub fn refuse_colons(ctx: &Ctx<'_>, name: &str) -> Result<()> {
    if name.contains("::") {
        return Err(go_error::throw(ctx, "group and check names may not contain '::'"));
    }
    Ok(())
}
