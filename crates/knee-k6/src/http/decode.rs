//! Content codings: response bodies are decoded, bodies of requests encoded where asked for.
//!
//! Bounded: a body that decodes to more than the limit is an error.

use std::io::{self, Read, Write};

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// By the name in `content-encoding` or in a script's `compression`.
    pub fn by_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its name in `content-encoding`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// `body` encoded.
    pub fn encode(self, body: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(&mut out, flate2::Compression::default());
                encoder.write_all(body)?;
                encoder.finish()?;
            }
            Self::Deflate => {
                let mut encoder = flate2::write::ZlibEncoder::new(&mut out, flate2::Compression::default());
                encoder.write_all(body)?;
                encoder.finish()?;
            }
            Self::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 5, 22);
                encoder.write_all(body)?;
            }
            Self::Zstd => out = zstd::encode_all(body, 3)?,
        }
        Ok(out)
    }

    /// `body` decoded, as far as it is at most `limit` bytes.
    pub fn decode(self, body: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_into(body, limit, &mut out)?;
        Ok(out)
    }

    /// Appends what can be decoded, also if an error follows.
    fn decode_into(self, body: &[u8], limit: u64, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Gzip => read_all(flate2::read::MultiGzDecoder::new(body), limit, out),
            Self::Deflate => read_all(flate2::read::ZlibDecoder::new(body), limit, out),
            Self::Brotli => read_all(brotli::Decompressor::new(body, 4096), limit, out),
            Self::Zstd => read_all(zstd::stream::read::Decoder::new(body)?, limit, out),
        }
    }
}

fn read_all(decoder: impl Read, limit: u64, out: &mut Vec<u8>) -> io::Result<()> {
    decoder.take(limit + 1).read_to_end(out)?;
    if out.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("decodes to more than {limit} bytes"),
        ));
    }
    Ok(())
}

/// The codings that the value of a `content-encoding` header names; `None` if it names an unknown one.
fn codings(encoding: &str) -> Option<Vec<Coding>> {
    encoding.split(',').map(Coding::by_name).collect()
}

/// Decodes what the value of a `content-encoding` header says, last coding first. Unknown codings
/// end it: the body stays as it is.
pub fn decode_all(encoding: &str, body: Vec<u8>, limit: u64) -> io::Result<Vec<u8>> {
    if body.is_empty() {
        return Ok(body);
    }
    let Some(codings) = codings(encoding) else { return Ok(body) };
    codings.iter().rev().try_fold(body, |body, coding| coding.decode(&body, limit))
}

/// What can be decoded of a body whose end is missing.
pub fn decode_start(encoding: &str, body: Vec<u8>, limit: u64) -> Vec<u8> {
    let Some(codings) = codings(encoding) else { return body };
    codings.iter().rev().fold(body, |body, coding| {
        let mut out = Vec::new();
        // The error is that the end is missing, which the caller knows.
        let _ = coding.decode_into(&body, limit, &mut out);
        out.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coding_decodes_what_it_encoded() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let body = b"the same again, the same again".repeat(20);
            let encoded = coding.encode(&body).unwrap();
            assert!(encoded.len() < body.len(), "{coding:?}");
            assert_eq!(coding.decode(&encoded, 10_000).unwrap(), body);
            assert_eq!(Coding::by_name(coding.name()), Some(coding));
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let bomb = Coding::Gzip.encode(&vec![0; 1_000_000]).unwrap();
        assert_eq!(Coding::Gzip.decode(&bomb, 1_000).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn the_start_of_a_body_is_decoded_without_its_end() {
        let body: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let encoded = coding.encode(&body).unwrap();
            let half = encoded[..encoded.len() / 2].to_vec();
            assert!(coding.decode(&half, 1 << 20).is_err(), "{coding:?}");
            let start = decode_start(coding.name(), half, 1 << 20);
            assert!(!start.is_empty() && body.starts_with(&start), "{coding:?}");
        }
        assert_eq!(decode_start("identity", b"y".to_vec(), 100), b"y");
    }

    #[test]
    fn codings_in_a_row_are_undone_from_the_last() {
        let twice = Coding::Zstd.encode(&Coding::Gzip.encode(b"x").unwrap()).unwrap();
        assert_eq!(decode_all("gzip, zstd", twice, 100).unwrap(), b"x");
        assert_eq!(decode_all("identity", b"y".to_vec(), 100).unwrap(), b"y");
    }
}
