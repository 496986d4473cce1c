//! The end-of-test text of k6, from 0.4x to 2.x.
//!
//! k6 cuts times off after two decimals. Sub-metrics in braces are measurements of their own.

use crate::measurement::{Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Rounding, number, percent, plain, time};

use super::line::Line;

/// What one summary says of the run as a whole.
#[derive(Default)]
struct Run {
    line: usize,
    duration: Option<Figure>,
    vus_max: Option<Figure>,
    is_open: bool,
    iterations: Option<(Figure, Option<Figure>)>,
    requests: Option<(Figure, Option<Figure>)>,
    dropped: Option<Figure>,
    failed: Option<Relation>,
    failed_share: Option<Figure>,
    data: Vec<Relation>,
    trends: Vec<Measurement>,
}

/// Reads every summary.
pub fn read(lines: &[Line<'_>]) -> Vec<Measurement> {
    let mut found = Vec::new();
    let mut run = Run::default();
    let mut is_open = false;
    let mut name_of_check = String::new();
    for (number, line) in lines {
        let line = line.trim();
        is_open |= line.contains(" iterations/s for ") || line.contains(" iterations/s for");
        if line.starts_with("running (") {
            let inside = line.trim_start_matches("running (");
            run.duration = time(inside, Rounding::Any).map(|(figure, _)| figure);
        }
        if let Some(share) = line.strip_prefix("↳") {
            run.data.extend(check(&name_of_check, share));
        }
        line.trim_start_matches(['✗', '✓', ' ']).clone_into(&mut name_of_check);
        let Some((name, value)) = metric(line) else { continue };
        let repeats = (name == "http_reqs" && run.requests.is_some())
            || (name == "iterations" && run.iterations.is_some());
        if repeats {
            let duration = run.duration.take();
            found.extend(std::mem::take(&mut run).finish());
            run.duration = duration;
        }
        if run.line == 0 {
            run.line = *number;
        }
        run.is_open = is_open;
        run.take(name, value, *number);
    }
    found.extend(run.finish());
    found
}

/// Name and value of a line: `http_reqs......: 45 6.5/s`.
fn metric(line: &str) -> Option<(&str, &str)> {
    let dots = line.find("..")?;
    let after = line[dots..].trim_start_matches('.');
    let value = after.strip_prefix(':')?;
    let name = line[..dots].trim_start_matches(['✗', '✓', ' ']).trim();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{' || c == '_');
    is_name.then_some((name, value.trim()))
}

impl Run {
    fn take(&mut self, name: &str, value: &str, line: usize) {
        // Gauges have the same form, but numbers instead of times.
        if value.contains('=') && !name.starts_with("vus") {
            self.trends.extend(trend(name, value, line));
            return;
        }
        match name {
            "http_reqs" => self.requests = counter(value),
            "iterations" => self.iterations = counter(value),
            "dropped_iterations" => self.dropped = counter(value).map(|(count, _)| count),
            "vus_max" => self.vus_max = gauge_max(value),
            "http_req_failed" => {
                self.failed_share = percent(value, Rounding::Any).map(|(share, _)| share);
                self.failed = share(name, value);
            }
            "checks" | "checks_succeeded" | "checks_failed" => self.data.extend(share(name, value)),
            _ => {}
        }
    }

    /// One measurement per trend; the counters are with the trend that they count.
    fn finish(mut self) -> Vec<Measurement> {
        if self.requests.is_none() && self.iterations.is_none() && self.trends.is_empty() {
            return Vec::new();
        }
        let ensure = |trends: &mut Vec<Measurement>, name: &str, line: usize| {
            if !trends.iter().any(|one| one.label == name) {
                let mut empty = Measurement::new(Tool::K6, line);
                name.clone_into(&mut empty.label);
                trends.push(empty);
            }
        };
        if self.requests.is_some() {
            ensure(&mut self.trends, "http_req_duration", self.line);
        }
        if self.iterations.is_some() {
            ensure(&mut self.trends, "iteration_duration", self.line);
        }
        let load = if self.is_open { Load::Open } else { Load::Users };
        for one in &mut self.trends {
            one.load = load;
            one.duration.clone_from(&self.duration);
            match one.label.as_str() {
                "http_req_duration" => {
                    if let Some((count, rate)) = self.requests.take() {
                        one.samples = Some(count.value as u64);
                        (one.requests, one.rate) = (Some(count), rate);
                    }
                    one.relations.extend(self.failed.take());
                    one.relations.append(&mut self.data);
                    one.failed_share = self.failed_share.take();
                }
                "iteration_duration" => {
                    if let Some((count, rate)) = self.iterations.take() {
                        one.samples = Some(count.value as u64);
                        (one.requests, one.rate) = (Some(count), rate);
                    }
                    one.dropped = self.dropped.take();
                    one.connections = self.vus_max.take();
                }
                _ => {}
            }
        }
        self.trends
    }
}

/// `avg=501.3ms min=11.29ms med=513.74ms max=1.27s p(90)=679.93ms p(95)=736.67ms`; what is no time, such as `count=300`,
/// hides no other figure. `None` if no figure is a time.
fn trend(name: &str, value: &str, line: usize) -> Option<Measurement> {
    let mut result = Measurement::new(Tool::K6, line);
    name.clone_into(&mut result.label);
    for pair in value.split_whitespace() {
        let Some((key, value)) = pair.split_once('=') else { continue };
        let Some((figure, "")) = time(value, Rounding::Any) else { continue };
        match key {
            "avg" => result.mean = Some(figure),
            "min" => result.min = Some(figure),
            "max" => result.max = Some(figure),
            "med" => {
                result.percentiles.push(Percentile { name: "median".to_owned(), share: 0.5, time: figure });
            }
            _ => {
                let Some(share) = key.strip_prefix("p(").and_then(number) else { continue };
                let name = format!("p{}", share.value);
                result.percentiles.push(Percentile { name, share: share.value / 100.0, time: figure });
            }
        }
    }
    let has_time = result.mean.is_some() || result.min.is_some() || result.max.is_some();
    (has_time || !result.percentiles.is_empty()).then_some(result)
}

/// `1000000 18637.399289/s`
fn counter(value: &str) -> Option<(Figure, Option<Figure>)> {
    let (count, rest) = plain(value, Rounding::Nearest)?;
    let rate = plain(rest, Rounding::Any).filter(|(_, rest)| rest.starts_with("/s"));
    Some((count, rate.map(|(figure, _)| figure)))
}

/// `108     min=108          max=10000`
fn gauge_max(value: &str) -> Option<Figure> {
    let text = value.rsplit("max=").next().filter(|_| value.contains("max=")).unwrap_or(value);
    plain(text, Rounding::Nearest).map(|(figure, _)| figure)
}

/// `0.00%  0 out of 45`, or as older versions write it: `0.00% ✓ 0 ✗ 45`.
fn share(name: &str, value: &str) -> Option<Relation> {
    let (share, rest) = percent(value, Rounding::Any)?;
    let (part, whole) = if let Some((part, whole)) = rest.split_once("out of") {
        (plain(part, Rounding::Nearest)?.0, plain(whole, Rounding::Nearest)?.0)
    } else {
        marks(rest)?
    };
    let named = |what: &str, figure| Named::new(format!("{name}: {what}"), figure);
    Some(Relation::Share {
        part: named("part", part),
        whole: named("all", whole),
        share: named("share", share),
    })
}

/// Passes, and passes plus fails: `✓ 97 ✗ 3`.
fn marks(text: &str) -> Option<(Figure, Figure)> {
    let (_, after) = text.split_once('✓')?;
    let (passes, fails) = after.split_once('✗')?;
    let passes = plain(passes, Rounding::Nearest)?.0;
    let fails = plain(fails, Rounding::Nearest)?.0;
    let all = passes.value + fails.value;
    Some((passes, Figure::exact(all, crate::number::group(all as u64))))
}

/// `97% — ✓ 97 / ✗ 3`, whose percentage is cut off.
fn check(name: &str, text: &str) -> Option<Relation> {
    let (share, rest) = percent(text, Rounding::Any)?;
    let (part, whole) = marks(rest)?;
    let named = |what: &str, figure| Named::new(format!("check `{name}`: {what}"), figure);
    Some(Relation::Share {
        part: named("passes", part),
        whole: named("all", whole),
        share: named("share", share),
    })
}
