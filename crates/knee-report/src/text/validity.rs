//! The validity check as text: whether the result can be trusted, every warning with its code, the
//! figures behind it and the notes.
//!
//! A warning is never cut off. The JSON has all figures; notes are left out where there are many.

use knee_core::unit::Nanos;
use knee_core::validity::{Diagnostics, Validity, Warning};

use super::ink::{Tone, wrap, wrap_words};
use super::style::Style;
use crate::number::{self, Unit, percent};
use crate::{View, clean};

/// Most lines of notes.
const NOTE_LINES_MAX: usize = 4;

/// The block for a run. Its first line begins with `Validity: ` and the word.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    let report = &view.validity;
    let mut lines = vec![headline(report.validity, report.warnings.len(), style)];
    for warning in &report.warnings {
        let first = format!("  {}: ", warning.validity.name());
        lines.extend(wrap_words(&first, &said(warning), style.width));
    }
    if let Some(worst) = report.warnings.first() {
        let code = clean::line(&worst.code);
        let more = format!("{}; `knee explain {code}` says why", clean::line(&worst.hint));
        lines.extend(wrap_words("  hint: ", &more, style.width));
    }
    let mut figures =
        wrap("  ", figures(&report.diagnostics, style.unit).iter().map(String::as_str), "; ", style.width);
    figures.truncate(if report.warnings.is_empty() { 3 } else { 1 });
    if let Some(last) = figures.last_mut() {
        last.truncate(last.trim_end_matches(';').len());
    }
    lines.extend(figures);
    let mut room = NOTE_LINES_MAX;
    for note in &report.notes {
        let note = wrap_words("  note: ", &clean::line(note), style.width);
        if note.len() <= room {
            room -= note.len();
            lines.extend(note);
        }
    }
    lines
}

/// The worst warning, as the first sentence of a report; nothing for a valid run.
pub fn answer(view: &View, style: &Style) -> Vec<String> {
    let Some(worst) = view.validity.warnings.first() else { return Vec::new() };
    let first = format!("{}: ", worst.validity.name());
    let mut lines = wrap_words(&first, &said(worst), style.width);
    let tone = tone(worst.validity);
    for line in &mut lines {
        *line = style.palette.paint(tone, line);
    }
    lines
}

/// Why a run is not valid, in one line without colours, for cases in which no report is printed; `None` for a valid
/// run.
pub fn reason_line(view: &View) -> Option<String> {
    let worst = view.validity.warnings.first()?;
    Some(format!("{}: {}", worst.validity.name(), said(worst)))
}

/// A warning with its code.
pub(crate) fn said(warning: &Warning) -> String {
    format!("{} [{}]", clean::line(&warning.message), clean::line(&warning.code))
}

const fn tone(validity: Validity) -> Tone {
    match validity {
        Validity::Valid => Tone::Good,
        Validity::Suspect => Tone::Warn,
        Validity::Invalid => Tone::Bad,
    }
}

/// The first line: the validity, how many warnings there are, and what that means for the figures.
pub fn headline(validity: Validity, warnings: usize, style: &Style) -> String {
    let (count, meaning) = (count(warnings), meaning(validity));
    let heading = style.palette.paint(Tone::Strong, "Validity:");
    let plain = "Validity: , ".len() + validity.name().len() + count.len() + meaning.len();
    let meaning = if plain <= style.width { meaning } else { "" };
    format!("{heading} {}, {count}{meaning}", style.palette.paint(tone(validity), validity.name()))
}

/// What a validity means for the figures; nothing for a valid result.
pub(crate) const fn meaning(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "",
        Validity::Suspect => "; read these figures with the warnings",
        Validity::Invalid => "; do not use these figures",
    }
}

/// How many warnings there are.
pub(crate) fn count(warnings: usize) -> String {
    match warnings {
        0 => "no warnings".to_owned(),
        1 => "1 warning".to_owned(),
        warnings => format!("{warnings} warnings"),
    }
}

/// The most informative diagnostics, the most important first. Omits figures that the platform cannot measure.
pub(crate) fn figures(diagnostics: &Diagnostics, unit: Option<Unit>) -> Vec<String> {
    let Diagnostics { load, generator, .. } = diagnostics;
    let time = |nanos: Nanos| number::time(nanos.0 as f64, unit);
    let mut pieces = Vec::new();
    if let Some(lag) = generator.lag {
        pieces.push(format!("generator lag p99 {}, max {}", time(lag.p99), time(lag.max)));
    }
    pieces.extend(generator.worker_cpu_max.map(|cpu| format!("worker CPU max {}", percent(cpu))));
    pieces.extend(generator.run_delay.map(|delay| format!("CPU wait {}", percent(delay))));
    pieces.extend(generator.loop_lag.map(|lag| format!("loop lag p99 {}", time(lag.p99))));
    pieces.extend(load.in_flight_mean.map(|mean| {
        let mean = number::fixed(mean, 1);
        format!("in flight mean {mean}, max {}", number::count(load.in_flight_max))
    }));
    pieces.extend(load.little_residual.map(|share| format!("Little's law off by {}", percent(share))));
    pieces.extend(generator.throttled.map(|(periods, all)| {
        format!("throttled {} of {} periods", number::count(periods), number::count(all))
    }));
    pieces.extend(generator.steal.map(|share| format!("steal {}", percent(share))));
    pieces.extend(generator.descriptors.map(|(used, limit)| of("descriptors", used, limit)));
    pieces.extend(generator.ports.map(|(used, limit)| of("ports", used, limit)));
    pieces
}

fn of(what: &str, used: u64, limit: u64) -> String {
    format!("{what} {} of {}", number::count(used), number::count(limit))
}
