//! gzip and zlib bodies that arrive in pieces (RFC 1952 and RFC 1950).
//!
//! Decodes every piece at once: the state is about 50 KiB whatever the body says. Of a gzip header it keeps nothing.

use flate2::{Decompress, FlushDecompress, Status};
use knee_core::outcome::Fault;

use super::output::{OUT, Output};

/// Maximum length of a gzip header in bytes. Its extra field alone can have 64 KiB; names have no limit.
const HEADER_MAX: u32 = 128 << 10;

/// What is around a deflate stream.
#[derive(Clone, Copy, Debug)]
pub enum Wrapper {
    /// RFC 1952: one or more members.
    Gzip,
    /// RFC 1950, which HTTP calls `deflate`.
    Zlib,
}

/// Decodes bodies, one after another.
pub struct Inflater {
    inflate: Decompress,
    /// `None` for zlib, whose header and checksum the library checks.
    gzip: Option<GzipMember>,
    /// Whether a zlib stream has ended.
    ended: bool,
}

impl Inflater {
    /// A decoder for a body in this wrapper.
    pub fn new(wrapper: Wrapper) -> Self {
        let mut inflater = Self { inflate: Decompress::new(false), gzip: None, ended: false };
        inflater.begin(wrapper);
        inflater
    }

    /// Begins another body.
    pub fn begin(&mut self, wrapper: Wrapper) {
        let is_zlib = matches!(wrapper, Wrapper::Zlib);
        self.inflate.reset(is_zlib);
        self.gzip = (!is_zlib).then(GzipMember::new);
        self.ended = false;
    }

    /// Decodes the next piece.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut impl Output) -> Result<(), Fault> {
        while !bytes.is_empty() {
            let Some(member) = &mut self.gzip else {
                if self.ended {
                    // Bytes after the end of the stream do not match the response's encoding.
                    return Err(Fault::DecodeFailed);
                }
                (bytes, self.ended) = inflate(&mut self.inflate, bytes, out, |_| {})?;
                continue;
            };
            if member.part == Part::Between {
                *member = GzipMember::new();
                self.inflate.reset(false);
            }
            if member.part != Part::Body {
                member.step(bytes[0])?;
                bytes = &bytes[1..];
                continue;
            }
            let ended;
            (bytes, ended) = inflate(&mut self.inflate, bytes, out, |decoded| member.note(decoded))?;
            if ended {
                member.part = Part::Trailer(0, 0);
            }
        }
        Ok(())
    }

    /// Ends the body; a truncated stream is a fault.
    pub fn finish(&self) -> Result<(), Fault> {
        let ended = self.gzip.as_ref().map_or(self.ended, |member| member.part == Part::Between);
        if ended { Ok(()) } else { Err(Fault::DecodeFailed) }
    }
}

/// Decodes `bytes` up to the end of the stream; returns those after it, and whether it ended.
fn inflate<'a>(
    state: &mut Decompress,
    mut bytes: &'a [u8],
    out: &mut impl Output,
    mut note: impl FnMut(&[u8]),
) -> Result<(&'a [u8], bool), Fault> {
    let mut buffer = [0; OUT];
    loop {
        let (read, written) = (state.total_in(), state.total_out());
        let status =
            state.decompress(bytes, &mut buffer, FlushDecompress::None).map_err(|_| Fault::DecodeFailed)?;
        let read = (state.total_in() - read) as usize;
        let written = (state.total_out() - written) as usize;
        out.take(&buffer[..written])?;
        note(&buffer[..written]);
        bytes = &bytes[read..];
        if status == Status::StreamEnd {
            return Ok((bytes, true));
        }
        // A buffer that was not filled means that more input is needed.
        if bytes.is_empty() && written < buffer.len() {
            return Ok((bytes, false));
        }
        if read == 0 && written == 0 {
            return Err(Fault::DecodeFailed);
        }
    }
}

