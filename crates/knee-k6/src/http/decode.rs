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
        match self {
            Self::Gzip => read_all(flate2::read::MultiGzDecoder::new(body), limit),
            Self::Deflate => read_all(flate2::read::ZlibDecoder::new(body), limit),
            Self::Brotli => read_all(brotli::Decompressor::new(body, 4096), limit),
            Self::Zstd => read_all(zstd::stream::read::Decoder::new(body)?, limit),
        }
    }
}

fn read_all(decoder: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    decoder.take(limit + 1).read_to_end(&mut out)?;
    if out.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("decodes to more than {limit} bytes"),
        ));
    }
    Ok(out)
}

/// Decodes what the value of a `content-encoding` header says, last coding first. Unknown codings
/// end it: the body stays as it is.
pub fn decode_all(encoding: &str, body: Vec<u8>, limit: u64) -> io::Result<Vec<u8>> {
    if body.is_empty() {
        return Ok(body);
    }
    let codings: Option<Vec<Coding>> = encoding.split(',').map(Coding::by_name).collect();
    let Some(codings) = codings else { return Ok(body) };
    codings.iter().rev().try_fold(body, |body, coding| coding.decode(&body, limit))
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
    fn codings_in_a_row_are_undone_from_the_last() {
        let twice = Coding::Zstd.encode(&Coding::Gzip.encode(b"x").unwrap()).unwrap();
        assert_eq!(decode_all("gzip, zstd", twice, 100).unwrap(), b"x");
        assert_eq!(decode_all("identity", b"y".to_vec(), 100).unwrap(), b"y");
    }
}
