//! One connection of the simulated network, as TCP does it: bytes arrive in order and in any pieces, a full window makes
//! the sender wait, and an end that goes with bytes unread resets the other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use knee_core::unit::Nanos;
use knee_engine::timer::Timer;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Conditions;
use crate::world::SimTimer;

/// The bytes in one direction.
#[derive(Default)]
struct Direction {
    /// Pieces, each with the time at which it arrives.
    pieces: VecDeque<(Nanos, VecDeque<u8>)>,
    waiting: usize,
    last_arrival: Nanos,
    /// When the end of the stream, or a reset, arrives.
    ends: Option<Nanos>,
    resets: Option<Nanos>,
    /// Whether the end that reads is gone.
    is_unread: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Direction {
    /// When the reader next learns something.
    fn next_news(&self) -> Option<Nanos> {
        let piece = self.pieces.front().map(|(arrival, _)| *arrival);
        piece.into_iter().chain(self.ends).chain(self.resets).min()
    }

    fn wake_reader(&mut self, timer: &SimTimer) {
        if let Some(at) = self.next_news()
            && let Some(waker) = self.reader.take()
        {
            timer.wake_at(at, waker);
        }
    }

    fn reset_at(&mut self, at: Nanos, timer: &SimTimer) {
        self.resets = Some(self.resets.map_or(at, |known| known.min(at)));
        self.wake_reader(timer);
        // An end that waits to write learns it at the same time.
        if let Some(waker) = self.writer.take() {
            timer.wake_at(at, waker);
        }
    }
}

/// One end of a connection.
pub struct End {
    reads: Rc<RefCell<Direction>>,
    writes: Rc<RefCell<Direction>>,
    conditions: Rc<Conditions>,
    timer: SimTimer,
    random: SmallRng,
    /// Bytes written and read.
    written: Rc<Cell<u64>>,
    read: Rc<Cell<u64>>,
    is_shut: bool,
}

/// The two ends of a connection.
pub fn pair(timer: &SimTimer, conditions: &Rc<Conditions>, seed: u64) -> (End, End) {
    let (there, back) = <(Rc<RefCell<Direction>>, Rc<RefCell<Direction>>)>::default();
    let end = |reads: &Rc<RefCell<Direction>>, writes: &Rc<RefCell<Direction>>, seed| End {
        reads: reads.clone(),
        writes: writes.clone(),
        conditions: conditions.clone(),
        timer: timer.clone(),
        random: SmallRng::seed_from_u64(seed),
        written: Rc::default(),
        read: Rc::default(),
        is_shut: false,
    };
    (end(&back, &there, seed), end(&there, &back, !seed))
}

impl End {
    /// The same with counters of its bytes.
    pub fn counting(mut self, written: Rc<Cell<u64>>, read: Rc<Cell<u64>>) -> Self {
        (self.written, self.read) = (written, read);
        self
    }

    /// Ends the connection at once, whatever was still on its way.
    pub fn reset(self) {
        let at = self.timer.now() + self.conditions.one_way;
        self.writes.borrow_mut().reset_at(at, &self.timer);
    }

    fn is_reset(&self) -> bool {
        self.reads.borrow().resets.is_some_and(|at| at <= self.timer.now())
    }

    fn arrival(&mut self) -> Nanos {
        let jitter = Nanos(self.random.random_range(0..=self.conditions.jitter.0));
        let arrival = self.timer.now() + self.conditions.one_way + jitter;
        let last = &mut self.writes.borrow_mut().last_arrival;
        *last = arrival.max(*last);
        *last
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let now = this.timer.now();
        let is_reset = this.is_reset();
        let reads = &mut *this.reads.borrow_mut();
        if is_reset && this.conditions.reset_discards {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if let Some((_, piece)) = reads.pieces.front_mut().filter(|(arrival, _)| *arrival <= now) {
            let most = piece.len().min(into.remaining());
            let count = this.random.random_range(1..=most);
            piece.drain(..count).for_each(|byte| into.put_slice(&[byte]));
            if piece.is_empty() {
                reads.pieces.pop_front();
            }
            reads.waiting -= count;
            this.read.set(this.read.get() + count as u64);
            if let Some(waker) = reads.writer.take() {
                waker.wake();
            }
            return Poll::Ready(Ok(()));
        }
        if is_reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if reads.pieces.is_empty() && reads.ends.is_some_and(|at| at <= now) {
            return Poll::Ready(Ok(()));
        }
        reads.reader = Some(ctx.waker().clone());
        reads.wake_reader(&this.timer);
        Poll::Pending
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.is_reset() || this.is_shut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = this.conditions.window.saturating_sub(this.writes.borrow().waiting);
        if room == 0 {
            this.writes.borrow_mut().writer = Some(ctx.waker().clone());
            return Poll::Pending;
        }
        let most = bytes.len().min(room).min(this.conditions.piece_max);
        let count = this.random.random_range(most.min(1)..=most);
        let arrival = this.arrival();
        this.written.set(this.written.get() + count as u64);
        if this.writes.borrow().is_unread {
            let answer = arrival + this.conditions.one_way;
            this.reads.borrow_mut().reset_at(answer, &this.timer);
            return Poll::Ready(Ok(count));
        }
        let writes = &mut *this.writes.borrow_mut();
        writes.pieces.push_back((arrival, bytes[..count].iter().copied().collect()));
        writes.waiting += count;
        writes.wake_reader(&this.timer);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_shut {
            this.is_shut = true;
            let arrival = this.arrival();
            let writes = &mut *this.writes.borrow_mut();
            writes.ends = Some(arrival);
            writes.wake_reader(&this.timer);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let arrival = if self.is_shut { None } else { Some(self.arrival()) };
        let (reads, writes) = (&mut *self.reads.borrow_mut(), &mut *self.writes.borrow_mut());
        reads.is_unread = true;
        if let Some(waker) = reads.writer.take() {
            waker.wake();
        }
        if let Some((first, _)) = reads.pieces.front() {
            // What was not read, or arrives later, is answered with a reset.
            let at = self.timer.now().max(*first) + self.conditions.one_way;
            writes.reset_at(at, &self.timer);
        }
        if let Some(arrival) = arrival {
            writes.ends = Some(arrival);
            writes.wake_reader(&self.timer);
        }
        // Bytes that are not read any more take no room.
        (reads.waiting, reads.pieces) = (0, VecDeque::new());
    }
}
