//! Bytes to record, one frame at a time.
//!
//! Trusts nothing: limits lengths, compares checksums, checks contents by their types. Does not repair. The frames
//! before a damaged one are returned before the error.

use std::io::{self, Read};

use serde::de::DeserializeOwned;

use super::error::ReadError;
use super::msgpack::{DECODED_BYTES_MAX, Values};
use super::stored::StoredInterval;
use super::unfit::Unfit;
use super::{FRAME_BYTES_MAX, Frame, MAGIC, VERSION, kind};
use crate::record::Head;

/// Largest zstd window that a payload can ask for, as log2 of bytes. Writers use 2 MiB at the most.
const WINDOW_LOG_MAX: u32 = 23;

/// State of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// More frames can follow.
    Open,
    /// The tail was read, and nothing follows it.
    Complete,
    /// The bytes ended without a tail.
    Truncated,
    /// An error was returned; nothing more is read.
    Failed,
}

/// Reads one record, frame after frame. Needs the memory of two frames: one packed, one unpacked.
pub struct Reader<R: Read> {
    frames: Frames<R>,
    head: Head,
    state: State,
}

impl<R: Read> Reader<R> {
    /// Reads the first bytes and the head. The source should be buffered.
    ///
    /// # Errors
    /// Any [`ReadError`].
    pub fn new(mut source: R) -> Result<Self, ReadError> {
        let offset = read_start(&mut source)?;
        let mut frames = Frames { source, offset, frame: Vec::new(), content_bytes: 0 };
        let Some(kind) = frames.next()? else { return Err(ReadError::NoHead) };
        if kind != kind::HEAD {
            return Err(ReadError::Damaged { offset });
        }
        let head = frames.content(offset)?;
        Ok(Self { frames, head, state: State::Open })
    }

    /// What was known before the first request.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The next frame of a known kind; `None` at the end of the journal, and after an error.
    ///
    /// # Errors
    /// `Io`, `Damaged` and `Content`. Frames returned before the error stay valid.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        if self.state != State::Open {
            return Ok(None);
        }
        let result = self.read_known();
        if result.is_err() {
            self.state = State::Failed;
        }
        result
    }

    /// Whether the tail was read and was the last thing in the source. Before the end: false.
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// How many bytes were read as whole frames.
    pub const fn offset(&self) -> u64 {
        self.frames.offset
    }

    /// How many bytes the content of the last frame takes, unpacked.
    pub const fn content_bytes(&self) -> usize {
        self.frames.content_bytes
    }

    fn read_known(&mut self) -> Result<Option<Frame>, ReadError> {
        loop {
            let offset = self.frames.offset;
            let Some(kind) = self.frames.next()? else {
                self.state = State::Truncated;
                return Ok(None);
            };
            match kind {
                kind::INTERVAL => return self.read_interval(offset).map(Some),
                kind::NOTE => return Ok(Some(Frame::Note(self.frames.content(offset)?))),
                kind::TAIL => return self.read_tail(offset),
                // A second head: two records in one file.
                kind::HEAD => return Err(ReadError::Damaged { offset }),
                // A kind of a later program that keeps this version: not for us.
                _ => {}
            }
        }
    }

    fn read_interval(&mut self, offset: u64) -> Result<Frame, ReadError> {
        let interval = self.frames.unpack(FRAME_BYTES_MAX).and_then(StoredInterval::parse);
        let interval = interval.map_err(|unfit| ReadError::of(unfit, offset, FRAME_BYTES_MAX))?;
        Ok(Frame::Interval(Box::new(interval)))
    }

    fn read_tail(&mut self, offset: u64) -> Result<Option<Frame>, ReadError> {
        let tail = self.frames.content(offset)?;
        if !self.frames.rest_is_void()? {
            return Err(ReadError::Damaged { offset: self.frames.offset });
        }
        self.state = State::Complete;
        Ok(Some(Frame::Tail(tail)))
    }
}

