//! Printed numbers as intervals, and the units of load testing tools.
//!
//! A figure printed with two decimals stands for every value that rounds to it. Does not know what a figure measures.

mod printed;

mod range;

pub use printed::{amount, group, show_range, show_share, show_time};
pub use range::Range;

/// Longest number that is read, in characters.
const DIGITS_MAX: usize = 40;

/// A figure as it was printed, with the values that it can stand for. Times are in seconds, sizes in bytes, shares are
/// from 0 to 1, rates are per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// As printed, with its unit.
    pub text: String,
    /// The printed value in the base unit.
    pub value: f64,
    /// Values that print like this.
    pub range: Range,
}

impl Figure {
    /// A figure that was not rounded.
    pub fn exact(value: f64, text: impl Into<String>) -> Self {
        Self { text: text.into(), value, range: Range::exact(value) }
    }

    /// A whole number of things.
    pub fn count(count: u64) -> Self {
        Self::exact(count as f64, group(count))
    }

    /// The figure in another unit: `factor` base units.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.value *= factor;
        self.range = self.range.scaled(factor);
        self
    }

    /// The figure with other words.
    #[must_use]
    pub fn named(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }
}

/// How a tool or an author shortens numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest value of the last digit.
    Nearest,
    /// Cut off after the last digit.
    Down,
    /// Either, or up: the last digit is within one.
    Any,
    /// By hand: like `Any`, and zeros at the end of a whole number can be rounded digits.
    Hand,
}

/// A number at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'a> {
    /// The value.
    pub value: f64,
    /// One unit of the last printed digit.
    pub step: f64,
    /// Whether the number has a sign for "about" before it.
    pub is_rough: bool,
    /// Whether it has no decimals.
    is_whole: bool,
    /// What follows the number.
    pub rest: &'a str,
}

impl Number<'_> {
    /// The values that print like this number.
    pub fn range(&self, rounding: Rounding) -> Range {
        let (below, above) = match rounding {
            Rounding::Nearest => (self.step / 2.0, self.step / 2.0),
            Rounding::Down => (0.0, self.step),
            Rounding::Any => (self.step, self.step),
            Rounding::Hand => (self.step.max(self.zeros() / 2.0), self.step.max(self.zeros() / 2.0)),
        };
        let rough = if self.is_rough { self.value * 0.1 } else { 0.0 };
        Range::new((self.value - below.max(rough)).max(0.0), self.value + above.max(rough))
    }

    /// The unit of the last digit that is not a zero, of a whole number.
    fn zeros(&self) -> f64 {
        if !self.is_whole {
            return 0.0;
        }
        let mut unit = 1.0;
        while self.value > 0.0 && (self.value / (unit * 10.0)).fract() == 0.0 {
            unit *= 10.0;
        }
        unit
    }
}

/// Reads a number that is not negative at the beginning of a text: `1,234.5`, `~20,000`, `0.1081`.
pub fn number(text: &str) -> Option<Number<'_>> {
    let trimmed = text.trim_start();
    let body = trimmed.trim_start_matches(['~', '≈']).trim_start();
    let is_rough = body.len() < trimmed.len();
    let bytes = body.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut digits = String::new();
    let mut decimals: Option<i32> = None;
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => {
                digits.push(char::from(*byte));
                decimals = decimals.map(|count| count + 1);
            }
            b'.' if decimals.is_none() && digit(end + 1) && !digits.is_empty() => {
                digits.push('.');
                decimals = Some(0);
            }
            b',' | b'_' if decimals.is_none() && !digits.is_empty() && is_group(bytes, end + 1) => {}
            _ => break,
        }
        end += 1;
        if digits.len() > DIGITS_MAX {
            return None;
        }
    }
    let value: f64 = digits.parse().ok()?;
    let step = 10f64.powi(-decimals.unwrap_or(0));
    Some(Number { value, step, is_rough, is_whole: decimals.is_none(), rest: &body[end..] })
}

/// Whether exactly three digits begin at `at`.
fn is_group(bytes: &[u8], at: usize) -> bool {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    digit(at) && digit(at + 1) && digit(at + 2) && !digit(at + 3)
}

/// The letters at the beginning of a text, and what follows them.
pub fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

