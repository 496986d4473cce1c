//! The VU whose script is running.
//!
//! Functions that scripts call find their VU here; nothing else does.

use std::rc::Rc;

use knee_k6::account::Charge;
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

/// Counts `bytes` that a function of ours is to hold for the script, which gets the error if its VU has no room.
pub fn charge(ctx: &Ctx<'_>, bytes: usize) -> Result<Charge> {
    state(ctx)?.account.charge(bytes).map_err(|_| out_of_memory(ctx))
}

/// The memory that a VU has left, while a function of ours copies texts of the script that can be many and long. The
/// result counts when the call is done; what a call needs until then must not exceed the memory either.
pub struct Room {
    left: usize,
}

impl Room {
    /// All that the VU has left.
    pub fn of(ctx: &Ctx<'_>) -> Result<Self> {
        Ok(Self { left: state(ctx)?.account.left() })
    }

    /// Takes `bytes` of it; the script gets the error if there are fewer.
    pub fn take(&mut self, ctx: &Ctx<'_>, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| out_of_memory(ctx))?;
        Ok(())
    }
}

/// The error of a script whose VU has no memory left, as QuickJS throws it.
pub fn out_of_memory(ctx: &Ctx<'_>) -> Error {
    Exception::throw_internal(ctx, "out of memory")
}

/// The error that ends a script when everything is to end.
pub fn cut(ctx: &Ctx<'_>) -> Error {
    end(ctx, "interrupted")
}
