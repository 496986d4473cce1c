//! Decodes encoded bodies to verify them; the decoded bytes are counted and discarded.
//!
//! Bounded: a body that decodes to more than its limit is a fault, noticed before the whole excess
//! is produced. Of HTTP it knows only the names of content codings.

use std::io::{self, Write};

use knee_core::outcome::Fault;
use zstd::stream::raw;
use zstd::stream::zio;

/// Largest window of a zstd frame, as a power of two: 8 MiB, the maximum that RFC 9659 allows a
/// server. Without this limit one frame header could claim 128 MiB per connection.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Decodes one body that arrives in pieces.
pub struct Decoder {
    coding: Coding,
}

enum Coding {
    Gzip(Box<flate2::write::MultiGzDecoder<Meter>>),
    Deflate(Box<Inflater>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<Meter>>),
    Zstd(Box<zio::Writer<Meter, raw::Decoder<'static>>>),
}

/// A zlib stream. flate2's own writer accepts a truncated stream as complete.
struct Inflater {
    state: flate2::Decompress,
    out: [u8; 4_096],
    meter: Meter,
    ended: bool,
}

impl Inflater {
    fn new(meter: Meter) -> Self {
        Self { state: flate2::Decompress::new(true), out: [0; 4_096], meter, ended: false }
    }

    fn feed(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            if self.ended {
                // Bytes behind the end of the stream do not match the response's encoding.
                return if bytes.is_empty() { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) };
            }
            let (read, written) = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(bytes, &mut self.out, flate2::FlushDecompress::None)?;
            let read = (self.state.total_in() - read) as usize;
            let written = (self.state.total_out() - written) as usize;
            self.meter.write_all(&self.out[..written])?;
            bytes = &bytes[read..];
            self.ended = status == flate2::Status::StreamEnd;
            // A buffer that was not filled means that more input is needed.
            if !self.ended && bytes.is_empty() && written < self.out.len() {
                return Ok(());
            }
            if !self.ended && read == 0 && written == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    fn finish(&self) -> io::Result<()> {
        if self.ended { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Counts written bytes and refuses more than its limit.
struct Meter {
    left: u64,
}

/// Error kind that marks the limit; no decoder returns it.
const OVER_LIMIT: io::ErrorKind = io::ErrorKind::FileTooLarge;

impl Write for Meter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(OVER_LIMIT)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// A decoder for the value of a `content-encoding` header; it stops at `limit` decoded bytes.
    /// `None` for no encoding, and for unknown codings or chains of codings: their bodies are not
    /// decoded.
    pub fn new(encoding: &[u8], limit: u64) -> Option<Self> {
        let meter = Meter { left: limit };
        let coding = match encoding.trim_ascii().to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Coding::Gzip(Box::new(flate2::write::MultiGzDecoder::new(meter))),
            b"deflate" => Coding::Deflate(Box::new(Inflater::new(meter))),
            b"br" => Coding::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(meter, 4096))),
            b"zstd" => Coding::Zstd(Box::new(zstd_writer(meter).ok()?)),
            _ => return None,
        };
        Some(Self { coding })
    }

    /// Decodes the next piece.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let written = match &mut self.coding {
            Coding::Gzip(decoder) => decoder.write_all(bytes),
            Coding::Deflate(decoder) => decoder.feed(bytes),
            Coding::Brotli(decoder) => decoder.write_all(bytes),
            Coding::Zstd(decoder) => decoder.write_all(bytes),
        };
        written.map_err(|error| fault_of(&error))
    }

    /// Ends the body; a truncated stream is a fault.
    pub fn finish(self) -> Result<(), Fault> {
        let finished = match self.coding {
            Coding::Gzip(mut decoder) => decoder.try_finish(),
            Coding::Deflate(decoder) => decoder.finish(),
            Coding::Brotli(mut decoder) => decoder.close(),
            // Flushing alone would accept a truncated frame as complete.
            Coding::Zstd(mut decoder) => decoder.finish(),
        };
        finished.map_err(|error| fault_of(&error))
    }
}

fn zstd_writer(meter: Meter) -> io::Result<zio::Writer<Meter, raw::Decoder<'static>>> {
    let mut decoder = raw::Decoder::new()?;
    decoder.set_parameter(raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
    Ok(zio::Writer::new(meter, decoder))
}

fn fault_of(error: &io::Error) -> Fault {
    if error.kind() == OVER_LIMIT { Fault::DecodeLimit } else { Fault::DecodeFailed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(encoding: &str, body: &[u8], limit: u64) -> Result<(), Fault> {
        let mut decoder = Decoder::new(encoding.as_bytes(), limit).expect("a known coding");
        body.chunks(7).try_for_each(|piece| decoder.feed(piece))?;
        decoder.finish()
    }

    fn encode(encoding: &str, bytes: &[u8]) -> Vec<u8> {
        match encoding {
            "gzip" => gzip(bytes),
            "deflate" => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "br" => {
                let mut body = Vec::new();
                let mut encoder = brotli::CompressorWriter::new(&mut body, 4_096, 5, 20);
                encoder.write_all(bytes).unwrap();
                drop(encoder);
                body
            }
            _ => zstd::encode_all(bytes, 3).unwrap(),
        }
    }

    const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

    #[test]
    fn whole_bodies_decode() {
        let text: Vec<u8> = (0..20_000u32).flat_map(u32::to_le_bytes).collect();
        for coding in CODINGS {
            for body in [&[][..], b"x", &[b'x'; 5_000], &text] {
                let encoded = encode(coding, body);
                assert_eq!(decode(coding, &encoded, body.len() as u64), Ok(()), "{coding}");
                assert_eq!(decode(&coding.to_uppercase(), &encoded, 1 << 20), Ok(()), "{coding}");
            }
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        for coding in CODINGS {
            let bomb = encode(coding, &vec![0; 10_000_000]);
            assert_eq!(decode(coding, &bomb, 1_000_000), Err(Fault::DecodeLimit), "{coding}");
        }
    }

    #[test]
    fn a_body_in_another_encoding_than_announced_fails() {
        for coding in CODINGS {
            assert_eq!(decode(coding, b"this is not compressed at all", 1_000), Err(Fault::DecodeFailed));
        }
    }

    #[test]
    fn a_truncated_body_fails() {
        let text: Vec<u8> = (0..2_000u32).flat_map(u32::to_le_bytes).collect();
        for coding in CODINGS {
            let body = encode(coding, &text);
            for end in (1..body.len()).step_by(97).chain([body.len() - 1]) {
                let cut = decode(coding, &body[..end], 1 << 20);
                assert_eq!(cut, Err(Fault::DecodeFailed), "{coding} cut at {end} of {}", body.len());
            }
        }
    }

    #[test]
    fn bytes_after_an_encoded_body_fail() {
        for coding in CODINGS {
            let mut body = encode(coding, b"hello");
            body.extend_from_slice(b"and more that is not encoded");
            assert_eq!(decode(coding, &body, 1 << 20), Err(Fault::DecodeFailed), "{coding}");
        }
    }

    #[test]
    fn a_zstd_frame_cannot_claim_more_memory_than_the_standard_allows() {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(b"small, but with a window of 128 MiB").unwrap();
        assert_eq!(decode("zstd", &encoder.finish().unwrap(), 1 << 20), Err(Fault::DecodeFailed));
    }

    #[test]
    fn bodies_in_unknown_codings_are_not_decoded() {
        assert!(Decoder::new(b"identity", 1).is_none());
        assert!(Decoder::new(b"", 1).is_none());
    }
}
