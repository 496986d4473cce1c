//! The section "Parts": what each of several machines contributed, a row a machine.
//!
//! Does not add up: the other sections show all of them together.

use knee_core::estimate::samples_needed;
use knee_core::outcome::Outcome;
use knee_core::record::{Contribution, Ending};
use knee_core::unit::Nanos;
use knee_core::validity::Validity;

use super::ink::Tone;
use super::style::{Style, heading};
use super::table::{Cell, Side, Table};
use super::times::scale;
use crate::number::{count, percent, time};
use crate::{View, clean};

/// Most parts that are listed; the JSON has all.
const PARTS_MAX: usize = 40;

/// The names of the columns after the part and the state of its figures.
pub(crate) const COLUMNS: [&str; 7] = ["requests", "not ok", "lost", "p50", "p99", "lag p99", "CPU"];

/// The section; empty in the run of one machine.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    if view.contributions.is_empty() {
        return Vec::new();
    }
    let columns = COLUMNS.map(|name| (name, Side::Right));
    let mut table = Table::new([("", Side::Flexible), ("figures", Side::Left)].into_iter().chain(columns));
    for part in view.contributions.iter().take(PARTS_MAX) {
        let mut row: Vec<Cell> =
            vec![clean::line(label(part)).into_owned().into(), Cell::toned(state(part), tone(part))];
        row.extend(cells(part, view, style).map(Cell::from));
        table.row(row);
    }
    let mut lines = vec![heading("Parts", &remark(view, style), style)];
    lines.extend(table.lines(style.width, style.palette));
    if view.contributions.len() > PARTS_MAX {
        let more = count((view.contributions.len() - PARTS_MAX) as u64);
        lines.push(format!("  {more} more in the JSON: parts"));
    }
    lines
}

/// What the table shows.
pub(crate) fn remark(view: &View, style: &Style) -> String {
    format!("each machine by itself, response time in {}", scale(&view.total.response, style).unit)
}

/// The cells of a part under [`COLUMNS`].
pub(crate) fn cells(part: &Contribution, view: &View, style: &Style) -> [String; 7] {
    let scale = scale(&view.total.response, style);
    // Few requests have no high percentile, here as in the other tables.
    let shown = |q: f64, nanos: Option<Nanos>| {
        let known = nanos.filter(|_| part.requests.ended() >= samples_needed(q));
        known.map_or("–".to_owned(), |nanos| scale.write(nanos.0 as f64))
    };
    let lag = part.generator_lag.map(|lag| time(lag.p99.0 as f64, None));
    [
        count(part.requests.planned),
        count(part.requests.ended().saturating_sub(part.requests.count(Outcome::Ok))),
        lost(part),
        shown(0.5, part.response.map(|response| response.p50)),
        shown(0.99, part.response.map(|response| response.p99)),
        lag.unwrap_or("–".to_owned()),
        part.worker_cpu_max.map_or("–".to_owned(), percent),
    ]
}

/// The requests that a part did not send because it ended early, or the share of its users' time: the plan of a script
/// does not number requests.
fn lost(part: &Contribution) -> String {
    match (part.lost, part.lost_share) {
        (Some(requests), _) => count(requests),
        (None, Some(share)) => percent(share),
        (None, None) => "–".to_owned(),
    }
}

/// The agent of a fleet that made the part, or else which part it is.
pub(crate) fn label(part: &Contribution) -> &str {
    part.agent.as_ref().unwrap_or(&part.segment)
}

/// How a part ended and whether its figures can be trusted, in a word or two.
pub(crate) fn state(part: &Contribution) -> String {
    let validity = part.validity.name();
    match part.ending {
        Ending::Completed => validity.to_owned(),
        Ending::Interrupted | Ending::Aborted => format!("{validity}, stopped"),
        Ending::Truncated => format!("{validity}, cut off"),
    }
}

fn tone(part: &Contribution) -> Tone {
    match (part.validity, &part.ending) {
        (Validity::Invalid, _) => Tone::Bad,
        (Validity::Valid, Ending::Completed) => Tone::Good,
        _ => Tone::Warn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_of_a_script_did_not_make_is_a_share_because_its_requests_are_not_numbered() {
        let part = |requests: Option<u64>| Contribution::missing("0:1/4".to_owned(), requests);
        assert_eq!(lost(&part(Some(6_528))), "6,528");
        assert_eq!(lost(&part(None)), "100 %");
        assert_eq!(lost(&Contribution { lost_share: Some(1.0 / 3.0), ..part(None) }), "33.3 %");
        assert_eq!(lost(&Contribution { lost_share: None, ..part(None) }), "–", "of an older record");
    }
}
