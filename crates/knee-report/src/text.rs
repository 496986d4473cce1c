//! The report of a run for a terminal: summary, both times side by side, errors and validity.
//!
//! Lays a [`View`] out and calculates nothing. Width, unit and colour are parameters; does not
//! look at a terminal. Lines never exceed the width (which counts as 60 at the least).

pub(crate) mod answer;

pub(crate) mod breakdown;

pub(crate) mod finding;

pub(crate) mod beside;

pub mod ink;

pub mod interval;

pub(crate) mod parts;

pub(crate) mod plan;

mod script;

pub(crate) mod section;

mod style;

pub(crate) mod table;

pub(crate) mod times;

pub(crate) mod validity;

pub use ink::Palette;
pub use interval::{header as interval_header, line as interval_line};
pub use style::Style;
pub(crate) use style::heading;
pub use validity::reason_line;

use ink::{Tone, cut, wrap};

use crate::{View, clean};

/// Narrower than this nothing can be laid out.
const WIDTH_MIN: usize = 60;

/// The whole report; every line ends in a line feed.
pub fn render(view: &View, style: &Style) -> String {
    let style = &Style { width: style.width.max(WIDTH_MIN), ..*style };
    let blocks = [
        [title(view, style), validity::answer(view, style), answer::lines(view, style)].concat(),
        finding::lines(&view.findings, style),
        breakdown::lines(view.findings.breakdown.as_ref(), style),
        section::summary(view, style),
        times::events(view, style),
        times::table(view, style),
        times::histogram(view, style),
        times::phases(view, style),
        section::endpoints(view, style),
        section::statuses(view, style),
        section::errors(view, style),
        script::lines(view, style),
        parts::lines(view, style),
        beside::lines(view, style),
        validity::lines(view, style),
    ];
    join(&blocks)
}

/// Blocks with an empty line between them.
pub(crate) fn join(blocks: &[Vec<String>]) -> String {
    let texts: Vec<String> =
        blocks.iter().filter(|block| !block.is_empty()).map(|block| block.join("\n")).collect();
    texts.join("\n\n") + "\n"
}

/// The part below k6's summary of the same run, with what that summary lacks: both times side by side, endpoints,
/// errors and validity.
pub fn beside_k6(view: &View, style: &Style) -> String {
    let style = &Style { width: style.width.max(WIDTH_MIN), ..*style };
    let blocks = [
        // What was planned stands in the options; the plan here counts iterations, not requests.
        title(view, style)
            .into_iter()
            .take(1)
            .chain(plan::part(&view.head))
            .chain(failures(view, style))
            .collect(),
        finding::lines(&view.findings, style),
        breakdown::lines(view.findings.breakdown.as_ref(), style),
        times::events(view, style),
        times::table(view, style),
        section::endpoints(view, style),
        if view.total.not_ok() > 0 { section::statuses(view, style) } else { Vec::new() },
        section::errors(view, style),
        parts::lines(view, style),
        beside::lines(view, style),
        validity::lines(view, style),
    ];
    join(&blocks)
}

/// That most requests failed: k6's summary says it of HTTP requests alone, and not of handshakes of sockets or calls of
/// gRPC.
fn failures(view: &View, style: &Style) -> Option<String> {
    let (not_ok, planned) = (view.total.not_ok(), view.total.books.planned);
    let (share, numbers) = answer::failed(view);
    let line = format!("{share} of the requests failed: {numbers}");
    (planned > 0 && not_ok > planned / 2).then(|| style.palette.paint(Tone::Warn, &line))
}

/// The first lines: program and target, then the plan.
pub(crate) fn title(view: &View, style: &Style) -> Vec<String> {
    let build = cut(&format!("knee {}", clean::line(&view.head.build.version)), style.width / 3);
    let title = cut(&clean::line(&view.head.title), style.width.saturating_sub(ink::width(&build) + 2));
    let mut lines = vec![format!("{}  {title}", style.palette.paint(Tone::Strong, &build))];
    let pieces = plan::pieces(&view.head, &view.amendments);
    lines.extend(wrap("", pieces.iter().map(String::as_str), ", ", style.width));
    lines
}
