//! The counting parts of the report: summary, endpoints, status codes, errors.
//!
//! Shows zero where it is informative, and omits what did not happen.

use knee_core::outcome::{Blame, Outcome};
use knee_core::record::Ending;
use knee_core::unit::Nanos;

use super::ink::{Tone, cut, left, wrap, wrap_words};
use super::style::{Style, heading};
use super::table::{Cell, Side, Table};
use super::times::{reading, scale, short};
use crate::number::{bytes, count, counted, rate};
use crate::view::request_stats::RequestStats;
use crate::view::time_summary::TimeSummary;
use crate::{View, clean};

/// Most endpoints that are listed; the JSON has all.
const ENDPOINTS_MAX: usize = 20;
/// Width of the labels of the summary, with their indent.
const LABEL: usize = 14;

/// The summary: load, results, duration.
pub fn summary(view: &View, style: &Style) -> Vec<String> {
    let mut lines = vec![heading("Summary", "", style)];
    for Item { label, pieces, joint } in items(view) {
        let first = left(&format!("  {label}"), LABEL);
        lines.extend(wrap(&first, pieces.iter().map(String::as_str), joint, style.width));
    }
    if let Some(text) = ending(view) {
        lines.extend(wrap_words(&left("  Ending", LABEL), &text, style.width));
    }
    lines
}

/// One line of the summary.
pub(crate) struct Item {
    /// What it is about.
    pub label: &'static str,
    /// Its parts.
    pub pieces: Vec<String>,
    /// What is between two parts.
    pub joint: &'static str,
}

/// The lines of the summary, without the way in which the run ended.
pub(crate) fn items(view: &View) -> Vec<Item> {
    let item = |label, pieces, joint| Item { label, pieces, joint };
    let mut items = vec![
        item("Requests", books(view), " "),
        item("Rate", rates(view), ", "),
        item("Duration", durations(view), ", "),
        item("Data", data(view), ", "),
        item("Connections", connections(&view.total, &view.warm_up), ", "),
    ];
    if view.span.warm_up > Nanos::ZERO {
        items.push(item("Warm-up", warm_up(view), ", "));
    }
    items
}

/// `1,000 planned = 990 ok + 10 timeout`.
fn books(view: &View) -> Vec<String> {
    let books = &view.total.books;
    let mut pieces = vec![format!("{} planned", count(books.planned))];
    let mut sign = "=";
    for outcome in Outcome::ALL {
        if books.count(outcome) > 0 || outcome == Outcome::Ok {
            pieces.push(format!("{sign} {} {}", count(books.count(outcome)), outcome.name()));
            sign = "+";
        }
    }
    let unknown = view.total.unknown_outcomes.iter();
    pieces.extend(unknown.map(|(name, requests)| format!("+ {} {name}", count(*requests))));
    let lost = view.contributions.iter().filter_map(|part| part.lost).fold(0, u64::saturating_add);
    if lost > 0 {
        pieces.push(format!("({} more missing)", count(lost)));
    }
    let difference = books.difference();
    if difference != 0 {
        pieces.push(format!("({difference:+} not accounted for)"));
    }
    pieces
}

fn rates(view: &View) -> Vec<String> {
    let Some(achieved) = view.rate.achieved else { return vec!["–".to_owned()] };
    let mut pieces = vec![format!("{}/s achieved", rate(achieved))];
    if view.head.plan.is_open() {
        pieces.extend(view.rate.offered.map(|offered| format!("{}/s scheduled", rate(offered))));
    }
    pieces
}

fn durations(view: &View) -> Vec<String> {
    let mut pieces = vec![view.span.window.to_string()];
    // Less than a hundredth of the window is the last answers coming in.
    if view.span.grace.0 > view.span.window.0 / 100 {
        pieces.push(format!("{} more until the last request ended", view.span.grace));
    }
    pieces
}

