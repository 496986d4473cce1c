//! The memory of a stack, with a guard below it.
//!
//! Linux limits the number of mappings of a process (`vm.max_map_count`, 65,530 by default). A guard that is a mapping
//! of its own would cost each VU two of them, and end a run at about 32,000 VUs. Since Linux 6.13 a part of a mapping
//! can be a guard, so that the stacks of all VUs are one mapping. Elsewhere the guard is a mapping. Does not run code.

use std::io;
use std::num::NonZeroUsize;
use std::ptr;

use corosensei::stack::valgrind::ValgrindStackRegistration;
use corosensei::stack::{MIN_STACK_SIZE, Stack, StackPointer};
use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_NONE, PROT_READ, PROT_WRITE, c_void};

/// Makes a part of a mapping a guard; from Linux 6.13 on. Not in all versions of libc's headers.
const MADV_GUARD_INSTALL: libc::c_int = 102;
/// Part below the caller's frame that can be in use.
const IN_USE: usize = 1 << 10;

/// A stack.
pub struct GuardedStack {
    /// The lowest address, that of the guard.
    start: NonZeroUsize,
    /// Bytes, guard included.
    length: usize,
    /// Tells valgrind that jumps to this stack are no mistakes.
    _registration: ValgrindStackRegistration,
}

impl GuardedStack {
    /// A stack of at least so many bytes, which cost memory as they are touched.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let page = page_size();
        let length = bytes.max(MIN_STACK_SIZE).next_multiple_of(page) + page;
        // SAFETY: asks for new memory at any address. The range that is registered is that memory, and nothing lies in
        // it yet.
        #[allow(unsafe_code, reason = "the standard library has no stacks for coroutines")]
        unsafe {
            let flags = MAP_ANONYMOUS | MAP_PRIVATE;
            let start = libc::mmap(ptr::null_mut(), length, PROT_READ | PROT_WRITE, flags, -1, 0);
            let known = NonZeroUsize::new(start as usize).filter(|_| start != MAP_FAILED);
            let Some(known) = known else { return Err(io::Error::last_os_error()) };
            let registration = ValgrindStackRegistration::new(start.cast(), length);
            // Dropped, and so unmapped, if there is no guard.
            let stack = Self { start: known, length, _registration: registration };
            // A large page would be a hundred times what a stack needs. Not known to all systems.
            #[cfg(target_os = "linux")]
            libc::madvise(start, length, libc::MADV_NOHUGEPAGE);
            stack.guard(page)?;
            Ok(stack)
        }
    }

    /// Makes the lowest page a guard.
    fn guard(&self, page: usize) -> io::Result<()> {
        let start = self.start.get() as *mut c_void;
        // SAFETY: the page is the lowest of the mapping, which belongs to this stack, and nothing lies in it.
        #[allow(unsafe_code, reason = "as above")]
        unsafe {
            if cfg!(target_os = "linux") && libc::madvise(start, page, MADV_GUARD_INSTALL) == 0 {
                return Ok(());
            }
            match libc::mprotect(start, page, PROT_NONE) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Where the stack is.
    pub fn range(&self) -> StackRange {
        StackRange { start: self.start.get(), end: self.start.get() + self.length }
    }
}

// SAFETY: both addresses are those of the mapping, which is aligned to pages and lives as long as this value. Its lowest
// page is a guard, and the rest is at least as large as the smallest stack.
#[allow(unsafe_code, reason = "corosensei asks for this promise")]
unsafe impl Stack for GuardedStack {
    fn base(&self) -> StackPointer {
        // The addition cannot overflow: the kernel gave the range.
        self.start.saturating_add(self.length)
    }

    fn limit(&self) -> StackPointer {
        self.start
    }
}

impl Drop for GuardedStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `new`, and corosensei drops a stack when no code on it can run any more.
        #[allow(unsafe_code, reason = "as above")]
        unsafe {
            libc::munmap(self.start.get() as *mut c_void, self.length);
        }
    }
}

/// Addresses of a stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackRange {
    /// The guard.
    start: usize,
    /// Behind the first frame.
    end: usize,
}

