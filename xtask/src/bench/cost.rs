//! CPU per request: the tools in turn, round after round, against the same server.
//!
//! The kernel says what a tool took, the server how much it did. What others do to a shared
//! machine in one round they do to the tools of that round alike, so ratios are taken round by round.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::figure::{Figure, median, table};
use super::nginx::Nginx;
use super::tool::{Load, Tool};
use crate::program::Knee;

/// What the table of all tools compares with.
const BASE: Tool = Tool::Wrk;

/// One tool in one round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Lap {
    /// CPU per request in microseconds.
    pub cost: f64,
    /// Requests per second that the server counted.
    pub rate: f64,
    /// Largest resident set in bytes.
    pub resident: u64,
}

/// One tool in all rounds.
#[derive(Clone, Debug)]
pub struct Laps {
    /// Which.
    pub tool: Tool,
    /// Round by round.
    pub laps: Vec<Lap>,
}

/// Has `tools` run `rounds` times in turn.
pub fn measure(
    knee: &Knee,
    nginx: &Nginx,
    tools: &[Tool],
    load: &Load,
    rounds: usize,
    scratch: &Path,
) -> Result<Vec<Laps>> {
    let mut all: Vec<Laps> = tools.iter().map(|tool| Laps { tool: *tool, laps: Vec::new() }).collect();
    for round in 0..rounds {
        eprintln!("bench: {} round {} of {rounds}", load.url, round + 1);
        for one in &mut all {
            let (ran, count) = nginx.counted(|| one.tool.run(knee, load, scratch))?;
            one.laps.push(Lap {
                cost: ran.cpu.as_secs_f64() * 1e6 / count as f64,
                rate: count as f64 / f64::from(load.seconds),
                resident: ran.resident_peak,
            });
        }
    }
    Ok(all)
}

/// The ratios of `tool` to `base`, round by round; none if either did not run.
pub fn ratios(all: &[Laps], tool: Tool, base: Tool) -> Vec<f64> {
    let of = |wanted| all.iter().find(|one| one.tool == wanted).map_or(&[][..], |one| &one.laps);
    of(tool).iter().zip(of(base)).map(|(lap, base)| lap.cost / base.cost).collect()
}

/// The ratio of `tool` to `base` as a figure with a goal.
pub fn figure(all: &[Laps], tool: Tool, base: Tool, name: &str, goal: f64) -> Figure {
    let ratios = ratios(all, tool, base);
    let middle = median(&ratios);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Figure {
        name: name.to_owned(),
        goal: format!("{goal:.2} at most"),
        measured: format!("{middle:.3} ({least:.3} to {most:.3}, {} rounds)", ratios.len()),
        met: middle <= goal,
        values: ratios,
    }
}

/// All tools side by side.
pub fn overview(all: &[Laps]) -> String {
    let row = |one: &Laps| {
        let middle = |of: fn(&Lap) -> f64| median(&one.laps.iter().map(of).collect::<Vec<_>>());
        let resident = one.laps.iter().map(|lap| lap.resident).max().unwrap_or(0);
        vec![
            one.tool.name().to_owned(),
            format!("{:.2}", middle(|lap| lap.cost)),
            Some(ratios(all, one.tool, BASE))
                .filter(|ratios| !ratios.is_empty())
                .map_or_else(|| "–".to_owned(), |ratios| format!("{:.2}", median(&ratios))),
            format!("{:.0}", middle(|lap| lap.rate)),
            format!("{:.1}", resident as f64 / 1_048_576.0),
        ]
    };
    let head = ["tool", "CPU us/request", "ratio to wrk", "requests/s", "resident MiB"];
    table(&head, &all.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laps(tool: Tool, costs: &[f64]) -> Laps {
        let lap = |cost: &f64| Lap { cost: *cost, rate: 1.0, resident: 0 };
        Laps { tool, laps: costs.iter().map(lap).collect() }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let all = [laps(Tool::Wrk, &[10.0, 20.0, 10.0]), laps(Tool::Knee, &[9.0, 18.0, 20.0])];
        assert_eq!(ratios(&all, Tool::Knee, BASE), [0.9, 0.9, 2.0]);
        let figure = figure(&all, Tool::Knee, BASE, "cost", 1.0);
        assert_eq!(figure.measured, "0.900 (0.900 to 2.000, 3 rounds)");
        assert!(figure.met);
    }

    #[test]
    fn where_the_base_did_not_run_the_table_has_a_dash() {
        let page = overview(&[laps(Tool::Knee, &[9.0])]);
        assert!(page.contains("| – |") && !page.contains("NaN"), "{page}");
    }

    #[test]
    fn without_the_base_there_is_no_ratio_and_the_goal_is_not_met() {
        assert!(!figure(&[laps(Tool::Knee, &[9.0])], Tool::Knee, BASE, "cost", 1.0).met);
    }
}
