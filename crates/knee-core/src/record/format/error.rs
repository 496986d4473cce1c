//! Why bytes are not a record, or not a whole one.

use std::io;

use super::VERSION;
use super::unfit::Unfit;

/// Why bytes are not a record, or not a whole one.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading failed; try again, or check the disk.
    #[error("cannot read the record: {0}")]
    Io(#[from] io::Error),
    /// The bytes do not begin like a record: the file is of another kind.
    #[error("this is not a knee record")]
    NotARecord,
    /// Written by a later version of the program, which can read it.
    #[error("the record has format version {0}, and this program reads versions up to {VERSION}")]
    Version(u32),
    /// It is a part of something, or has frames that change what the others mean. Only a later version can read it.
    #[error("this version cannot read {what}, at byte {offset}")]
    Later {
        /// Where the frame begins.
        offset: u64,
        /// What it is.
        what: String,
    },
    /// The writer was killed before it had written the head: nothing was measured.
    #[error("the record ends before its first frame is complete: nothing was measured")]
    NoHead,
    /// Bytes that are no frame: one does not match its checksum or its length, or bytes follow the tail.
    #[error("the record is damaged at byte {offset}")]
    Damaged {
        /// Where the frame begins.
        offset: u64,
    },
    /// A frame matches its checksum, but its content does not match its kind: another program wrote it.
    #[error("the frame at byte {offset} cannot be understood: {what}")]
    Content {
        /// Where the frame begins.
        offset: u64,
        /// Message of the decoder.
        what: String,
    },
    /// More than any record of a run needs: a broken or malicious file.
    #[error("this record needs more memory than {} MiB, at byte {offset}: {what}", .bytes >> 20)]
    Memory {
        /// Where the frame begins.
        offset: u64,
        /// What would take the memory.
        what: String,
        /// The limit, in bytes.
        bytes: usize,
    },
}

impl ReadError {
    /// Where in the file the error is, if it is at a place.
    pub const fn offset(&self) -> Option<u64> {
        match self {
            Self::Damaged { offset }
            | Self::Later { offset, .. }
            | Self::Content { offset, .. }
            | Self::Memory { offset, .. } => Some(*offset),
            Self::Io(_) | Self::NotARecord | Self::Version(_) | Self::NoHead => None,
        }
    }

    /// The error of the frame that begins at `offset`, under a memory limit of `bytes`.
    pub fn of(unfit: Unfit, offset: u64, bytes: usize) -> Self {
        match unfit {
            Unfit::Content(what) => Self::Content { offset, what },
            Unfit::Memory(what) => Self::Memory { offset, what, bytes },
        }
    }
}
