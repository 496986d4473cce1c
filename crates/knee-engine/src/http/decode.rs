//! Decodes encoded bodies: piece by piece to verify them, where decoded bytes are counted and discarded, or whole.
//!
//! Bounded: a body that decodes to more than its limit is a fault, noticed before the whole excess is produced, and
//! all bodies of a run together use no more memory than its budget. Of HTTP it knows only the names of content codings.

use std::cell::RefCell;
use std::rc::Rc;

use knee_core::outcome::Fault;

use self::brotli::BrotliDecoder;
use self::inflate::{Inflater, Wrapper};
use self::output::{DecodedLimit, Output};
use self::zstandard::ZstdDecoder;
use super::memory::{BODY_FREE, MemoryBudget};

mod brotli;
mod inflate;
pub mod output;
mod zstandard;

/// How many decoders of gzip and deflate a worker keeps for later bodies. Most bodies arrive whole, so one is enough;
/// more are for those in pieces.
const SPARE_MAX: usize = 4;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentCoding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl ContentCoding {
    /// The coding with a name in `content-encoding`; `None` for unknown ones.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        let name = name.trim_ascii();
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("gzip") || is("x-gzip") {
            Some(Self::Gzip)
        } else if is("deflate") {
            Some(Self::Deflate)
        } else if is("br") {
            Some(Self::Brotli)
        } else if is("zstd") {
            Some(Self::Zstd)
        } else {
            None
        }
    }
}

/// Makes the decoders of one worker, and uses their memory again.
#[derive(Default)]
pub struct Decoders {
    budget: Rc<MemoryBudget>,
    spare: RefCell<Vec<Inflater>>,
}

impl Decoders {
    /// Decoders that take their memory from `budget`.
    pub fn new(budget: Rc<MemoryBudget>) -> Self {
        Self { budget, spare: RefCell::default() }
    }

    /// A decoder for the value of a `content-encoding` header; it stops at `limit` decoded bytes. `None` for no
    /// encoding, and for unknown codings or chains of codings: their bodies are not decoded.
    pub fn decoder(self: &Rc<Self>, encoding: &[u8], limit: u64) -> Option<Decoder> {
        self.decoder_into(encoding, DecodedLimit::new(limit))
    }

    /// The same, which passes decoded bytes to `output`.
    pub fn decoder_into<O: Output>(self: &Rc<Self>, encoding: &[u8], output: O) -> Option<Decoder<O>> {
        let coding = match ContentCoding::by_name(encoding)? {
            ContentCoding::Gzip => Coding::Inflate(self.inflater(Wrapper::Gzip)),
            ContentCoding::Deflate => Coding::Inflate(self.inflater(Wrapper::Zlib)),
            ContentCoding::Brotli => Coding::Waiting(Windowed::Brotli, Vec::new()),
            ContentCoding::Zstd => Coding::Waiting(Windowed::Zstd, Vec::new()),
        };
        Some(Decoder { coding, output, decoders: self.clone() })
    }

    /// Decodes a whole body into `out`. After a fault, `out` has what was decoded before it.
    pub fn decode(&self, coding: ContentCoding, body: &[u8], out: &mut impl Output) -> Result<(), Fault> {
        match coding {
            ContentCoding::Gzip | ContentCoding::Deflate => {
                let is_gzip = coding == ContentCoding::Gzip;
                let mut inflater = self.inflater(if is_gzip { Wrapper::Gzip } else { Wrapper::Zlib });
                let decoded = inflater.feed(body, out).and_then(|()| inflater.finish());
                self.keep(inflater);
                decoded
            }
            ContentCoding::Brotli => {
                let mut decoder = BrotliDecoder::new(self.budget.clone());
                decoder.feed(body, out)?;
                decoder.finish()
            }
            ContentCoding::Zstd => {
                let mut decoder = ZstdDecoder::new(self.budget.clone())?;
                decoder.feed(body, out)?;
                decoder.finish()
            }
        }
    }

    /// Keeps an inflater for later bodies.
    fn keep(&self, inflater: Inflater) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(inflater);
        }
    }

    fn inflater(&self, wrapper: Wrapper) -> Inflater {
        let Some(mut spare) = self.spare.borrow_mut().pop() else { return Inflater::new(wrapper) };
        spare.begin(wrapper);
        spare
    }
}

/// Decodes one body that arrives in pieces.
pub struct Decoder<O: Output = DecodedLimit> {
    coding: Coding,
    output: O,
    decoders: Rc<Decoders>,
}

enum Coding {
    Inflate(Inflater),
    /// The first bytes of a body whose window can be large. They are decoded when the body is complete, or when they
    /// are as many as the window of other codings. So small bodies, however many arrive at the same time, hold no
    /// windows.
    Waiting(Windowed, Vec<u8>),
    Brotli(Box<BrotliDecoder>),
    Zstd(Box<ZstdDecoder>),
    /// Its memory was given back.
    Ended,
}

/// A coding whose window is as large as the server wants.
#[derive(Clone, Copy)]
enum Windowed {
    Brotli,
    Zstd,
}

impl<O: Output> Decoder<O> {
    /// Where decoded bytes go.
    pub const fn output(&mut self) -> &mut O {
        &mut self.output
    }

    /// Decodes the next piece.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if let Coding::Waiting(_, first) = &mut self.coding {
            if first.len() + bytes.len() <= BODY_FREE as usize {
                first.extend_from_slice(bytes);
                return Ok(());
            }
            self.begin()?;
        }
        match &mut self.coding {
            Coding::Inflate(inflater) => inflater.feed(bytes, &mut self.output),
            Coding::Brotli(decoder) => decoder.feed(bytes, &mut self.output),
            Coding::Zstd(decoder) => decoder.feed(bytes, &mut self.output),
            Coding::Waiting(..) | Coding::Ended => Ok(()), // `begin` ends the wait
        }
    }

    /// Ends the body; a truncated stream is a fault.
    pub fn finish(mut self) -> Result<(), Fault> {
        self.begin()?;
        match &self.coding {
            Coding::Inflate(inflater) => inflater.finish(),
            Coding::Brotli(decoder) => decoder.finish(),
            Coding::Zstd(decoder) => decoder.finish(),
            Coding::Waiting(..) | Coding::Ended => Ok(()), // `begin` ends the wait
        }
    }

    /// Decodes the bytes that wait, if this coding has any.
    fn begin(&mut self) -> Result<(), Fault> {
        let Coding::Waiting(windowed, first) = &mut self.coding else { return Ok(()) };
        let (first, budget) = (std::mem::take(first), self.decoders.budget.clone());
        self.coding = match windowed {
            Windowed::Brotli => {
                let mut decoder = Box::new(BrotliDecoder::new(budget));
                decoder.feed(&first, &mut self.output)?;
                Coding::Brotli(decoder)
            }
            Windowed::Zstd => {
                let mut decoder = Box::new(ZstdDecoder::new(budget)?);
                decoder.feed(&first, &mut self.output)?;
                Coding::Zstd(decoder)
            }
        };
        Ok(())
    }
}

impl<O: Output> Drop for Decoder<O> {
    fn drop(&mut self) {
        let Coding::Inflate(inflater) = std::mem::replace(&mut self.coding, Coding::Ended) else { return };
        self.decoders.keep(inflater);
    }
}

#[cfg(test)]
mod tests;
