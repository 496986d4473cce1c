//! Outputs with one line per request: their times are counted while they are read.
//!
//! Memory does not depend on the number of lines: times go into logarithmic buckets of 1 %.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use crate::measurement::{Document, Load, Measurement, Percentile, Silence, Tool};
use crate::number::{Figure, Range, show_time};
use crate::problem::ReadError;

/// The first columns of hey's CSV.
pub const HEY_HEADER: &[u8] =
    b"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset";

/// Longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Width of a bucket of times.
const WIDTH: f64 = 1.01;

/// Completions are counted in slots of this many seconds.
const SLOT_S: f64 = 0.01;

/// Most slots that are kept; of a longer run, gaps are not measured.
const SLOTS_MAX: usize = 2_000_000;

/// Times of single requests.
#[derive(Default)]
pub struct Samples {
    count: u64,
    sum: f64,
    min: Option<f64>,
    max: f64,
    buckets: BTreeMap<i32, u64>,
    slots: BTreeSet<u64>,
    /// Start and end of the slowest request whose end is known.
    slowest: Option<(f64, f64)>,
    statuses: BTreeMap<u16, u64>,
    is_too_long: bool,
}

impl Samples {
    /// Adds a time, and the moment at which the request ended, both in s.
    pub fn add(&mut self, seconds: f64, end: Option<f64>) {
        if !seconds.is_finite() || seconds < 0.0 {
            return;
        }
        self.count += 1;
        self.sum += seconds;
        self.min = Some(self.min.map_or(seconds, |min| min.min(seconds)));
        self.max = self.max.max(seconds);
        let bucket = (seconds.max(1e-9).ln() / WIDTH.ln()).floor() as i32;
        *self.buckets.entry(bucket).or_default() += 1;
        if let Some(end) = end.filter(|end| *end >= 0.0 && !self.is_too_long) {
            self.slots.insert((end / SLOT_S) as u64);
            if self.slowest.is_none_or(|(from, to)| seconds > to - from) {
                self.slowest = Some((end - seconds, end));
            }
            if self.slots.len() > SLOTS_MAX {
                self.is_too_long = true;
                self.slots.clear();
            }
        }
    }

    /// Counts a response.
    pub fn status(&mut self, code: u16) {
        *self.statuses.entry(code).or_default() += 1;
    }

    /// Number of times.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The figures of all times.
    pub fn measurement(&self, tool: Tool, label: &str) -> Measurement {
        let mut one = Measurement::new(tool, 1);
        label.clone_into(&mut one.label);
        if self.count == 0 {
            return one;
        }
        let exact = |seconds: f64| Figure::exact(seconds, show_time(seconds));
        one.requests = Some(Figure::count(self.count));
        one.samples = Some(self.count);
        one.mean = Some(exact(self.sum / self.count as f64));
        one.min = self.min.map(exact);
        one.max = Some(exact(self.max));
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
            one.percentiles.push(Percentile { name: name.to_owned(), share, time: self.percentile(share) });
        }
        one.statuses = self.statuses.iter().map(|(code, count)| (*code, *count)).collect();
        one.silence = self.silence();
        let ends = self.slots.first().zip(self.slots.last());
        one.duration = ends.map(|(first, last)| {
            let seconds = (last - first + 1) as f64 * SLOT_S;
            let range = Range::new(seconds, seconds + 2.0 * SLOT_S + self.max);
            Figure { text: show_time(seconds), value: seconds, range }
        });
        one
    }

    /// Users who pause in step leave the server without requests again and again. So a pause counts only while the
    /// slowest request was open, and is compared with the pauses of the rest of the run.
    fn silence(&self) -> Option<Silence> {
        let (start, end) = self.slowest?;
        let mut longest = 0.0f64;
        let mut others: BTreeMap<u64, u64> = BTreeMap::new();
        for (before, after) in self.slots.iter().zip(self.slots.iter().skip(1)) {
            let from = ((before + 1) as f64 * SLOT_S).max(start);
            let to = (*after as f64 * SLOT_S).min(end);
            if from < to {
                longest = longest.max(to - from);
            } else {
                *others.entry(after - before).or_default() += 1;
            }
        }
        let length = |slots: u64, count: u64| slots as f64 * count as f64;
        let all: f64 = others.iter().map(|(slots, count)| length(*slots, *count)).sum();
        let mut passed = 0.0;
        let typical = others.iter().find(|(slots, count)| {
            passed += length(**slots, **count);
            passed >= 0.75 * all
        });
        let slow = |bucket: i32| WIDTH.powi(bucket + 1) > (end - start) / 2.0;
        let n_slow = self.buckets.iter().filter(|(bucket, _)| slow(**bucket)).map(|(_, count)| count).sum();
        Some(Silence { longest, typical: *typical?.0 as f64 * SLOT_S, n_slow })
    }

    fn percentile(&self, share: f64) -> Figure {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        // A bucket reaches beyond the least and the greatest time, and times of 0 have one, too.
        let (least, greatest) = (self.min.unwrap_or(0.0), self.max);
        let low = WIDTH.powi(found.map_or(0, |(bucket, _)| *bucket)).clamp(least, greatest);
        let range = Range::new((low * 0.999).max(least), (low * WIDTH).clamp(low, greatest));
        Figure { text: show_time(low), value: low, range }
    }
}

