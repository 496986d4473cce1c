//! What the live page gets as data: the contract `knee.live/1`, described in `docs/reference/live-page.md`.
//!
//! Pure. Shows figures that the fold has, and calculates none but shares and rates of them. Names come from outside:
//! they are text for the page, and what acts on the text around it is written out.

use knee_core::amendment::Amendment;
use knee_core::estimate::Distribution;
use knee_core::outcome::Outcome;
use knee_core::record::Head;
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_engine::steering::Steering;
use knee_report::number;
use knee_report::view::moment::worker_cpu;
use knee_report::view::reading::Reading;
use knee_report::view::time_summary::TimeSummary;
use serde_json::{Map, Value, json};

use crate::live::fold::{Conclusion, Fold, Phase};
use crate::live::history::Moment;
use crate::live::plan_words;
use crate::problem::{on_one_line, printable};

/// Name and version of the contract. The version rises when a member goes or changes its meaning.
pub const CONTRACT: &str = "knee.live/1";

/// The columns of a moment.
const COLUMNS: [&str; 18] = [
    "from_s",
    "to_s",
    "warm_up",
    "scheduled",
    "ended",
    "ok",
    "response_p50_ms",
    "response_p99_ms",
    "response_max_ms",
    "service_p50_ms",
    "service_p99_ms",
    "service_max_ms",
    "at_least",
    "in_flight",
    "backlog",
    "generator_lag_p99_ms",
    "worker_cpu",
    "host_busy",
];

/// The state of `fold` at `now`, with the moments from the position `first` on.
pub fn of(fold: &Fold, command: &str, first: usize, now: Nanos) -> Value {
    let lines: Vec<String> = fold.lines.iter().map(|line| printable(line)).collect();
    let warnings: Vec<String> = fold.warnings.iter().map(|warning| on_one_line(warning)).collect();
    json!({
        "contract": CONTRACT,
        "knee": env!("CARGO_PKG_VERSION"),
        "sequence": fold.sequence,
        "command": command,
        "over": fold.over,
        "conclusion": fold.conclusion.as_deref().map(conclusion),
        "lines": lines,
        "warnings": warnings,
        "run": fold.head.as_ref().map(|head| run(fold, head, first, now)),
    })
}

/// What can be steered, and what was; `null` for a load that cannot be.
pub fn steering(steering: &Steering) -> Value {
    let Some(most) = steering.most() else { return Value::Null };
    let changes: Vec<Value> = steering.amendments().iter().map(change).collect();
    json!({ "most_per_s": most, "changes": changes })
}

fn change(amendment: &Amendment) -> Value {
    json!({
        "at_s": amendment.at.as_secs_f64(),
        "from_per_s": amendment.from,
        "over_s": amendment.over.as_secs_f64(),
        "to_per_s": amendment.to,
    })
}

fn run(fold: &Fold, head: &Head, first: usize, now: Nanos) -> Value {
    let (done, left) = fold.progress(now);
    json!({
        "number": fold.number,
        "title": on_one_line(&head.title),
        "load": plan_words::load(&head.plan),
        "started_unix_s": head.started.as_secs_f64(),
        "measured_from_s": head.measured_from.as_secs_f64(),
        "duration_s": head.plan.duration().map(Nanos::as_secs_f64),
        "phase": phase(fold.phase),
        "elapsed_s": fold.elapsed(now).as_secs_f64(),
        "left_s": left.filter(|_| fold.phase == Phase::Loading).map(Nanos::as_secs_f64),
        "done": done,
        "missed_s": fold.missed.as_secs_f64(),
        "headline": headline(fold),
        "validity": validity(fold),
        "so_far": so_far(fold),
        "generator": generator(fold),
        "endpoints": endpoints(fold),
        "endpoints_left_out": fold.endpoints_left_out,
        "status": status(fold),
        "faults": faults(fold),
        "moments": moments(fold.history.moments(), first),
    })
}

/// The result of the command. Its page goes with the last piece of the stream only.
fn conclusion(conclusion: &Conclusion) -> Value {
    json!({
        "answer": printable(&conclusion.answer),
        "validity": conclusion.validity.map(Validity::name),
        "has_report": conclusion.page.is_some(),
    })
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting",
        Phase::Loading => "loading",
        Phase::Stopping(_) => "stopping",
        Phase::Ended => "ended",
    }
}

