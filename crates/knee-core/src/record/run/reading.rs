//! Reads a whole record: the loop over its frames that every reader needs.
//!
//! Does not open files, and does not know the bytes of a record; see [`format`](super::super::format).

use std::io::Read;

use super::super::format::{Frame, GAVE_UP, Note, ReadError, Reader, Skipped};
use super::super::{Run, Tail};
use super::RunBuilder;
use super::memory::MEMORY_MAX;
use super::unknown;

/// Most notes kept per record.
pub const NOTES_MAX: usize = 1_000;

/// Most characters kept of a note.
const NOTE_CHARS_MAX: usize = 1_000;

/// A record, read as far as it goes.
#[derive(Debug)]
pub struct Reading {
    /// The run; [`Ending::Truncated`](super::super::Ending::Truncated) if the tail is missing or cannot be reached.
    pub run: Run,
    /// The first [`NOTES_MAX`] lines of text.
    pub notes: Vec<Note>,
    /// The first place that could not be read; `run` has everything else.
    pub damage: Option<ReadError>,
    /// Frames of kinds that this version does not know, by kind.
    pub skipped: Vec<Skipped>,
}

/// Reads a whole record from a buffered source. The run takes at most [`MEMORY_MAX`], whatever the record.
///
/// # Errors
/// If not even the head can be read (see [`Reader::new`]), if the record needs more memory, and if only a later version
/// can read it. Other errors are in [`Reading::damage`].
pub fn read(source: impl Read) -> Result<Reading, ReadError> {
    read_within(source, MEMORY_MAX)
}

/// The same with another limit, in bytes.
///
/// # Errors
/// As [`read`].
pub fn read_within(source: impl Read, bytes: usize) -> Result<Reading, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut offset = reader.offset();
    let mut builder = RunBuilder::new(reader.head().clone());
    builder.count_texts(reader.content_bytes());
    builder.fit_into(bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
    let (mut notes, mut tail, mut damage) = (Vec::new(), None, None);
    loop {
        match reader.next_frame() {
            Ok(Some(Frame::Interval(interval))) => {
                builder.add_stored(&interval, bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
            }
            Ok(Some(Frame::Summed(summed))) => {
                builder.add_summed(*summed, bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
            }
            Ok(Some(Frame::Note(note))) => {
                let note = cut(note);
                if let Some(reason) = note.text.strip_prefix(GAVE_UP) {
                    builder.note_end(reason);
                }
                if notes.len() < NOTES_MAX {
                    notes.push(note);
                }
            }
            Ok(Some(Frame::Observations(batch))) => {
                builder.observe(&batch);
                builder.fit_into(bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
            }
            Ok(Some(Frame::Metrics(metrics))) => {
                builder.count(&metrics);
                builder.fit_into(bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
            }
            Ok(Some(Frame::Amendment(amendment))) => builder.amend(amendment),
            Ok(Some(Frame::Lateness(lateness))) => builder.began(lateness),
            Ok(Some(Frame::Contribution(contribution))) => {
                builder.count_texts(reader.content_bytes());
                builder.contribute(*contribution);
                builder.fit_into(bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
            }
            Ok(Some(Frame::Tail(read))) => {
                builder.count_texts(reader.content_bytes());
                builder.fit_into(bytes).map_err(|unfit| ReadError::of(unfit, offset, bytes))?;
                tail = Some(*read);
            }
            Ok(None) => break,
            Err(error @ (ReadError::Memory { .. } | ReadError::Later { .. })) => return Err(error),
            Err(error) => {
                builder.note_damage(error.offset().unwrap_or(offset));
                damage.get_or_insert(error);
            }
        }
        offset = reader.offset();
    }
    let skipped: Vec<Skipped> = reader.skipped().collect();
    // The notes of a run that was summed up are in its tail.
    let summed = builder.is_summed();
    let mut run = finish(builder, tail, damage.as_ref());
    run.validity.notes.extend(unknown::note(&run, &skipped).filter(|_| !summed));
    Ok(Reading { run, notes, damage, skipped })
}

fn finish(builder: RunBuilder, tail: Option<Tail>, damage: Option<&ReadError>) -> Run {
    let coarseness = builder.coarseness();
    let mut run = builder.finish(tail);
    // That a place is damaged is a warning; other errors say more than that.
    let explained = damage.filter(|damage| !matches!(damage, ReadError::Damaged { .. }));
    run.validity.notes.extend(explained.map(ToString::to_string));
    if coarseness > 0 {
        let parts = 1024 >> coarseness;
        let text =
            format!("the record is large: times of single endpoints are rounded up by up to 1/{parts}");
        run.validity.notes.push(text);
    }
    run
}

/// A note whose text is not too long.
fn cut(note: Note) -> Note {
    match note.text.char_indices().nth(NOTE_CHARS_MAX) {
        Some((end, _)) => Note { text: format!("{}…", &note.text[..end]), ..note },
        None => note,
    }
}
