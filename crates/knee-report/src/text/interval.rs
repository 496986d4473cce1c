//! One line per interval, for logs and pipes: 80 columns under a header.
//!
//! Every time carries its own unit, so that each line can be read by itself. Does not know about
//! terminals.

use knee_core::record::Point;
use knee_core::unit::Nanos;

use super::ink::{cut, right};
use crate::number::{self, Unit};
use crate::view::moment::Moment;
use crate::view::reading::Reading;

/// Names and widths of the columns.
const COLUMNS: [(&str, usize); 10] = [
    ("time", 7),
    ("ok/s", 10),
    ("resp p50", 9),
    ("resp max", 9),
    ("serv p50", 9),
    ("serv max", 9),
    ("flight", 7),
    ("errors", 7),
    ("lag p99", 8),
    ("CPU", 5),
];

/// The header of the columns below: time at the end of the interval, OK responses per second,
/// median and maximum of response time and service time, requests in flight at the end, requests that
/// ended other than ok, generator lag at 99 %, CPU of the busiest worker.
///
/// There is no p99: an interval seldom has enough requests for one. A maximum needs one request only.
pub fn header() -> String {
    COLUMNS.iter().map(|(name, columns)| right(name, *columns)).collect()
}

/// One interval. `≥` marks a lower bound, `–` a median of too few requests, `*` behind the time an interval of the
/// warm-up.
pub fn line(point: &Point, unit: Option<Unit>) -> String {
    let moment = Moment::of(point);
    let mark = if point.warm_up { "*" } else { "" };
    let time = |reading: Reading| match reading {
        Reading::Exactly(nanos) => compact(nanos.0 as f64, unit),
        Reading::AtLeast(nanos) => format!("≥{}", compact(nanos.0 as f64, unit)),
        Reading::TooFew { .. } | Reading::Nothing => "–".to_owned(),
    };
    let [response_p50, _, _, response_max] = moment.response;
    let [service_p50, _, _, service_max] = moment.service;
    let cells = [
        format!("{}{mark}", end(point)),
        moment.achieved.map_or_else(|| "–".to_owned(), number::rate),
        time(response_p50),
        time(response_max),
        time(service_p50),
        time(service_max),
        number::count(point.in_flight),
        number::count(moment.not_ok),
        point.generator_lag_p99.map_or_else(|| "–".to_owned(), |lag| compact(lag.0 as f64, unit)),
        moment.worker_cpu.map_or_else(|| "–".to_owned(), |cpu| format!("{:.0}%", cpu * 100.0)),
    ];
    let widths = COLUMNS.iter().map(|(_, columns)| *columns);
    cells.iter().zip(widths).map(|(cell, columns)| right(&cut(cell, columns), columns)).collect()
}

/// A time without the space before its unit.
fn compact(nanos: f64, unit: Option<Unit>) -> String {
    number::time(nanos, unit).replace(' ', "")
}

/// The end of an interval; with milliseconds if the interval is too short to show otherwise, like the one of the last
/// responses.
fn end(point: &Point) -> String {
    let short = point.to.since(point.from) < Nanos::from_millis(100) && point.to < Nanos::from_secs(100);
    if short { format!("{:.3}s", point.to.as_secs_f64()) } else { clock(point.to) }
}

/// Time since the start: `12s`, `0.5s`, `12:34`, `1:02:03`.
fn clock(at: Nanos) -> String {
    let seconds = at.0 / 1_000_000_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0..=1, _) => {
            let tenths = (at.as_secs_f64() * 10.0).round() / 10.0;
            if tenths.fract() == 0.0 { format!("{tenths:.0}s") } else { format!("{tenths:.1}s") }
        }
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ink::width;
    use super::*;

    #[test]
    fn times_since_the_start_are_short() {
        for (nanos, text) in [
            (500_000_000, "0.5s"),
            (12_000_000_100, "12s"),
            (119_000_000_000, "119s"),
            (754_000_000_000, "12:34"),
            (3_723_000_000_000, "1:02:03"),
        ] {
            assert_eq!(clock(Nanos(nanos)), text);
        }
    }

    #[test]
    fn an_interval_of_a_few_milliseconds_shows_them() {
        let point = |from, to| Point {
            from: Nanos::from_millis(from),
            to: Nanos::from_millis(to),
            ..Point::default()
        };
        assert_eq!(end(&point(2_000, 3_000)), "3s");
        assert_eq!(end(&point(3_000, 3_003)), "3.003s");
        assert_eq!(end(&point(200_000, 200_003)), "3:20");
    }

    #[test]
    fn the_columns_fill_a_terminal_of_the_usual_width() {
        assert!(width(&header()) <= 80);
    }
}