/// Signs while the run goes on, the validity check once it has ended.
fn validity(fold: &Fold) -> Value {
    let Some(report) = &fold.validity else {
        let (state, message) = fold.signs.worst();
        return json!({ "state": state.name(), "final": false, "messages": [message] });
    };
    let warnings = report.warnings.iter();
    let mut messages: Vec<String> =
        warnings.map(|warning| format!("{} [{}]", on_one_line(&warning.message), warning.code)).collect();
    if messages.is_empty() {
        messages.push("no warnings".to_owned());
    }
    json!({ "state": report.validity.name(), "final": true, "messages": messages })
}

/// Figures of the whole run without its warm-up.
fn so_far(fold: &Fold) -> Value {
    let accounting = fold.total.accounting();
    let outcomes = Outcome::ALL.map(|outcome| (outcome.name().to_owned(), json!(accounting.count(outcome))));
    let (ended, ok) = (accounting.ended(), accounting.count(Outcome::Ok));
    json!({
        "span_s": fold.window().as_secs_f64(),
        "scheduled": fold.scheduled,
        "ended": ended,
        "outcomes": Map::from_iter(outcomes),
        "failed_share": (ended > 0).then(|| (ended - ok) as f64 / ended as f64),
        "scheduled_requests_per_s": fold.scheduled_rate(),
        "goodput_per_s": fold.goodput(),
        "response_time_ms": times(&response(&fold.total)),
        "service_time_ms": times(&TimeSummary::of(&Distribution::service(&fold.total), None)),
    })
}

fn response(tally: &EndpointTally) -> TimeSummary {
    TimeSummary::of(&Distribution::response(tally), None)
}

/// Times in ms. A figure that the sample does not support is null, and `needs` says how many requests it needs.
fn times(summary: &TimeSummary) -> Value {
    let mut figures = Map::new();
    let (mut at_least, mut needs) = (Vec::new(), Map::new());
    for (name, reading) in summary.rows().into_iter().filter(|(name, _)| *name != "min") {
        if let Reading::TooFew { needed } = reading {
            needs.insert(name.to_owned(), json!(needed));
        }
        if reading.is_lower_bound() {
            at_least.push(name);
        }
        figures.insert(name.to_owned(), json!(reading.time().map(Nanos::as_millis_f64)));
    }
    figures.insert("count".to_owned(), json!(summary.count));
    figures.insert("at_least".to_owned(), json!(at_least));
    figures.insert("needs".to_owned(), Value::Object(needs));
    Value::Object(figures)
}

/// The answer so far in one sentence, for readers who hear the page.
fn headline(fold: &Fold) -> String {
    let accounting = fold.total.accounting();
    let (ended, ok) = (accounting.ended(), accounting.count(Outcome::Ok));
    let Some(goodput) = fold.goodput().filter(|_| ended > 0) else {
        return "Nothing is measured yet".to_owned();
    };
    let times = response(&fold.total);
    let shown = |name: &str, reading: Reading| {
        let sign = if reading.is_lower_bound() { "at least " } else { "" };
        reading.nanos().map(|nanos| format!("{name} {sign}{}", number::time(nanos, None)))
    };
    let typical = shown("p50", times.percentile("p50")).or_else(|| shown("mean", times.mean));
    let tail = shown("p99", times.percentile("p99")).or_else(|| shown("max", times.max));
    let failed = (ended - ok) as f64 / ended as f64;
    format!(
        "Goodput {}/s, response time {} and {}, {} of {} not ok",
        number::rate(goodput),
        typical.unwrap_or_default(),
        tail.unwrap_or_default(),
        number::percent(failed),
        number::counted(ended, "request")
    )
}

/// The load generator in the last interval.
fn generator(fold: &Fold) -> Value {
    let last = fold.last.as_ref();
    json!({
        "lag_p99_ms": last.and_then(|last| last.generator_lag_p99).map(Nanos::as_millis_f64),
        "workers": last.map(|last| last.generator.workers),
        "worker_cpu": last.and_then(worker_cpu),
        "host_busy": last.and_then(|last| last.generator.host_busy),
        "steal": last.and_then(|last| last.generator.steal),
        "in_flight": last.map(|last| last.in_flight),
        "backlog": last.map(|last| last.backlog),
        "connections": fold.connections,
        "received_bytes": fold.bytes,
    })
}

