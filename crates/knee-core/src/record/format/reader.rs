//! Bytes to record, one frame at a time.
//!
//! Trusts nothing: limits lengths, compares checksums, checks contents by their types. Does not repair. The frames
//! before a damaged one are returned before the error.

use std::io::{self, Read};

use serde::de::DeserializeOwned;

use super::{FRAME_BYTES_MAX, Frame, MAGIC, VERSION, kind};
use crate::record::Head;

/// Largest zstd window that a payload can ask for, as log2 of bytes. Follows from the limit of a frame.
const WINDOW_LOG_MAX: u32 = 26;

/// Why bytes are not a record, or not a whole one.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading failed; try again, or check the disk.
    #[error("cannot read the record: {0}")]
    Io(#[from] io::Error),
    /// The bytes do not begin like a record: the file is of another kind.
    #[error("this is not a knee record")]
    NotARecord,
    /// Written by a later version of the program, which can read it.
    #[error("the record has format version {0}, and this program reads versions up to {VERSION}")]
    Version(u32),
    /// The writer was killed before it had written the head: nothing was measured.
    #[error("the record ends before its first frame is complete: nothing was measured")]
    NoHead,
    /// A frame in the middle does not match its checksum, or bytes follow the tail.
    /// Everything before it has been read.
    #[error("the record is damaged at byte {offset}")]
    Damaged {
        /// Where the frame begins.
        offset: u64,
    },
    /// A frame matches its checksum, but its content does not match its kind: another program wrote it.
    #[error("the frame at byte {offset} cannot be understood: {what}")]
    Content {
        /// Where the frame begins.
        offset: u64,
        /// Message of the decoder.
        what: String,
    },
}

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

/// Reads one record, frame after frame. Needs the memory of one frame.
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
        let mut frames = Frames { source, offset, frame: Vec::new(), packed: Vec::new() };
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

    fn read_known(&mut self) -> Result<Option<Frame>, ReadError> {
        loop {
            let offset = self.frames.offset;
            let Some(kind) = self.frames.next()? else {
                self.state = State::Truncated;
                return Ok(None);
            };
            match kind {
                kind::INTERVAL => return Ok(Some(Frame::Interval(self.frames.content(offset)?))),
                kind::NOTE => return Ok(Some(Frame::Note(self.frames.content(offset)?))),
                kind::TAIL => return self.read_tail(offset),
                // A second head: two records in one file.
                kind::HEAD => return Err(ReadError::Damaged { offset }),
                // A kind of a later program that keeps this version: not for us.
                _ => {}
            }
        }
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
    packed: Vec<u8>,
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
        // Grows with what arrives, not with what the length claims.
        self.frame.clear();
        (&mut self.source).take(length as u64).read_to_end(&mut self.frame)?;
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
        let not_understood = |what: String| ReadError::Content { offset, what };
        let payload = self.frame.get(1..).unwrap_or_default();
        self.packed.clear();
        let unpacked = zstd::Decoder::with_buffer(payload).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            decoder.take(FRAME_BYTES_MAX as u64 + 1).read_to_end(&mut self.packed)
        });
        match unpacked {
            Err(error) => return Err(not_understood(error.to_string())),
            Ok(bytes) if bytes > FRAME_BYTES_MAX => {
                return Err(not_understood(format!("it unpacks to more than {FRAME_BYTES_MAX} bytes")));
            }
            Ok(_) => {}
        }
        rmp_serde::from_slice(&self.packed).map_err(|error| not_understood(error.to_string()))
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
