//! k6's summary as text: thresholds, total, and in its full form groups and scenarios.
//!
//! The layout is k6's to the byte, blanks at the ends of lines included, because scripts and people
//! compare it. Only names differ, if they contain characters that act on a terminal: k6 prints these, and here they are
//! written out, because scripts name checks and groups after responses of servers. Does not compute figures.

use std::fmt::Write as _;

use knee_core::clean;

use super::number::{self, TimeUnit, plain, share};
use super::{Entry, Summary, contains_of, figure_name, trend_stats};
use crate::duration::SignedDuration;
use crate::metric::check::Check;
use crate::metric::meter::{Part, Section};
use crate::metric::{GroupId, Groups, Kind, Sink};
use crate::threshold::{Aggregation, JudgedThreshold};

mod style;
mod table;

pub use style::Style;

use style::Tone;
use table::{Row, Table};

/// Blanks before what belongs to a part of the whole run.
const INDENT: usize = 4;

/// Groups in which everything outside of iterations lies; they have no part of their own.
const STAGES: [&str; 2] = ["::setup", "::teardown"];

/// The whole text, which begins and ends with empty lines.
pub fn render(summary: &Summary, style: Style) -> String {
    let writer = Writer { summary, style, unit: summary.unit() };
    let mut text = String::from("\n\n");
    writer.thresholds(&mut text);
    writer.total(&mut text);
    if style.full {
        writer.parts(&mut text);
    }
    text.push_str("\n\n");
    text
}

struct Writer<'a> {
    summary: &'a Summary,
    style: Style,
    unit: Option<TimeUnit>,
}

