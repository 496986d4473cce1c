//! Where the body of an HTTP/1.1 response ends.
//!
//! Pure: takes bytes and returns how many of them belong to the body. Does not decode contents.

use knee_core::outcome::Fault;

/// Maximum length of a chunk extension or trailer section, which are skipped.
const SKIPPED_MAX: u32 = 16 * 1024;

/// How the end of a body is found, and how far it has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes are left.
    Length(u64),
    /// Chunked transfer coding.
    Chunked(Chunked),
    /// Until the connection ends.
    UntilClose,
}

/// Position of the next byte in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunked {
    /// In the digits of a chunk's size: value and number of digits so far.
    Size(u64, u8),
    /// In the extension after the size: size, and length so far.
    Extension(u64, u32),
    /// At the line feed after a size.
    SizeEnd(u64),
    /// In a chunk, this many bytes before its end.
    Data(u64),
    /// At the carriage return after a chunk.
    DataEnd,
    /// At the line feed after a chunk.
    DataEndLf,
    /// In the trailer section: bytes so far, and bytes in the current line.
    Trailer(u32, u32),
    /// At the line feed that ends the trailer section or a line of it.
    TrailerLf(u32, u32),
}

/// What was read from a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes of input used.
    pub used: usize,
    /// Range of the body bytes among them; empty if only framing was read.
    pub body: (usize, usize),
    /// Whether the body is complete.
    pub complete: bool,
}

impl Framing {
    /// The start of a chunked body.
    pub const CHUNKED: Self = Self::Chunked(Chunked::Size(0, 0));

    /// Whether no byte of the body is left.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Length(0))
    }

    /// Reads the next piece of `input`. Call again while input is left and the body is not
    /// complete. Uses at least one byte of a non-empty input.
    pub fn advance(&mut self, input: &[u8]) -> Result<Piece, Fault> {
        match self {
            Self::Length(left) => {
                let used = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= used as u64;
                Ok(Piece { used, body: (0, used), complete: *left == 0 })
            }
            Self::UntilClose => Ok(Piece { used: input.len(), body: (0, input.len()), complete: false }),
            Self::Chunked(state) => state.advance(input),
        }
    }
}

impl Chunked {
    fn advance(&mut self, input: &[u8]) -> Result<Piece, Fault> {
        if let Self::Data(left) = self {
            let used = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
            *left -= used as u64;
            if *left == 0 {
                *self = Self::DataEnd;
            }
            return Ok(Piece { used, body: (0, used), complete: false });
        }
        let mut used = 0;
        for byte in input {
            used += 1;
            let complete = self.step(*byte)?;
            if complete || matches!(self, Self::Data(_)) {
                return Ok(Piece { used, body: (0, 0), complete });
            }
        }
        Ok(Piece { used, body: (0, 0), complete: false })
    }

    /// Reads one byte of framing; `true` when the body is complete.
    fn step(&mut self, byte: u8) -> Result<bool, Fault> {
        *self = match (*self, byte) {
            (Self::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 16 => {
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                Self::Size(size << 4 | digit, digits + 1)
            }
            (Self::Size(size, 1..) | Self::Extension(size, _), b'\r') => Self::SizeEnd(size),
            (Self::Size(size, 1..), b';' | b' ' | b'\t') => Self::Extension(size, 0),
            (Self::Extension(size, length), byte) if byte != b'\n' && length < SKIPPED_MAX => {
                Self::Extension(size, length + 1)
            }
            (Self::SizeEnd(0), b'\n') => Self::Trailer(0, 0),
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataEnd, b'\r') => Self::DataEndLf,
            (Self::DataEndLf, b'\n') => Self::Size(0, 0),
            (Self::Trailer(all, line), b'\r') => Self::TrailerLf(all, line),
            (Self::Trailer(all, line), byte) if byte != b'\n' && all < SKIPPED_MAX => {
                Self::Trailer(all + 1, line + 1)
            }
            (Self::TrailerLf(_, 0), b'\n') => return Ok(true),
            (Self::TrailerLf(all, _), b'\n') => Self::Trailer(all, 0),
            _ => return Err(Fault::BadChunk),
        };
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Body bytes, completeness and bytes used when `input` arrives in pieces of `step`.
    fn read(mut framing: Framing, input: &[u8], step: usize) -> Result<(Vec<u8>, bool, usize), Fault> {
        let mut body = Vec::new();
        let mut used = 0;
        for piece in input.chunks(step) {
            let mut rest = piece;
            while !rest.is_empty() {
                let got = framing.advance(rest)?;
                assert!(got.used > 0, "no progress");
                body.extend_from_slice(&rest[got.body.0..got.body.1]);
                rest = &rest[got.used..];
                used += got.used;
                if got.complete {
                    return Ok((body, true, used));
                }
            }
        }
        Ok((body, false, used))
    }

    #[test]
    fn chunks_give_the_same_body_in_any_pieces() {
        let input = b"5\r\nhello\r\n6;name=value\r\n world\r\n0\r\nTrailer: x\r\n\r\nNEXT";
        for step in 1..input.len() {
            let (body, complete, used) = read(Framing::CHUNKED, input, step).unwrap();
            assert_eq!(body, b"hello world");
            assert!(complete);
            assert_eq!(&input[used..], b"NEXT");
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for input in [
            &b"x\r\n"[..],
            b"\r\n",
            b"5\nhello",
            b"5\r\nhelloX",
            b"-5\r\n",
            b"11112222333344445\r\n",
            b"2\r\nab\rX",
            b"0\r\nA: b\n\r\n",
        ] {
            for step in [1, input.len()] {
                assert_eq!(read(Framing::CHUNKED, input, step), Err(Fault::BadChunk), "{input:?}");
            }
        }
    }

    #[test]
    fn endless_extensions_and_trailers_are_refused() {
        let mut extension = b"5;".to_vec();
        extension.resize(SKIPPED_MAX as usize + 10, b'x');
        assert_eq!(read(Framing::CHUNKED, &extension, 4096), Err(Fault::BadChunk));
        let mut trailer = b"0\r\n".to_vec();
        trailer.resize(SKIPPED_MAX as usize + 10, b'x');
        assert_eq!(read(Framing::CHUNKED, &trailer, 4096), Err(Fault::BadChunk));
    }

    #[test]
    fn a_length_takes_its_bytes_and_leaves_the_rest() {
        assert_eq!(read(Framing::Length(3), b"abcdef", 2).unwrap(), (b"abc".to_vec(), true, 3));
        assert_eq!(read(Framing::UntilClose, b"abc", 2).unwrap(), (b"abc".to_vec(), false, 3));
    }
}
