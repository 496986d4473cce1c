//! The truth block as text: the verdict, what speaks against the result, what to do, and the
//! figures behind it, in six lines at the most.
//!
//! The JSON has all reasons and figures; this says so where it leaves some out.

use knee_core::validity::{Figures, Warning, Validity};
use knee_core::unit::Nanos;

use super::Style;
use super::ink::{Tone, cut, wrap, wrap_words};
use crate::number::{self, percent};
use crate::{View, clean};

/// Most lines of the block.
pub const LINES_MAX: usize = 6;

/// The block for a run. Its first line begins with `Verdict: ` and the state.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    let truth = &view.validity;
    let mut lines = vec![headline(truth.state, truth.reasons.len(), style)];
    let mut figures =
        wrap("  ", figures(&truth.figures, style).iter().map(String::as_str), "; ", style.width);
    figures.truncate(if truth.reasons.is_empty() { 3 } else { 1 });
    if let Some(last) = figures.last_mut() {
        last.truncate(last.trim_end_matches(';').len());
    }
    lines.extend(reasons(&truth.reasons, LINES_MAX - lines.len() - figures.len(), style));
    lines.extend(figures);
    for note in &truth.notes {
        let note = wrap_words("  note: ", &clean::line(note), style.width);
        if lines.len() + note.len() <= LINES_MAX {
            lines.extend(note);
        }
    }
    lines
}

fn headline(state: Validity, reasons: usize, style: &Style) -> String {
    let tone = match state {
        Validity::Valid => Tone::Good,
        Validity::Suspect => Tone::Warn,
        Validity::Invalid => Tone::Bad,
    };
    let meaning = match state {
        Validity::Valid => "nothing speaks against these figures",
        Validity::Suspect => "something may have bent these figures",
        Validity::Invalid => "these figures must not be used",
    };
    let count = match reasons {
        0 => String::new(),
        1 => " (1 reason)".to_owned(),
        reasons => format!(" ({reasons} reasons)"),
    };
    let fits = "Verdict: , ".len() + state.name().len() + meaning.len() + count.len() <= style.width;
    let meaning = if fits { format!(", {meaning}") } else { String::new() };
    let heading = style.palette.paint(Tone::Strong, "Verdict:");
    format!("{heading} {}{meaning}{count}", style.palette.paint(tone, state.name()))
}

/// The reasons, the worst first, in `room` lines: whole ones, then one without its advice, then
/// how many are left. `room` is 2 or more.
fn reasons(reasons: &[Warning], room: usize, style: &Style) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (place, reason) in reasons.iter().enumerate() {
        let left = reasons.len() - place;
        let room = room - lines.len() - usize::from(left > 1);
        let first = format!("  {}: ", reason.state.name());
        let text = format!("{} → {}", clean::line(&reason.text), clean::line(&reason.advice));
        let whole = wrap_words(&first, &text, style.width);
        if whole.len() <= room {
            lines.extend(whole);
            continue;
        }
        let mut left = left;
        if room > 0 {
            let text = if place == 0 { text } else { clean::line(&reason.text).into_owned() };
            lines.extend(shortened(wrap_words(&first, &text, style.width), room, style));
            left -= 1;
        }
        if left > 0 {
            lines.push(left_out(&reasons[reasons.len() - left..], style));
        }
        break;
    }
    lines
}

/// How many reasons there is no room for, and which: a name says more than a number.
fn left_out(reasons: &[Warning], style: &Style) -> String {
    let noun = if reasons.len() == 1 { "reason" } else { "reasons" };
    let codes: Vec<_> = reasons.iter().map(|reason| clean::line(&reason.code)).collect();
    let text = format!("  {} more {noun} in the JSON's verdict.reasons: {}", reasons.len(), codes.join(", "));
    cut(&text, style.width)
}

/// The first `room` lines, with an ellipsis if that is not all.
fn shortened(mut lines: Vec<String>, room: usize, style: &Style) -> Vec<String> {
    if lines.len() > room {
        lines.truncate(room);
        if let Some(last) = lines.last_mut() {
            *last = cut(&format!("{last} …"), style.width);
        }
    }
    lines
}

/// The figures worth a look, the most telling first. What the platform cannot tell is left out.
fn figures(figures: &Figures, style: &Style) -> Vec<String> {
    let time = |nanos: Nanos| number::time(nanos.0 as f64, style.unit);
    let mut pieces = Vec::new();
    if let Some((_, p99, max)) = figures.own_lag {
        pieces.push(format!("own lag p99 {}, max {}", time(p99), time(max)));
    }
    pieces.extend(figures.worker_cpu_max.map(|cpu| format!("worker CPU max {}", percent(cpu))));
    pieces.extend(figures.run_delay.map(|delay| format!("run delay {}", percent(delay))));
    pieces.extend(figures.in_flight_mean.map(|mean| {
        let mean = number::fixed(mean, 1);
        format!("in flight mean {mean}, max {}", number::count(figures.in_flight_max))
    }));
    pieces.extend(figures.little_residual.map(|share| format!("Little's law off by {}", percent(share))));
    pieces.extend(figures.throttled.map(|(periods, all)| {
        format!("throttled {} of {} periods", number::count(periods), number::count(all))
    }));
    pieces.extend(figures.steal.map(|share| format!("steal {}", percent(share))));
    pieces.extend(figures.descriptors.map(|(used, limit)| of("descriptors", used, limit)));
    pieces.extend(figures.ports.map(|(used, limit)| of("ports", used, limit)));
    pieces
}

fn of(what: &str, used: u64, limit: u64) -> String {
    format!("{what} {} of {}", number::count(used), number::count(limit))
}
