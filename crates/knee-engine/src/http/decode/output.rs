//! Where decoded bytes go: they are counted, or kept within the memory budget. Refuses more than a limit.

use std::rc::Rc;

use knee_core::outcome::Fault;

use crate::http::memory::{BODY_FREE, MemoryBudget, MemoryShare};

/// Size of the buffer that decoders write to, in bytes. It is on the stack and used again for every piece.
pub const OUT: usize = 8_192;

/// Receives decoded bytes.
pub trait Output {
    /// Takes the next bytes. A fault ends the decoding.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault>;
}

/// Counts decoded bytes and forgets them.
#[derive(Debug)]
pub struct DecodedLimit {
    left: u64,
}

impl DecodedLimit {
    /// At most `limit` bytes.
    pub const fn new(limit: u64) -> Self {
        Self { left: limit }
    }
}

impl Output for DecodedLimit {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(Fault::DecodeLimit)?;
        Ok(())
    }
}

/// The bytes of one body, within the memory budget for as long as they are kept.
#[derive(Debug)]
pub struct BodyBuffer {
    bytes: Vec<u8>,
    limit: u64,
    share: MemoryShare,
}

impl BodyBuffer {
    /// An empty body of at most `limit` bytes.
    pub fn new(budget: Rc<MemoryBudget>, limit: u64) -> Self {
        Self { bytes: Vec::new(), limit, share: MemoryShare::new(budget, BODY_FREE) }
    }

    /// From now on at most `limit` bytes, unless the limit is lower already. Bytes that are there stay.
    pub fn limit_to(&mut self, limit: u64) {
        self.limit = self.limit.min(limit);
    }

    /// Bytes of memory that are held.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// An empty body with the same limits.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { bytes: Vec::new(), limit: self.limit, share: self.share.another() }
    }

    /// Forgets all bytes.
    pub fn clear(&mut self) {
        self.bytes = Vec::new();
        self.share.release();
    }
}

impl Output for BodyBuffer {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let length = self.bytes.len() + bytes.len();
        if length as u64 > self.limit {
            return Err(Fault::DecodeLimit);
        }
        if length > self.bytes.capacity() {
            // Grows as vectors do, or by just enough if the budget has too few bytes left for that. The share counts
            // the old memory until its bytes are in the new one.
            let doubled = length.max(self.bytes.capacity() * 2);
            let room = [doubled, length].into_iter().find(|room| self.share.hold(*room as u64));
            let room = room.ok_or(Fault::MemoryLimit)?;
            self.bytes.reserve_exact(room - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_hold_no_more_than_their_budget_together_and_give_it_back() {
        let budget = Rc::new(MemoryBudget::new(1 << 20));
        let mut bodies: Vec<_> = (0..2).map(|_| BodyBuffer::new(budget.clone(), u64::MAX)).collect();
        let piece = [7; 10_000];
        let taken = (0..1_000).take_while(|number| bodies[number % 2].take(&piece).is_ok()).count();
        assert_eq!(bodies[taken % 2].take(&piece), Err(Fault::MemoryLimit));
        let held: usize = bodies.iter().map(|body| body.bytes.capacity()).sum();
        assert!((1 << 20..=(1 << 20) + 2 * BODY_FREE as usize).contains(&held), "{held}");
        drop(bodies);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_small_body_does_not_touch_the_budget() {
        let budget = Rc::new(MemoryBudget::new(0));
        let mut body = BodyBuffer::new(budget, 60_000);
        (0..6).for_each(|_| body.take(&[7; 10_000]).unwrap());
        assert_eq!((body.bytes().len(), body.take(&[7])), (60_000, Err(Fault::DecodeLimit)));
    }
}
