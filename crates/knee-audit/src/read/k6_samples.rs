//! k6's samples, one per line, as JSON or CSV.
//!
//! Counts while it reads; a file of any size takes the same memory. Custom metrics are left out.

use std::borrow::Cow;
use std::io::BufRead;

use serde::Deserialize;

use crate::measurement::{Document, Load, Measurement, Named, Relation, Tool};
use crate::number::{Figure, amount};

use super::ReadError;
use super::samples::{Samples, for_each_line, seconds_of_day};

/// The first columns of k6's CSV.
pub const CSV_HEADER: &[u8] = b"metric_name,timestamp,metric_value";

/// One line.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default)]
    metric: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
    #[serde(default)]
    value: Option<f64>,
}

/// Whether the first line of an output is one of k6's.
pub fn is_json_line(line: &[u8]) -> bool {
    serde_json::from_slice::<Entry<'_>>(line).is_ok_and(|entry| matches!(&*entry.r#type, "Metric" | "Point"))
}

/// What is counted.
#[derive(Default)]
struct Counts {
    requests: Samples,
    iterations: Samples,
    n_requests: f64,
    failed: f64,
    judged: f64,
    dropped: f64,
    vus_max: f64,
}

impl Counts {
    fn add(&mut self, metric: &str, value: f64, time: Option<f64>) {
        match metric {
            "http_req_duration" => self.requests.add(value / 1e3, time),
            "iteration_duration" => self.iterations.add(value / 1e3, time),
            "http_reqs" => self.n_requests += value,
            "http_req_failed" => {
                self.failed += value;
                self.judged += 1.0;
            }
            "dropped_iterations" => self.dropped += value,
            "vus_max" => self.vus_max = self.vus_max.max(value),
            _ => {}
        }
    }

    fn document(&self, format: &str) -> Document {
        let mut measurements = Vec::new();
        let count = |value: f64| Figure::exact(value, amount(value));
        if self.requests.count() > 0 {
            let mut one = self.requests.measurement(Tool::K6, "http_req_duration");
            one.load = Load::Users;
            if self.judged > 0.0 {
                let share = self.failed / self.judged;
                one.failed_share = Some(Figure::exact(share, format!("{} %", amount(share * 100.0))));
            }
            if self.n_requests > 0.0 {
                let parts = vec![Named::new("times", count(self.requests.count() as f64))];
                one.relations
                    .push(Relation::Sum { parts, whole: Named::new("http_reqs", count(self.n_requests)) });
            }
            measurements.push(one);
        }
        let mut one: Measurement = self.iterations.measurement(Tool::K6, "iteration_duration");
        one.load = Load::Users;
        if self.dropped > 0.0 {
            one.dropped = Some(count(self.dropped));
        }
        if self.vus_max > 0.0 {
            one.connections = Some(count(self.vus_max));
        }
        measurements.push(one);
        Document { format: format.to_owned(), measurements, ..Document::default() }
    }
}

/// Reads JSON lines.
///
/// # Errors
///
/// If a line is no sample of k6, or the input cannot be read.
pub fn read_json(input: impl BufRead) -> Result<Document, ReadError> {
    let mut counts = Counts::default();
    for_each_line(input, |number, line| {
        let entry: Entry<'_> = serde_json::from_slice(line)
            .map_err(|error| ReadError::Damaged { line: number, what: error.to_string() })?;
        if let Some(value) = entry.data.value {
            let is_request = entry.metric == "http_req_duration";
            let time = entry.data.time.as_deref().filter(|_| is_request).and_then(seconds_of_day);
            counts.add(&entry.metric, value, time);
        }
        Ok(())
    })?;
    Ok(counts.document("k6 JSON lines"))
}

/// Reads CSV.
///
/// # Errors
///
/// If a row is no sample of k6, or the input cannot be read.
pub fn read_csv(input: impl BufRead) -> Result<Document, ReadError> {
    let mut counts = Counts::default();
    for_each_line(input, |number, line| {
        if number == 1 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(line);
        // None of the first three columns contains a comma.
        let mut cells = text.splitn(4, ',');
        let (metric, _, value) = (cells.next(), cells.next(), cells.next());
        let value = value.and_then(|cell| cell.trim().parse::<f64>().ok());
        let (Some(metric), Some(value)) = (metric, value) else {
            let what = "not a row of k6's CSV".to_owned();
            return Err(ReadError::Damaged { line: number, what });
        };
        // Its times are whole seconds: too coarse to find gaps.
        counts.add(metric, value, None);
        Ok(())
    })?;
    Ok(counts.document("k6 CSV"))
}
