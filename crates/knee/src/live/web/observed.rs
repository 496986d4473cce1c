//! What observers see, as the live page gets it: a few charts per source, those of the report of a run.
//!
//! Pure. Names and texts of sources are foreign: what acts on the text around it is written out. Shows no findings: they
//! need the whole run.

use knee_core::observation::{Source, SourceState};
use knee_report::view::observed::{Course, CourseLine, courses};
use serde_json::{Value, json};

use crate::live::observed::Observed;
use crate::problem::on_one_line;

/// Digits of a figure that a chart needs.
const DIGITS: f64 = 1e4;

/// The sources with their charts; `null` if nothing is observed.
pub fn of(observed: &Observed) -> Value {
    let seen = observed.observations();
    if seen.sources.is_empty() && !observed.is_broken() {
        return Value::Null;
    }
    let sources = seen.sources.iter().zip(courses(seen));
    let sources: Vec<Value> = sources.map(|(source, courses)| of_source(source, &courses)).collect();
    json!({ "is_broken": observed.is_broken(), "sources": sources })
}

fn of_source(source: &Source, courses: &[Course]) -> Value {
    let (lost_at, trouble) = match &source.state {
        SourceState::Read => (None, None),
        SourceState::Refused { reason } => (None, Some(reason)),
        SourceState::Lost { at, reason } => (Some(at.as_secs_f64()), Some(reason)),
    };
    json!({
        "name": on_one_line(&source.name),
        "version": source.version.as_deref().map(on_one_line),
        "lost_at_s": lost_at,
        "trouble": trouble.map(|reason| on_one_line(reason)),
        "charts": courses.iter().map(chart).collect::<Vec<Value>>(),
    })
}

/// A chart. Its lines are in the order of their names, so that each keeps its colour while it grows.
fn chart(course: &Course) -> Value {
    let mut lines: Vec<&CourseLine> = course.lines.iter().collect();
    lines.sort_by(|one, other| one.name.cmp(&other.name));
    json!({
        "title": course.title,
        "unit": course.unit,
        "lines": lines.into_iter().map(line).collect::<Vec<Value>>(),
        "left_out": course.left_out,
    })
}

fn line(line: &CourseLine) -> Value {
    let points: Vec<[f64; 2]> = line.points.iter().map(|(at, figure)| [short(*at), short(*figure)]).collect();
    json!({ "name": on_one_line(&line.name), "points": points })
}

/// A figure in as many digits as a chart can show.
fn short(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return 0.0;
    }
    let scale = DIGITS / 10_f64.powf(figure.abs().log10().floor());
    let shortened = (figure * scale).round() / scale;
    if shortened.is_finite() { shortened } else { figure }
}

#[cfg(test)]
mod tests {
    use knee_core::observation::{
        Batch, FigureUnit, NewSeries, Number, Reading, SeriesKind, SourceChange, SourceKind,
    };
    use knee_core::unit::Nanos;

    use super::*;

    fn source(name: &str, state: SourceState) -> SourceChange {
        let without = Vec::new();
        let name = name.to_owned();
        let source = Source { name, kind: SourceKind::Process, version: None, state, without, left_out: 0 };
        SourceChange { index: 0, source }
    }

    #[test]
    fn a_load_without_observers_has_none() {
        assert_eq!(of(&Observed::default()), Value::Null);
    }

    #[test]
    fn a_source_has_its_charts_and_its_name_stays_text() {
        let series = NewSeries {
            source: 0,
            name: "process.memory.resident".to_owned(),
            label: String::new(),
            unit: FigureUnit::Bytes,
            kind: SeriesKind::Gauge,
        };
        let at = |second| Reading {
            at: Nanos::from_secs(second),
            series: vec![0],
            values: vec![Number::Real(1_048_576.0 * second as f64)],
        };
        let sources = vec![source("<b>shop\u{1b}[2J", SourceState::Read)];
        let batch = Batch { sources, series: vec![series], readings: vec![at(1), at(2)], texts: Vec::new() };
        let mut observed = Observed::default();
        observed.add(&batch, 0);
        let lost = SourceState::Lost { at: Nanos::from_secs(3), reason: "it has ended".to_owned() };
        observed.add(&Batch { sources: vec![source("<b>shop\u{1b}[2J", lost)], ..Batch::default() }, 1);
        let shown = of(&observed);
        let source = &shown["sources"][0];
        assert_eq!(source["name"], "<b>shop\\x1b[2J");
        assert_eq!((&source["lost_at_s"], &source["trouble"]), (&json!(3.0), &json!("it has ended")));
        assert_eq!(source["charts"][0]["title"], "Memory");
        assert_eq!(source["charts"][0]["lines"][0]["points"], json!([[1.0, 1.0], [2.0, 2.0]]));
    }

    #[test]
    fn figures_keep_five_digits() {
        let shortened = [123_456.789, 0.000_123_456_7, -2.0, 0.0, f64::MIN_POSITIVE].map(short);
        assert_eq!(shortened[..4], [123_460.0, 0.000_123_46, -2.0, 0.0]);
        assert!(shortened[4].is_finite());
    }
}
