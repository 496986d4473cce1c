//! The memory of one VU: what its script holds in QuickJS, and what this program holds for it.
//!
//! Bytes are counted where they are taken and released where they are dropped. All parts of a VU share one account, and
//! so one limit. Does not allocate, and does not know what the bytes are for.

use std::cell::Cell;
use std::rc::Rc;

/// The memory of one VU. Clones are the same account.
#[derive(Clone, Debug)]
pub struct Account {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limit: usize,
    used: Cell<usize>,
    /// What was in use when something was refused, until the VU is clearly below its limit again.
    refused_at: Cell<Option<usize>>,
}

/// Memory that a VU gets beyond its limit after a refusal, to build the error.
const LAST_WORDS: usize = 64 << 10;

/// The VU's limit would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory")]
pub struct OutOfMemory;

impl Default for Account {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Account {
    /// An empty account of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { shared: Rc::new(Shared { limit, used: Cell::new(0), refused_at: Cell::new(None) }) }
    }

    /// Most bytes.
    pub fn limit(&self) -> usize {
        self.shared.limit
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.shared.used.get()
    }

    /// Bytes that can still be taken.
    pub fn left(&self) -> usize {
        self.shared.limit.saturating_sub(self.used())
    }

    /// Whether the script itself can take `more` bytes. After a refusal, of whatever kind, it gets a little more than
    /// the limit, so that there can be an error.
    pub fn grants(&self, more: usize) -> bool {
        let most = match self.shared.refused_at.get() {
            None => self.limit(),
            Some(used) => used.max(self.limit()).saturating_add(LAST_WORDS),
        };
        let granted = self.used().saturating_add(more) <= most;
        if !granted {
            self.refuse();
        }
        granted
    }

    fn refuse(&self) {
        if self.shared.refused_at.get().is_none() {
            self.shared.refused_at.set(Some(self.used()));
        }
    }

    /// Counts `bytes` for as long as the charge lives. To be called before they are allocated.
    pub fn charge(&self, bytes: usize) -> Result<Charge, OutOfMemory> {
        let mut charge = self.empty();
        charge.grow(bytes)?;
        Ok(charge)
    }

    /// Counts `bytes` even if that exceeds the limit. For what is small or in proportion to something that was charged:
    /// the next charge fails, and so does the next allocation of the script.
    pub fn note(&self, bytes: usize) -> Charge {
        self.take(bytes);
        Charge { account: self.clone(), bytes }
    }

    /// A charge of nothing, to be grown.
    pub fn empty(&self) -> Charge {
        Charge { account: self.clone(), bytes: 0 }
    }

    /// Counts `bytes` more, without a limit.
    pub fn take(&self, bytes: usize) {
        self.shared.used.set(self.used().saturating_add(bytes));
    }

    /// Counts `bytes` less.
    pub fn give_back(&self, bytes: usize) {
        self.shared.used.set(self.used().saturating_sub(bytes));
        // Not at the limit itself: what is freed on the way to the error must not be in its way.
        if self.used() <= self.limit() - LAST_WORDS.min(self.limit() / 2) {
            self.shared.refused_at.set(None);
        }
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub struct Charge {
    account: Account,
    bytes: usize,
}

impl Charge {
    /// Where they are counted.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// How many they are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts `more` bytes. Beyond the limit nothing changes.
    pub fn grow(&mut self, more: usize) -> Result<(), OutOfMemory> {
        if more > self.account.left() {
            self.account.refuse();
            return Err(OutOfMemory);
        }
        self.account.take(more);
        self.bytes += more;
        Ok(())
    }

    /// Counts so many bytes from now on. Beyond the limit nothing changes.
    pub fn set(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            return self.grow(more);
        }
        self.account.give_back(self.bytes - bytes);
        self.bytes = bytes;
        Ok(())
    }

    /// Counts so many bytes from now on, even if that exceeds the limit. See [`Account::note`].
    pub fn note(&mut self, bytes: usize) {
        self.account.give_back(self.bytes);
        self.account.take(bytes);
        self.bytes = bytes;
    }

    /// Makes room in `vec` for `more` elements of a byte each, and counts the room before it is allocated. It at least
    /// doubles as long as the limit allows it, so that many small additions stay cheap.
    pub fn reserve(&mut self, vec: &mut Vec<u8>, more: usize) -> Result<(), OutOfMemory> {
        let needed = vec.len().saturating_add(more);
        if needed <= vec.capacity() {
            return Ok(());
        }
        let doubled = needed.max(vec.capacity().saturating_mul(2));
        let room = if self.set(doubled).is_ok() { doubled } else { needed };
        self.set(room)?;
        vec.reserve_exact(room - vec.len());
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_refused_and_changes_nothing() {
        let account = Account::new(100);
        let mut first = account.charge(60).unwrap();
        assert_eq!(account.charge(41).unwrap_err(), OutOfMemory);
        assert_eq!(first.grow(41), Err(OutOfMemory));
        assert_eq!((account.used(), account.left(), first.bytes()), (60, 40, 60));
        first.set(10).unwrap();
        assert_eq!(account.used(), 10);
        drop(first);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn after_a_refusal_the_script_gets_memory_for_an_error() {
        let account = Account::new(100);
        let charge = account.charge(90).unwrap();
        assert!(account.charge(11).is_err());
        assert!(account.grants(1_000) && !account.grants(2 * LAST_WORDS));
        drop(charge);
        assert!(!account.grants(1_000), "the VU is below its limit again");
    }

    #[test]
    fn what_was_only_noted_makes_the_next_charge_fail() {
        let account = Account::new(100);
        let noted = account.note(150);
        assert_eq!((account.used(), account.left()), (150, 0));
        assert!(account.charge(1).is_err());
        drop(noted);
        assert!(account.charge(100).is_ok());
        let mut charge = account.empty();
        charge.note(300);
        charge.note(200);
        assert_eq!((account.used(), charge.bytes()), (200, 200));
        drop(charge);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn a_buffer_grows_up_to_the_limit_and_not_beyond() {
        let account = Account::new(1_000);
        let (mut charge, mut buffer) = (account.empty(), Vec::new());
        let mut steps = 0;
        while charge.reserve(&mut buffer, 10).is_ok() {
            buffer.extend_from_slice(&[0; 10]);
            steps += 1;
        }
        assert_eq!(steps, 100);
        assert!(buffer.capacity() <= 1_000 && charge.bytes() <= 1_000);
    }
}
