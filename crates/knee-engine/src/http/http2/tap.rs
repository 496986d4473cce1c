//! Reads the heads of frames on their way through a channel, and notes the moments of each stream.
//!
//! Changes nothing, and judges nothing: frames that are wrong are the library's matter. Knows only streams that were
//! asked for.

use knee_core::unit::Nanos;

/// What a client sends first (RFC 9113, 3.4).
const PREFACE: u64 = 24;
/// Bytes of the head of a frame (RFC 9113, 4.1).
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;

/// When the bytes of a stream went through the channel, and how many they were. A moment is zero until it happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// The first byte of the request was handed to the kernel.
    pub sent: Nanos,
    /// The last one was.
    pub sent_all: Nanos,
    /// The first byte of the response was read.
    pub first_byte: Nanos,
    /// The last one was.
    pub done: Nanos,
    /// Bytes of the request's frames.
    pub bytes_sent: u64,
    /// Bytes of the response's frames.
    pub bytes_received: u64,
}

/// The frames of one direction, cut out of a stream of bytes.
#[derive(Debug)]
struct Cutter {
    head: [u8; HEAD],
    /// Bytes of the head that are there.
    have: usize,
    /// Bytes until the next head.
    left: u64,
    frame: Frame,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    length: u64,
}

impl Frame {
    /// Whether it belongs to a message.
    const fn is_part(self) -> bool {
        matches!(self.kind, DATA | HEADERS | CONTINUATION)
    }

    /// Whether it is the last one of its direction; one that continues it can follow.
    const fn is_last(self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

/// A part of a frame that went through the channel.
enum Passed {
    /// Its head.
    Head(Frame),
    /// Some bytes of its payload.
    Payload(Frame, u64),
    /// Its last byte.
    End(Frame),
}

impl Cutter {
    const fn new(skipped: u64) -> Self {
        let frame = Frame { kind: 0, flags: 0, stream: 0, length: 0 };
        Self { head: [0; HEAD], have: 0, left: skipped, frame }
    }

    fn feed(&mut self, mut bytes: &[u8], mut note: impl FnMut(Passed)) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len() as u64);
                self.left -= skipped;
                note(Passed::Payload(self.frame, skipped));
                bytes = &bytes[skipped as usize..];
                if self.left == 0 {
                    note(Passed::End(std::mem::take(&mut self.frame)));
                }
                continue;
            }
            let taken = bytes.len().min(HEAD - self.have);
            self.head[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have == HEAD {
                self.have = 0;
                self.frame = frame_of(&self.head);
                self.left = self.frame.length;
                note(Passed::Head(self.frame));
                if self.left == 0 {
                    note(Passed::End(std::mem::take(&mut self.frame)));
                }
            }
        }
    }
}

fn frame_of(head: &[u8; HEAD]) -> Frame {
    let length = u64::from(head[0]) << 16 | u64::from(head[1]) << 8 | u64::from(head[2]);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7FFF_FFFF;
    Frame { kind: head[3], flags: head[4], stream, length }
}

/// The moments of the streams of one connection.
#[derive(Debug)]
pub struct Tap {
    outgoing: Cutter,
    incoming: Cutter,
    /// A handful at a time, in the order in which they were asked for.
    streams: Vec<(u32, Moments)>,
}

impl Tap {
    /// Of a new connection.
    pub const fn new() -> Self {
        Self { outgoing: Cutter::new(PREFACE), incoming: Cutter::new(0), streams: Vec::new() }
    }

    /// Asks for the moments of a stream.
    pub fn ask(&mut self, stream: u32) {
        self.streams.push((stream, Moments::default()));
    }

    /// The moments of a stream so far.
    pub fn moments(&self, stream: u32) -> Moments {
        self.streams
            .iter()
            .find(|(known, _)| *known == stream)
            .map(|(_, moments)| *moments)
            .unwrap_or_default()
    }

    /// The same, which are not needed any more.
    pub fn take(&mut self, stream: u32) -> Moments {
        let place = self.streams.iter().position(|(known, _)| *known == stream);
        place.map(|place| self.streams.swap_remove(place).1).unwrap_or_default()
    }

    /// Bytes were handed to the kernel, from `begun` to `done`.
    pub fn sent(&mut self, bytes: &[u8], begun: Nanos, done: Nanos) {
        let Self { outgoing, streams, .. } = self;
        outgoing.feed(bytes, |passed| match passed {
            Passed::Head(frame) if frame.is_part() => {
                if let Some(moments) = of(streams, frame.stream) {
                    moments.bytes_sent += HEAD as u64;
                    if moments.sent == Nanos::ZERO {
                        moments.sent = begun;
                    }
                }
            }
            Passed::Payload(frame, count) if frame.is_part() => {
                if let Some(moments) = of(streams, frame.stream) {
                    moments.bytes_sent += count;
                }
            }
            Passed::End(frame) if frame.is_last() => {
                if let Some(moments) = of(streams, frame.stream) {
                    moments.sent_all = done;
                }
            }
            Passed::Head(_) | Passed::Payload(..) | Passed::End(_) => {}
        });
    }