/// Seconds of a unit of time.
pub fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

/// Bytes of a unit of size. `kilo` is what `k` and `K` mean without an `i`.
fn bytes_of(unit: &str, kilo: f64) -> Option<f64> {
    Some(match unit {
        "B" | "byte" | "bytes" => 1.0,
        "kB" | "KB" | "Kbytes" => kilo,
        "MB" => kilo.powi(2),
        "GB" => kilo.powi(3),
        "TB" => kilo.powi(4),
        "KiB" => 1024.0,
        "MiB" => 1024f64.powi(2),
        "GiB" => 1024f64.powi(3),
        "TiB" => 1024f64.powi(4),
        _ => return None,
    })
}

/// Nouns that can follow `k` or `M` without a space, as in `12.5kreq/s`.
const COUNTED: [&str; 18] = [
    "req",
    "reqs",
    "request",
    "requests",
    "rps",
    "rpm",
    "qps",
    "tps",
    "op",
    "ops",
    "user",
    "users",
    "vu",
    "vus",
    "conn",
    "conns",
    "connection",
    "connections",
];

/// Whether a word names what is counted, or counted per time.
pub fn is_counted(word: &str) -> bool {
    COUNTED.contains(&word.to_ascii_lowercase().as_str())
}

/// Whether a word is a unit of size or of bits per second: `B`, `kB`, `MiB`, `Mbit`, `mbps`.
pub fn is_size(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let root = lower.strip_prefix(['k', 'm', 'g', 't']).map_or(lower.as_str(), |unit| {
        unit.strip_prefix('i').filter(|unit| unit.starts_with('b')).unwrap_or(unit)
    });
    matches!(root, "b" | "bs" | "bps" | "bit" | "bits" | "byte" | "bytes")
}

/// The factor behind a number, if it has one, and the text after the factor: `k`, `M`, ` kreq/s`.
/// `None` if a unit follows that is none of a count, or more of a number: `12.5 MB`, `12 s`, `12 %`, `12-14`, `12,5`.
pub fn scale(rest: &str) -> Option<(Option<f64>, &str)> {
    let after = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    if is_continued(rest, after) {
        return None;
    }
    let (unit, end) = word(after);
    let factor = match unit {
        "" => return Some((None, rest)),
        "k" | "K" | "thousand" => 1e3,
        "M" | "million" => 1e6,
        "x" => return None,
        _ if seconds_of(unit).is_some() || is_size(unit) => return None,
        _ => {
            let noun = unit.get(1..).unwrap_or_default();
            let factor = match unit.chars().next() {
                Some('k' | 'K') => 1e3,
                Some('m' | 'M') => 1e6,
                _ => 1.0,
            };
            let is_short = factor > 1.0 && is_counted(noun);
            return Some(if is_short { (Some(factor), after.get(1..)?) } else { (None, rest) });
        }
    };
    (!is_continued(end, end.trim_start())).then_some((Some(factor), end))
}

/// Whether what follows a number belongs to it: another digit, a second number, a sign of a share or of a factor.
fn is_continued(rest: &str, after: &str) -> bool {
    let digit = |text: &str| text.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let is_decimal = rest
        .strip_prefix(['.', ',', '\'', '’'])
        .is_some_and(|tail| tail.starts_with(|c: char| c.is_ascii_digit()));
    let is_pair = after.strip_prefix(['-', '–', '—', '/', '→', '±']).is_some_and(digit);
    is_decimal || is_pair || digit(after) || after.starts_with(['%', '×', '+'])
}

/// Reads a count or a rate, which can be shortened: `12.5k`, `1.2 M`, `3 kreq/s`. Returns what follows. `None` if a unit
/// follows that is none of a count.
pub fn shortened(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let (factor, rest) = scale(number.rest)?;
    let Some(factor) = factor else { return plain(text, rounding) };
    let figure = Figure {
        text: consumed(text, rest).to_owned(),
        value: number.value * factor,
        range: number.range(rounding).scaled(factor),
    };
    Some((figure, rest))
}