impl Writer<'_> {
    fn title(&self, text: &mut String, title: &str) {
        let _ = write!(text, "  █ {} \n\n", self.style.paint(Tone::Bold, title));
    }

    fn thresholds(&self, text: &mut String) {
        let judged: Vec<_> =
            self.summary.judged.iter().filter(|judged| !judged.thresholds.is_empty()).collect();
        if judged.is_empty() {
            return;
        }
        self.title(text, "THRESHOLDS");
        for metric in judged {
            let _ = writeln!(text, "    {}", clean::line(&metric.name));
            for threshold in &metric.thresholds {
                let (tone, mark) = if threshold.holds { (Tone::Good, '✓') } else { (Tone::Bad, '✗') };
                let mark = self.style.paint(tone, &mark.to_string());
                let source = self.style.paint(Tone::Word, &format!("'{}'", clean::line(&threshold.source)));
                let name = self.style.paint(Tone::Word, &figure_name(threshold.aggregation));
                let value = self.style.paint(Tone::Value, &self.threshold_value(metric, threshold));
                let _ = writeln!(text, "    {mark} {source} {name}={value}");
            }
            text.push('\n');
        }
        text.push('\n');
    }

    fn threshold_value(&self, metric: &crate::threshold::Judged, threshold: &JudgedThreshold) -> String {
        let value = |value| number::value(value, metric.contains, self.unit);
        match (threshold.aggregation, metric.kind) {
            (Aggregation::Rate, Kind::Rate) => share(threshold.value),
            (Aggregation::Rate, _) => format!("{}/s", value(threshold.value)),
            (Aggregation::Avg | Aggregation::Min | Aggregation::Med | Aggregation::Max, _)
                if !self
                    .summary
                    .trend_stats
                    .iter()
                    .any(|stat| *stat == threshold.aggregation.to_string()) =>
            {
                // k6 looks these up among the figures that are shown, and finds nothing.
                String::new()
            }
            _ => value(threshold.value),
        }
    }

    fn total(&self, text: &mut String) {
        self.title(text, "TOTAL RESULTS");
        let (passes, fails) = self.summary.rate_of_checks();
        self.checks(text, (passes, fails), &self.summary.meter.groups().all_checks(), INDENT);
        let entries = self.summary.entries();
        let shown: Vec<&Entry<'_>> = entries.iter().filter(|entry| self.shows(entry)).collect();
        self.metrics(text, &shown, INDENT);
    }

    /// Whether a metric has a line in this form of the summary.
    fn shows(&self, entry: &Entry<'_>) -> bool {
        const HIDDEN: [&str; 6] = [
            "http_req_blocked",
            "http_req_connecting",
            "http_req_receiving",
            "http_req_sending",
            "http_req_tls_handshaking",
            "http_req_waiting",
        ];
        let name = entry.metric.name.as_str();
        !matches!(name, "checks" | "group_duration") && (self.style.full || !HIDDEN.contains(&name))
    }

    fn checks(&self, text: &mut String, (passes, fails): (u64, u64), checks: &[Check], indent: usize) {
        let total = passes + fails;
        if total == 0 {
            return;
        }
        let of = |count: u64| (share(count as f64 / total as f64), format!("{count} out of {total}"));
        let rate = per_second(total as f64, self.summary.elapsed);
        let rows = [
            ("checks_total", (total.to_string(), format!("{}/s", plain(rate)))),
            ("checks_succeeded", of(passes)),
            ("checks_failed", of(fails)),
        ];
        let mut table = Table::default();
        for (name, (value, detail)) in rows {
            table.push(name.to_owned(), Row::Figures(value, vec![detail]));
        }
        table.write(text, indent, self.style);
        text.push('\n');
        for check in checks {
            self.check(text, check, indent);
        }
        text.push('\n');
    }

    fn check(&self, text: &mut String, check: &Check, indent: usize) {
        let (pad, name) = (" ".repeat(indent), clean::line(&check.name));
        if check.fails == 0 {
            let line = self.style.paint(Tone::Good, &format!("✓ {name}"));
            let _ = writeln!(text, "{pad}{line}");
            return;
        }
        let line = self.style.paint(Tone::Bad, &format!("✗ {name}"));
        let _ = writeln!(text, "{pad}{line}");
        let (passes, fails) = (check.passes, check.fails);
        let percent = 100 * passes / (passes + fails);
        let line = self.style.paint(Tone::Bad, &format!("↳  {percent}% — ✓ {passes} / ✗ {fails}"));
        // k6 indents twice here.
        let _ = writeln!(text, "{}{line}", " ".repeat(2 * indent - 2));
    }

    /// Metrics under their headings; all headings share the widths of their columns.
    fn metrics(&self, text: &mut String, entries: &[&Entry<'_>], indent: usize) {
        let mut table = Table::default();
        for heading in Heading::ALL {
            let mut is_first = true;
            for entry in entries.iter().filter(|entry| Heading::of(&entry.metric.name) == heading) {
                if is_first {
                    table.heading(heading.name());
                    is_first = false;
                }
                table.push(line_name(entry), self.row(entry));
            }
        }
        if !table.is_empty() {
            table.write(text, indent, self.style);
            text.push('\n');
        }
    }

    fn row(&self, entry: &Entry<'_>) -> Row {
        let show = |value: f64| number::value(value, entry.metric.contains, self.unit);
        match &entry.sink {
            Sink::Counter(counter) => {
                let rate = counter.per_second(self.summary.elapsed.as_secs_f64());
                Row::Figures(show(counter.sum()), vec![format!("{}/s", show(rate))])
            }
            Sink::Gauge(gauge) => Row::Figures(
                show(gauge.value()),
                vec![format!("min={}", show(gauge.min())), format!("max={}", show(gauge.max()))],
            ),
            Sink::Rate(rate) => {
                Row::Figures(share(rate.share()), vec![format!("{} out of {}", rate.hits(), rate.total())])
            }
            Sink::Trend(_) => {
                let values = trend_stats(&entry.sink, &self.summary.trend_stats);
                let pair = |(stat, value): (&String, f64)| {
                    (
                        clean::line(stat).into_owned(),
                        number::value(value, contains_of(entry.metric, stat), self.unit),
                    )
                };
                Row::Trend(self.summary.trend_stats.iter().zip(values).map(pair).collect())
            }
        }
    }

    /// Groups outside of named scenarios, then every named scenario.
    fn parts(&self, text: &mut String) {
        let Some(parts) = self.summary.meter.parts() else { return };
        for name in ["", "default"] {
            if let Some(part) = parts.get(name) {
                for group in part.groups.children(Groups::ROOT) {
                    self.group(text, part, group, 0);
                }
            }
        }
        for (name, part) in parts.iter().filter(|(name, _)| !matches!(name.as_str(), "" | "default")) {
            text.push('\n');
            self.title(text, &format!("SCENARIO: {}", clean::line(name)));
            let checks = part.groups.all_checks();
            self.checks(text, sum(&checks), &checks, INDENT);
            self.section(text, part.sections.get(&None), INDENT);
            for group in part.groups.children(Groups::ROOT) {
                self.group(text, part, group, 1);
            }
        }
    }

    fn group(&self, text: &mut String, part: &Part, id: GroupId, depth: usize) {
        let group = part.groups.group(id);
        let children = part.groups.children(id);
        let is_stage = STAGES.contains(&group.path.as_str());
        if is_stage && children.is_empty() {
            return;
        }
        let indent = INDENT + 2 * depth;
        let name = format!("GROUP: {}", clean::line(&group.name));
        if depth == 0 {
            text.push('\n');
            self.title(text, &name);
        } else {
            let title = self.style.paint(Tone::Bold, &name);
            let _ = write!(text, "{}↳ {title} \n\n", " ".repeat(indent - 2));
        }
        if !is_stage {
            let checks: Vec<Check> = part.groups.checks(id).into_iter().cloned().collect();
            self.checks(text, sum(&checks), &checks, indent);
            self.section(text, part.sections.get(&Some(group.path.clone())), indent);
        }
        for child in children {
            self.group(text, part, child, depth + 1);
        }
    }

    fn section(&self, text: &mut String, section: Option<&Section>, indent: usize) {
        let Some(section) = section else { return };
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for (id, metric) in self.summary.meter.catalog().metrics() {
            let Some(Some(sink)) = section.get(id.0) else { continue };
            entries.push(Entry {
                name: metric.name.clone(),
                suffix: "",
                metric,
                sink: sink.clone(),
                judged: None,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let shown: Vec<&Entry<'_>> = entries.iter().filter(|entry| self.shows(entry)).collect();
        self.metrics(text, &shown, indent);
    }
}

fn sum(checks: &[Check]) -> (u64, u64) {
    checks.iter().fold((0, 0), |(passes, fails), check| (passes + check.passes, fails + check.fails))
}

fn per_second(count: f64, elapsed: SignedDuration) -> f64 {
    if elapsed.0 <= 0 { 0.0 } else { count / (elapsed.0 as f64 / 1e9) }
}

/// The name of a line: sub-metrics show their filter, a little to the right.
fn line_name(entry: &Entry<'_>) -> String {
    if entry.suffix.is_empty() {
        clean::line(&entry.metric.name).into_owned()
    } else {
        format!("  {{ {} }}", clean::line(entry.suffix))
    }
}

/// The headings under which metrics stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heading {
    Custom,
    Http,
    Execution,
    Network,
    Grpc,
    WebSocket,
}

impl Heading {
    const ALL: [Self; 6] =
        [Self::Custom, Self::Http, Self::Execution, Self::Network, Self::Grpc, Self::WebSocket];

    fn of(metric: &str) -> Self {
        let is_own = crate::metric::BuiltIn::ALL.iter().any(|own| own.name() == metric);
        match metric {
            "vus" | "vus_max" | "iterations" | "iteration_duration" | "dropped_iterations" => Self::Execution,
            "data_sent" | "data_received" => Self::Network,
            _ if is_own && metric.starts_with("http_req") => Self::Http,
            _ if is_own && metric.starts_with("ws_") => Self::WebSocket,
            _ if is_own && metric.starts_with("grpc_") => Self::Grpc,
            _ => Self::Custom,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Custom => "CUSTOM",
            Self::Http => "HTTP",
            Self::Execution => "EXECUTION",
            Self::Network => "NETWORK",
            Self::Grpc => "GRPC",
            Self::WebSocket => "WEBSOCKET",
        }
    }
}

#[cfg(test)]
mod tests;