    /// Bytes were read at a moment.
    pub fn received(&mut self, bytes: &[u8], at: Nanos) {
        let Self { incoming, streams, .. } = self;
        incoming.feed(bytes, |passed| match passed {
            Passed::Head(frame) if frame.is_part() => {
                if let Some(moments) = of(streams, frame.stream) {
                    moments.bytes_received += HEAD as u64;
                    if moments.first_byte == Nanos::ZERO {
                        moments.first_byte = at;
                    }
                }
            }
            Passed::Payload(frame, count) if frame.is_part() => {
                if let Some(moments) = of(streams, frame.stream) {
                    moments.bytes_received += count;
                }
            }
            Passed::End(frame) if frame.is_last() => {
                if let Some(moments) = of(streams, frame.stream) {
                    moments.done = at;
                }
            }
            Passed::Head(_) | Passed::Payload(..) | Passed::End(_) => {}
        });
    }
}

fn of(streams: &mut [(u32, Moments)], stream: u32) -> Option<&mut Moments> {
    streams.iter_mut().find(|(known, _)| *known == stream).map(|(_, moments)| moments)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, length: usize) -> Vec<u8> {
        let size = (length as u32).to_be_bytes();
        let mut bytes = vec![size[1], size[2], size[3], kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.resize(HEAD + length, 0xAA);
        bytes
    }

    #[test]
    fn a_stream_has_the_moments_of_its_own_frames() {
        let mut tap = Tap::new();
        tap.ask(1);
        tap.ask(3);
        tap.sent(&[b'x'; PREFACE as usize], Nanos(1), Nanos(2));
        tap.sent(&frame(4, 0, 0, 12), Nanos(1), Nanos(2));
        tap.sent(&frame(HEADERS, END_STREAM | 4, 1, 20), Nanos(10), Nanos(11));
        tap.sent(&frame(HEADERS, 4, 3, 20), Nanos(12), Nanos(13));
        tap.sent(&frame(DATA, END_STREAM, 3, 5), Nanos(14), Nanos(15));
        tap.received(&frame(HEADERS, 4, 3, 7), Nanos(20));
        tap.received(&frame(DATA, END_STREAM, 3, 0), Nanos(21));
        tap.received(&frame(HEADERS, 4 | END_STREAM, 1, 7), Nanos(22));
        let first = tap.take(1);
        assert_eq!(
            (first.sent, first.sent_all, first.first_byte, first.done),
            (Nanos(10), Nanos(11), Nanos(22), Nanos(22))
        );
        assert_eq!((first.bytes_sent, first.bytes_received), (29, 16));
        let third = tap.take(3);
        assert_eq!(
            (third.sent, third.sent_all, third.first_byte, third.done),
            (Nanos(12), Nanos(15), Nanos(20), Nanos(21))
        );
        assert_eq!(tap.moments(1), Moments::default(), "it was taken");
    }

    #[test]
    fn of_a_frame_that_is_cut_only_what_was_sent_counts() {
        let mut tap = Tap::new();
        tap.ask(1);
        tap.sent(&[b'x'; PREFACE as usize], Nanos(1), Nanos(2));
        tap.sent(&frame(DATA, END_STREAM, 1, 1_000)[..109], Nanos(3), Nanos(4));
        assert_eq!((tap.moments(1).bytes_sent, tap.moments(1).sent_all), (109, Nanos::ZERO));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_bytes_are_cut(
            lengths in prop::collection::vec(0_usize..40, 1..8),
            cuts in prop::collection::vec(1_usize..30, 1..60),
        ) {
            let frames: Vec<u8> = lengths.iter().enumerate().flat_map(|(index, length)| {
                let last = if index + 1 == lengths.len() { END_STREAM } else { 0 };
                frame(if index == 0 { HEADERS } else { DATA }, last, 1, *length)
            }).collect();
            let mut whole = Tap::new();
            whole.ask(1);
            whole.received(&frames, Nanos(9));
            let mut cut = Tap::new();
            cut.ask(1);
            let mut rest = &frames[..];
            for size in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*size).min(rest.len()));
                cut.received(now, Nanos(9));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(whole.moments(1), cut.moments(1));
            prop_assert_eq!(whole.moments(1).bytes_received, frames.len() as u64);
            prop_assert_eq!(whole.moments(1).done, Nanos(9));
        }
    }
}
