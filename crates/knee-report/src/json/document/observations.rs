//! What observers saw, as JSON: every source, figure and text, made while it is written.

use knee_core::observation::{
    FigureUnit, Observations, Series, SeriesKind, Source, SourceKind, SourceState, Text,
};
use serde::{Serialize, Serializer};

use crate::json::figure::{finite, seconds};

/// All observations.
#[derive(Debug)]
pub struct Observed<'v>(pub &'v Observations);

#[derive(Serialize)]
struct Members<'v> {
    sources: Vec<SourceEntry<'v>>,
    series: Seq<'v, Series>,
    texts: &'v [Text],
}

impl Serialize for Observed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Observations { sources, series, texts } = self.0;
        let sources = sources.iter().map(SourceEntry::of).collect();
        Members { sources, series: Seq(series), texts }.serialize(serializer)
    }
}

/// Entries that are made one by one.
struct Seq<'v, T>(&'v [T]);

impl Serialize for Seq<'_, Series> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SeriesEntry::of))
    }
}

#[derive(Serialize)]
struct SourceEntry<'v> {
    name: &'v str,
    kind: SourceKind,
    version: Option<&'v str>,
    state: &'static str,
    reason: Option<&'v str>,
    lost_at_s: Option<f64>,
    without: &'v [String],
    left_out: u64,
}

impl<'v> SourceEntry<'v> {
    fn of(source: &'v Source) -> Self {
        let (state, reason, lost_at_s) = match &source.state {
            SourceState::Read => ("read", None, None),
            SourceState::Refused { reason } => ("refused", Some(reason.as_str()), None),
            SourceState::Lost { at, reason } => ("lost", Some(reason.as_str()), Some(seconds(*at))),
        };
        Self {
            name: &source.name,
            kind: source.kind,
            version: source.version.as_deref(),
            state,
            reason,
            lost_at_s,
            without: &source.without,
            left_out: source.left_out,
        }
    }
}

#[derive(Serialize)]
struct SeriesEntry<'v> {
    source: usize,
    name: &'v str,
    label: &'v str,
    unit: FigureUnit,
    kind: SeriesKind,
    t_s: Vec<f64>,
    v: Vec<Option<f64>>,
}

impl<'v> SeriesEntry<'v> {
    fn of(series: &'v Series) -> Self {
        Self {
            source: series.source,
            name: &series.name,
            label: &series.label,
            unit: series.unit,
            kind: series.kind,
            t_s: series.points.iter().map(|(at, _)| seconds(*at)).collect(),
            v: series.points.iter().map(|(_, value)| finite(*value)).collect(),
        }
    }
}
