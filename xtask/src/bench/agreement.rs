//! The same server, five tools: what each says of the same load, and what the server counted.
//!
//! Reads the tools' own words; each has its own idea of when a request begins and ends, which is why
//! they are put side by side. Times are in milliseconds.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::figure::{median, table};
use super::nginx::Nginx;
use super::tool::{Load, Tool, k6_summary};
use crate::program::{Knee, words};
use crate::truth::row::millis;

/// What a tool says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Said {
    /// Requests.
    pub requests: f64,
    /// Requests per second.
    pub rate: f64,
    /// Mean of a request's time.
    pub mean: f64,
    /// Its median.
    pub p50: f64,
    /// Its 99th percentile.
    pub p99: f64,
}

/// Has every tool run `rounds` times in turn; returns a table of medians and the bare figures.
pub fn measure(
    knee: &Knee,
    nginx: &Nginx,
    tools: &[Tool],
    load: &Load,
    rounds: usize,
    scratch: &Path,
) -> Result<(String, Value)> {
    let mut all: Vec<(Tool, Vec<Said>, Vec<f64>)> =
        tools.iter().map(|tool| (*tool, vec![], vec![])).collect();
    for round in 0..rounds {
        eprintln!("bench: agreement, round {} of {rounds}", round + 1);
        for (tool, said, counted) in &mut all {
            let (one, count) = nginx.counted(|| ask(*tool, knee, load, scratch))?;
            said.push(one.with_context(|| format!("{} printed something else than expected", tool.name()))?);
            counted.push(count as f64);
        }
    }
    let row = |(tool, said, counted): &(Tool, Vec<Said>, Vec<f64>)| {
        let middle = |of: fn(&Said) -> f64| median(&said.iter().map(of).collect::<Vec<_>>());
        let share: Vec<f64> = said.iter().zip(counted).map(|(said, count)| said.requests / count).collect();
        vec![
            tool.name().to_owned(),
            format!("{:.0}", middle(|said| said.rate)),
            format!("{:.0}", median(counted) / f64::from(load.seconds)),
            format!("{:+.3} %", (median(&share) - 1.0) * 100.0),
            millis(middle(|said| said.mean)),
            millis(middle(|said| said.p50)),
            millis(middle(|said| said.p99)),
            millis(f64::from(load.connections) / middle(|said| said.rate) * 1e3),
        ]
    };
    let head = [
        "tool",
        "requests/s, tool",
        "requests/s, nginx",
        "requests, tool against nginx",
        "mean",
        "p50",
        "p99",
        "mean by Little's law",
    ];
    let rows: Vec<_> = all.iter().map(row).collect();
    let bare = all.iter().map(|(tool, said, counted)| (tool.name(), said, counted)).collect::<Vec<_>>();
    Ok((table(&head, &rows), serde_json::to_value(bare)?))
}

/// Makes a run and reads what the tool says; `None` if it says something else than expected.
fn ask(tool: Tool, knee: &Knee, load: &Load, scratch: &Path) -> Result<Option<Said>> {
    if matches!(tool, Tool::Knee | Tool::KneeScreen) {
        let run = format!("{} -c {} -z {}s", load.url, load.connections, load.seconds);
        let measured = knee.measure(&words(&run))?;
        let time = |name: &str| measured.figure(&format!("/service_time_ms/{name}"));
        return Ok(Some(Said {
            requests: measured.figure("/requests/planned")?,
            rate: measured.figure("/goodput_per_s")?,
            mean: time("mean")?,
            p50: time("p50")?,
            p99: time("p99")?,
        }));
    }
    let ran = tool.run(knee, load, scratch)?;
    Ok(match tool {
        Tool::Wrk => of_wrk(&ran.stdout),
        Tool::Hey => of_hey(&ran.stdout),
        Tool::Oha => of_oha(&ran.stdout),
        Tool::K6 => of_k6(&std::fs::read_to_string(k6_summary(scratch))?),
        Tool::Knee
        | Tool::KneeScreen
        | Tool::H2load
        | Tool::KneeScript(_)
        | Tool::KneeSamples(_)
        | Tool::KneeSums(_)
        | Tool::K6Script(_) => None,
    })
}

/// The word behind the first line that starts with `label`, after any blanks.
fn behind<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let rest = text.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
    rest.split_ascii_whitespace().next()
}

