//! Tables of figures: what a column holds, by its title, and the measurement of each row.
//!
//! A title that is not known is left out. Times without a unit are left out, too, except in Locust's tables.

use crate::measurement::{Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Range, Rounding, number, percent, plain, size, time};

/// A row with its line.
pub type Row = (usize, Vec<String>);

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Connections,
    Users,
    /// Users that the machine of the row can serve: an estimate, not a load.
    Supported,
    Rate,
    Requests,
    Duration,
    Mean,
    Min,
    Max,
    Percentile(f64),
    Failures,
    Success,
    Size,
    Label,
    Other,
}

/// The unit that a title gives to its cells, in base units; `None` if it gives none.
fn unit_of(title: &str) -> Option<f64> {
    let inside = title.split(['(', '[']).nth(1)?.split([')', ']']).next()?.trim();
    crate::number::seconds_of(inside)
}

/// The share of a title such as `p95`, `95%`, `P(95)` or `99th percentile`.
fn share_of(title: &str) -> Option<f64> {
    let rest = title.strip_prefix("p(").or_else(|| title.strip_prefix('p')).unwrap_or(title);
    let number = number(rest)?;
    let after = number.rest.trim_start_matches([')', ' ']);
    let is_share = rest.len() < title.len() || after.starts_with('%') || after.starts_with("th");
    (is_share && number.value > 0.0 && number.value <= 100.0).then_some(number.value / 100.0)
}

fn column(title: &str) -> Column {
    let title = title.trim().trim_matches('*').to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| title.contains(word));
    if let Some(share) = share_of(&title) {
        return Column::Percentile(share);
    }
    if has(&["pool", "database", "cost", "bytes/s", "failures/s", "errors/s", "target", "expected"]) {
        Column::Other
    } else if has(&["connection", "concurren"]) {
        Column::Connections
    } else if matches!(title.as_str(), "users" | "vus" | "user count" | "virtual users") {
        Column::Users
    } else if title.contains("users") && has(&["support", "capacity"]) {
        Column::Supported
    } else if has(&[
        "req/s",
        "requests/s",
        "requests per sec",
        "rps",
        "throughput",
        "requests/second",
        "reqs/s",
    ]) || title == "rate"
    {
        Column::Rate
    } else if has(&["median", "med "]) || title == "med" {
        Column::Percentile(0.5)
    } else if has(&["content size", "response size"]) {
        Column::Size
    } else if has(&["average", "avg", "mean"]) {
        Column::Mean
    } else if has(&["min resp", "min time", "fastest"]) || title == "min" {
        Column::Min
    } else if has(&["max resp", "max time", "slowest"]) || title == "max" {
        Column::Max
    } else if has(&["fail", "error"]) {
        Column::Failures
    } else if has(&["success"]) {
        Column::Success
    } else if has(&["request count", "total requests", "# reqs"]) || title == "requests" {
        Column::Requests
    } else if title.starts_with("duration") {
        Column::Duration
    } else if matches!(title.as_str(), "type" | "name" | "timestamp" | "notes" | "note" | "comment") {
        Column::Other
    } else {
        Column::Label
    }
}

