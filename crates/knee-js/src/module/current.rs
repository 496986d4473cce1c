//! The VU whose script is running.
//!
//! Functions that scripts call find their VU here; nothing else does.

use std::rc::Rc;

use rquickjs::{Ctx, Error, Exception, JsLifetime, Result};

use crate::runtime::thrown::end;
use crate::state::State;

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
    slot.map(|slot| slot.state.clone()).ok_or_else(|| Exception::throw_internal(ctx, "no VU is running"))
}

/// Bytes that a function of ours handles in about the time of one slice of a script.
const SLICE_BYTES: usize = 256 << 10;

/// To be called after work on so many bytes at once: lets other VUs run if it was much. Fails if the script must end.
pub fn worked(ctx: &Ctx<'_>, bytes: usize) -> Result<()> {
    if bytes < SLICE_BYTES || !state(ctx)?.breathe() { Ok(()) } else { Err(cut(ctx)) }
}

/// The error that ends a script when everything is to end.
pub fn cut(ctx: &Ctx<'_>) -> Error {
    end(ctx, "interrupted")
}
