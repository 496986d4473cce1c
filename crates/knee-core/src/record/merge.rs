//! Makes one record of the records of several machines that each did a part of a load.
//!
//! The result depends on the records alone, not on their order: the same parts always give the same bytes. Histograms
//! are added bucket by bucket, so each percentile is that of all requests together. Reads every record once, from its
//! beginning to its end, and holds one interval of each at a time. Does not open files.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use super::format::{Reader, Writer};
use super::run::{Parts, RunBuilder};
use super::{Contribution, Ending, Head, Run, Tail};
use crate::interval::Interval;
use crate::metric::Metrics;
use crate::plan::EndpointId;
use crate::sampled::Sampled;
use crate::unit::Nanos;
use crate::validity::{Validity, ValidityReport, Warning};

mod alike;
mod cell;
mod error;
mod extent;
mod names;
mod part;

pub use error::{MergeError, Place};

use alike::Whole;
use cell::next_cell;
use extent::Extent;
use names::Names;
use part::{Part, Read as ReadPart};

/// A merged record.
#[derive(Debug)]
pub struct Merged<W> {
    /// The run of all machines together.
    pub run: Run,
    /// Where its record was written.
    pub sink: W,
}

/// What was merged so far.
#[derive(Clone, Copy, Debug)]
pub enum Watched<'m> {
    /// The load is known.
    Begun(&'m Head),
    /// This is what scripts counted, as far as it is final.
    Metrics(&'m Metrics),
    /// This interval is final.
    Interval(&'m Interval),
}

/// The same as [`merge`], and `watch` sees what is merged while that goes on: sources can grow meanwhile.
///
/// # Errors
/// As [`merge`].
pub fn merge_watched<R: Read, W: Write>(
    sources: Vec<R>,
    sink: W,
    watch: &mut dyn FnMut(Watched<'_>),
) -> Result<Merged<W>, MergeError> {
    let mut readers = Vec::with_capacity(sources.len());
    for (place, source) in (0..).map(Place).zip(sources) {
        readers.push((place, Reader::new(source).map_err(|error| MergeError::Read { place, error })?));
    }
    let (whole, readers) = alike::sorted(readers)?;
    watch(Watched::Begun(&whole.head));
    let mut writer = Writer::new(sink, &whole.head)?;
    let mut builder = RunBuilder::new(whole.head.clone());
    let mut names = Names::of(&whole.head.plan);
    let mut parts = Vec::with_capacity(readers.len());
    for (place, share, reader) in readers {
        parts.push(Part::begin(place, share, reader)?);
    }
    let (mut cell, mut from) = (Interval::default(), Nanos::ZERO);
    let mut metrics = Metrics::default();
    while next_cell(&mut parts, &mut names, (&mut cell, &mut metrics), from)? {
        for note in parts.iter_mut().flat_map(Part::take_notes) {
            writer.note(&note)?;
        }
        count(&mut builder, &mut writer, watch, std::mem::take(&mut metrics))?;
        builder.add(&cell);
        writer.interval(&cell)?;
        watch(Watched::Interval(&cell));
        from = cell.to;
        cell.clear();
    }
    for note in parts.iter_mut().flat_map(Part::take_notes) {
        writer.note(&note)?;
    }
    for part in &mut parts {
        metrics.merge_beside(&part.take_metrics());
    }
    count(&mut builder, &mut writer, watch, metrics)?;
    let parts: Vec<ReadPart> = parts.into_iter().map(Part::end).collect();
    let run = sum_up(&whole, builder, &parts);
    for contribution in &run.contributions {
        writer.contribution(contribution)?;
    }
    let tail = Tail {
        ending: run.ending.clone(),
        stopped: run.stopped,
        validity: run.validity.clone(),
        intervals: writer.intervals(),
        sampled: run.sampled.clone(),
    };
    Ok(Merged { run, sink: writer.tail(&tail)? })
}

fn count<W: Write>(
    builder: &mut RunBuilder,
    writer: &mut Writer<W>,
    watch: &mut dyn FnMut(Watched<'_>),
    metrics: Metrics,
) -> Result<(), MergeError> {
    if metrics.is_empty() {
        return Ok(());
    }
    builder.count(&metrics);
    watch(Watched::Metrics(&metrics));
    writer.metrics(metrics)?;
    Ok(())
}

/// Merges the records of the parts of a load, in any order, into one that is written to `sink`.
///
/// # Errors
/// If a record cannot be read, is not that of a part, or is of another load than the first; if two are of the same
/// part; if the record cannot be written. What was written until then is no whole record.
pub fn merge<R: Read, W: Write>(sources: Vec<R>, sink: W) -> Result<Merged<W>, MergeError> {
    merge_watched(sources, sink, &mut |_| {})
}

/// The run of all parts together, with the validity of the whole and of each.
fn sum_up(whole: &Whole, mut builder: RunBuilder, parts: &[ReadPart]) -> Run {
    let extent = Extent::of(whole, parts);
    for (part, lost) in parts.iter().zip(&extent.lost) {
        builder.contribute(part.contribution(lost.requests, lost.share));
    }
    for (share, lost) in extent.missing {
        builder.contribute(Contribution::missing(share.segment().to_string(), lost));
    }
    if let Some(at) = stopped(parts) {
        builder.stop(at);
    }
    builder.note_parts(Parts {
        generators: parts.iter().map(|part| part.run.validity.diagnostics.generator.clone()).collect(),
        figures: extent.figures,
    });
    let mut run = builder.end(ending(parts));
    run.validity = with_those_of_parts(run.validity, parts);
    run.sampled = sampled(&run, parts);
    run
}

/// How sampled responses of all parts looked, by the endpoints of `whole`.
fn sampled(whole: &Run, parts: &[ReadPart]) -> Sampled {
    let ids = (0..).map(EndpointId).zip(&whole.endpoints);
    let ids: BTreeMap<&str, EndpointId> = ids.map(|(id, endpoint)| (endpoint.name.as_str(), id)).collect();
    let mut sampled = Sampled::default();
    for part in parts {
        let name = |id: EndpointId| part.run.endpoints.get(id.0 as usize).map(|one| one.name.as_str());
        sampled.merge(&part.run.sampled, |id| ids.get(name(id)?).copied());
    }
    sampled
}

/// When all machines were stopped; `None` if one went on to the end of its plan.
fn stopped(parts: &[ReadPart]) -> Option<Nanos> {
    let all: Option<Vec<Nanos>> = parts.iter().map(|part| part.run.stopped).collect();
    all?.into_iter().max()
}

/// How the whole ended: by its plan if any part did, because the others are then reported as incomplete.
fn ending(parts: &[ReadPart]) -> Ending {
    let any = |ending: &Ending| parts.iter().any(|part| part.run.ending == *ending);
    [Ending::Completed, Ending::Interrupted].into_iter().find(any).unwrap_or(Ending::Aborted)
}

/// The warnings of the whole and of each part, which names the part. Where a part has the same warning as the whole,
/// only that of the part is kept, because it says which machine to look at; where all have it, only that of the whole.
fn with_those_of_parts(whole: ValidityReport, parts: &[ReadPart]) -> ValidityReport {
    let ValidityReport { mut warnings, mut notes, diagnostics, .. } = whole;
    let has = |part: &ReadPart, code: &str| part.run.validity.warnings.iter().any(|one| one.code == code);
    let of_all = |code: &str| parts.len() > 1 && parts.iter().all(|part| has(part, code));
    let mut of_parts: Vec<Warning> = parts.iter().flat_map(ReadPart::warnings).collect();
    of_parts
        .retain(|warning| !(of_all(&warning.code) && warnings.iter().any(|one| one.code == warning.code)));
    warnings.retain(|warning| !of_parts.iter().any(|part| part.code == warning.code));
    warnings.extend(of_parts);
    if parts.iter().any(|part| !part.run.observations.sources.is_empty()) {
        notes.push("what observers saw beside a part is only in its own record".to_owned());
    }
    let unread = parts.iter().filter(|part| part.unread > 0);
    notes.extend(unread.map(|part| {
        let (name, frames) = (part.name(), part.unread);
        format!("{name}: {frames} frames with metrics of its script could not be read, and are missing here")
    }));
    warnings.sort_by_key(|warning| std::cmp::Reverse(warning.validity));
    let validity = warnings.first().map_or(Validity::Valid, |warning| warning.validity);
    ValidityReport { validity, warnings, notes, diagnostics }
}

#[cfg(test)]
mod tests;
