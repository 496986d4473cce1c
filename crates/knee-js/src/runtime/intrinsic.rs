//! Built-in objects of JavaScript that a VU gets only if its script names them.
//!
//! Typed arrays, dates and collections use a quarter of the memory of an empty VU, and many scripts use none of them.
//! The module's code decides: if it does not name `Map`, there is no `Map`. Code that uses the global object itself, or
//! code from strings, gets everything. Does not compile and does not parse.

use std::cell::Cell;

use rquickjs::context::intrinsic;
use rquickjs::{Context, Ctx, JsLifetime, Runtime, qjs};

/// Built-in objects of every VU.
type Always = (intrinsic::Eval, intrinsic::RegExpCompiler, intrinsic::Json, intrinsic::Promise);

/// Groups of built-in objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u16);

/// Words by which code asks for everything.
const REFLECTION: &[&str] = &["globalThis", "global", "eval", "Function"];

const WORDS: &[(&str, Needs)] = &[
    ("ArrayBuffer", Needs::BINARY),
    ("SharedArrayBuffer", Needs::BINARY),
    ("Atomics", Needs::BINARY),
    ("DataView", Needs::BINARY),
    ("Int8Array", Needs::BINARY),
    ("Uint8Array", Needs::BINARY),
    ("Uint8ClampedArray", Needs::BINARY),
    ("Int16Array", Needs::BINARY),
    ("Uint16Array", Needs::BINARY),
    ("Int32Array", Needs::BINARY),
    ("Uint32Array", Needs::BINARY),
    ("BigInt64Array", Needs::BINARY),
    ("BigUint64Array", Needs::BINARY),
    ("Float16Array", Needs::BINARY),
    ("Float32Array", Needs::BINARY),
    ("Float64Array", Needs::BINARY),
    ("Date", Needs::DATE),
    ("Map", Needs::COLLECTIONS),
    ("Set", Needs::COLLECTIONS),
    ("WeakMap", Needs::COLLECTIONS),
    ("WeakSet", Needs::COLLECTIONS),
    ("Proxy", Needs::PROXY),
    ("RegExp", Needs::REGEXP),
    ("WeakRef", Needs::WEAK),
    ("FinalizationRegistry", Needs::WEAK),
    ("console", Needs::CONSOLE),
    ("clearInterval", Needs::TIMERS),
    ("clearTimeout", Needs::TIMERS),
    ("setInterval", Needs::TIMERS),
    ("setTimeout", Needs::TIMERS),
    ("TextEncoder", Needs::WEB),
    ("TextDecoder", Needs::WEB),
    ("crypto", Needs::WEB),
];

/// Names of properties behind which there is a built-in object.
const PROPERTIES: &[(&str, Needs)] = &[
    ("groupBy", Needs::COLLECTIONS),
    ("getOwnPropertyNames", Needs::ALL),
    ("match", Needs::REGEXP),
    ("matchAll", Needs::REGEXP),
    ("search", Needs::REGEXP),
    ("localeCompare", Needs::LOCALE.with(Needs::DATE)),
    ("toLocaleString", Needs::LOCALE.with(Needs::DATE)),
    ("toLocaleDateString", Needs::LOCALE.with(Needs::DATE)),
    ("toLocaleTimeString", Needs::LOCALE.with(Needs::DATE)),
];

impl Needs {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// `ArrayBuffer`, its views, `Atomics`.
    pub const BINARY: Self = Self(1);
    /// `Date`.
    pub const DATE: Self = Self(2);
    /// `Map`, `Set` and the weak ones.
    pub const COLLECTIONS: Self = Self(4);
    /// What scripts know from browsers. Not of QuickJS: the caller of [`ensure`] adds it.
    pub const WEB: Self = Self(8);
    /// Methods that depend on a locale elsewhere. Not of QuickJS: the caller of [`ensure`] adds them, which needs dates.
    pub const LOCALE: Self = Self(16);
    /// `Proxy`.
    pub const PROXY: Self = Self(32);
    /// `RegExp`, which literals and methods of texts make too.
    pub const REGEXP: Self = Self(64);
    /// `WeakRef` and `FinalizationRegistry`.
    pub const WEAK: Self = Self(128);
    /// `console`. Not of QuickJS either.
    pub const CONSOLE: Self = Self(256);
    /// `setTimeout` and its like. Not of QuickJS either.
    pub const TIMERS: Self = Self(512);
    /// Everything there is.
    pub const ALL: Self = Self(1023);

