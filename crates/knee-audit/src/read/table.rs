//! Tables of figures: what a column holds, by its title, and the measurement of each row.
//!
//! A title that is not known is left out. Times without a unit are left out, too, except in Locust's tables.

use crate::measurement::{Cell, Load, Measurement, Named, Percentile, Relation, Role, Tool};
use crate::number::{
    Figure, Range, Rounding, amount, is_counted, is_size, number, per, percent, scale, shortened, size, time,
};

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

/// Words of a title that only says how many users there were.
const OF_USERS: [&str; 19] = [
    "user",
    "users",
    "vu",
    "vus",
    "virtual",
    "concurrent",
    "concurrency",
    "simultaneous",
    "parallel",
    "active",
    "simulated",
    "number",
    "count",
    "of",
    "no",
    "max",
    "maximum",
    "peak",
    "total",
];

/// The words of a title, each with what follows it. What follows a digit is no word: `10k` is another figure.
fn words(title: &str) -> impl Iterator<Item = (&str, &str)> {
    let starts = title.char_indices().scan(false, |is_within, (at, letter)| {
        let is_start = letter.is_alphabetic() && !*is_within;
        *is_within = letter.is_alphanumeric();
        Some(is_start.then_some(at))
    });
    starts.flatten().map(|at| crate::number::word(&title[at..]))
}

/// Whether a title, in small letters, is a number of users, and of nothing else.
fn is_users(title: &str) -> bool {
    let has = |names: &[&str]| words(title).any(|(word, _)| names.contains(&word));
    let is_bare = || words(title).all(|(word, _)| OF_USERS.contains(&word)) && per(title).is_none();
    has(&["user", "users", "vu", "vus"])
        && !title.contains("connection")
        && (title.contains("concurren") || is_bare())
}

/// Whether a title, in small letters, names requests per time.
fn is_rate(title: &str) -> bool {
    let names = ["req/s", "requests/s", "requests per sec", "rps", "requests/second", "reqs/s"];
    names.iter().any(|name| title.contains(name))
}

/// Whether a title names a size. A letter `b` alone is one only before "per second"; else it can be the name of a variant.
fn is_of_size(title: &str) -> bool {
    words(title)
        .any(|(word, after)| is_size(word) && (!word.eq_ignore_ascii_case("b") || after.starts_with('/')))
}

