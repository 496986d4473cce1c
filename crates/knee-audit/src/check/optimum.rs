//! A row that is called optimal, although another row of its table has more throughput and shorter times.
//!
//! Reads short remarks only, such as "Optimal for sustained load", "sweet spot" and "200 (best)". Any other word beside
//! them can deny or limit the remark ("not optimal", "best price", "fastest in Java"), and the check is then silent. It
//! does not read titles and headings. Of several better rows, it names the one with the most throughput.

use std::cmp::Ordering;

use crate::finding::{Finding, Grade};
use crate::measurement::{Cell, Document, Measurement, Role};
use crate::number::{Figure, amount};

/// Name of the check.
pub const NAME: &str = "optimum";

/// Least difference in throughput, and in one of the times, as a share.
const DIFFERENCE: f64 = 0.05;

/// "Sweet spot" as one word.
const SWEET_SPOT: &str = "sweetspot";

/// Words that call a row better than all others. A "peak" or the "highest" can be a load.
const PRAISES: [&str; 5] = ["optimal", "optimum", "best", "fastest", SWEET_SPOT];

/// Words that can stand beside them and change nothing.
const NEUTRAL: [&str; 41] = [
    "the",
    "a",
    "an",
    "this",
    "our",
    "is",
    "and",
    "for",
    "here",
    "overall",
    "clearly",
    "point",
    "setting",
    "settings",
    "config",
    "configuration",
    "setup",
    "result",
    "results",
    "throughput",
    "performance",
    "response",
    "time",
    "times",
    "speed",
    "concurrency",
    "connections",
    "users",
    "pool",
    "size",
    "worker",
    "workers",
    "thread",
    "threads",
    "load",
    "loads",
    "sustained",
    "production",
    "traffic",
    "service",
    "server",
];

/// Words of another part of the cell that deny or limit the remark.
const LIMITS: [&str; 18] = [
    "not", "no", "never", "but", "except", "only", "however", "unless", "if", "when", "while", "although",
    "though", "until", "than", "almost", "nearly", "yet",
];

/// Beginnings of words for what a row can be best in besides throughput and times.
const OTHER_AIMS: [&str; 18] = [
    "memory",
    "ram",
    "cpu",
    "cost",
    "price",
    "cheap",
    "value",
    "trade",
    "durab",
    "safe",
    "secur",
    "stab",
    "consisten",
    "energy",
    "compress",
    "zip",
    "gzip",
    "quality",
];

/// Beginnings of words for a row that failed.
const TROUBLES: [&str; 18] = [
    "error", "fail", "timeout", "timed", "unstable", "crash", "drop", "throttl", "refus", "reject", "oom",
    "degrad", "unsafe", "lossy", "loses", "invalid", "overload", "saturat",
];

/// Signs for a row that failed.
const TROUBLE_SIGNS: [char; 4] = ['❌', '✗', '✘', '⚠'];

/// Signs between the parts of a cell.
const SEPARATORS: [char; 11] = [',', ';', ':', '.', '!', '(', ')', '[', ']', '–', '—'];

/// Checks every table.
pub fn check(document: &Document) -> Vec<Finding> {
    let mut found = Vec::new();
    for rows in document.tables() {
        found.extend(rows.iter().filter_map(|one| finding(one, &rows)));
    }
    found
}

