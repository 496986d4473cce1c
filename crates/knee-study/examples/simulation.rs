//! The whole grid of simulated studies, as a table in Markdown: how often verdicts are wrong, and what they find.
//!
//! `cargo run --release -p knee-study --example simulation [STUDIES]`; 2,000 studies per cell by default. The exit code
//! says whether every limit held.

#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "an example prints its result")]

#[path = "../tests/simulation/world.rs"]
mod world;

use std::process::ExitCode;

use world::{METRICS, Outcome, Tail, World, studies};

/// Most false rejections a metric, family-wise, of `same` where it is not, and the band of coverage.
const EACH_MAX: f64 = 0.065;
const ANY_MAX: f64 = 0.055;
const SAME_MAX: f64 = 0.01;
const COVERED: (f64, f64) = (0.935, 0.965);

/// One cell with what it showed at no difference, and at differences of 5, 7.5 and 10 %.
struct Row {
    world: World,
    none: Outcome,
    five: Outcome,
    beyond: Outcome,
    ten: Outcome,
}

fn main() -> ExitCode {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2_000);
    println!(
        "| phi | runs | drift | tail | blocks | A/A a metric | A/A any (Holm) | coverage | s_d | +5 % | +10 % | `same` at +7.5 % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut missed = Vec::new();
    for (seed, world) in grid().into_iter().enumerate() {
        let outcomes = studies(&world, &[0.0, 0.05, 0.075, 0.1], count, seed as u64);
        let row = Row { world, none: outcomes[0], five: outcomes[1], beyond: outcomes[2], ten: outcomes[3] };
        println!("{}", row.text());
        missed.extend(row.missed());
    }
    for line in &missed {
        eprintln!("{line}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn grid() -> Vec<World> {
    let mut grid = Vec::new();
    for phi in [0.0, 0.9, 0.98] {
        for run in [0.0, 0.01, 0.04] {
            for drift in [0.0, 0.02] {
                for tail in [Tail::Light, Tail::Pareto] {
                    for blocks in [6, 10, 20] {
                        grid.push(World { phi, run, drift, tail, blocks, extend: false });
                    }
                }
            }
        }
    }
    for blocks in [6, 10] {
        let world = World { phi: 0.9, run: 0.04, drift: 0.02, tail: Tail::Light, blocks, extend: true };
        grid.push(world);
    }
    grid
}

impl Row {
    fn each(&self) -> f64 {
        self.none.rejected as f64 / (self.none.studies * METRICS) as f64
    }

    fn deviation(&self) -> f64 {
        self.none.deviation / self.none.studies as f64
    }

    fn text(&self) -> String {
        let world = &self.world;
        let blocks = if world.extend {
            format!("{} to {}", world.blocks, 2 * world.blocks)
        } else {
            world.blocks.to_string()
        };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let cells = [
            world.phi.to_string(),
            percent(world.run),
            percent(world.drift),
            format!("{:?}", world.tail).to_lowercase(),
            blocks,
            percent(self.each()),
            percent(self.none.share(self.none.any)),
            percent(self.five.share(self.five.covered)),
            percent(self.deviation()),
            percent(self.five.share(self.five.found)),
            percent(self.ten.share(self.ten.found)),
            percent(self.beyond.share(self.beyond.same)),
        ];
        format!("| {} |", cells.join(" | "))
    }

    /// Limits that did not hold.
    fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        let mut check = |held: bool, what: &str| {
            if !held {
                missed.push(format!("{what}: {}", self.text()));
            }
        };
        check(self.each() <= EACH_MAX, "false rejections a metric");
        check(self.none.share(self.none.any) <= ANY_MAX, "false rejections of all metrics");
        let covered = self.five.share(self.five.covered);
        // A study that goes on does so because of what it saw: its interval is not the plain one.
        check(self.world.extend || (COVERED.0..=COVERED.1).contains(&covered), "coverage");
        check(self.beyond.share(self.beyond.same) <= SAME_MAX, "`same` where it is not");
        if self.deviation() <= 0.05 && self.world.blocks == 10 && !self.world.extend {
            check(self.five.share(self.five.found) >= 0.8, "power at 5 %");
            check(self.ten.share(self.ten.found) >= 0.99, "power at 10 %");
        }
        missed
    }
}
