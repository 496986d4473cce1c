//! zstd bodies that arrive in pieces (RFC 8878), within the memory budget.
//!
//! The library allocates a frame's window as soon as it has read the frame's header; this module counts it before the
//! next piece.

use std::rc::Rc;

use knee_core::outcome::Fault;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::output::{OUT, Output};
use crate::http::memory::{BODY_FREE, MemoryBudget, MemoryShare};

/// Largest window of a frame, as a power of two: 8 MiB, the maximum that RFC 9659 allows a server.
const WINDOW_LOG_MAX: u32 = 23;

/// Decodes one body: one or more frames.
pub struct ZstdDecoder {
    context: DCtx<'static>,
    share: MemoryShare,
    /// Whether everything so far is whole frames.
    ended: bool,
}

impl ZstdDecoder {
    /// A decoder that takes its memory from `budget`.
    pub fn new(budget: Rc<MemoryBudget>) -> Result<Self, Fault> {
        // Fails only if the process gets no memory.
        let mut context = DCtx::try_create().ok_or(Fault::MemoryLimit)?;
        context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(|_| Fault::DecodeFailed)?;
        Ok(Self { context, share: MemoryShare::new(budget, BODY_FREE), ended: false })
    }

    /// Decodes the next piece.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl Output) -> Result<(), Fault> {
        let mut buffer = [0; OUT];
        let mut input = InBuffer::around(bytes);
        while input.pos() < bytes.len() {
            self.ended = loop {
                let mut output = OutBuffer::around(&mut buffer[..]);
                let hint = self
                    .context
                    .decompress_stream(&mut output, &mut input)
                    .map_err(|_| Fault::DecodeFailed)?;
                let written = output.pos();
                out.take(&buffer[..written])?;
                if !self.share.hold(self.context.sizeof() as u64) {
                    return Err(Fault::MemoryLimit);
                }
                // A full buffer means that there can be more, except at the end of a frame.
                if hint == 0 || written < OUT {
                    break hint == 0;
                }
            };
        }
        Ok(())
    }

    /// Ends the body; a truncated frame is a fault.
    pub fn finish(&self) -> Result<(), Fault> {
        if self.ended { Ok(()) } else { Err(Fault::DecodeFailed) }
    }
}
