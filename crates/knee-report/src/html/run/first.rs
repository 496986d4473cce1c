//! The first screen of a run.
//!
//! Its sentences are those of the text report. Does not judge: the validity is part of the run.

use knee_core::validity::Validity;
use maud::{Markup, html};

use super::{distribution, findings, over_time};
use crate::chart::Chart;
use crate::html::front::{Front, Tile, Trust};
use crate::html::picture::figure;
use crate::number::{self, Unit, rate};
use crate::text::validity::{count, figures, meaning, reason_line, said};
use crate::text::{Style, answer, plan};
use crate::view::column::Columns;
use crate::view::script::{Limit, Script};
use crate::{View, clean};

/// Figures that stand beside a valid result.
const EVIDENCE_MAX: usize = 4;
/// Heights of the two pictures, in pixels of a wide page.
const TIMES: f64 = 190.0;
const THROUGHPUT: f64 = 130.0;

/// The first screen.
pub(super) fn front(view: &View, columns: &Columns, style: &Style) -> Front {
    Front {
        kind: "Load test",
        subject: view.head.title.clone(),
        terms: plan::pieces(&view.head, &view.amendments),
        answer: sentences(view, style.unit),
        points: crossed(view),
        limits: findings::first(&view.findings),
        trust: Some(trust(view, style.unit)),
        tiles: tiles(view, style.unit),
        picture: picture(view, columns),
    }
}

/// The answer in a sentence; of a result that must not be used, the reason.
fn sentences(view: &View, unit: Option<Unit>) -> Vec<String> {
    let pieces = answer::pieces(view, unit);
    if !pieces.is_empty() {
        return vec![format!("{}.", pieces.join(", "))];
    }
    match reason_line(view) {
        Some(reason) => vec![format!("Not to be used: {reason}.")],
        None => vec!["No request was measured.".to_owned()],
    }
}

/// Most thresholds that the first screen names.
const CROSSED_MAX: usize = 3;

/// The thresholds that were crossed, each in a sentence.
fn crossed(view: &View) -> Vec<String> {
    let limits = Script::of(&view.metrics).thresholds;
    let crossed = limits.into_iter().filter(|limit| !limit.holds).take(CROSSED_MAX);
    let said = |limit: Limit| {
        let [metric, expression] =
            [&limit.metric, &limit.expression].map(|text| clean::line(text).into_owned());
        format!("Threshold crossed: {metric} {expression}; it was {}", limit.value)
    };
    crossed.map(said).collect()
}

fn trust(view: &View, unit: Option<Unit>) -> Trust {
    let report = &view.validity;
    let (validity, warnings) = (report.validity, report.warnings.len());
    let reasons = report
        .warnings
        .iter()
        .map(|warning| (format!("{}: {}", warning.validity.name(), said(warning)), warning.hint.clone()));
    let mut evidence =
        if validity == Validity::Valid { figures(&report.diagnostics, unit) } else { Vec::new() };
    evidence.truncate(EVIDENCE_MAX);
    Trust {
        standing: validity.into(),
        summary: format!("Validity: {}, {}{}", validity.name(), count(warnings), meaning(validity)),
        reasons: reasons.collect(),
        evidence,
    }
}

fn tiles(view: &View, unit: Option<Unit>) -> Vec<Tile> {
    if view.total.response.count == 0 {
        return Vec::new();
    }
    let tile = |name: &str, figure: String, beside: String| Tile { name: name.to_owned(), figure, beside };
    let mut tiles = Vec::new();
    if let Some(achieved) = view.rate.achieved {
        let offered = view.rate.offered.filter(|_| view.head.plan.is_open());
        let beside = offered.map_or_else(String::new, |offered| format!("of {}/s scheduled", rate(offered)));
        tiles.push(tile("Goodput", format!("{}/s", rate(achieved)), beside));
    }
    for (name, time) in answer::times(view, unit).into_iter().flatten() {
        tiles.push(tile(&format!("Response time {name}"), time, String::new()));
    }
    let thresholds = &view.metrics.thresholds;
    if !thresholds.is_empty() {
        let crossed = thresholds.iter().filter(|threshold| !threshold.holds).count() as u64;
        let figure =
            if crossed == 0 { "all held".to_owned() } else { format!("{} crossed", number::count(crossed)) };
        tiles.push(tile("Thresholds", figure, format!("of {}", number::count(thresholds.len() as u64))));
    }
    let (share, numbers) = answer::failed(view);
    tiles.push(tile("Not ok", share, numbers));
    tiles
}

/// Times above throughput; of a run that is too short for them, its percentiles.
fn picture(view: &View, columns: &Columns) -> Markup {
    let over_time = over_time::response(view, columns).zip(over_time::throughput(view, columns));
    let missing = over_time::missing_tail(view, columns).filter(|_| over_time.is_some());
    let charts: Vec<Chart> = match over_time {
        Some((times, throughput)) => {
            vec![Chart { height: TIMES, ..times }, Chart { height: THROUGHPUT, ..throughput }]
        }
        None => distribution::chart(view).into_iter().collect(),
    };
    html! {
        @for (place, chart) in charts.iter().enumerate() {
            (figure(chart))
            // The times are above the throughput.
            @if let Some(note) = missing.as_ref().filter(|_| place == 0) { p.note { (note) } }
        }
    }
}
