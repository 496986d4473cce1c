//! What a VU's memory is made of. How much it is, `cargo xtask bench --only script` measures.

use std::cell::Cell;
use std::rc::Rc;

use knee_js::runtime::memory::Allowance;
use rquickjs::allocator::Allocator;
use rquickjs::{Context, Runtime};

use knee_k6::account::Account;

/// Counts the blocks that QuickJS takes.
struct Counted {
    memory: Allowance,
    blocks: Rc<Cell<usize>>,
}

// SAFETY: all blocks are those of `memory`.
#[allow(unsafe_code, reason = "QuickJS takes its memory through this trait, which is unsafe")]
unsafe impl Allocator for Counted {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.blocks.set(self.blocks.get() + 1);
        self.memory.alloc(size)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        self.blocks.set(self.blocks.get() + 1);
        self.memory.calloc(count, size)
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the caller hands in a block of `memory`.
        unsafe { self.memory.dealloc(ptr) }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.memory.realloc(ptr, new_size) }
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: as above.
        unsafe { Allowance::usable_size(ptr) }
    }
}

#[test]
fn each_object_of_a_vu_is_a_block_of_the_threads_allocator_and_no_part_of_a_page_of_its_own() {
    let blocks = Rc::new(Cell::new(0));
    let memory = Counted { memory: Allowance::new(Account::default()), blocks: blocks.clone() };
    let runtime = Runtime::new_with_alloc(memory).unwrap();
    let context = Context::full(&runtime).unwrap();
    let before = blocks.get();
    context
        .with(|ctx| ctx.eval::<(), _>("globalThis.kept = Array.from({length: 1000}, () => ({}))").unwrap());
    // With its arenas QuickJS asks for some twenty pages instead.
    assert!(blocks.get() - before >= 1_000, "{} blocks for 1000 objects", blocks.get() - before);
}