/// Position of the next byte in a member of a gzip file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// In the fixed part of the header, after so many bytes.
    Fixed(u8),
    /// At the first byte of the length of the extra field.
    ExtraLength,
    /// At its second byte; the first one was this.
    ExtraLengthEnd(u8),
    /// In the extra field, so many bytes before its end.
    Extra(u16),
    /// In the file's name, which ends with a zero.
    Name,
    /// In the comment, which ends with a zero.
    Comment,
    /// At the first byte of the header's checksum.
    HeaderChecksum,
    /// At its second byte; the first one was this.
    HeaderChecksumEnd(u8),
    /// In the deflate stream.
    Body,
    /// In checksum and length after the stream: bytes so far, and their value.
    Trailer(u8, u64),
    /// After a whole member.
    Between,
}

/// Flags of a gzip header (RFC 1952, section 2.3.1).
mod flag {
    pub(super) const HEADER_CHECKSUM: u8 = 2;
    pub(super) const EXTRA: u8 = 4;
    pub(super) const NAME: u8 = 8;
    pub(super) const COMMENT: u8 = 16;
    pub(super) const RESERVED: u8 = 0xE0;
}

/// One member of a gzip file.
struct GzipMember {
    part: Part,
    /// Flags of the header parts that are still to come.
    flags: u8,
    header_length: u32,
    /// Of the header; from the body on, of the decoded bytes.
    checksum: crc32fast::Hasher,
    /// Decoded bytes, modulo 2^32 as in the trailer.
    length: u32,
}

impl GzipMember {
    fn new() -> Self {
        Self {
            part: Part::Fixed(0),
            flags: 0,
            header_length: 0,
            checksum: crc32fast::Hasher::new(),
            length: 0,
        }
    }

    /// Counts decoded bytes.
    fn note(&mut self, decoded: &[u8]) {
        self.checksum.update(decoded);
        self.length = self.length.wrapping_add(decoded.len() as u32);
    }

    /// Reads one byte of header or trailer.
    fn step(&mut self, byte: u8) -> Result<(), Fault> {
        if let Part::Trailer(count, value) = self.part {
            return self.trailer(count, value | u64::from(byte) << (8 * u32::from(count)));
        }
        self.header_length += 1;
        let checksum = self.checksum.clone().finalize() as u16;
        self.checksum.update(&[byte]);
        self.part = match (self.part, byte) {
            _ if self.header_length > HEADER_MAX => return Err(Fault::DecodeFailed),
            (Part::Fixed(0), 0x1F) | (Part::Fixed(1), 0x8B) | (Part::Fixed(2), 8) => {
                Part::Fixed(self.header_length as u8)
            }
            (Part::Fixed(3), flags) if flags & flag::RESERVED == 0 => {
                self.flags = flags;
                Part::Fixed(4)
            }
            // Time, level and system.
            (Part::Fixed(count @ 4..=8), _) => Part::Fixed(count + 1),
            (Part::ExtraLength, low) => Part::ExtraLengthEnd(low),
            (Part::ExtraLengthEnd(low), high) if (low, high) != (0, 0) => {
                Part::Extra(u16::from_le_bytes([low, high]))
            }
            (Part::Extra(left @ 2..), _) => Part::Extra(left - 1),
            (Part::Name | Part::Comment, 1..) => self.part,
            (Part::HeaderChecksum, low) if low == checksum as u8 => {
                Part::HeaderChecksumEnd((checksum >> 8) as u8)
            }
            (Part::HeaderChecksumEnd(high), byte) if high != byte => return Err(Fault::DecodeFailed),
            (Part::Fixed(0..=3) | Part::HeaderChecksum, _) => return Err(Fault::DecodeFailed),
            _ => self.next_part(),
        };
        Ok(())
    }

    /// The next part that the header has.
    fn next_part(&mut self) -> Part {
        for (flag, part) in [
            (flag::EXTRA, Part::ExtraLength),
            (flag::NAME, Part::Name),
            (flag::COMMENT, Part::Comment),
            (flag::HEADER_CHECKSUM, Part::HeaderChecksum),
        ] {
            if self.flags & flag != 0 {
                self.flags &= !flag;
                return part;
            }
        }
        self.checksum = crc32fast::Hasher::new();
        Part::Body
    }