    /// Built-in objects that the words of a text can mean, for text that is not understood.
    pub fn of(text: &str) -> Self {
        let ends = |letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '$');
        // A slash can begin a regular expression.
        let slash = if text.contains('/') { Self::REGEXP } else { Self::NONE };
        text.split(ends)
            .fold(slash, |needs, word| needs.with(Self::of_global(word)).with(Self::of_property(word)))
    }

    /// Built-in objects that code needs that uses a global of this name.
    pub fn of_global(name: &str) -> Self {
        if REFLECTION.contains(&name) { Self::ALL } else { find(WORDS, name) }
    }

    /// Built-in objects that code needs that uses a property of this name.
    pub fn of_property(name: &str) -> Self {
        find(PROPERTIES, name)
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those in this set and not in `other`.
    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether any of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

fn find(list: &[(&str, Needs)], name: &str) -> Needs {
    list.iter().find(|(known, _)| *known == name).map_or(Needs::NONE, |(_, needs)| *needs)
}

/// Built-in objects of a context so far.
#[derive(Default, JsLifetime)]
struct Given(Cell<u16>);

/// A context with what every VU has.
pub fn context(runtime: &Runtime) -> rquickjs::Result<Context> {
    Context::custom::<Always>(runtime)
}

/// Gives a context what it needs and does not have yet, and says what that was. Cheap when there is
/// nothing to do.
pub fn ensure(ctx: &Ctx<'_>, needs: Needs) -> Needs {
    if ctx.userdata::<Given>().is_none() {
        // No other code borrows the data of the context here.
        let _ = ctx.store_userdata(Given::default());
    }
    let Some(given) = ctx.userdata::<Given>() else { return Needs::NONE };
    let missing = needs.without(Needs(given.0.get()));
    given.0.set(given.0.get() | missing.0);
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: `raw` is the live context that `ctx` stands for, and nothing of it is borrowed. Each of these
    // adds classes and globals once, which `Given` sees to; out of memory they leave the global out.
    #[allow(unsafe_code, reason = "rquickjs adds these only to contexts that it makes itself")]
    unsafe {
        if missing.has(Needs::BINARY) {
            qjs::JS_AddIntrinsicTypedArrays(raw);
        }
        if missing.has(Needs::DATE) {
            qjs::JS_AddIntrinsicDate(raw);
        }
        if missing.has(Needs::COLLECTIONS) {
            qjs::JS_AddIntrinsicMapSet(raw);
        }
        if missing.has(Needs::PROXY) {
            qjs::JS_AddIntrinsicProxy(raw);
        }
        if missing.has(Needs::REGEXP) {
            qjs::JS_AddIntrinsicRegExp(raw);
        }
        if missing.has(Needs::WEAK) {
            qjs::JS_AddIntrinsicWeakRef(raw);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(needs: Needs, name: &str) -> String {
        let runtime = Runtime::new().unwrap();
        context(&runtime).unwrap().with(|ctx| {
            ensure(&ctx, needs);
            ctx.eval::<String, _>(format!("typeof {name}")).unwrap()
        })
    }

    #[test]
    fn a_method_of_the_locale_comes_with_a_property_of_its_name() {
        let expected = Needs::LOCALE.with(Needs::DATE);
        for name in ["localeCompare", "toLocaleString", "toLocaleDateString", "toLocaleTimeString"] {
            assert_eq!(Needs::of_property(name), expected, "{name}");
        }
    }

    #[test]
    fn a_text_gets_what_it_has_a_word_for() {
        assert_eq!(Needs::of("const m = new Map([[1, 2]]);"), Needs::COLLECTIONS);
        assert_eq!(Needs::of("Date.now() - new Uint8Array(2).length"), Needs::DATE.with(Needs::BINARY));
        assert_eq!(Needs::of("const Mapped = { headers: { 'X-Dates': toDate } }; SharedArray"), Needs::NONE);
        assert_eq!(Needs::of("x.match(y)"), Needs::REGEXP);
        assert_eq!(Needs::of("const g = globalThis; g['Da' + 'te']"), Needs::ALL);
    }

    #[test]
    fn what_was_asked_for_is_there_and_nothing_else() {
        assert_eq!(kind_of(Needs::NONE, "Map"), "undefined");
        let own = Needs::WEB.with(Needs::LOCALE).with(Needs::CONSOLE).with(Needs::TIMERS);
        for (name, needs) in WORDS.iter().filter(|(_, needs)| !needs.has(own)) {
            assert_ne!(kind_of(*needs, name), "undefined", "{name}");
        }
    }

    /// Fails when QuickJS has a group by itself that this list lacks.
    #[test]
    fn with_everything_a_context_has_what_quickjs_gives() {
        let names = "Object.getOwnPropertyNames(globalThis).sort().join()";
        let runtime = Runtime::new().unwrap();
        let full: String = Context::full(&runtime).unwrap().with(|ctx| ctx.eval(names).unwrap());
        let own: String = context(&runtime).unwrap().with(|ctx| {
            ensure(&ctx, Needs::ALL);
            ctx.eval(names).unwrap()
        });
        // k6 has none of these.
        let left_out = ["DOMException", "atob", "btoa", "performance"];
        let expected: Vec<&str> = full.split(',').filter(|name| !left_out.contains(name)).collect();
        assert_eq!(own.split(',').collect::<Vec<_>>(), expected);
    }
}