fn endpoints(fold: &Fold) -> Vec<Value> {
    let one = |endpoint: &crate::live::fold::EndpointSoFar| {
        let accounting = endpoint.tally.accounting();
        json!({
            "name": on_one_line(&endpoint.name),
            "scheduled": accounting.planned,
            "ended": accounting.ended(),
            "ok": accounting.count(Outcome::Ok),
            "response_time_ms": times(&response(&endpoint.tally)),
        })
    };
    fold.endpoints.iter().map(one).collect()
}

fn status(fold: &Fold) -> Vec<Value> {
    fold.status.iter().map(|(code, count)| json!({ "code": code, "count": count })).collect()
}

/// The most frequent first.
fn faults(fold: &Fold) -> Vec<Value> {
    let mut faults: Vec<_> = fold.faults.iter().filter(|(_, count)| **count > 0).collect();
    faults.sort_by(|(one, a), (other, b)| b.cmp(a).then(one.cmp(other)));
    let one = |(fault, count): &(&knee_core::outcome::Fault, &u64)| {
        json!({
            "fault": fault.name(),
            "blame": fault.blame().name(),
            "sentence": fault.sentence(),
            "count": count,
        })
    };
    faults.iter().map(one).collect()
}

fn moments(moments: &[Moment], first: usize) -> Value {
    let rows: Vec<Value> = moments.iter().skip(first).map(row).collect();
    json!({ "columns": COLUMNS, "first": first, "rows": rows })
}

fn row(moment: &Moment) -> Value {
    let ms = |time: Option<Nanos>| json!(time.map(Nanos::as_millis_f64));
    let [r50, r99, r_max] = moment.response.map(ms);
    let [s50, s99, s_max] = moment.service.map(ms);
    let row: [Value; COLUMNS.len()] = [
        json!(moment.from.as_secs_f64()),
        json!(moment.to.as_secs_f64()),
        json!(moment.warm_up),
        json!(moment.scheduled),
        json!(moment.ended),
        json!(moment.ok),
        r50,
        r99,
        r_max,
        s50,
        s99,
        s_max,
        json!(moment.bounded),
        json!(moment.in_flight),
        json!(moment.backlog),
        ms(moment.lag),
        json!(moment.worker_cpu),
        json!(moment.host_busy),
    ];
    Value::from(row.to_vec())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use knee_core::event::Event;
    use knee_core::plan::Endpoint;

    use super::*;
    use crate::live::term::synthetic;

    fn after(seconds: u64) -> Fold {
        let mut fold = Fold::default();
        for event in synthetic::events(seconds) {
            fold.handle(&event, Nanos::ZERO);
        }
        fold
    }

    #[test]
    fn the_data_says_what_the_page_shows() {
        let mut state = of(&after(14), "run", 12, Nanos::from_secs(14));
        state["knee"] = json!("the version");
        insta::assert_snapshot!(serde_json::to_string_pretty(&state).unwrap());
    }

    #[test]
    fn names_that_are_markup_stay_text_and_what_turns_text_is_written_out() {
        let mut head = synthetic::head();
        head.title = "http://a/\u{202e}<img src=x onerror=alert(1)>".to_owned();
        head.plan.endpoints = vec![Endpoint { name: "GET </script>\u{0}".to_owned() }];
        let mut fold = Fold::default();
        fold.handle(&Event::Started(Arc::new(head)), Nanos::ZERO);
        fold.handle(&Event::Interval(Arc::new(synthetic::interval(3))), Nanos::ZERO);
        fold.note("a\u{1b}[2J\nb");
        let state = of(&fold, "run", 0, Nanos::ZERO);
        assert_eq!(state["run"]["title"], "http://a/\\u{202e}<img src=x onerror=alert(1)>");
        assert_eq!(state["run"]["endpoints"][0]["name"], "GET </script>\\x00");
        assert_eq!(state["lines"][0], "a\\u{1b}[2J\nb");
    }

    #[test]
    fn nothing_is_made_up_before_the_first_second() {
        let state = of(&Fold::default(), "study", 0, Nanos::ZERO);
        assert_eq!(state["run"], Value::Null);
        let state = of(&after(0), "study", 0, Nanos::ZERO);
        assert_eq!(state["run"]["so_far"]["goodput_per_s"], Value::Null);
        assert_eq!(state["run"]["so_far"]["response_time_ms"]["p50"], Value::Null);
        assert_eq!(state["run"]["headline"], "Nothing is measured yet");
    }
}