/// The time that a rate is per, in s: of `req/s`, `/min`, `requests per hour`, `rpm`. `None` if the words name none.
pub fn per(words: &str) -> Option<f64> {
    let lower = words.to_lowercase();
    let mut parts = lower.split(|c: char| !c.is_alphabetic()).map(|name| name.trim_start_matches(['k', 'm']));
    let named = parts.find_map(|name| match name {
        "rps" | "qps" | "tps" => Some(1.0),
        "rpm" => Some(60.0),
        _ => None,
    });
    let unit = |at: usize| seconds_of(word(lower[at..].trim_start()).0);
    let slash = || lower.match_indices('/').find_map(|(at, _)| unit(at + 1));
    let spoken = || lower.match_indices("per ").find_map(|(at, found)| unit(at + found.len()));
    named.or_else(slash).or_else(spoken)
}

/// The part of `text` before `rest`, which is its end.
fn consumed<'a>(text: &'a str, rest: &str) -> &'a str {
    text.get(..text.len() - rest.len()).unwrap_or(text).trim()
}

/// Reads a number without a unit, and returns what follows. A whole number of a tool is a count, which is not rounded.
pub fn plain(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let is_count = rounding == Rounding::Nearest && number.is_whole && !number.is_rough;
    let figure = Figure {
        text: consumed(text, number.rest).to_owned(),
        value: number.value,
        range: if is_count { Range::exact(number.value) } else { number.range(rounding) },
    };
    Some((figure, number.rest))
}

/// Reads a number followed by a unit that `factor_of` knows.
fn with_unit(
    text: &str,
    rounding: Rounding,
    factor_of: impl Fn(&str) -> Option<f64>,
) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let after = number.rest.strip_prefix([' ', '\u{a0}']).unwrap_or(number.rest);
    let (unit, rest) = word(after);
    let factor = factor_of(unit)?;
    let figure = Figure {
        text: consumed(text, rest).to_owned(),
        value: number.value * factor,
        range: number.range(rounding).scaled(factor),
    };
    Some((figure, rest))
}

/// Reads a time with its unit, as in `501.3ms`, `0.1081 secs` or `1m30s`, and returns what follows.
pub fn time(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let (mut sum, mut rest) = with_unit(text, rounding, seconds_of)?;
    // Of `1m30s`, only the last part is rounded.
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let Some((part, after)) = with_unit(rest, rounding, seconds_of) else { break };
        sum = Figure {
            text: consumed(text, after).to_owned(),
            value: sum.value + part.value,
            range: Range::exact(sum.value).plus(part.range),
        };
        rest = after;
    }
    Some((sum, rest))
}

/// Reads a size with its unit, as in `22.08 MiB`, and returns what follows.
pub fn size(text: &str, kilo: f64, rounding: Rounding) -> Option<(Figure, &str)> {
    with_unit(text, rounding, |unit| bytes_of(unit, kilo))
}