impl StackRange {
    /// Gives the memory below the caller's frame back to the system, if the caller runs on this stack: loading a script
    /// takes more than calling its functions.
    #[inline(never)]
    pub fn release_unused(self) {
        let local = 0_u8;
        let (page, here) = (page_size(), ptr::from_ref(&local) as usize);
        if !(self.start..self.end).contains(&here) {
            return;
        }
        let (from, to) = (self.start + page, here.saturating_sub(IN_USE) / page * page);
        if from >= to {
            return;
        }
        // SAFETY: the range lies in this stack, above its guard and below the frame of this function and what the system
        // call can use of the stack. What lies there belongs to calls that have returned; it reads as zeros from now on.
        #[allow(unsafe_code, reason = "as above")]
        unsafe {
            libc::madvise(from as *mut c_void, to - from, libc::MADV_DONTNEED);
        }
    }
}

fn page_size() -> usize {
    // SAFETY: asks for a constant.
    #[allow(unsafe_code, reason = "as above")]
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Every system has it; 4 KiB are the smallest that are in use.
    usize::try_from(size).unwrap_or(4 << 10)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::super::fiber::Fiber;
    use super::*;

    /// Touches so many bytes of the stack, which is then deeper by that much.
    #[inline(never)]
    fn touch(bytes: usize) -> usize {
        let block = std::hint::black_box([1_u8; 1 << 10]);
        if bytes > block.len() { touch(bytes - block.len()) + usize::from(block[7]) } else { 0 }
    }

    /// Bytes of a range that are in memory.
    fn resident(range: StackRange) -> usize {
        let page = page_size();
        let mut pages = vec![0_u8; (range.end - range.start) / page];
        // SAFETY: there is a byte for each page of the range.
        #[allow(unsafe_code, reason = "a test asks the kernel")]
        let asked = unsafe {
            libc::mincore(range.start as *mut c_void, range.end - range.start, pages.as_mut_ptr().cast())
        };
        assert_eq!(asked, 0);
        pages.iter().filter(|byte| **byte & 1 == 1).count() * page
    }

    #[test]
    fn what_a_call_has_used_is_given_back_and_what_is_in_use_stays() {
        let seen = Rc::new(Cell::new((0, 0)));
        let inner = seen.clone();
        let mut fiber = Fiber::<(), ()>::new(4 << 20, move |link, ()| {
            let kept = std::hint::black_box([7_u8; 5_000]);
            touch(300 << 10);
            let before = resident(link.stack());
            link.stack().release_unused();
            inner.set((before, resident(link.stack())));
            assert!(kept.iter().all(|byte| *byte == 7));
            touch(300 << 10);
            link.pause(());
        })
        .unwrap();
        fiber.resume(());
        let (before, after) = seen.get();
        assert!(before >= 300 << 10 && (5_000..40 << 10).contains(&after), "{before} {after}");
    }

    #[test]
    fn the_page_below_a_stack_cannot_be_used() {
        use std::os::fd::AsRawFd as _;

        let stack = GuardedStack::new(64 << 10).unwrap();
        let (_reader, writer) = io::pipe().unwrap();
        // SAFETY: the kernel checks the address, which is what is tested.
        #[allow(unsafe_code, reason = "a test asks the kernel")]
        let written = |at: usize| unsafe { libc::write(writer.as_raw_fd(), at as *const c_void, 1) };
        let StackRange { start, end } = stack.range();
        assert_eq!([written(start), written(start + page_size() - 1)], [-1, -1]);
        assert_eq!([written(start + page_size()), written(end - 1)], [1, 1]);
    }

    #[test]
    fn stacks_beyond_the_limit_of_mappings_fit_where_guards_are_no_mappings() {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        let Some(limit) = limit.ok().and_then(|limit| limit.trim().parse::<usize>().ok()) else { return };
        let mappings = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
        let before = mappings();
        let stacks: Vec<GuardedStack> = (0..1_000).map(|_| GuardedStack::new(64 << 10).unwrap()).collect();
        // Tests beside this one can give mappings back.
        let added = mappings().saturating_sub(before);
        // Older kernels need two for each, which is why they end earlier.
        assert!(
            added < 100 || added >= 1_000 && added < limit,
            "{added} mappings for {} stacks",
            stacks.len()
        );
    }
}
