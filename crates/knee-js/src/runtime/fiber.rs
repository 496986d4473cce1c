//! A separate stack, for code that is written in blocking style.
//!
//! The code on the fiber makes a request by [`Link::pause`] and continues when its owner passes the result to
//! [`Fiber::resume`]. Does not know the requests.

use std::cell::Cell;
use std::io;
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::stack::{GuardedStack, StackRange};

/// A stack with code on it; `In` goes in, `Out` comes out.
pub struct Fiber<In: 'static, Out: 'static> {
    coroutine: Coroutine<In, Out, (), GuardedStack>,
    link: Link<In, Out>,
}

/// Connects the code on a fiber with the fiber's owner. Clones reach the same one.
pub struct Link<In, Out> {
    yielder: Rc<Lent<In, Out>>,
    stack: StackRange,
}

/// The yielder while corosensei lends it.
type Lent<In, Out> = Cell<Option<NonNull<Yielder<In, Out>>>>;

impl<In, Out> Clone for Link<In, Out> {
    fn clone(&self) -> Self {
        Self { yielder: self.yielder.clone(), stack: self.stack }
    }
}

impl<In: 'static, Out: 'static> Fiber<In, Out> {
    /// A fiber that will run `body` on a stack of `bytes`, which cost memory as they are touched.
    pub fn new(bytes: usize, body: impl FnOnce(Link<In, Out>, In) + 'static) -> io::Result<Self> {
        let stack = GuardedStack::new(bytes)?;
        let link = Link { yielder: Rc::new(Cell::new(None)), stack: stack.range() };
        let inner = link.clone();
        let coroutine = Coroutine::with_stack(stack, move |yielder, first| {
            inner.yielder.set(Some(NonNull::from(yielder)));
            body(inner.clone(), first);
        });
        Ok(Self { coroutine, link })
    }

    /// Runs the fiber until its next request; `None` when it has ended.
    pub fn resume(&mut self, input: In) -> Option<Out> {
        if self.coroutine.done() {
            return None;
        }
        match self.coroutine.resume(input) {
            CoroutineResult::Yield(output) => Some(output),
            CoroutineResult::Return(()) => {
                self.link.yielder.set(None);
                None
            }
        }
    }
}

impl<In, Out> Link<In, Out> {
    /// The stack of the code on the fiber.
    pub fn stack(&self) -> StackRange {
        self.stack
    }

    /// Hands `output` to the owner and waits for what it brings. `None` where there is no owner
    /// to ask: outside of the fiber's own stack.
    pub fn pause(&self, output: Out) -> Option<In> {
        let yielder = self.yielder.take()?;
        // SAFETY: the pointer is set only by code that runs on the fiber (below, and at its start)
        // and is taken for as long as the fiber is paused, so that code that finds it is running on
        // the fiber's stack, above the frame to which corosensei lent the yielder. `Rc` keeps all
        // clones on one thread. When the fiber has ended, its owner has cleared the pointer.
        #[allow(
            unsafe_code,
            reason = "corosensei lends its yielder to one frame; calls from JavaScript need it deeper"
        )]
        let input = unsafe { yielder.as_ref() }.suspend(output);
        self.yielder.set(Some(yielder));
        Some(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_comes_back_to_the_place_that_asked() {
        let mut fiber = Fiber::<u32, u32>::new(64 * 1024, |link, first| {
            let second = link.pause(first + 1).unwrap();
            link.pause(second * 10).unwrap();
        })
        .unwrap();
        assert_eq!(fiber.resume(1), Some(2));
        assert_eq!(fiber.resume(5), Some(50));
        assert_eq!(fiber.resume(0), None);
        assert_eq!(fiber.resume(0), None);
    }

    #[test]
    fn a_link_that_escaped_reaches_no_owner() {
        let escaped = Rc::new(Cell::new(None));
        let inner = escaped.clone();
        let mut fiber = Fiber::<(), ()>::new(64 * 1024, move |link, ()| {
            inner.set(Some(link.clone()));
            link.pause(());
        })
        .unwrap();
        fiber.resume(());
        let link = escaped.take().unwrap();
        assert!(link.pause(()).is_none());
        fiber.resume(());
        assert!(link.pause(()).is_none());
    }
}