fn finding(called: &Measurement, rows: &[&Measurement]) -> Option<Finding> {
    let remark = remark(called)?;
    let rate = called.rate.as_ref()?;
    let better: Vec<&Measurement> = rows.iter().copied().filter(|other| is_better(called, other)).collect();
    let rated = better.iter().filter_map(|other| Some((*other, other.rate.as_ref()?)));
    let (other, more) = rated.reduce(|best, next| if is_ahead(next, best) { next } else { best })?;
    let name = match other.label.as_str() {
        "" => format!("the row at line {}", other.line),
        label => format!("the row \"{label}\" (line {})", other.line),
    };
    let further = further(better.len() - 1);
    let says =
        format!("called \"{}\", but {name} has more throughput and shorter times{further}", remark.text);
    let mut finding = Finding::new(NAME, Grade::Misleading, called, says).step(format!(
        "throughput: {} / {} = {} times as much (line {} / line {})",
        more.text,
        rate.text,
        amount(more.value / rate.value),
        other.line,
        called.line
    ));
    for (name, old, new) in times(called, other) {
        let ratio = new.value / old.value.max(f64::MIN_POSITIVE);
        let relation = format!("{name}: {} / {} = {} times as long", new.text, old.text, amount(ratio));
        finding = finding.step(relation);
    }
    Some(finding.cause(
        "the word is about something that these figures do not show, such as the load; by throughput and times, the \
         other row is better",
    ))
}

/// Whether a row is ahead of another, both better than the row that is called optimal: by throughput, then by the first
/// time that differs. The earlier of equal rows is named.
fn is_ahead((row, rate): (&Measurement, &Figure), (best, most): (&Measurement, &Figure)) -> bool {
    let in_times = || {
        times(best, row)
            .iter()
            .map(|(_, old, new)| old.value.total_cmp(&new.value))
            .find(|order| order.is_ne())
    };
    let by_rate = rate.value.total_cmp(&most.value);
    by_rate.is_gt() || (by_rate.is_eq() && in_times().is_some_and(Ordering::is_gt))
}

/// What follows the named row if others are better, too.
fn further(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 more row has, too".to_owned(),
        _ => format!("; {count} more rows have, too"),
    }
}

/// The cell that calls a row optimal, if nothing in the row says that this is about something else.
fn remark(one: &Measurement) -> Option<&Cell> {
    if one.cells.iter().any(|cell| has_beginning(&plain(&cell.text), &OTHER_AIMS)) {
        return None;
    }
    one.cells.iter().find(|cell| is_remark(cell))
}

fn is_remark(cell: &Cell) -> bool {
    let text = plain(&cell.text);
    // A setting can be called "fastest", such as a level of compression.
    let is_name = matches!(cell.role, Role::Label | Role::Other) && words(&text).count() == 1;
    !is_name && !words(&text).any(is_limit) && text.split(SEPARATORS).any(is_praise)
}

/// Whether a part of a cell calls its row optimal, and says nothing else.
fn is_praise(part: &str) -> bool {
    let is_count = |word: &str| word.chars().all(|letter| letter.is_ascii_digit());
    words(part).any(|word| PRAISES.contains(&word))
        && words(part).all(|word| PRAISES.contains(&word) || NEUTRAL.contains(&word) || is_count(word))
}

fn is_limit(word: &str) -> bool {
    LIMITS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// A text in small letters, in which a sweet spot is one word and a dash between words separates.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace(" - ", "; ");
    lower.replace("sweet spot", SWEET_SPOT).replace("sweet-spot", SWEET_SPOT)
}

/// The words of a plain text. A path and a compound are one word: `/best`, `near-optimal`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(SEPARATORS).flat_map(str::split_whitespace);
    parts.map(|word| word.trim_matches(is_around)).filter(|word| !word.is_empty())
}

/// Whether a character beside a word is no part of it: a quotation mark, or a picture.
fn is_around(letter: char) -> bool {
    let is_quote = matches!(letter, '*' | '"' | '\'' | '`');
    !letter.is_alphanumeric() && (is_quote || !letter.is_ascii_punctuation())
}

fn has_beginning(text: &str, beginnings: &[&str]) -> bool {
    words(text).any(|word| beginnings.iter().any(|beginning| word.starts_with(beginning)))
}

