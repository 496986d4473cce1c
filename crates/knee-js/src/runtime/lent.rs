//! A reference that rquickjs takes without owning it.
//!
//! QuickJS lends the value that is set on an exotic object and frees it afterwards. rquickjs 0.14 treats it as given,
//! and frees it too. So one more reference is taken here. Not needed for any other callback.

use rquickjs::{Value, qjs};

/// The same value, with a reference that can be given up.
pub fn keep(value: Value<'_>) -> Value<'_> {
    // SAFETY: the value is alive, because its lender holds a reference during the call, and the context is the one that
    // `value` belongs to. One reference more keeps a value alive; it cannot free one.
    #[allow(unsafe_code, reason = "rquickjs has no way to take a reference alone")]
    unsafe {
        qjs::JS_DupValue(value.ctx().as_raw().as_ptr(), value.as_raw());
    }
    value
}
