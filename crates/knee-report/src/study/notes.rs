//! Notes on a whole study: what is unfinished, what was lost, how many tests were corrected, and what the negative
//! controls say.
//!
//! Does not judge; see [`super::words`] for single comparisons.

use knee_study::study::{Calibration, Conclusion};

use super::cpus;
use super::value::{self, count};

/// The notes, the most important first.
pub fn notes(conclusion: &Conclusion) -> Vec<String> {
    let mut notes = Vec::new();
    if !conclusion.over {
        let left = count(conclusion.left, "trial");
        notes.push(format!("unfinished: {left} left; the results can change"));
    }
    if conclusion.quick {
        notes.push(
            "quick study: few and short trials, so only large changes are likely to be found".to_owned(),
        );
    }
    if conclusion.blocks < conclusion.least_blocks {
        let (blocks, least) = (count(conclusion.blocks, "block"), conclusion.least_blocks);
        notes.push(format!("{blocks} cannot give a verdict: it takes {least}"));
    }
    for variant in &conclusion.variants {
        if let Some(reason) = &variant.lost {
            notes.push(format!("variant {} was lost: {reason}", variant.name));
        }
    }
    let lost = conclusion.lost.len();
    if lost > 0 {
        notes.push(format!("{} lost: no attempt is usable", count(lost, "trial")));
    }
    let totals = &conclusion.totals;
    if totals.suspect > 0 {
        notes.push(format!(
            "{} suspect: they count like valid ones, but a claim is open where fewer than half of the trials are valid",
            count(totals.suspect, "trial")
        ));
    }
    if totals.unsteady > 0 {
        let unsteady = count(totals.unsteady, "trial");
        notes.push(format!("{unsteady} measured an unsteady service: try a longer warm-up"));
    }
    notes.extend(conclusion.lengthened.iter().map(|(workload, measure)| {
        format!("{workload}: trials after the first block measure {measure}, so that percentiles have enough requests")
    }));
    notes.extend(conclusion.noise.as_ref().map(|noise| floor(noise, conclusion)));
    notes.extend(tests(conclusion));
    notes.extend(cpus::repeats(totals));
    notes.extend(conclusion.cpus.as_ref().map(cpus::line));
    notes
}

/// How many tests were corrected together, and how often sides that cannot differ were called different.
fn tests(conclusion: &Conclusion) -> Vec<String> {
    let mut notes = Vec::new();
    let primary = conclusion.effects.iter().filter(|effect| effect.primary && effect.n_blocks > 0).count();
    if primary > 1 {
        let first = conclusion.metrics.first().map_or("", |metric| metric.name());
        notes.push(format!(
            "{} by {first} are corrected together, and the metrics of each comparison",
            count(primary, "comparison")
        ));
    }
    let controls = conclusion.controls;
    if controls.comparisons > 0 {
        let sides = count(controls.comparisons, "comparison");
        notes.push(format!(
            "negative controls: different in {} of {sides} of equal sides",
            controls.different
        ));
    }
    notes
}

/// The noise of the machine by the metrics of the study.
fn floor(noise: &Calibration, conclusion: &Conclusion) -> String {
    let floors = conclusion.metrics.iter().filter_map(|metric| {
        let change = noise.change(*metric, conclusion.blocks)?;
        Some(format!("{metric} {}", value::either_way(*metric, change)))
    });
    let floors: Vec<String> = floors.collect();
    if floors.is_empty() {
        return format!("noise floor of this machine ({}): not measured for these metrics", noise.of);
    }
    let over = count(conclusion.blocks, "block");
    format!("noise floor of this machine over {over} ({}): {}", noise.of, floors.join(", "))
}