/// The measurements of a table; none if no column has figures.
pub fn measurements(titles: &[String], rows: &[Row], table: usize) -> Vec<Measurement> {
    let columns: Vec<Column> = titles.iter().map(|title| column(title)).collect();
    let is_locust = titles.iter().any(|title| title.trim() == "Request Count")
        && titles.iter().any(|title| title.trim() == "Average Response Time");
    let has_figures = |kinds: &[Column]| columns.iter().any(|column| kinds.contains(column));
    let has_percentile = columns.iter().any(|column| matches!(column, Column::Percentile(_)));
    if !has_figures(&[Column::Rate, Column::Mean, Column::Requests]) && !has_percentile {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (line, cells) in rows {
        let mut one = Measurement::new(if is_locust { Tool::Locust } else { Tool::Unknown }, *line);
        one.table = Some(table);
        for (at, (kind, cell)) in columns.iter().zip(cells).enumerate() {
            let title = titles.get(at).map_or("", String::as_str);
            let cell = cell.trim().trim_matches('*').trim();
            fill(*kind, title, cell, is_locust, &mut one);
        }
        if is_locust {
            locust_row(titles, cells, &mut one);
        } else if let (true, Some(connections)) = (one.label.is_empty(), &one.connections) {
            one.label = format!("{} connections", connections.text);
        }
        found.push(one);
    }
    if is_locust {
        sum_up(&mut found);
    }
    found
}

fn fill(kind: Column, title: &str, cell: &str, is_locust: bool, one: &mut Measurement) {
    let rounding = if is_locust { Rounding::Any } else { Rounding::Hand };
    let bare = || plain(cell, rounding).map(|(figure, _)| figure);
    let count = || plain(cell, Rounding::Nearest).map(|(figure, _)| figure);
    let timed = || {
        let unit = if is_locust { Some(1e-3) } else { unit_of(title) };
        let with_unit = time(cell, rounding).map(|(figure, _)| figure);
        with_unit.or_else(|| Some(bare()?.scaled(unit?).named(cell)))
    };
    match kind {
        Column::Connections => {
            one.connections = count().filter(|figure| figure.value >= 1.0);
            one.load = Load::Closed;
        }
        Column::Users => one.load = Load::Users,
        Column::Supported => one.supported = between(cell),
        Column::Rate => one.rate = bare(),
        Column::Requests => one.requests = if is_locust { count() } else { bare() },
        Column::Duration => one.duration = timed(),
        Column::Mean => one.mean = timed(),
        Column::Min => one.min = timed(),
        Column::Max => one.max = timed(),
        Column::Percentile(share) => {
            let Some(mut figure) = timed() else { return };
            if is_locust {
                figure.range = bucket(figure.value);
            }
            // The last column of Locust is the maximum in a bucket; its median is a percentile, too.
            if share < 1.0 {
                one.percentiles.push(Percentile { name: title.trim().to_owned(), share, time: figure });
            }
        }
        Column::Failures => failures(cell, one),
        Column::Success => one.success_share = percent(cell, Rounding::Hand).map(|(share, _)| share),
        Column::Size => one.response_size = size(cell, 1000.0, rounding).map(|(size, _)| size).or_else(bare),
        Column::Label if one.label.is_empty() => cell.clone_into(&mut one.label),
        Column::Label | Column::Other => {}
    }
}

/// `200-300`, or one number; `None` for `800+`, which has no upper end. Estimates are taken as they stand.
fn between(cell: &str) -> Option<Figure> {
    let low = number(cell)?;
    let rest = low.rest.trim();
    let high = match rest.strip_prefix(['-', '–']) {
        Some(after) => number(after)?.value,
        None if rest.is_empty() => low.value,
        None => return None,
    };
    let range = Range::new(low.value, high);
    Some(Figure { text: cell.to_owned(), value: range.middle(), range })
}

/// Times of Locust's percentiles have two digits from 100 ms on.
fn bucket(seconds: f64) -> Range {
    let half = match seconds {
        below if below < 0.1 => 0.000_5,
        below if below < 1.0 => 0.005,
        below if below < 10.0 => 0.05,
        _ => 0.5,
    };
    Range::new((seconds - half).max(0.0), seconds + half)
}

/// `16.52%`, `0% (14% rate-limited)` or a number of failures.
fn failures(cell: &str, one: &mut Measurement) {
    if let Some((share, rest)) = percent(cell, Rounding::Hand) {
        let aside = rest.split_once('(').and_then(|(_, inside)| percent(inside, Rounding::Hand));
        one.failed_aside =
            aside.map(|(figure, words)| Named::new(words.trim_end_matches(')').trim(), figure));
        one.failed_share = Some(share);
    } else {
        one.failed = plain(cell, Rounding::Nearest).map(|(figure, _)| figure);
    }
}

/// What only Locust's columns say.
fn locust_row(titles: &[String], cells: &[String], one: &mut Measurement) {
    let cell = |title: &str| {
        let at = titles.iter().position(|known| known.trim() == title)?;
        cells.get(at).map(|cell| cell.trim())
    };
    one.load = Load::Users;
    one.samples = one.requests.as_ref().map(|count| count.value as u64);
    one.is_total = cell("Name") == Some("Aggregated");
    let words = [cell("Type"), cell("Name")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    words.trim().clone_into(&mut one.label);
}

/// One figure of a row.
type Select = fn(&Measurement) -> Option<&Figure>;

/// Locust's last row is the sum of the others.
fn sum_up(rows: &mut [Measurement]) {
    let parts = |figure: Select| -> Option<Vec<Named>> {
        let rows = rows.iter().filter(|one| !one.is_total);
        rows.map(|one| Some(Named::new(one.label.clone(), figure(one)?.clone()))).collect()
    };
    let figures: [(&str, Select); 3] = [
        ("Request Count", |one| one.requests.as_ref()),
        ("Failure Count", |one| one.failed.as_ref()),
        ("Requests/s", |one| one.rate.as_ref()),
    ];
    let mut relations = Vec::new();
    for (name, figure) in figures {
        let whole = rows.iter().find(|one| one.is_total).and_then(figure).cloned();
        if let (Some(parts), Some(whole)) = (parts(figure).filter(|parts| !parts.is_empty()), whole) {
            relations.push(Relation::Sum { parts, whole: Named::new(format!("{name}, Aggregated"), whole) });
        }
    }
    // The mean of all is the mean of the rows, weighted by their requests.
    let weighted: Option<Vec<Named>> = rows
        .iter()
        .filter(|one| !one.is_total)
        .map(|one| {
            let (count, mean) = (one.requests.as_ref()?, one.mean.as_ref()?);
            let text = format!("{} x {}", count.text, mean.text);
            let range = count.range.times(mean.range);
            Some(Named::new(one.label.clone(), Figure { text, value: count.value * mean.value, range }))
        })
        .collect();
    if let (Some(parts), Some(total)) = (weighted, rows.iter_mut().find(|one| one.is_total)) {
        if let (Some(count), Some(mean), false) = (&total.requests, &total.mean, parts.is_empty()) {
            let text = format!("{} x {}", count.text, mean.text);
            let range = count.range.times(mean.range);
            let whole = Figure { text, value: count.value * mean.value, range };
            relations.push(Relation::Sum { parts, whole: Named::new("requests x mean, Aggregated", whole) });
        }
        total.relations.append(&mut relations);
    }
}
