//! A run as CSV: one row per interval, under a header, in the order of time.
//!
//! There is no row per request: a record keeps histograms, whose size does not depend on the number of requests. A
//! cell is empty if its figure is unknown or cannot be expressed in the format. Text is made safe for spreadsheets
//! (see [`crate::clean::cell`]). The columns are explained in `docs/reference/result-csv.md`.

use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::view::moment::Moment;
use crate::view::reading::Reading;
use crate::{View, clean};

/// The names of the columns.
pub const HEADER: [&str; 32] = [
    "from_s",
    "to_s",
    "warm_up",
    "planned",
    "ok",
    "http_error",
    "transport_error",
    "timeout",
    "unsent",
    "censored",
    "scheduled_requests_per_s",
    "goodput_per_s",
    "response_p50_ms",
    "response_p90_ms",
    "response_p99_ms",
    "response_max_ms",
    "response_at_least",
    "service_p50_ms",
    "service_p90_ms",
    "service_p99_ms",
    "service_max_ms",
    "service_at_least",
    "generator_lag_p99_ms",
    "in_flight",
    "backlog",
    "bytes_received",
    "worker_cpu",
    "host_busy",
    "steal",
    "resident_bytes",
    "unknown",
    "title",
];

/// Most characters of the title, which is in each row.
const TITLE_CHARS_MAX: usize = 1_000;

/// The table; rows end in CR LF, as RFC 4180 has it.
pub fn render(view: &View) -> String {
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    let title: String = clean::cell(&view.head.title).chars().take(TITLE_CHARS_MAX).collect();
    let header = HEADER.map(str::to_owned).to_vec();
    let rows = view.series.iter().map(|point| row(&Moment::of(point), &title));
    for row in std::iter::once(header).chain(rows) {
        // Writing to memory fails only if rows differ in length, and they do not.
        let _ = writer.write_record(&row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn row(moment: &Moment, title: &str) -> Vec<String> {
    let point = &moment.point;
    let mut row = vec![
        point.from.as_secs_f64().to_string(),
        point.to.as_secs_f64().to_string(),
        point.warm_up.to_string(),
        point.planned.to_string(),
    ];
    row.extend(Outcome::ALL.iter().map(|outcome| point.by_outcome[*outcome as usize].to_string()));
    row.extend([number(moment.offered), number(moment.achieved)]);
    for readings in [moment.response, moment.service] {
        row.extend(readings.map(|reading| number(reading.nanos().map(|nanos| nanos / 1e6))));
        row.push(readings.iter().any(|reading| Reading::is_lower_bound(*reading)).to_string());
    }
    row.extend([
        number(point.generator_lag_p99.map(Nanos::as_millis_f64)),
        point.in_flight.to_string(),
        point.backlog.to_string(),
        point.bytes_received.to_string(),
        number(moment.worker_cpu),
        number(point.generator.host_busy),
        number(point.generator.steal),
        point.generator.resident_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
        point.unknown.to_string(),
        title.to_owned(),
    ]);
    row
}

/// An empty cell where there is no finite number.
fn number(number: Option<f64>) -> String {
    number.filter(|number| number.is_finite()).map_or_else(String::new, |number| number.to_string())
}
