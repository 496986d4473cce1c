//! Statements of an English text about figures: changes with their size, counts of responses, proportional growth.
//!
//! Reads a few fixed forms, and leaves out every sentence that has none of them.

use crate::measurement::{Change, Claim, Direction, Size, Statement};
use crate::number::{Figure, Rounding, number, percent, plain, shortened, size, time};

/// Verbs and nouns of a change, with its direction.
const VERBS: [(&str, Direction); 16] = [
    ("dropped", Direction::Down),
    ("fell", Direction::Down),
    ("decreased", Direction::Down),
    ("went down", Direction::Down),
    ("reduced", Direction::Down),
    ("lowered", Direction::Down),
    ("shrank", Direction::Down),
    ("declined", Direction::Down),
    ("increased", Direction::Up),
    ("rose", Direction::Up),
    ("grew", Direction::Up),
    ("went up", Direction::Up),
    ("raised", Direction::Up),
    ("climbed", Direction::Up),
    ("doubled", Direction::Up),
    ("jumped", Direction::Up),
];

/// Words that judge a change.
const JUDGEMENTS: [(&str, Direction); 6] = [
    ("better", Direction::Up),
    ("faster", Direction::Up),
    ("improvement", Direction::Up),
    ("worse", Direction::Down),
    ("slower", Direction::Down),
    ("regression", Direction::Down),
];

/// The statements of a paragraph.
pub fn read(text: &str, line: usize) -> Vec<Statement> {
    let mut found = Vec::new();
    let statement = |text: &str, claim| Statement { line, text: excerpt(text), claim };
    for (at, _) in text.match_indices("from ") {
        if let Some((words, change)) = change(text, at) {
            found.push(statement(words, Claim::Change(Box::new(change))));
        }
    }
    for sentence in text.split(". ") {
        let lower = sentence.to_lowercase();
        if lower.contains("linear") && lower.contains("scal") && !lower.contains("not ") {
            found.push(statement(sentence, Claim::Linear));
        }
        found.extend(status_count(sentence).map(|claim| statement(sentence, claim)));
        found.extend(error_share(sentence).map(|claim| statement(sentence, claim)));
    }
    found
}

/// At most 100 characters of a text.
fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A figure with its unit, if it has one, and what follows.
fn figure(text: &str) -> Option<(Figure, &str, Kind)> {
    if let Some((figure, rest)) = time(text, Rounding::Hand) {
        return Some((figure, rest, Kind::Time));
    }
    if let Some((figure, rest)) = percent(text, Rounding::Hand) {
        return Some((figure, rest, Kind::Share));
    }
    if let Some((figure, rest)) = size(text, 1000.0, Rounding::Hand) {
        return Some((figure, rest, Kind::Size));
    }
    let (figure, rest) = shortened(text, Rounding::Hand)?;
    Some((figure, rest, Kind::Plain))
}

/// What a figure measures, by its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Share,
    Size,
    Plain,
}

/// The change whose `from` is at a place, with its words.
fn change(text: &str, at: usize) -> Option<(&str, Change)> {
    let after = &text[at + "from ".len()..];
    let (from, rest, kind) = figure(after)?;
    let rest = rest.strip_prefix(" req/s").or_else(|| rest.strip_prefix(" RPS")).unwrap_or(rest);
    let (to, rest, to_kind) = figure(rest.trim_start().strip_prefix("to ")?)?;
    if kind != to_kind {
        return None;
    }
    let begin = clause(&text[..at]);
    let subject = text[begin..at].to_lowercase();
    let tail_end = rest.char_indices().nth(40).map_or(rest.len(), |(end, _)| end);
    let tail = rest[..tail_end].split([';', ',']).next().unwrap_or_default();
    let tail = tail.split(". ").next().unwrap_or_default();
    let (stated, judgement) = stated(tail);
    let verb = VERBS
        .iter()
        .filter_map(|(word, way)| Some((subject.rfind(word)?, *way, *word)))
        .max_by_key(|one| one.0);
    let words_end = text.len() - rest.len() + tail.find(')').map_or(0, |end| end + 1);
    let change = Change {
        from,
        to,
        verb: verb.map(|(_, way, word)| (way, word.to_owned())),
        size: stated,
        judgement,
        less_is_better: less_is_better(&subject, kind),
        share: share(&subject),
    };
    Some((text.get(begin..words_end)?, change))
}

/// Where the clause that ends here begins.
fn clause(before: &str) -> usize {
    let ends = [", ", "; ", ". "];
    let last = ends.iter().filter_map(|end| before.rfind(end).map(|at| at + end.len())).max().unwrap_or(0);
    let near = before.char_indices().rev().nth(100).map_or(0, |(at, _)| at);
    let begin = last.max(near);
    if before[begin..].starts_with("and ") { begin + 4 } else { begin }
}

fn less_is_better(subject: &str, kind: Kind) -> Option<bool> {
    let has = |words: &[&str]| words.iter().any(|word| subject.contains(word));
    if has(&["requests per second", "req/s", "rps", "throughput", "requests/s"]) {
        return Some(false);
    }
    let is_time = has(&["response", "time", "laten", "slowest", "fastest", "error", "p9", "duration"]);
    (is_time && matches!(kind, Kind::Time | Kind::Share)).then_some(true)
}

/// `p99.99` in a text.
fn share(subject: &str) -> Option<f64> {
    let at = subject.rfind("p9").or_else(|| subject.rfind("p5"))?;
    let number = number(&subject[at + 1..])?;
    (number.value < 100.0).then_some(number.value / 100.0)
}