/// Whether another row is better in throughput and a time, and worse in nothing that the table shows.
fn is_better(called: &Measurement, other: &Measurement) -> bool {
    let (Some(rate), Some(more)) = (&called.rate, &other.rate) else { return false };
    let is_faster =
        rate.value > 0.0 && rate.range.is_below(more.range) && more.value >= rate.value * (1.0 + DIFFERENCE);
    let times = times(called, other);
    is_faster
        && times.iter().all(|(_, old, new)| new.value <= old.value)
        && times.iter().any(|(_, old, new)| is_shorter(old, new))
        && !has_more_errors(called, other)
        && !does_less(called, other)
        && !is_unclear(called, other)
        && !is_in_doubt(other)
}

fn is_shorter(old: &Figure, new: &Figure) -> bool {
    new.range.is_below(old.range) && new.value <= old.value * (1.0 - DIFFERENCE)
}

/// The times that both rows have: name, that of the row that is called optimal, that of the other row.
fn times<'a>(called: &'a Measurement, other: &'a Measurement) -> Vec<(&'a str, &'a Figure, &'a Figure)> {
    let mut shared = Vec::new();
    let single = [
        ("mean", &called.mean, &other.mean),
        ("min", &called.min, &other.min),
        ("max", &called.max, &other.max),
    ];
    for (name, old, new) in single {
        if let (Some(old), Some(new)) = (old, new) {
            shared.push((name, old, new));
        }
    }
    for old in &called.percentiles {
        if let Some(new) = other.percentiles.iter().find(|new| new.name == old.name) {
            shared.push((old.name.as_str(), &old.time, &new.time));
        }
    }
    shared
}

/// Whether another row has more errors, or only one of both rows says how many.
fn has_more_errors(called: &Measurement, other: &Measurement) -> bool {
    let aside = |one: &Measurement| one.failed_aside.as_ref().map(|aside| aside.figure.value);
    let value = |figure: Option<&Figure>| figure.map(|figure| figure.value);
    let pairs = [
        (value(called.failed.as_ref()), value(other.failed.as_ref())),
        (value(called.failed_share.as_ref()), value(other.failed_share.as_ref())),
        (value(other.success_share.as_ref()), value(called.success_share.as_ref())),
        (aside(called), aside(other)),
    ];
    pairs.into_iter().any(|pair| match pair {
        (Some(few), Some(many)) => few < many,
        (None, None) => false,
        _ => true,
    })
}

/// Whether the responses of another row are smaller, or fewer users are supported.
fn does_less(called: &Measurement, other: &Measurement) -> bool {
    let is_less = |one: Option<&Figure>, other: Option<&Figure>| match (one, other) {
        (Some(one), Some(other)) => other.value < one.value * (1.0 - DIFFERENCE),
        _ => false,
    };
    is_less(called.response_size.as_ref(), other.response_size.as_ref())
        || is_less(called.supported.as_ref(), other.supported.as_ref())
}

/// Whether a number differs that was not read, such as a price: the row can be the best in it.
fn is_unclear(called: &Measurement, other: &Measurement) -> bool {
    called.cells.iter().any(|cell| is_unread(cell, other))
        || other.cells.iter().any(|cell| is_unread(cell, called))
}

/// Whether a cell has a number that was not read, and another row another one; or if only that of the other was read.
fn is_unread(cell: &Cell, other: &Measurement) -> bool {
    if cell.role != Role::Other {
        return false;
    }
    let Some(same) = other.cells.iter().find(|same| same.column == cell.column) else { return true };
    cell.text != same.text && (is_number(&cell.text) || is_number(&same.text))
}

/// Whether a cell begins with a number: `$12`, `~40 %`.
fn is_number(text: &str) -> bool {
    let body = text.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    body.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Whether a row is itself called optimal, maybe for another purpose, or its words say that it failed.
fn is_in_doubt(other: &Measurement) -> bool {
    other.cells.iter().any(|cell| {
        let text = plain(&cell.text);
        words(&text).any(|word| PRAISES.contains(&word))
            || has_beginning(&text, &TROUBLES)
            || text.contains(TROUBLE_SIGNS)
    })
}