/// Reads a percentage as a share, and returns what follows the sign.
pub fn percent(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let after = number.rest.trim_start_matches([' ', '\u{a0}']);
    let rest = after.strip_prefix('%').or_else(|| after.strip_prefix("percent"))?;
    let range = number.range(rounding).scaled(0.01);
    let figure = Figure { text: consumed(text, rest).to_owned(), value: number.value / 100.0, range };
    Some((figure, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
    }

    #[test]
    fn a_printed_number_stands_for_every_value_that_rounds_to_it() {
        let (figure, rest) = plain("0.1081 secs", Rounding::Nearest).unwrap();
        assert!(close(figure.range.low, 0.108_05) && close(figure.range.high, 0.108_15));
        assert_eq!((figure.text.as_str(), rest), ("0.1081", " secs"));
        let down = plain("12", Rounding::Down).unwrap().0.range;
        assert_eq!((down.low, down.high), (12.0, 13.0));
    }

    #[test]
    fn commas_group_digits_only_where_three_follow() {
        assert!(close(number("3,957,982 x").unwrap().value, 3_957_982.0));
        assert!(close(number("1,23").unwrap().value, 1.0));
        assert_eq!(number("1.5.2").unwrap().rest, ".2");
        assert!(number("x1").is_none());
        assert!(number(&"9".repeat(100)).is_none());
    }

    #[test]
    fn shortened_numbers_are_multiplied_with_their_interval() {
        for (text, value, shown, rest) in [
            ("12.5k", 12_500.0, "12.5k", ""),
            ("12.5K req/s", 12_500.0, "12.5K", " req/s"),
            ("12.5 kreq/s", 12_500.0, "12.5 k", "req/s"),
            ("12.5krps", 12_500.0, "12.5k", "rps"),
            ("1.2M", 1_200_000.0, "1.2M", ""),
            ("1.2 million requests", 1_200_000.0, "1.2 million", " requests"),
            ("20,708 req/s", 20_708.0, "20,708", " req/s"),
            ("12.5/min", 12.5, "12.5", "/min"),
            ("200 users", 200.0, "200", " users"),
        ] {
            let (figure, after) = shortened(text, Rounding::Hand).unwrap();
            assert!(close(figure.value, value), "{text}: {figure:?}");
            assert_eq!((figure.text.as_str(), after), (shown, rest), "{text}");
        }
        let range = shortened("12.5k", Rounding::Nearest).unwrap().0.range;
        assert!(close(range.low, 12_450.0) && close(range.high, 12_550.0), "{range:?}");
    }

    #[test]
    fn a_number_with_a_unit_of_something_else_is_no_count() {
        for text in [
            "12.5 MB/s",
            "12.5kB",
            "3 Mbit/s",
            "800kbps",
            "12 s",
            "12ms",
            "1.2m",
            "85 %",
            "3.2x",
            "3.2×",
            "800+",
            "100-200",
            "100 – 200",
            "12,5k",
            "1 234",
            "100 → 200",
            "1k-2k",
            "800k+",
        ] {
            assert!(shortened(text, Rounding::Hand).is_none(), "{text}");
        }
        assert!(is_size("KiB") && is_size("Gbit") && is_size("bps"));
        assert!(!is_size("reqs") && !is_size("ms") && !is_size("") && !is_size("t"));
    }

    #[test]
    fn words_name_the_time_that_a_rate_is_per() {
        for (words, seconds) in [
            ("req/s", Some(1.0)),
            ("Requests/Second", Some(1.0)),
            ("/min", Some(60.0)),
            ("requests per hour", Some(3600.0)),
            ("rps", Some(1.0)),
            ("krpm", Some(60.0)),
            ("", None),
            ("per user", None),
            ("/day", None),
        ] {
            let read = per(words);
            assert!(read.is_some() == seconds.is_some(), "{words}: {read:?}");
            assert!(close(read.unwrap_or(0.0), seconds.unwrap_or(0.0)), "{words}: {read:?}");
        }
    }

    #[test]
    fn zeros_at_the_end_of_a_number_written_by_hand_can_be_rounded_digits() {
        let range = number("20,000").unwrap().range(Rounding::Hand);
        assert_eq!((range.low, range.high), (15_000.0, 25_000.0));
        let range = number("20,708").unwrap().range(Rounding::Hand);
        assert_eq!((range.low, range.high), (20_707.0, 20_709.0));
        let rough = number("~200").unwrap().range(Rounding::Nearest);
        assert_eq!((rough.low, rough.high), (180.0, 220.0));
    }

    #[test]
    fn times_are_read_in_every_unit_of_the_tools() {
        for (text, seconds) in [
            ("501.3ms", 0.5013),
            ("414.79µs", 0.000_414_79),
            ("12.92us", 0.000_012_92),
            ("1.27s", 1.27),
            ("1m30s", 90.0),
            ("0m53.7s", 53.7),
            ("1h2m3s", 3723.0),
            ("0.5 secs", 0.5),
            ("2 min", 120.0),
        ] {
            let figure = time(text, Rounding::Nearest).unwrap().0;
            assert!(close(figure.value, seconds), "{text}: {figure:?}");
            assert_eq!(figure.text, text);
        }
        assert!(time("12 apples", Rounding::Nearest).is_none());
    }

    #[test]
    fn sizes_and_percentages_are_read() {
        assert!(close(size("22.08 MiB", 1000.0, Rounding::Nearest).unwrap().0.value, 22.08 * 1_048_576.0));
        assert!(close(size("123 MB", 1000.0, Rounding::Nearest).unwrap().0.value, 123e6));
        assert!(close(percent("99.95% x", Rounding::Nearest).unwrap().0.value, 0.9995));
        assert!(percent("99.95", Rounding::Nearest).is_none());
    }
}
