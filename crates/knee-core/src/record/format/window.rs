//! The bytes of a source with a view ahead: what was looked at is still there until it is passed.
//!
//! Does not know frames.

use std::io::{self, Read};

/// Least bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// A source and the part of it that was read and not passed.
pub(super) struct Window<R: Read> {
    source: R,
    bytes: Vec<u8>,
    /// How many of `bytes` were passed.
    passed: usize,
    /// Place of the first byte that was not passed, in the source.
    offset: u64,
    /// Whether the source has no more bytes.
    ended: bool,
}

impl<R: Read> Window<R> {
    /// The beginning of a source.
    pub(super) const fn new(source: R) -> Self {
        Self { source, bytes: Vec::new(), passed: 0, offset: 0, ended: false }
    }

    /// Place of the next byte in the source.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next bytes: `length` of them, or fewer at the end of the source. Needs memory for the bytes that there are,
    /// whatever the length.
    ///
    /// # Errors
    /// Those of the source.
    pub(super) fn peek(&mut self, length: usize) -> io::Result<&[u8]> {
        if self.bytes.len() - self.passed < length && !self.ended {
            self.bytes.drain(..self.passed);
            self.passed = 0;
        }
        while self.bytes.len() < length && !self.ended {
            let filled = self.bytes.len();
            let room = length.max(CHUNK).min(CHUNK.max(2 * filled));
            self.bytes.reserve_exact(room - filled);
            self.bytes.resize(room, 0);
            // Not more than there is: a source that grows would keep back what it has.
            let read = read_some(&mut self.source, &mut self.bytes[filled..])?;
            self.bytes.truncate(filled + read);
            self.ended = read == 0;
        }
        Ok(self.ahead(length))
    }

    /// Up to `length` of the next bytes, as far as they were looked at.
    pub(super) fn ahead(&self, length: usize) -> &[u8] {
        let next = &self.bytes[self.passed..];
        &next[..length.min(next.len())]
    }

    /// Passes bytes that were looked at.
    pub(super) fn pass(&mut self, length: usize) {
        let passed = length.min(self.bytes.len() - self.passed);
        self.passed += passed;
        self.offset += passed as u64;
    }

    /// Whether nothing but zeros follows the next `length` bytes.
    ///
    /// # Errors
    /// Those of the source.
    pub(super) fn is_void_after(&mut self, length: usize) -> io::Result<bool> {
        // A file system that extends a file before it writes the data leaves no more than some megabytes.
        const VOID_MAX: usize = 8 << 20;
        let next = self.peek(length.saturating_add(VOID_MAX))?;
        Ok(next.iter().skip(length).all(|byte| *byte == 0))
    }
}

/// Reads what the source has, at least one byte unless it has ended; returns the number of bytes.
fn read_some(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, and fails a test that asks for more than it can use.
    struct Growing(usize);

    impl Read for Growing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(self.0 < 10, "what is there already is enough");
            into[..3].fill(self.0 as u8);
            self.0 += 3;
            Ok(3)
        }
    }

    #[test]
    fn a_source_that_grows_is_read_only_as_far_as_it_takes() {
        let mut window = Window::new(Growing(0));
        assert_eq!(window.peek(5).unwrap(), [0, 0, 0, 3, 3]);
        window.pass(4);
        assert_eq!(window.peek(2).unwrap(), [3, 3]);
        assert_eq!(window.peek(4).unwrap(), [3, 3, 6, 6]);
    }
}
