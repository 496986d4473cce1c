//! Little's law: requests in flight = throughput × mean time (J. D. C. Little, 1961), and at most one per connection.
//!
//! The times of a closed load cannot be more than its connections had. If they are much less, the mean leaves requests
//! out, or connections were idle. Open loads have no such limit, and wrk changes its times, so neither is checked.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Load, Measurement, Tool};
use crate::number::{Figure, Range, amount, show_range, show_time};

/// Name of the check.
pub const NAME: &str = "little";

/// Tolerance for clocks that tick differently: start and end of a run, first and last request.
const TOLERANCE: f64 = 0.02;

/// Number of times that hey keeps.
const HEY_KEEPS: f64 = 1_000_000.0;

/// Checks every measurement with connections.
pub fn check(document: &Document) -> Vec<Finding> {
    document.measurements.iter().filter_map(|one| too_many(one).or_else(|| too_few(one))).collect()
}

/// Mean number of requests in flight, and how it was calculated.
fn in_flight(one: &Measurement) -> Option<(Range, String)> {
    let mean = one.mean.as_ref()?;
    if let (Some(samples), Some(duration)) = (one.samples, &one.duration)
        && let Some(flight) = mean.range.scaled(samples as f64).over(duration.range)
    {
        let text = format!("{} times x mean {} / {}", amount(samples as f64), mean.text, duration.text);
        return Some((flight, text));
    }
    let rate = one.rate.as_ref()?;
    Some((rate.range.times(mean.range), format!("{} requests/s x mean {}", rate.text, mean.text)))
}

fn too_many(one: &Measurement) -> Option<Finding> {
    let connections = one.connections.as_ref()?;
    let is_bound = matches!(one.load, Load::Closed | Load::Users) || one.tool == Tool::K6;
    if !is_bound || matches!(one.tool, Tool::Wrk | Tool::Wrk2 | Tool::Vegeta) {
        return None;
    }
    let (flight, text) = in_flight(one)?;
    let places = connections.range.widened(TOLERANCE);
    if !places.is_below(flight) {
        return None;
    }
    let says = format!(
        "the figures need {} requests in flight, but {} {} allow no more than {}",
        show_range(flight, amount),
        connections.text,
        one.places(),
        connections.text
    );
    let finding = Finding::new(NAME, Grade::Impossible, one, says)
        .step(format!("{text} = {} in flight", show_range(flight, amount)));
    Some(explain(finding, one, connections))
}

/// What it is if the tool's arithmetic does not explain it.
fn not_alike(one: &Measurement) -> String {
    format!("rate and mean are not those of the same requests, or {} have several at once", one.places())
}

/// Whether hey's limit of a million times explains it.
fn explain(finding: Finding, one: &Measurement, connections: &Figure) -> Finding {
    let (Some(requests), Some(mean), Some(rate)) = (&one.requests, &one.mean, &one.rate) else {
        return finding.cause(not_alike(one));
    };
    let scale = Range::exact(HEY_KEEPS).over(requests.range).unwrap_or(Range::exact(1.0));
    let corrected = mean.range.times(scale).times(rate.range);
    if requests.value <= HEY_KEEPS || corrected.widened(TOLERANCE).excludes(connections.range) {
        return finding.cause(not_alike(one));
    }
    let mean_all = mean.value * HEY_KEEPS / requests.value;
    let flight = mean_all * rate.value;
    finding
        .step(format!("{} x 1,000,000 / {} = {}", mean.text, requests.text, show_time(mean_all)))
        .step(format!("{} requests/s x {} = {} in flight", rate.text, show_time(mean_all), amount(flight)))
        .cause(format!(
            "hey keeps 1,000,000 times but adds up all; the mean of all {} requests is {}",
            requests.text,
            show_time(mean_all)
        ))
}

fn too_few(one: &Measurement) -> Option<Finding> {
    if one.tool == Tool::Oha {
        return left_out(one);
    }
    let connections = one.connections.as_ref().filter(|_| one.load == Load::Closed)?;
    // A fixed number of requests per connection leaves fast connections idle at the end.
    if one.tool != Tool::Unknown || one.samples.is_some() {
        return None;
    }
    let (flight, text) = in_flight(one)?;
    let share = flight.over(connections.range)?;
    let grade = if share.high < 0.5 {
        Grade::Misleading
    } else if share.high < 0.9 {
        Grade::Note
    } else {
        return None;
    };
    let says = format!(
        "rate and mean account for {} of {} connections",
        show_range(flight, amount),
        connections.text
    );
    Some(
        Finding::new(NAME, grade, one, says)
            .step(format!("{text} = {} in flight", show_range(flight, amount)))
            .cause("the mean leaves out failed or slow requests, or the generator was idle"),
    )
}

/// oha leaves requests that were open at the deadline out of its times. All connections had one, so the load was closed
/// and no connection was idle: the rest of the time belongs to these requests.
fn left_out(one: &Measurement) -> Option<Finding> {
    let busy = one.cut_off as f64;
    let connections = one.connections.as_ref().map_or(busy, |figure| figure.value);
    if busy == 0.0 || busy < connections * 0.9 || one.load == Load::Open {
        return None;
    }
    let (mean, duration, samples) = (one.mean.as_ref()?, one.duration.as_ref()?, one.samples? as f64);
    let counted = mean.range.scaled(samples);
    let had = duration.range.scaled(connections);
    let rest = had.minus(counted);
    let each = rest.scaled(1.0 / busy);
    if rest.low <= had.high * 0.05 || each.low <= 10.0 * mean.range.high {
        return None;
    }
    let all = had.scaled(1.0 / (samples + busy));
    let says = format!(
        "the mean {} leaves out {} requests that were open for {} each at the deadline",
        mean.text,
        one.cut_off,
        show_time(each.middle())
    );
    Some(
        Finding::new(NAME, Grade::Misleading, one, says)
            .step(format!(
                "{} connections x {} = {} s",
                amount(connections),
                duration.text,
                amount(had.middle())
            ))
            .step(format!("{} responses x {} = {} s", amount(samples), mean.text, amount(counted.middle())))
            .step(format!(
                "({} - {}) s / {} requests without a time = {}",
                amount(had.middle()),
                amount(counted.middle()),
                one.cut_off,
                show_time(each.middle())
            ))
            .cause(format!("with them, the mean is at least {}", show_time(all.middle()))),
    )
}
