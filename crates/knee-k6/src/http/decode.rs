//! Content codings: response bodies are decoded, bodies of requests encoded where asked for.
//!
//! The engine's decoders do the work, within the limits of the body's buffer.

use std::io::{self, Write};
use std::str;

use knee_core::outcome::Fault;
use knee_engine::http::decode::output::BodyBuffer;
use knee_engine::http::decode::{ContentCoding, Decoders};

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

    /// The decoder for it.
    const fn decoder(self) -> ContentCoding {
        match self {
            Self::Gzip => ContentCoding::Gzip,
            Self::Deflate => ContentCoding::Deflate,
            Self::Brotli => ContentCoding::Brotli,
            Self::Zstd => ContentCoding::Zstd,
        }
    }
}

/// The codings that the value of a `content-encoding` header names; `None` if it names an unknown one.
fn codings(encoding: &[u8]) -> Option<Vec<Coding>> {
    encoding.split(|byte| *byte == b',').map(|name| Coding::by_name(str::from_utf8(name).ok()?)).collect()
}

/// Decodes `body` as the value of a `content-encoding` header says, last coding first. With an unknown coding the body
/// stays as it is. The body is empty after a fault.
pub fn decode_all(decoders: &Decoders, encoding: &[u8], body: &mut BodyBuffer) -> Result<(), Fault> {
    if body.bytes().is_empty() {
        return Ok(());
    }
    for coding in codings(encoding).into_iter().flatten().rev() {
        let encoded = std::mem::replace(body, body.another());
        if let Err(fault) = decoders.decode(coding.decoder(), encoded.bytes(), body) {
            body.clear();
            return Err(fault);
        }
    }
    Ok(())
}

/// The same for a body whose end is missing: decodes what can be decoded.
pub fn decode_start(decoders: &Decoders, encoding: &[u8], body: &mut BodyBuffer) {
    for coding in codings(encoding).into_iter().flatten().rev() {
        let encoded = std::mem::replace(body, body.another());
        // The fault is that the end is missing, which the caller knows.
        let _ = decoders.decode(coding.decoder(), encoded.bytes(), body);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use knee_engine::http::decode::output::Output as _;
    use knee_engine::http::memory::MemoryBudget;

    use super::*;

    /// A body with `bytes`, limited to `limit` bytes, within a budget of as many.
    fn body(bytes: &[u8], limit: u64) -> BodyBuffer {
        let mut body = BodyBuffer::new(Rc::new(MemoryBudget::new(limit)), limit);
        body.take(bytes).unwrap();
        body
    }

    fn decoded(encoding: &str, bytes: &[u8], limit: u64) -> Result<Vec<u8>, Fault> {
        let mut body = body(bytes, limit);
        decode_all(&Decoders::default(), encoding.as_bytes(), &mut body)?;
        Ok(body.bytes().to_vec())
    }

    const CODINGS: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    #[test]
    fn every_coding_decodes_what_it_encoded() {
        for coding in CODINGS {
            let plain = b"the same again, the same again".repeat(20);
            let encoded = coding.encode(&plain).unwrap();
            assert!(encoded.len() < plain.len(), "{coding:?}");
            assert_eq!(decoded(coding.name(), &encoded, 10_000).unwrap(), plain);
            assert_eq!(Coding::by_name(coding.name()), Some(coding));
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit_and_leaves_nothing() {
        for coding in CODINGS {
            let bomb = coding.encode(&vec![0; 1_000_000]).unwrap();
            let mut body = body(&bomb, 10_000);
            let decoded = decode_all(&Decoders::default(), coding.name().as_bytes(), &mut body);
            assert_eq!(decoded, Err(Fault::DecodeLimit), "{coding:?}");
            assert!(body.bytes().is_empty());
        }
    }

    #[test]
    fn bombs_hold_no_more_than_the_budget_of_the_run_together() {
        let budget = Rc::new(MemoryBudget::new(4 << 20));
        let decoders = Decoders::new(budget.clone());
        let bomb = Coding::Gzip.encode(&vec![0; 1 << 20]).unwrap();
        let mut bodies: Vec<_> = (0..10).map(|_| BodyBuffer::new(budget.clone(), 1 << 30)).collect();
        let decode = |body: &mut BodyBuffer| {
            body.take(&bomb).unwrap();
            decode_all(&decoders, b"gzip", body)
        };
        let results: Vec<_> = bodies.iter_mut().map(decode).collect();
        let whole = results.iter().filter(|result| result.is_ok()).count();
        assert!((3..=4).contains(&whole), "{results:?}");
        assert!(results[whole..].iter().all(|result| *result == Err(Fault::MemoryLimit)), "{results:?}");
        drop(bodies);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_start_of_a_body_is_decoded_without_its_end() {
        let plain: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        for coding in CODINGS {
            let encoded = coding.encode(&plain).unwrap();
            let half = &encoded[..encoded.len() / 2];
            assert_eq!(decoded(coding.name(), half, 64 << 20), Err(Fault::DecodeFailed), "{coding:?}");
            let mut start = body(half, 64 << 20);
            decode_start(&Decoders::default(), coding.name().as_bytes(), &mut start);
            assert!(!start.bytes().is_empty() && plain.starts_with(start.bytes()), "{coding:?}");
        }
    }

    #[test]
    fn codings_in_a_row_are_undone_from_the_last() {
        let twice = Coding::Zstd.encode(&Coding::Gzip.encode(b"x").unwrap()).unwrap();
        assert_eq!(decoded("gzip, zstd", &twice, 100).unwrap(), b"x");
        assert_eq!(decoded("identity", b"y", 100).unwrap(), b"y");
    }
}