    fn trailer(&mut self, before: u8, value: u64) -> Result<(), Fault> {
        self.part = Part::Trailer(before + 1, value);
        if before == 7 {
            let expected = u64::from(self.length) << 32 | u64::from(self.checksum.clone().finalize());
            self.part = if value == expected { Part::Between } else { return Err(Fault::DecodeFailed) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::DecodedLimit;
    use super::*;

    /// What flate2 makes of a header with these parts, in front of an encoded `hello`.
    fn with_header(change: impl FnOnce(flate2::GzBuilder) -> flate2::GzBuilder) -> Vec<u8> {
        use std::io::Write;
        let builder = change(flate2::GzBuilder::new());
        let mut encoder = builder.write(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"hello").unwrap();
        encoder.finish().unwrap()
    }

    /// Decodes `body` in pieces of `step` bytes.
    fn decode(body: &[u8], step: usize) -> Result<(), Fault> {
        let mut limit = DecodedLimit::new(1 << 20);
        let mut inflater = Inflater::new(Wrapper::Gzip);
        body.chunks(step).try_for_each(|piece| inflater.feed(piece, &mut limit))?;
        inflater.finish()
    }

    /// A header with every part and its checksum, in front of an encoded `hello`.
    fn with_every_part() -> Vec<u8> {
        let plain = with_header(|builder| builder);
        let mut header = plain[..10].to_vec();
        header[3] = flag::EXTRA | flag::NAME | flag::COMMENT | flag::HEADER_CHECKSUM;
        header.extend_from_slice(b"\x04\x00ab\x01\x00name\0comment\0");
        let checksum = crc32fast::hash(&header) as u16;
        header.extend_from_slice(&checksum.to_le_bytes());
        [header, plain[10..].to_vec()].concat()
    }

    #[test]
    fn every_part_of_a_header_is_read_in_any_pieces() {
        let bodies = [
            with_header(|builder| builder),
            with_header(|builder| builder.filename("page.html")),
            with_header(|builder| builder.comment("made by hand").extra(vec![7; 300])),
            with_header(|builder| builder.filename("a").comment("b").extra(vec![1]).mtime(9)),
            with_every_part(),
        ];
        for body in bodies {
            for step in 1..=body.len() {
                assert_eq!(decode(&body, step), Ok(()), "in pieces of {step}");
            }
        }
    }

    #[test]
    fn an_empty_extra_field_is_read() {
        let plain = with_header(|builder| builder);
        let mut body = plain[..10].to_vec();
        body[3] = flag::EXTRA;
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&plain[10..]);
        assert_eq!(decode(&body, body.len()), Ok(()));
    }

    #[test]
    fn members_in_a_row_are_one_body() {
        let body = [with_every_part(), with_header(|builder| builder)].concat();
        assert_eq!(decode(&body, 3), Ok(()));
        assert_eq!(decode(&body[..body.len() - 1], 3), Err(Fault::DecodeFailed));
    }

    #[test]
    fn every_changed_byte_of_header_and_trailer_that_matters_is_noticed() {
        let body = with_every_part();
        let header = 10 + "\x04\x00ab\x01\x00name\0comment\0".len() + 2;
        for place in (0..header).chain(body.len() - 8..body.len()) {
            let mut changed = body.clone();
            changed[place] ^= 0x40;
            assert_eq!(decode(&changed, 5), Err(Fault::DecodeFailed), "byte {place}");
        }
    }

    #[test]
    fn an_endless_header_is_refused() {
        let mut body = with_header(|builder| builder)[..10].to_vec();
        body[3] = flag::NAME;
        body.resize(HEADER_MAX as usize + 1, b'x');
        assert_eq!(decode(&body, 4_096), Err(Fault::DecodeFailed));
    }
}