fn data(view: &View) -> Vec<String> {
    let total = &view.total;
    let mut pieces = vec![format!("{} received", bytes(total.bytes_received as f64))];
    pieces.extend(view.rate.received.map(|rate| format!("{}/s", bytes(rate))));
    pieces.push(format!("{} sent", bytes(total.bytes_sent as f64)));
    match total.bodies {
        (0, _) => {}
        (1, false) => pieces.push("1 distinct body".to_owned()),
        (bodies, false) => pieces.push(format!("{bodies} distinct bodies")),
        (bodies, true) => pieces.push(format!("more than {bodies} distinct bodies")),
    }
    pieces
}

fn connections(total: &RequestStats, warm_up: &RequestStats) -> Vec<String> {
    let mut pieces = vec![match warm_up.connections {
        0 => format!("{} opened", count(total.connections)),
        before => {
            format!("{} opened, {} of them in the warm-up", count(total.connections + before), count(before))
        }
    }];
    for (number, what) in [
        (total.resent, "requests resent"),
        (total.redirects, "redirects followed"),
        (total.surplus, "responses with trailing bytes"),
    ] {
        if number > 0 {
            pieces.push(format!("{} {what}", count(number)));
        }
    }
    pieces
}

fn warm_up(view: &View) -> Vec<String> {
    let books = &view.warm_up.books;
    let mut pieces = vec![view.span.warm_up.to_string(), counted(books.planned, "request")];
    if view.warm_up.not_ok() > 0 {
        pieces.push(format!("{} of them not ok", count(view.warm_up.not_ok())));
    }
    pieces.push("not in these figures".to_owned());
    if view.from_warm_up > 0 {
        let are = if view.from_warm_up == 1 { "is" } else { "are" };
        pieces.push(format!("{} more that span the measurement {are}", count(view.from_warm_up)));
    }
    pieces
}

/// How the run ended, if it did not end by its plan.
pub(crate) fn ending(view: &View) -> Option<String> {
    let text = match view.ending {
        Ending::Completed => return None,
        Ending::Interrupted => "the run was interrupted; knee waited for the requests in flight".to_owned(),
        Ending::Aborted => "the run was aborted; knee did not wait for the requests in flight".to_owned(),
        Ending::Truncated => {
            let run = &view.validity.diagnostics.run;
            let why = match (run.damaged, &run.gave_up) {
                (Some(damage), _) => {
                    format!("the record is damaged at byte {}, and has no end", damage.first)
                }
                (None, Some(reason)) => {
                    format!("the record ends before the run did: {}", clean::line(reason))
                }
                (None, None) => {
                    "the record has no end: knee was killed, or the file is incomplete".to_owned()
                }
            };
            format!("{why}. The figures cover the first {}", view.span.total)
        }
    };
    Some(text)
}

