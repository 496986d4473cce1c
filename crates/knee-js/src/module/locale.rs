//! Texts, numbers and dates "in the user's locale", as k6 has them: in one locale, whatever a script asks for.
//!
//! k6's engine has no `Intl`. It compares texts in the order of Unicode's root collation, writes dates as
//! `MM/DD/YYYY, HH:MM:SS`, and numbers as `toString` does, whose argument is the radix. Does not know languages.

use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use rquickjs::{Ctx, Exception, Function, Result};

use super::factory;
use super::text::Text;

/// Replaces the methods of the prototypes: `(compare) => undefined`. Keeps the functions that it needs, whatever becomes
/// of the globals.
const REPLACE: &str = r"(compare) => {
  const { apply } = Reflect;
  const { defineProperty } = Object;
  const [text, whole, numeric] = [String, Math.trunc, Number];
  const replace = (prototype, methods) => {
    for (const name of Object.keys(methods)) {
      defineProperty(prototype, name, { __proto__: null, value: methods[name], writable: true, configurable: true });
    }
  };
  replace(String.prototype, {
    localeCompare(that) {
      if (this === undefined || this === null) throw new TypeError('Value is not object coercible');
      return compare(text(this), text(that));
    },
  });
  const asNumber = (toString) => ({
    toLocaleString() {
      const radix = arguments.length === 0 || arguments[0] === undefined ? 10 : whole(numeric(arguments[0])) || 0;
      if (radix < 2 || radix > 36) throw new RangeError('toString() radix argument must be between 2 and 36');
      return apply(toString, this, [radix]);
    },
  });
  replace(Number.prototype, asNumber(Number.prototype.toString));
  if (typeof BigInt === 'function') replace(BigInt.prototype, asNumber(BigInt.prototype.toString));
  const { getTime, getFullYear, getMonth, getDate, getHours, getMinutes, getSeconds } = Date.prototype;
  const padded = (number, width) => { let s = '' + number; while (s.length < width) s = '0' + s; return s; };
  const part = (date, get, more = 0) => padded(apply(get, date, []) + more, 2);
  const day = (date) => part(date, getMonth, 1) + '/' + part(date, getDate) + '/' + padded(apply(getFullYear, date, []), 4);
  const time = (date) => part(date, getHours) + ':' + part(date, getMinutes) + ':' + part(date, getSeconds);
  const shown = (date, show) => { const at = apply(getTime, date, []); return at === at ? show(date) : 'Invalid Date'; };
  replace(Date.prototype, {
    toLocaleString() { return shown(this, (date) => day(date) + ', ' + time(date)); },
    toLocaleDateString() { return shown(this, day); },
    toLocaleTimeString() { return shown(this, time); },
  });
}";

/// Replaces the methods, in a context that has dates.
pub fn install<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let compare = Function::new(ctx.clone(), compare)?;
    factory::function(ctx, "locale", REPLACE)?.call((compare,))
}

thread_local! {
    /// The root collation, which is static data.
    static ROOT: Option<CollatorBorrowed<'static>> =
        Collator::try_new(CollatorPreferences::default(), CollatorOptions::default()).ok();
}

fn compare<'js>(ctx: Ctx<'js>, one: rquickjs::String<'js>, other: rquickjs::String<'js>) -> Result<i32> {
    let (one, other) = (Text::of(one)?, Text::of(other)?);
    ROOT.with(|root| match root {
        Some(root) => Ok(root.compare(&one, &other) as i32),
        None => Err(Exception::throw_internal(&ctx, "the order of letters is missing")),
    })
}
