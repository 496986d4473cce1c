//! Decodes encoded bodies to verify them; the decoded bytes are counted and discarded.
//!
//! Bounded: a body that decodes to more than its limit is a fault, noticed before the whole excess is produced, and
//! all bodies of a run together use no more memory than its budget. Of HTTP it knows only the names of content codings.

use std::rc::Rc;

use knee_core::outcome::Fault;

use self::brotli::BrotliDecoder;
use self::inflate::Inflater;
use self::limit::DecodedLimit;
use self::zstandard::ZstdDecoder;
use super::memory::{BODY_FREE, MemoryBudget};

mod brotli;
mod inflate;
mod limit;
mod zstandard;

/// Decodes one body that arrives in pieces.
pub struct Decoder {
    coding: Coding,
    limit: DecodedLimit,
}

enum Coding {
    Inflate(Box<Inflater>),
    /// The first bytes of a body whose window can be large. They are decoded when the body is complete, or when they
    /// are as many as the window of other codings. So small bodies, however many arrive at the same time, hold no
    /// windows.
    Waiting(Windowed, Vec<u8>, Rc<MemoryBudget>),
    Brotli(Box<BrotliDecoder>),
    Zstd(Box<ZstdDecoder>),
}

/// A coding whose window is as large as the server wants.
#[derive(Clone, Copy)]
enum Windowed {
    Brotli,
    Zstd,
}

impl Decoder {
    /// A decoder for the value of a `content-encoding` header; it stops at `limit` decoded bytes and takes its memory
    /// from `budget`. `None` for no encoding, and for unknown codings or chains of codings: their bodies are not
    /// decoded.
    pub fn new(encoding: &[u8], limit: u64, budget: &Rc<MemoryBudget>) -> Option<Self> {
        let encoding = encoding.trim_ascii();
        let is = |name: &str| encoding.eq_ignore_ascii_case(name.as_bytes());
        let waiting = |windowed| Coding::Waiting(windowed, Vec::new(), budget.clone());
        let coding = if is("gzip") || is("x-gzip") {
            Coding::Inflate(Box::new(Inflater::gzip()))
        } else if is("deflate") {
            Coding::Inflate(Box::new(Inflater::zlib()))
        } else if is("br") {
            waiting(Windowed::Brotli)
        } else if is("zstd") {
            waiting(Windowed::Zstd)
        } else {
            return None;
        };
        Some(Self { coding, limit: DecodedLimit::new(limit) })
    }

    /// Decodes the next piece.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if let Coding::Waiting(_, first, _) = &mut self.coding {
            if first.len() + bytes.len() <= BODY_FREE as usize {
                first.extend_from_slice(bytes);
                return Ok(());
            }
            self.begin()?;
        }
        match &mut self.coding {
            Coding::Inflate(inflater) => inflater.feed(bytes, &mut self.limit),
            Coding::Brotli(decoder) => decoder.feed(bytes, &mut self.limit),
            Coding::Zstd(decoder) => decoder.feed(bytes, &mut self.limit),
            Coding::Waiting(..) => Ok(()), // `begin` ends the wait
        }
    }

    /// Ends the body; a truncated stream is a fault.
    pub fn finish(mut self) -> Result<(), Fault> {
        self.begin()?;
        match self.coding {
            Coding::Inflate(inflater) => inflater.finish(),
            Coding::Brotli(decoder) => decoder.finish(),
            Coding::Zstd(decoder) => decoder.finish(),
            Coding::Waiting(..) => Ok(()), // `begin` ends the wait
        }
    }

    /// Decodes the bytes that wait, if this coding has any.
    fn begin(&mut self) -> Result<(), Fault> {
        let Coding::Waiting(windowed, first, budget) = &mut self.coding else { return Ok(()) };
        let (first, budget) = (std::mem::take(first), budget.clone());
        self.coding = match windowed {
            Windowed::Brotli => {
                let mut decoder = Box::new(BrotliDecoder::new(budget));
                decoder.feed(&first, &mut self.limit)?;
                Coding::Brotli(decoder)
            }
            Windowed::Zstd => {
                let mut decoder = Box::new(ZstdDecoder::new(budget)?);
                decoder.feed(&first, &mut self.limit)?;
                Coding::Zstd(decoder)
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
