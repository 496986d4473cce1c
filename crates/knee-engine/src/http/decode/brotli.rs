//! Brotli bodies that arrive in pieces (RFC 7932), within the memory budget.
//!
//! Every allocation of the library counts: its window of up to 16 MiB, and tables of up to 3 MiB. Windows of over
//! 16 MiB are an extension that no RFC has ("large window"); they are refused.

use std::cell::RefCell;
use std::rc::Rc;

use brotli_decompressor::{
    Allocator, BrotliDecompressStream, BrotliResult, BrotliState, SliceWrapper, SliceWrapperMut,
};
use knee_core::outcome::Fault;

use super::output::{OUT, Output};
use crate::http::memory::{BODY_FREE, MemoryBudget, MemoryShare};

/// Allocations of up to so many bytes are never refused, because the library relies on them. One decoder has
/// about a dozen of them at once.
const ALWAYS_GRANTED: u64 = 16 << 10;

/// Decodes one body.
pub struct BrotliDecoder {
    state: BrotliState<CountedAllocator, CountedAllocator, CountedAllocator>,
    memory: Rc<RefCell<DecoderMemory>>,
    /// Decoded bytes in all, for the library.
    total: usize,
    ended: bool,
}

impl BrotliDecoder {
    /// A decoder that takes its memory from `budget`.
    pub fn new(budget: Rc<MemoryBudget>) -> Self {
        let share = MemoryShare::new(budget, BODY_FREE);
        let memory = Rc::new(RefCell::new(DecoderMemory { share, allocated: 0, refused: false }));
        let allocator = || CountedAllocator { memory: memory.clone() };
        // "Strict" is without large windows.
        let state = BrotliState::new_strict(allocator(), allocator(), allocator());
        Self { state, memory, total: 0, ended: false }
    }

    /// Decodes the next piece.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl Output) -> Result<(), Fault> {
        let mut buffer = [0; OUT];
        let (mut left, mut offset) = (bytes.len(), 0);
        if self.ended {
            return if bytes.is_empty() { Ok(()) } else { Err(Fault::DecodeFailed) };
        }
        loop {
            let (mut room, mut written) = (OUT, 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut offset,
                bytes,
                &mut room,
                &mut written,
                &mut buffer,
                &mut self.total,
                &mut self.state,
            );
            out.take(&buffer[..written])?;
            if self.memory.borrow().refused {
                return Err(Fault::MemoryLimit);
            }
            match result {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => return Ok(()),
                // Bytes after the end of the stream do not match the response's encoding.
                BrotliResult::ResultSuccess if left == 0 => {
                    self.ended = true;
                    return Ok(());
                }
                BrotliResult::ResultSuccess | BrotliResult::ResultFailure => return Err(Fault::DecodeFailed),
            }
        }
    }

    /// Ends the body; a truncated stream is a fault.
    pub fn finish(&self) -> Result<(), Fault> {
        if self.ended { Ok(()) } else { Err(Fault::DecodeFailed) }
    }
}

/// What the allocations of one decoder hold.
struct DecoderMemory {
    share: MemoryShare,
    /// Bytes allocated.
    allocated: u64,
    /// Whether the budget had too few bytes left for an allocation.
    refused: bool,
}

/// Allocates for the library.
struct CountedAllocator {
    memory: Rc<RefCell<DecoderMemory>>,
}

impl<T: Clone + Default> Allocator<T> for CountedAllocator {
    type AllocatedMemory = CountedMemory<T>;

    fn alloc_cell(&mut self, length: usize) -> CountedMemory<T> {
        let bytes = (length * size_of::<T>()) as u64;
        let mut memory = self.memory.borrow_mut();
        let allocated = memory.allocated + bytes;
        if !memory.share.hold(allocated) {
            memory.refused = true;
            if bytes > ALWAYS_GRANTED {
                // Of length 0: the library ends with an error.
                return CountedMemory::default();
            }
        }
        memory.allocated = allocated;
        let cells = vec![T::default(); length].into_boxed_slice();
        CountedMemory { cells, owner: Some(self.memory.clone()) }
    }

    fn free_cell(&mut self, memory: CountedMemory<T>) {
        drop(memory);
    }
}

/// Memory of a decoder; counts until it is dropped.
struct CountedMemory<T> {
    cells: Box<[T]>,
    owner: Option<Rc<RefCell<DecoderMemory>>>,
}

impl<T> Default for CountedMemory<T> {
    fn default() -> Self {
        Self { cells: Box::default(), owner: None }
    }
}

impl<T> SliceWrapper<T> for CountedMemory<T> {
    fn slice(&self) -> &[T] {
        &self.cells
    }
}

impl<T> SliceWrapperMut<T> for CountedMemory<T> {
    fn slice_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }
}

impl<T> Drop for CountedMemory<T> {
    fn drop(&mut self) {
        let Some(owner) = &self.owner else { return };
        let mut memory = owner.borrow_mut();
        memory.allocated -= size_of_val(&*self.cells) as u64;
        let allocated = memory.allocated;
        // Holding less is never refused, except after a refusal; then the whole decoder is dropped next.
        let _ = memory.share.hold(allocated);
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::DecodedLimit;
    use super::*;

    fn encode(window_log: u32, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let params = brotli::enc::BrotliEncoderParams {
            quality: 5,
            lgwin: window_log.cast_signed(),
            large_window: window_log > 24,
            ..Default::default()
        };
        brotli::BrotliCompress(&mut &*body, &mut out, &params).unwrap();
        out
    }

    fn decode(body: &[u8], step: usize, budget: &Rc<MemoryBudget>) -> Result<(), Fault> {
        let mut limit = DecodedLimit::new(64 << 20);
        let mut decoder = BrotliDecoder::new(budget.clone());
        body.chunks(step).try_for_each(|piece| decoder.feed(piece, &mut limit))?;
        decoder.finish()
    }

    #[test]
    fn a_body_decodes_in_any_pieces_and_gives_its_memory_back() {
        let text: Vec<u8> = (0..20_000u32).flat_map(u32::to_le_bytes).collect();
        let body = encode(22, &text);
        for step in [1, 7, 100, body.len()] {
            let budget = Rc::new(MemoryBudget::default());
            assert_eq!(decode(&body, step, &budget), Ok(()), "in pieces of {step}");
            assert_eq!(budget.used(), 0);
            assert_eq!(decode(&body[..body.len() - 1], step, &budget), Err(Fault::DecodeFailed));
            assert_eq!(decode(&[&body[..], b"x"].concat(), step, &budget), Err(Fault::DecodeFailed));
        }
    }

    #[test]
    fn a_large_window_is_refused() {
        let body = encode(26, &vec![7; 1 << 20]);
        assert_eq!(decode(&body, body.len(), &Rc::new(MemoryBudget::default())), Err(Fault::DecodeFailed));
    }

    #[test]
    fn a_window_over_the_budget_is_refused_and_a_smaller_one_is_not() {
        let body = encode(24, &vec![7; 20 << 20]);
        for (limit, result) in [(1 << 20, Err(Fault::MemoryLimit)), (18 << 20, Ok(()))] {
            let budget = Rc::new(MemoryBudget::new(limit));
            assert_eq!(decode(&body, 50, &budget), result, "{limit}");
            assert_eq!(budget.used(), 0);
        }
    }
}