/// A time with its unit, as wrk prints it.
fn with_unit(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &word[digits.len()..] {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 6e4,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

fn of_wrk(text: &str) -> Option<Said> {
    let requests = text.lines().find_map(|line| line.trim_start().split_once(" requests in"))?.0;
    Some(Said {
        requests: requests.parse().ok()?,
        rate: behind(text, "Requests/sec:")?.parse().ok()?,
        mean: with_unit(behind(text, "Latency  ")?)?,
        p50: with_unit(behind(text, "50%")?)?,
        p99: with_unit(behind(text, "99%")?)?,
    })
}

/// Some versions of hey print the sign of a per cent twice.
fn of_hey(text: &str) -> Option<Said> {
    let seconds = |label| Some(behind(text, label)?.parse::<f64>().ok()? * 1e3);
    let answers = text.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once(']'));
    let answers = answers.filter_map(|(_, rest)| rest.trim().strip_suffix(" responses")?.parse::<f64>().ok());
    Some(Said {
        requests: answers.sum(),
        rate: behind(text, "Requests/sec:")?.parse().ok()?,
        mean: seconds("Average:")?,
        p50: seconds("50% in").or_else(|| seconds("50%% in"))?,
        p99: seconds("99% in").or_else(|| seconds("99%% in"))?,
    })
}

fn of_oha(text: &str) -> Option<Said> {
    let json: Value = serde_json::from_str(text).ok()?;
    let figure = |pointer: &str| json.pointer(pointer)?.as_f64();
    let answers = json.pointer("/statusCodeDistribution")?.as_object()?;
    Some(Said {
        requests: answers.values().filter_map(Value::as_f64).sum(),
        rate: figure("/summary/requestsPerSec")?,
        mean: figure("/summary/average")? * 1e3,
        p50: figure("/latencyPercentiles/p50")? * 1e3,
        p99: figure("/latencyPercentiles/p99")? * 1e3,
    })
}

fn of_k6(text: &str) -> Option<Said> {
    let json: Value = serde_json::from_str(text).ok()?;
    let metric = |name: &str, field: &str| json.get("metrics")?.get(name)?.get(field)?.as_f64();
    Some(Said {
        requests: metric("http_reqs", "count")?,
        rate: metric("http_reqs", "rate")?,
        mean: metric("http_req_duration", "avg")?,
        p50: metric("http_req_duration", "med")?,
        p99: metric("http_req_duration", "p(99)")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wrk_prints_is_read_with_its_units() {
        let text = "Running 3s test @ http://127.0.0.1:8080/p\n  1 threads and 64 connections\n  \
                    Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   434.10us    1.20ms  73.66ms   95.29%\n    \
                    Req/Sec    59.91k    14.12k   89.68k    80.00%\n  Latency Distribution\n     50%  380.00us\n     \
                    75%    1.00ms\n     90%    2.00ms\n     99%    1.20s \n  179630 requests in 3.02s, 28.27MB read\n\
                    Requests/sec:  59549.86\nTransfer/sec:      9.37MB\n";
        let said =
            Said { requests: 179_630.0, rate: 59_549.86, mean: 434.10 * 1e-3, p50: 0.38, p99: 1_200.0 };
        assert_eq!(of_wrk(text), Some(said));
    }

    #[test]
    fn what_hey_prints_is_read() {
        let text = "Summary:\n  Total:\t2.0012 secs\n  Slowest:\t0.0321 secs\n  Average:\t0.0012 secs\n  \
                    Requests/sec:\t50000.5\n\nLatency distribution:\n  50% in 0.0010 secs\n  99% in 0.0080 secs\n\n\
                    Status code distribution:\n  [200]\t100000 responses\n  [503]\t61 responses\n";
        let said = Said { requests: 100_061.0, rate: 50_000.5, mean: 1.2, p50: 1.0, p99: 8.0 };
        assert_eq!(of_hey(text), Some(said));
        assert_eq!(of_hey(&text.replace("% in", "%% in")), Some(said));
    }

    #[test]
    fn what_oha_and_k6_write_is_read() {
        let oha = r#"{"summary":{"requestsPerSec":10.0,"average":0.002},"latencyPercentiles":{"p50":0.001,"p99":0.004},
            "statusCodeDistribution":{"200":20}}"#;
        let said = Said { requests: 20.0, rate: 10.0, mean: 2.0, p50: 1.0, p99: 4.0 };
        assert_eq!(of_oha(oha), Some(said));
        let k6 = r#"{"metrics":{"http_reqs":{"count":20,"rate":10},"http_req_duration":{"avg":2,"med":1,"p(99)":4}}}"#;
        assert_eq!(of_k6(k6), Some(said));
        assert_eq!(of_k6("{}"), None);
    }
}