/// Calls a function with every line that is not empty, and its number from 1.
///
/// # Errors
///
/// Those of the function, and lines that are too long.
pub fn for_each_line(
    mut input: impl BufRead,
    mut take: impl FnMut(usize, &[u8]) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut part = std::io::Read::take(&mut input, LINE_BYTES_MAX as u64);
        if part.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() >= LINE_BYTES_MAX {
            return Err(ReadError::Damaged { line: number, what: "the line is too long".to_owned() });
        }
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() {
            take(number, trimmed)?;
        }
    }
    Ok(())
}

/// Seconds of a time in RFC 3339 since the beginning of 1970, without leap seconds; `None` if it is none.
pub fn seconds_of_day(text: &str) -> Option<f64> {
    let digits = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let clock = digits(11, 13)? * 3600 + digits(14, 16)? * 60 + digits(17, 19)?;
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', '+', '-'])?;
    let fraction = if zone_at > 1 { rest[..zone_at].parse::<f64>().ok()? } else { 0.0 };
    let zone = &rest[zone_at..];
    let offset = match zone.get(..1)? {
        "Z" => 0,
        sign => {
            let minutes = zone.get(1..3)?.parse::<i64>().ok()? * 60 + zone.get(4..6)?.parse::<i64>().ok()?;
            if sign == "-" { -60 * minutes } else { 60 * minutes }
        }
    };
    // Days since 1970 of a date of the Gregorian calendar (H. Hinnant, `days_from_civil`).
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 86_400 + clock - offset) as f64 + fraction)
}

/// Reads hey's CSV.
///
/// # Errors
///
/// If the input cannot be read.
pub fn read_hey(input: impl BufRead) -> Result<Document, ReadError> {
    let mut samples = Samples::default();
    for_each_line(input, |number, line| {
        if number == 1 {
            return Ok(());
        }
        let text = std::str::from_utf8(line).unwrap_or_default();
        let mut cells = text.split(',').map(|cell| cell.trim().parse::<f64>().ok());
        let (Some(Some(seconds)), status, offset) =
            (cells.next(), cells.nth(5).flatten(), cells.next().flatten())
        else {
            let what = "not a row of hey's CSV".to_owned();
            return Err(ReadError::Damaged { line: number, what });
        };
        samples.add(seconds, offset.map(|offset| offset + seconds));
        if let Some(code) = status {
            samples.status(code as u16);
        }
        Ok(())
    })?;
    let mut one = samples.measurement(Tool::Hey, "");
    one.load = Load::Unknown;
    Ok(Document { format: "hey CSV".to_owned(), measurements: vec![one], ..Document::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_the_least_and_the_greatest_time_even_if_all_are_zero() {
        for times in [vec![0.0; 50], vec![0.25; 3], vec![0.001, 0.002]] {
            let mut samples = Samples::default();
            for seconds in &times {
                samples.add(*seconds, None);
            }
            let one = samples.measurement(Tool::K6, "");
            let (min, max) = (one.min.unwrap().value, one.max.unwrap().value);
            for percentile in &one.percentiles {
                let range = percentile.time.range;
                assert!(min <= range.low && range.high <= max, "{times:?}: {percentile:?}");
            }
        }
    }
}
