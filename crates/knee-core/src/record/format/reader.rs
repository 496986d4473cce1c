//! Bytes to record, one frame at a time.
//!
//! Trusts nothing: limits lengths, compares checksums, checks contents by their types. Does not repair, but goes on
//! behind a damaged frame if it finds the next one.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::de::DeserializeOwned;

use super::error::ReadError;
use super::frames::{Frames, Step};
use super::msgpack::{DECODED_BYTES_MAX, Values};
use super::stored::StoredInterval;
use super::unfit::Unfit;
use super::window::Window;
use super::{FRAME_BYTES_MAX, Frame, MAGIC, VERSION, kind};
use crate::amendment::Amendment;
use crate::record::Head;

/// Largest zstd window that a payload can ask for, as log2 of bytes. Writers use 2 MiB at the most.
const WINDOW_LOG_MAX: u32 = 23;

/// State of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// More frames can follow.
    Open,
    /// The tail was read; nothing must follow it.
    Tail,
    /// The journal has ended; nothing more is read.
    Ended,
}

/// Frames of one kind or one layout that this version does not know, which were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The kind, as written.
    pub kind: u8,
    /// How many.
    pub frames: u64,
    /// What they hold, if the kind is reserved.
    pub what: Option<&'static str>,
}

/// Reads one record, frame after frame. Needs the memory of two frames: one packed, one unpacked.
pub struct Reader<R: Read> {
    frames: Frames<R>,
    version: u32,
    head: Head,
    state: State,
    /// Whether the tail was read and all before it was as it was written.
    complete: bool,
    /// Length of the last payload that was unpacked.
    content_bytes: usize,
    /// How many frames were passed over, by kind.
    skipped: BTreeMap<u8, u64>,
}

