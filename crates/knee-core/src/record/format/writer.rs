//! Record to bytes.
//!
//! Does not buffer: each frame is passed to the sink before the call returns, so a killed program loses at most the
//! frame that it was writing. The owner of the file syncs it to disk.

use std::io::{self, Write};

use serde::Serialize;
use zstd::bulk::Compressor;

use super::{FRAME_BYTES_MAX, MAGIC, Note, Summed, VERSION, kind};
use crate::amendment::Amendment;
use crate::interval::Interval;
use crate::metric::Metrics;
use crate::observation::Batch;
use crate::record::{Contribution, Head, Lateness, Tail};

/// zstd's own default: a frame of one interval takes well under a millisecond.
const LEVEL: i32 = 3;

/// Bytes in front of kind and payload: length and checksum.
const PREFIX: usize = 8;

/// Writes one record, frame after frame.
pub struct Writer<W: Write> {
    sink: W,
    compressor: Compressor<'static>,
    packed: Vec<u8>,
    payload: Vec<u8>,
    frame: Vec<u8>,
    intervals: u64,
    /// Bytes of all whole frames.
    length: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a record.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn new(sink: W, head: &Head) -> io::Result<Self> {
        let compressor = Compressor::new(LEVEL)?;
        let (packed, payload, frame) = (Vec::new(), Vec::new(), Vec::new());
        let mut writer = Self { sink, compressor, packed, payload, frame, intervals: 0, length: 0 };
        let mut start = MAGIC.to_vec();
        start.extend(VERSION.to_le_bytes());
        writer.write(&start, kind::HEAD, head)?;
        Ok(writer)
    }

    /// Appends an interval.
    ///
    /// # Errors
    /// Those of the sink; `InvalidInput` if the interval is larger than [`FRAME_BYTES_MAX`].
    pub fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.write(&[], kind::INTERVAL, interval)?;
        self.intervals += 1;
        Ok(())
    }

    /// Appends points of a run whose intervals are summed up to one, before that one.
    ///
    /// # Errors
    /// Those of the sink; `InvalidInput` if there are too many points.
    pub fn summed(&mut self, summed: &Summed) -> io::Result<()> {
        self.write(&[], kind::SUMMED, summed)
    }

    /// Appends a line of text.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        self.write(&[], kind::NOTE, note)
    }

    /// Appends what observers read.
    ///
    /// # Errors
    /// Those of the sink; `InvalidInput` if the batch is larger than [`FRAME_BYTES_MAX`].
    pub fn observations(&mut self, batch: &Batch) -> io::Result<()> {
        self.write(&[], kind::OBSERVATIONS, batch)
    }

    /// Appends what scripts counted, in as many frames as it takes.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn metrics(&mut self, metrics: Metrics) -> io::Result<()> {
        metrics.into_frames().iter().try_for_each(|frame| self.write(&[], kind::METRICS, frame))
    }

    /// Appends what one of several machines contributed.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn contribution(&mut self, contribution: &Contribution) -> io::Result<()> {
        self.write(&[], kind::CONTRIBUTION, contribution)
    }

    /// Appends a change of the plan.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn amendment(&mut self, amendment: &Amendment) -> io::Result<()> {
        self.write(&[], kind::AMENDMENT, amendment)
    }

    /// Appends when a part began.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn lateness(&mut self, lateness: &Lateness) -> io::Result<()> {
        self.write(&[], kind::LATENESS, lateness)
    }

    /// How many intervals were written: what [`Tail::intervals`] must say.
    pub const fn intervals(&self) -> u64 {
        self.intervals
    }

    /// How many bytes the frames take that were written whole.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// What the record is written to. Nothing but whole frames must be written to it.
    pub const fn sink_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Ends the record. Nothing must be written after that.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn end(&mut self, tail: &Tail) -> io::Result<()> {
        self.write(&[], kind::TAIL, tail)?;
        self.sink.flush()
    }

    /// Ends the record and returns the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn tail(mut self, tail: &Tail) -> io::Result<W> {
        self.end(tail)?;
        Ok(self.sink)
    }

    /// The sink, with everything that was written.
    pub fn into_sink(self) -> W {
        self.sink
    }

    /// Writes `start` and one frame in a single `write_all`, so that only the last frame can be torn.
    fn write<T: Serialize>(&mut self, start: &[u8], kind: u8, content: &T) -> io::Result<()> {
        self.packed.clear();
        rmp_serde::encode::write_named(&mut self.packed, content).map_err(io::Error::other)?;
        self.payload.clear();
        self.payload.reserve(zstd::zstd_safe::compress_bound(self.packed.len()));
        self.compressor.compress_to_buffer(&self.packed, &mut self.payload)?;
        let length = self.payload.len() + 1;
        if self.packed.len().max(length) > FRAME_BYTES_MAX {
            let text = format!("a frame of {} bytes is larger than a record can hold", self.packed.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.frame.clear();
        self.frame.extend(start);
        self.frame.extend((length as u32).to_le_bytes());
        self.frame.extend([0; 4]);
        self.frame.push(kind);
        self.frame.extend(&self.payload);
        let body = start.len() + PREFIX;
        let checksum = crc32fast::hash(&self.frame[body..]);
        self.frame[body - 4..body].copy_from_slice(&checksum.to_le_bytes());
        self.sink.write_all(&self.frame)?;
        self.length += self.frame.len() as u64;
        Ok(())
    }
}
