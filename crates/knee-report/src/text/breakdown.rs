//! Where the time goes: the measured parts of the mean response time, and the part that is in none of them.
//!
//! Shows nothing without observed work, and few lines unless all findings are asked for. Does not judge.

use knee_findings::{Breakdown, Part, PartKind};

use super::ink::{cut, wrap_words};
use super::style::{Style, heading};
use crate::clean;
use crate::number::{level, percent, time};

/// In the short form, a part below this share of the response time is left out.
const SHORT_SHARE: f64 = 0.05;

/// Most parts in the short form.
const SHORT_MAX: usize = 4;

/// The section; nothing if no work was observed.
pub(crate) fn lines(breakdown: Option<&Breakdown>, style: &Style) -> Vec<String> {
    let Some(breakdown) = breakdown else { return Vec::new() };
    let rows = rows(breakdown, style);
    if rows.is_empty() {
        return Vec::new();
    }
    let remark = format!("(mean response time {})", time(breakdown.response_s * 1e9, style.unit));
    let mut lines = vec![heading("Where the time goes", &remark, style)];
    lines.extend(rows.iter().map(|row| line(row, style)));
    lines.extend(remarks(breakdown).iter().flat_map(|remark| wrap_words("  ", remark, style.width)));
    lines
}

/// What a reader must know to read the parts, each in a sentence.
pub(crate) fn remarks(breakdown: &Breakdown) -> Vec<String> {
    let mut remarks = Vec::new();
    if breakdown.overlaps() {
        remarks.push(OVERLAP.to_owned());
    }
    let unknown = breakdown.unknown.iter().map(|name| clean::line(name).into_owned());
    remarks.extend(
        unknown.map(|name| format!("{name} does not show its statements; their time is in the last line.")),
    );
    remarks
}

/// What more work than a response takes means.
const OVERLAP: &str = "The observed work takes longer than the responses: some of it runs in parallel, or is not \
     for these responses.";

/// A time per response, its share of the response time, and what it is.
#[derive(Debug)]
pub(crate) struct Row {
    pub time: String,
    pub share: String,
    pub what: String,
}

/// The parts that are shown, and what no observed work explains.
pub(crate) fn rows(breakdown: &Breakdown, style: &Style) -> Vec<Row> {
    let (least, most) = if style.all_findings { (0.0, usize::MAX) } else { (SHORT_SHARE, SHORT_MAX) };
    let row = |seconds: f64, what: String| Row {
        time: time(seconds * 1e9, style.unit),
        share: percent(breakdown.share(seconds)),
        what,
    };
    let shown = |seconds: f64| seconds > 0.0 && breakdown.share(seconds) >= least;
    let parts = breakdown.parts.iter().filter(|part| shown(part.seconds)).take(most);
    let mut rows: Vec<Row> = parts.map(|part| row(part.seconds, words(part))).collect();
    if shown(breakdown.unobserved_s) {
        rows.push(row(breakdown.unobserved_s, UNOBSERVED.to_owned()));
    }
    rows
}

/// A queue for the work of other requests is in it, too.
const UNOBSERVED: &str = "at least, in none of these: queue, network, pool, lock, …";

fn line(row: &Row, style: &Style) -> String {
    let line = format!("  {:>8}  {:>6}  {}", row.time, row.share, row.what);
    cut(&line, style.width)
}

/// What a part is, in one line.
fn words(part: &Part) -> String {
    let name = clean::line(&part.name);
    let times = part.times.map(|times| format!("{} x ", level(times))).unwrap_or_default();
    match part.kind {
        PartKind::BeforeSending => "before the first byte is sent".to_owned(),
        PartKind::OpeningConnections => "opening connections".to_owned(),
        PartKind::Sending => "sending the request".to_owned(),
        PartKind::Receiving => "receiving the response".to_owned(),
        PartKind::Statement => format!("{times}{name}"),
        PartKind::OtherStatements => format!("other statements of {name}"),
        PartKind::PoolerWait => format!("waiting for a connection to {name} in PgBouncer"),
        PartKind::Command => format!("{times}Redis command {name}"),
        PartKind::OtherCommands => format!("other commands of {name}"),
        PartKind::Cpu => format!("CPU time of {name}"),
        PartKind::CpuWait => format!("{name} waits for a CPU"),
        PartKind::OtherService => format!("waiting for {times}{name}"),
    }
}