/// The size of a change and its judgement: `(16× better)`, `, 25 % worse`.
fn stated(tail: &str) -> (Option<Size>, Option<(Direction, String)>) {
    let lower = tail.to_lowercase();
    let Some(begin) = lower.find(|c: char| c.is_ascii_digit()) else { return (None, None) };
    // What is between must not be another sentence.
    if lower[..begin].chars().any(char::is_alphanumeric) {
        return (None, None);
    }
    let text = &lower[begin..];
    let judged = JUDGEMENTS.iter().find(|(word, _)| text.contains(word));
    let judgement = judged.map(|(word, way)| (*way, (*word).to_owned()));
    if let Some((share, _)) = percent(text, Rounding::Any) {
        return (Some(Size::Share(share)), judgement);
    }
    let Some((factor, rest)) = plain(text, Rounding::Any) else { return (None, None) };
    let rest = rest.trim_start();
    let is_factor = rest.starts_with('×')
        || rest.starts_with("times")
        || rest.starts_with("x ")
        || rest == "x"
        || rest.starts_with("x)");
    if is_factor { (Some(Size::Factor(factor)), judgement) } else { (None, None) }
}

/// `7 responses returning a 500 status code`.
fn status_count(sentence: &str) -> Option<Claim> {
    let at = sentence.find(" responses return").or_else(|| sentence.find(" responses with"))?;
    let (count, rest) = plain(sentence[..at].rsplit(' ').next()?, Rounding::Nearest)?;
    let after = &sentence[at..];
    let near = after.char_indices().nth(60).map_or(after, |(end, _)| &after[..end]);
    let digits = near.find(|c: char| c.is_ascii_digit())?;
    let status: u16 = near.get(digits..digits + 3)?.parse().ok()?;
    let is_status = near.contains("status") && (100..600).contains(&status) && rest.is_empty();
    is_status.then_some(Claim::StatusCount { count, status })
}

/// `77% of the responses are returning an error`.
fn error_share(sentence: &str) -> Option<Claim> {
    let at = sentence.find("% of the responses").or_else(|| sentence.find("% of responses"))?;
    if !sentence[at..].contains("error") {
        return None;
    }
    let number = sentence[..at].rsplit([' ', '*']).next()?;
    let (share, _) = percent(&format!("{number}%"), Rounding::Any)?;
    Some(Claim::ErrorShare(share))
}

/// Statements in code: settings with a comment about their old value, and plans of queries with a limit.
pub fn read_code(code: &str, before: usize) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut limit: Option<u64> = None;
    let mut planned: Option<(usize, u64)> = None;
    for (at, text) in code.lines().enumerate() {
        let line = before + at + 1;
        found.extend(setting(text).map(|claim| Statement { line, text: excerpt(text), claim }));
        let upper = text.to_uppercase();
        if let Some((_, after)) = upper.split_once(" LIMIT ") {
            limit = number(after).map(|number| number.value as u64).or(limit);
        }
        let rows =
            text.split_once(" rows=").and_then(|(_, after)| number(after)).map(|number| number.value as u64);
        match (rows, planned) {
            (Some(rows), _) if text.trim_start().starts_with("Limit ") => planned = Some((line, rows)),
            (Some(below), Some((line, planned_rows))) => {
                planned = None;
                if let Some(limit) = limit {
                    let claim = Claim::PlanRows { limit, planned: planned_rows, below };
                    found.push(Statement { line, text: format!("LIMIT {limit}"), claim });
                }
            }
            _ => {}
        }
    }
    found
}

/// `minIdleConns: 100  # Increased from 100`
fn setting(text: &str) -> Option<Claim> {
    let (before, comment) = text.split_once('#')?;
    let (_, value) = before.split_once(':').or_else(|| before.split_once('='))?;
    let lower = comment.trim().to_lowercase();
    let (word, rest) = lower.split_once(" from ")?;
    let way = match word {
        "increased" | "raised" => Direction::Up,
        "decreased" | "reduced" | "lowered" => Direction::Down,
        _ => return None,
    };
    let (value, after) = plain(value, Rounding::Nearest).filter(|(_, rest)| rest.trim().is_empty())?;
    let (old, old_after) = plain(rest, Rounding::Nearest)?;
    let is_same_unit = after.trim().is_empty() && !old_after.starts_with(|c: char| c.is_alphanumeric());
    is_same_unit.then(|| Claim::Setting { value, old, direction: (way, word.to_owned()) })
}

/// Items of a list whose figures in brackets are the same.
pub fn repeated(items: &[(usize, String)]) -> Vec<Statement> {
    let figures = |text: &str| -> Option<String> {
        let inside = text.split_once('(')?.1.split(')').next()?.trim().to_owned();
        let numbers = inside.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).count();
        (numbers >= 2 && inside.chars().any(char::is_alphabetic)).then_some(inside)
    };
    let mut found = Vec::new();
    for (at, (line, text)) in items.iter().enumerate() {
        let Some(own) = figures(text) else { continue };
        let earlier = items[..at].iter().find(|(_, other)| figures(other).as_ref() == Some(&own));
        if let Some((other_line, other)) = earlier {
            let claim = Claim::SameFigures { figures: own, other: excerpt(other), other_line: *other_line };
            found.push(Statement { line: *line, text: excerpt(text), claim });
        }
    }
    found
}
