//! The memory of JavaScript objects: one allocator per thread, a limit per VU.
//!
//! QuickJS allocates small objects from arenas that belong to one runtime, and each VU has its own runtime. So every
//! VU would hold a half-empty page for each of 31 sizes. mimalloc does the same once per thread (decision 0007). Does
//! not collect garbage.

use std::ffi::c_void;

use libmimalloc_sys as mi;
use rquickjs::allocator::Allocator;

use knee_k6::account::Account;

/// The memory of one runtime.
#[derive(Clone, Debug)]
pub struct Allowance {
    account: Account,
}

impl Allowance {
    /// Memory for a runtime that shares this account with everything else that its VU holds.
    pub const fn new(account: Account) -> Self {
        Self { account }
    }

    fn took(&self, pointer: *mut c_void) -> *mut u8 {
        self.account.take(size_of_block(pointer));
        pointer.cast()
    }

    fn gave_back(&self, pointer: *mut c_void) {
        self.account.give_back(size_of_block(pointer));
    }
}

/// Bytes of a block; 0 for null.
fn size_of_block(pointer: *mut c_void) -> usize {
    // SAFETY: `pointer` is null or came from one of the functions below and was not given back.
    #[allow(unsafe_code, reason = "mimalloc is C")]
    unsafe {
        mi::mi_usable_size(pointer)
    }
}

// SAFETY: mimalloc's functions keep the promises of C's of the same names, which are those that the
// trait asks for: null or at least `size` bytes, aligned to 16 (8 for sizes up to 8). What is refused is null.
#[allow(unsafe_code, reason = "QuickJS takes its memory through this trait, which is unsafe")]
unsafe impl Allocator for Allowance {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.account.grants(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: any size can be asked for.
        self.took(unsafe { mi::mi_malloc(size) })
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !self.account.grants(count.saturating_mul(size)) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above; an overflow of the product gives null.
        self.took(unsafe { mi::mi_calloc(count, size) })
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        self.gave_back(ptr.cast());
        // SAFETY: the caller hands in what one of these functions gave.
        unsafe { mi::mi_free(ptr.cast()) };
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        let old = size_of_block(ptr.cast());
        if !self.account.grants(new_size.saturating_sub(old)) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above, or null, which mimalloc takes as C's realloc does.
        let new = unsafe { mi::mi_realloc(ptr.cast(), new_size) };
        if !new.is_null() {
            self.account.give_back(old);
        }
        self.took(new)
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        size_of_block(ptr.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_refused_and_telling_so_is_not() {
        let mut memory = Allowance::new(Account::new(10_000));
        let first = memory.alloc(8_000);
        assert!(!first.is_null());
        assert!(memory.alloc(4_000).is_null());
        let words = memory.alloc(4_000);
        assert!(!words.is_null());
        assert!(memory.calloc(1_000, 100).is_null());
        // SAFETY: both came from `memory` and are given back once.
        #[allow(unsafe_code, reason = "as the trait has it")]
        unsafe {
            memory.dealloc(words);
            memory.dealloc(first);
        }
        assert_eq!(memory.account.used(), 0);
        assert!(memory.alloc(12_000).is_null());
    }

    #[test]
    fn growing_counts_only_what_is_new() {
        let mut memory = Allowance::new(Account::new(100_000));
        let block = memory.alloc(40_000);
        // SAFETY: the block came from `memory`; after growing, only the new one is used.
        #[allow(unsafe_code, reason = "as the trait has it")]
        unsafe {
            let grown = memory.realloc(block, 80_000);
            assert!(!grown.is_null());
            assert!((80_000..100_000).contains(&memory.account.used()));
            memory.dealloc(grown);
        }
        assert_eq!(memory.account.used(), 0);
    }
}