impl<R: Read> Reader<R> {
    /// Reads the first bytes and the head.
    ///
    /// # Errors
    /// Any [`ReadError`].
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut window = Window::new(source);
        let version = read_start(&mut window)?;
        let mut frames = Frames::new(window);
        match frames.next()? {
            Step::Frame(kind::HEAD) => {}
            Step::Frame(_) => return Err(ReadError::Damaged { offset: frames.start() }),
            Step::Damaged(offset) => return Err(ReadError::Damaged { offset }),
            Step::End => return Err(ReadError::NoHead),
        }
        let content = unpacked(&frames, DECODED_BYTES_MAX)?;
        let unfit = |unfit| ReadError::of(unfit, frames.start(), DECODED_BYTES_MAX);
        let head = Values::new(&content).decode().map_err(unfit)?;
        let (state, content_bytes) = (State::Open, content.len());
        Ok(Self { frames, version, head, state, complete: true, content_bytes, skipped: BTreeMap::new() })
    }

    /// What was known before the first request.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The next frame of a known kind; `None` at the end of the journal.
    ///
    /// # Errors
    /// `Damaged` and `Content` for bytes that are no frame, or none that can be understood. They were passed over, and
    /// reading can go on: the next call returns what is behind them. After `Io`, `Memory` and `Later` nothing more is
    /// read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        let result = match self.state {
            State::Open => self.read_known(),
            State::Tail => self.read_leftover(),
            State::Ended => return Ok(None),
        };
        self.complete &= result.is_ok();
        if matches!(
            result,
            Ok(None) | Err(ReadError::Io(_) | ReadError::Memory { .. } | ReadError::Later { .. })
        ) {
            self.state = State::Ended;
        }
        result
    }

    /// Whether the tail was read, nothing follows it, and nothing before it is damaged. Before the end: false.
    pub fn is_complete(&self) -> bool {
        self.state == State::Ended && self.complete
    }

    /// How far whole frames were read.
    pub const fn offset(&self) -> u64 {
        self.frames.end()
    }

    /// The frames of kinds that this version does not know, until here, by kind.
    pub fn skipped(&self) -> impl Iterator<Item = Skipped> {
        let of = |(kind, frames): (&u8, &u64)| Skipped {
            kind: *kind,
            frames: *frames,
            what: kind::reserved(*kind),
        };
        self.skipped.iter().map(of)
    }

    /// How many bytes the content of the last frame takes, unpacked.
    pub const fn content_bytes(&self) -> usize {
        self.content_bytes
    }

    fn read_known(&mut self) -> Result<Option<Frame>, ReadError> {
        loop {
            let kind = match self.frames.next()? {
                Step::Frame(kind) => kind,
                Step::Damaged(offset) => return Err(ReadError::Damaged { offset }),
                Step::End => {
                    self.complete = false;
                    return Ok(None);
                }
            };
            match kind {
                kind::INTERVAL => return self.read_interval().map(Some),
                kind::SUMMED if self.version > 1 => return Ok(Some(Frame::Summed(self.content()?))),
                kind::AMENDMENT if self.version > 1 => return self.read_amendment().map(Some),
                kind::NOTE => return Ok(Some(Frame::Note(self.content()?))),
                // They only add something: those of another layout are passed over like an unknown kind.
                kind::OBSERVATIONS => {
                    if let Some(batch) = self.optional(kind)? {
                        return Ok(Some(Frame::Observations(batch)));
                    }
                }
                kind::METRICS => {
                    if let Some(metrics) = self.optional(kind)? {
                        return Ok(Some(Frame::Metrics(metrics)));
                    }
                }
                kind::LATENESS => {
                    if let Some(lateness) = self.optional(kind)? {
                        return Ok(Some(Frame::Lateness(*lateness)));
                    }
                }
                kind::CONTRIBUTION => {
                    if let Some(contribution) = self.optional(kind)? {
                        return Ok(Some(Frame::Contribution(contribution)));
                    }
                }
                kind::TAIL => {
                    let tail = self.content()?;
                    self.state = State::Tail;
                    return Ok(Some(Frame::Tail(tail)));
                }
                kind::HEAD => {
                    // A second head: two records in one file. What follows is of another run.
                    self.state = State::Ended;
                    return Err(ReadError::Damaged { offset: self.frames.start() });
                }
                kind if self.version > 1 && kind >= kind::REQUIRED => {
                    let what = format!("frames of kind {kind}, on which others depend");
                    return Err(ReadError::Later { offset: self.frames.start(), what });
                }
                // A kind of a later program that only adds something.
                kind => *self.skipped.entry(kind).or_default() += 1,
            }
        }
    }

    fn read_amendment(&mut self) -> Result<Frame, ReadError> {
        let amendment: Amendment = self.content()?;
        if !amendment.is_sound() {
            let unfit = Unfit::content("a change of the plan with a rate that is none");
            return Err(ReadError::of(unfit, self.frames.start(), DECODED_BYTES_MAX));
        }
        Ok(Frame::Amendment(amendment))
    }

    /// The content of a frame without which the record can be read; `None`, and counted, if it cannot be understood.
    fn optional<T: DeserializeOwned>(&mut self, kind: u8) -> Result<Option<Box<T>>, ReadError> {
        match self.content() {
            Ok(content) => Ok(Some(Box::new(content))),
            Err(ReadError::Content { .. } | ReadError::Memory { .. }) => {
                *self.skipped.entry(kind).or_default() += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn read_interval(&self) -> Result<Frame, ReadError> {
        let interval = StoredInterval::parse(unpacked(&self.frames, FRAME_BYTES_MAX)?);
        let unfit = |unfit| ReadError::of(unfit, self.frames.start(), FRAME_BYTES_MAX);
        Ok(Frame::Interval(Box::new(interval.map_err(unfit)?)))
    }

    /// Behind the tail nothing but zeros is expected.
    fn read_leftover(&mut self) -> Result<Option<Frame>, ReadError> {
        self.state = State::Ended;
        match self.frames.leftover()? {
            Some(offset) => Err(ReadError::Damaged { offset }),
            None => Ok(None),
        }
    }

    fn content<T: DeserializeOwned>(&mut self) -> Result<T, ReadError> {
        let content = unpacked(&self.frames, DECODED_BYTES_MAX)?;
        self.content_bytes = content.len();
        let unfit = |unfit| ReadError::of(unfit, self.frames.start(), DECODED_BYTES_MAX);
        Values::new(&content).decode().map_err(unfit)
    }
}

/// Checks magic and version; returns the version.
fn read_start(window: &mut Window<impl Read>) -> Result<u32, ReadError> {
    let start = window.peek(MAGIC.len() + 4)?;
    let (magic, version) = start.split_at(start.len().min(MAGIC.len()));
    if magic.is_empty() || !MAGIC.starts_with(magic) {
        return Err(ReadError::NotARecord);
    }
    let Ok(version) = version.try_into().map(u32::from_le_bytes) else { return Err(ReadError::NoHead) };
    if !(1..=VERSION).contains(&version) {
        return Err(ReadError::Version(version));
    }
    window.pass(MAGIC.len() + 4);
    Ok(version)
}

/// The content of the last frame, at most `limit` bytes.
fn unpacked(frames: &Frames<impl Read>, limit: usize) -> Result<Vec<u8>, ReadError> {
    unpack(frames.payload(), limit).map_err(|unfit| ReadError::of(unfit, frames.start(), limit))
}

/// Unpacks a payload, to at most `limit` bytes.
fn unpack(payload: &[u8], limit: usize) -> Result<Vec<u8>, Unfit> {
    let unpacked = zstd::Decoder::with_buffer(payload).and_then(|mut decoder| {
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        read_at_most(&mut decoder, limit + 1)
    });
    match unpacked {
        Err(error) => Err(Unfit::Content(error.to_string())),
        Ok(bytes) if bytes.len() > limit => {
            Err(Unfit::memory(format!("a frame has more than {limit} bytes after decompression")))
        }
        Ok(bytes) => Ok(bytes),
    }
}

/// Reads up to `limit` bytes. Memory grows with what arrives and never beyond the limit.
fn read_at_most(source: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    const FIRST: usize = 16 << 10;
    let mut bytes = Vec::new();
    loop {
        let filled = bytes.len();
        let room = limit.min(FIRST.max(2 * filled));
        bytes.reserve_exact(room - filled);
        Read::by_ref(source).take((room - filled) as u64).read_to_end(&mut bytes)?;
        if bytes.len() < room || room == limit {
            return Ok(bytes);
        }
    }
}