/// Checks magic and version; returns how many bytes they take.
fn read_start(source: &mut impl Read) -> Result<u64, ReadError> {
    let mut start = Vec::new();
    source.take(MAGIC.len() as u64 + 4).read_to_end(&mut start)?;
    let (magic, version) = start.split_at(start.len().min(MAGIC.len()));
    if magic.is_empty() || !MAGIC.starts_with(magic) {
        return Err(ReadError::NotARecord);
    }
    let Ok(version) = version.try_into().map(u32::from_le_bytes) else { return Err(ReadError::NoHead) };
    if !(1..=VERSION).contains(&version) {
        return Err(ReadError::Version(version));
    }
    Ok(start.len() as u64)
}

/// Frames as bytes: their limits and checksums, not their meaning.
struct Frames<R: Read> {
    source: R,
    /// End of the last whole frame.
    offset: u64,
    /// Kind and payload of the last whole frame.
    frame: Vec<u8>,
    /// Length of the last payload that was unpacked.
    content_bytes: usize,
}

impl<R: Read> Frames<R> {
    /// Reads a whole frame and returns its kind; `None` where the journal ends: at the end of the
    /// source, at a last frame that is torn or fails its checksum, or where a file system has
    /// left nothing but zeros behind after a loss of power.
    fn next(&mut self) -> Result<Option<u8>, ReadError> {
        let damaged = ReadError::Damaged { offset: self.offset };
        let mut prefix = [0; 8];
        if read_up_to(&mut self.source, &mut prefix)? < prefix.len() {
            return Ok(None);
        }
        let [l0, l1, l2, l3, checksum @ ..] = prefix;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length == 0 || length > FRAME_BYTES_MAX {
            let void = prefix == [0; 8] && self.rest_is_void()?;
            return if void { Ok(None) } else { Err(damaged) };
        }
        self.frame.clear();
        read_at_most(&mut self.source, length, &mut self.frame)?;
        if self.frame.len() < length {
            return Ok(None);
        }
        if crc32fast::hash(&self.frame) != u32::from_le_bytes(checksum) {
            return if self.rest_is_void()? { Ok(None) } else { Err(damaged) };
        }
        self.offset += (prefix.len() + length) as u64;
        Ok(self.frame.first().copied())
    }

    /// Unpacks and decodes the last frame, which began at `offset`.
    fn content<T: DeserializeOwned>(&mut self, offset: u64) -> Result<T, ReadError> {
        let content = self.unpack(DECODED_BYTES_MAX).and_then(|bytes| Values::new(&bytes).decode());
        content.map_err(|unfit| ReadError::of(unfit, offset, DECODED_BYTES_MAX))
    }

    /// Unpacks the last frame, to at most `limit` bytes.
    fn unpack(&mut self, limit: usize) -> Result<Vec<u8>, Unfit> {
        let payload = self.frame.get(1..).unwrap_or_default();
        let mut bytes = Vec::new();
        let unpacked = zstd::Decoder::with_buffer(payload).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            read_at_most(&mut decoder, limit + 1, &mut bytes)
        });
        match unpacked {
            Err(error) => Err(Unfit::Content(error.to_string())),
            Ok(()) if bytes.len() > limit => {
                Err(Unfit::memory(format!("a frame that unpacks to more than {limit} bytes")))
            }
            Ok(()) => {
                self.content_bytes = bytes.len();
                Ok(bytes)
            }
        }
    }

    /// Reads to the end or to the first byte that is not zero; returns whether all were zero.
    fn rest_is_void(&mut self) -> io::Result<bool> {
        let mut some = [0; 4096];
        loop {
            let read = read_up_to(&mut self.source, &mut some)?;
            if some[..read].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if read < some.len() {
                return Ok(true);
            }
        }
    }
}

/// Appends up to `limit` bytes of the source to `bytes`, which grow with what arrives, not with what a length claims,
/// and never beyond the limit.
fn read_at_most(source: &mut impl Read, limit: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    const FIRST: usize = 64 << 10;
    let mut filled = 0;
    while filled < limit {
        let room = limit.min(FIRST.max(2 * filled));
        bytes.reserve_exact(room.saturating_sub(bytes.len()));
        bytes.resize(room, 0);
        filled += read_up_to(source, &mut bytes[filled..])?;
        if filled < room {
            break;
        }
    }
    bytes.truncate(filled);
    Ok(())
}

/// Fills `buffer` as far as the source reaches; returns the number of bytes.
fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