fn column(title: &str) -> Column {
    let title = title.trim().trim_matches('*').to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| title.contains(word));
    if let Some(share) = share_of(&title) {
        return Column::Percentile(share);
    }
    if has(&["pool", "database", "cost", "bytes/s", "failures/s", "errors/s", "target", "expected"]) {
        Column::Other
    } else if title.contains("users") && has(&["support", "capacity"]) {
        Column::Supported
    } else if is_users(&title) {
        Column::Users
    } else if has(&["connection", "concurren"]) {
        Column::Connections
    } else if is_rate(&title) || has(&["throughput"]) || title == "rate" {
        // A throughput can also be one of bytes or bits.
        if !is_rate(&title) && is_of_size(&title) { Column::Other } else { Column::Rate }
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

/// Titles of columns that say something about their rows.
const NOTES: [&str; 17] = [
    "note",
    "notes",
    "comment",
    "comments",
    "remark",
    "remarks",
    "verdict",
    "assessment",
    "rating",
    "status",
    "performance",
    "recommendation",
    "observation",
    "observations",
    "analysis",
    "conclusion",
    "summary",
];

/// What a cell is for; `None` if it is only a figure that was read. `is_first`: no label and no figure is before it.
fn role(kind: Column, title: &str, is_read: bool, is_first: bool) -> Option<Role> {
    if is_read {
        return matches!(kind, Column::Connections | Column::Users).then_some(Role::Load);
    }
    let title = title.trim().trim_matches('*').to_lowercase();
    let is_label = (kind == Column::Label && is_first) || matches!(title.as_str(), "name" | "type");
    Some(if NOTES.contains(&title.as_str()) {
        Role::Note
    } else if is_label {
        Role::Label
    } else {
        Role::Other
    })
}

/// The factor that a title gives to its cells: `Requests/s (k)`, `kreq/s`, `Connections (thousands)`. A letter alone can
/// also be a name, as in `rps, M1` or `rps, plan K`.
fn factor_of(title: &str) -> Option<f64> {
    let is_name = |word: &str, after: &str| {
        word.len() == 1
            && !after.starts_with([')', ']'])
            && !is_counted(crate::number::word(after.trim_start()).0)
    };
    words(title).filter(|(word, after)| !is_name(word, after)).find_map(|(word, _)| match word {
        "thousands" => Some(1e3),
        "millions" => Some(1e6),
        _ => scale(word)?.0,
    })
}

/// A count; its title can give a factor.
fn count(title: &str, cell: &str, rounding: Rounding) -> Option<Figure> {
    let (figure, _) = shortened(cell, rounding)?;
    let is_short = figure.text.ends_with(char::is_alphabetic);
    let Some(factor) = factor_of(title).filter(|_| !is_short) else { return Some(figure) };
    // The digits that the factor hides are not known, also those of a whole number.
    let range = number(cell)?.range(rounding).scaled(factor);
    let value = figure.value * factor;
    Some(Figure { text: amount(value), value, range })
}

/// Requests per second. Cell and title can name another time, as in `12.5/min`.
fn rate(title: &str, cell: &str, rounding: Rounding) -> Option<Figure> {
    let figure = count(title, cell, rounding)?;
    let (_, rest) = shortened(cell, rounding)?;
    let own = rest.split('(').next().unwrap_or_default();
    let seconds = match per(own) {
        // A time that is not known: a day, or a rate for each of something.
        None if own.contains('/') || own.contains(" per ") => return None,
        own => own.or_else(|| per(title)).unwrap_or(1.0),
    };
    if seconds.to_bits() == 1f64.to_bits() {
        return Some(figure);
    }
    let figure = figure.scaled(1.0 / seconds);
    let text = amount(figure.value);
    Some(figure.named(text))
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
            let n_before = one.n_figures();
            // A name stands before the figures.
            let is_first = n_before == 0 && one.label.is_empty();
            fill(*kind, title, cell, is_locust, &mut one);
            let is_read = one.n_figures() > n_before;
            if let (false, Some(role)) = (is_locust, role(*kind, title, is_read, is_first)) {
                one.cells.push(Cell { column: at, role, text: cell.to_owned() });
            }
        }
        if is_locust {
            locust_row(titles, cells, &mut one);
        } else if let (true, Some(connections)) = (one.label.is_empty(), &one.connections) {
            one.label = format!("{} {}", connections.text, one.places());
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
    let bare = || shortened(cell, rounding).map(|(figure, _)| figure);
    let places = || count(title, cell, Rounding::Nearest).filter(|figure| figure.value >= 1.0);
    let timed = || {
        let unit = if is_locust { Some(1e-3) } else { unit_of(title) };
        let with_unit = time(cell, rounding).map(|(figure, _)| figure);
        with_unit.or_else(|| Some(bare()?.scaled(unit?).named(cell)))
    };
    match kind {
        Column::Connections => (one.connections, one.load) = (places(), Load::Closed),
        // Users pause, but each of them waits for one response at a time.
        Column::Users => (one.connections, one.load) = (places(), Load::Users),
        Column::Supported => one.supported = between(cell),
        Column::Rate => one.rate = rate(title, cell, rounding),
        Column::Requests => {
            one.requests = count(title, cell, if is_locust { Rounding::Nearest } else { rounding });
        }
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

/// `200-300`, `1-2k`, or one number; `None` for `800+`, which has no upper end. Estimates are taken as they stand.
fn between(cell: &str) -> Option<Figure> {
    let (first, second) = cell.split_once(['-', '–']).unwrap_or((cell, cell));
    let (low, high) = (number(first)?, number(second)?);
    let (factor, rest) = scale(low.rest)?;
    if !rest.trim().is_empty() {
        return None;
    }
    // Of `1-2k`, both are thousands; of `800-1.2k`, only the second is.
    let of_high = scale(high.rest)?.0;
    let of_low = factor.or(of_high.filter(|_| low.value < high.value));
    let range = Range::new(low.value * of_low.unwrap_or(1.0), high.value * of_high.unwrap_or(1.0));
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
        // `5/1000` are 5 failures.
        let part = cell.split('/').next().unwrap_or_default();
        one.failed = shortened(part, Rounding::Nearest).map(|(figure, _)| figure);
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
