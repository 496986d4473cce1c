//! Frames as bytes: their limits and checksums, and the search for the next frame behind damaged ones.
//!
//! Does not know what frames mean. Does not repair: bytes that are no frame are passed over and reported.

use std::io::{self, Read};

use super::FRAME_BYTES_MAX;
use super::window::Window;

/// Bytes in front of kind and payload: length and checksum.
const PREFIX: usize = 8;

/// The first bytes of a payload: it is a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// From the beginning of a frame to the end of these.
const RECOGNIZED: usize = PREFIX + 1 + ZSTD.len();

/// Most bytes whose checksum is computed in vain. A malicious file can have a possible beginning of a frame of 64 MiB
/// every few bytes.
const SEARCHED_BYTES_MAX: usize = 1 << 30;

/// A last frame that ends in so many zeros was not written to its end: its content does not look like that.
const HOLE: [u8; 8] = [0; 8];

/// Disks write this many bytes together, and file systems no fewer. A last frame that has only zeros behind such a
/// border was not written to its end either, however few they are.
const SECTOR: u64 = 512;

/// The result of reading on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A whole frame of this kind.
    Frame(u8),
    /// From this place on there were bytes that are no frame; they were passed over.
    Damaged(u64),
    /// The journal ends: at the end of the source, at a last frame that was not written to its end, or where a file
    /// system has left nothing but zeros behind after a loss of power.
    End,
}

/// What lies at a place.
enum Found {
    /// A frame of this length, with its prefix.
    Frame(usize),
    /// The beginning of a frame that the end of the source cuts off.
    Torn,
    /// Zeros to the end, or nothing.
    Void,
    /// Anything else.
    Damaged,
}

/// Reads frame after frame.
pub(super) struct Frames<R: Read> {
    window: Window<R>,
    /// Where the last frame begins.
    start: u64,
    /// Length of the last frame, which is still in the window.
    length: usize,
    /// Bytes whose checksum was computed in vain.
    searched: usize,
}

impl<R: Read> Frames<R> {
    /// The frames of a source, from here on.
    pub(super) const fn new(window: Window<R>) -> Self {
        Self { start: window.offset(), window, length: 0, searched: 0 }
    }

    /// Where the last frame begins.
    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    /// Where the last frame ends.
    pub(super) const fn end(&self) -> u64 {
        self.start + self.length as u64
    }

    /// The payload of the last frame.
    pub(super) fn payload(&self) -> &[u8] {
        self.window.ahead(self.length).get(PREFIX + 1..).unwrap_or_default()
    }

    /// Reads on.
    ///
    /// # Errors
    /// Those of the source.
    pub(super) fn next(&mut self) -> io::Result<Step> {
        self.window.pass(std::mem::take(&mut self.length));
        self.start = self.window.offset();
        match self.look()? {
            Found::Frame(length) => {
                self.length = length;
                Ok(Step::Frame(self.window.ahead(length).get(PREFIX).copied().unwrap_or_default()))
            }
            Found::Void => Ok(Step::End),
            // If another frame follows, the length is wrong.
            Found::Torn if !self.find()? => Ok(Step::End),
            Found::Torn => Ok(Step::Damaged(self.start)),
            Found::Damaged => {
                self.find()?;
                Ok(Step::Damaged(self.start))
            }
        }
    }

    /// Whether anything but zeros follows the last frame; the place where it begins.
    ///
    /// # Errors
    /// Those of the source.
    pub(super) fn leftover(&mut self) -> io::Result<Option<u64>> {
        let end = self.end();
        Ok((!self.window.is_void_after(self.length)?).then_some(end))
    }

    /// What lies at the current place.
    fn look(&mut self) -> io::Result<Found> {
        let Some(prefix) = self.window.peek(PREFIX)?.first_chunk::<PREFIX>().copied() else {
            return Ok(Found::Void);
        };
        let [l0, l1, l2, l3, checksum @ ..] = prefix;
        let (length, checksum) =
            (u32::from_le_bytes([l0, l1, l2, l3]) as usize, u32::from_le_bytes(checksum));
        if length == 0 || length > FRAME_BYTES_MAX {
            let void = prefix == [0; PREFIX] && self.window.is_void_after(PREFIX)?;
            return Ok(if void { Found::Void } else { Found::Damaged });
        }
        let frame = self.window.peek(PREFIX + length)?;
        let body = &frame[PREFIX..];
        if crc32fast::hash(body) == checksum {
            // With a length that was raised, the last frame matches its checksum and is too short.
            return Ok(if body.len() == length { Found::Frame(PREFIX + length) } else { Found::Damaged });
        }
        if body.len() < length {
            return Ok(Found::Torn);
        }
        let behind_border = (self.start + (PREFIX + length) as u64) % SECTOR;
        let hole = HOLE.get(..behind_border as usize).filter(|hole| !hole.is_empty()).unwrap_or(&HOLE);
        let unwritten = body.ends_with(hole) && self.window.is_void_after(PREFIX + length)?;
        Ok(if unwritten { Found::Void } else { Found::Damaged })
    }

    /// Passes to the next whole frame behind the current place; to the end, and false, if there is none.
    fn find(&mut self) -> io::Result<bool> {
        self.window.pass(1);
        loop {
            let ahead = self.window.peek(FRAME_BYTES_MAX.min(1 << 16))?;
            let length = ahead.len();
            if length < RECOGNIZED || self.searched > SEARCHED_BYTES_MAX {
                self.window.pass(length);
                if length == 0 {
                    return Ok(false);
                }
                continue;
            }
            let Some(place) = ahead.windows(RECOGNIZED).position(|bytes| bytes.ends_with(&ZSTD)) else {
                self.window.pass(length - RECOGNIZED + 1);
                continue;
            };
            self.window.pass(place);
            if matches!(self.look()?, Found::Frame(_)) {
                return Ok(true);
            }
            self.searched += self.window.ahead(FRAME_BYTES_MAX).len();
            self.window.pass(1);
        }
    }
}