/// A table of endpoints; nothing if there is only one.
pub fn endpoints(view: &View, style: &Style) -> Vec<String> {
    let mut busy: Vec<_> = view.endpoints.iter().filter(|e| e.stats.books.planned > 0).collect();
    if busy.len() < 2 {
        return Vec::new();
    }
    busy.sort_by_key(|endpoint| std::cmp::Reverse(endpoint.stats.books.planned));
    let mut table = Table::new([
        ("", Side::Flexible),
        ("requests", Side::Right),
        ("not ok", Side::Right),
        ("mean", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("max", Side::Right),
    ]);
    let scale = scale(&view.total.response, style);
    let names: Vec<_> = busy.iter().map(|endpoint| clean::line(&endpoint.name)).collect();
    let common = common_origin(&names);
    for (endpoint, name) in busy.iter().zip(&names).take(ENDPOINTS_MAX) {
        let TimeSummary { mean, max, percentiles, .. } = &endpoint.stats.response;
        let not_ok = endpoint.stats.not_ok();
        table.row(vec![
            common.map_or_else(|| name.to_string(), |origin| name.replacen(origin, "", 1)).into(),
            count(endpoint.stats.books.planned).into(),
            Cell::toned(count(not_ok), if not_ok > 0 { Tone::Bad } else { Tone::Plain }),
            reading(*mean, scale).into(),
            reading(percentiles[0], scale).into(),
            short(percentiles[3], scale).into(),
            reading(*max, scale).into(),
        ]);
    }
    let mut lines = vec![heading("Endpoints", &format!("response time in {}", scale.unit), style)];
    lines.extend(table.lines(style.width, style.palette));
    if busy.len() > ENDPOINTS_MAX {
        lines.push(format!("  {} more in the JSON: endpoints", count((busy.len() - ENDPOINTS_MAX) as u64)));
    }
    lines
}

/// The `scheme://host:port` that all names share, if they do. It is omitted from the table, because it would leave no
/// room for the part that distinguishes the names.
pub(crate) fn common_origin(names: &[impl AsRef<str>]) -> Option<&str> {
    let mut origins = names.iter().filter_map(|name| origin(name.as_ref()));
    let first = origins.next()?;
    origins.all(|other| other == first).then_some(first)
}

/// `http://host:8080` of `GET http://host:8080/path`; `None` if no path follows.
fn origin(name: &str) -> Option<&str> {
    let sign = name.find("://")?;
    let begin = name[..sign].rfind(' ').map_or(0, |space| space + 1);
    let end = sign + 3 + name[sign + 3..].find('/')?;
    Some(&name[begin..end])
}

/// Complete responses by status code, the most frequent first.
pub fn statuses(view: &View, style: &Style) -> Vec<String> {
    let mut status = view.total.status.clone();
    if status.is_empty() {
        return Vec::new();
    }
    status.sort_by_key(|(code, number)| (std::cmp::Reverse(*number), *code));
    let mut table = Table::new([("", Side::Left), ("", Side::Right)]);
    for (code, number) in status {
        let tone = match code {
            200..=399 => Tone::Good,
            400..=499 => Tone::Warn,
            _ => Tone::Bad,
        };
        let answers = if number == 1 { "answer" } else { "answers" };
        table.row(vec![Cell::toned(code.to_string(), tone), format!("{} {answers}", count(number)).into()]);
    }
    let mut lines = vec![heading("Status codes", "", style)];
    lines.extend(table.lines(style.width, style.palette));
    lines
}

/// Faults with their blame and messages.
pub fn errors(view: &View, style: &Style) -> Vec<String> {
    let errors = &view.total.errors;
    if errors.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Errors", "and who is to blame", style)];
    let widest = errors.iter().map(|error| count(error.count).len()).max().unwrap_or(0);
    for error in errors {
        let tone = if error.blame() == Some(Blame::Generator) { Tone::Bad } else { Tone::Warn };
        let blame = style.palette.paint(tone, &left(error.blame().map_or("–", Blame::name), 9));
        let number = super::ink::right(&count(error.count), widest);
        let indent = 2 + 9 + 2 + widest + 2;
        let sentence = cut(&error.sentence(), style.width.saturating_sub(indent));
        lines.push(format!("  {blame}  {number}  {sentence}"));
        if let Some(explanation) = error.explanation() {
            lines.extend(wrap_words(&" ".repeat(indent), explanation, style.width));
        }
        for example in &error.examples {
            let example = cut(&clean::line(example), style.width.saturating_sub(indent + 2));
            let example = style.palette.paint(Tone::Faint, &example);
            lines.push(format!("{}- {example}", " ".repeat(indent)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::common_origin;

    #[test]
    fn an_origin_that_all_urls_share_is_found() {
        let shared = ["GET http://host:8080/a", "order", "POST http://host:8080/", "no/url"];
        assert_eq!(common_origin(&shared), Some("http://host:8080"));
        assert_eq!(common_origin(&["https://host/a?of=http://other/"]), Some("https://host"));
    }

    #[test]
    fn different_origins_and_none_are_left_alone() {
        assert_eq!(common_origin(&["GET http://host/a", "GET http://host:81/a"]), None);
        assert_eq!(common_origin(&["GET http://host/a", "GET https://host/a"]), None);
        assert_eq!(common_origin(&["order", "GET http://host", "://"]), None);
    }
}
