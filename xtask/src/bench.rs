//! `cargo xtask bench`: what `knee` costs and how exact it is, beside its peers.
//!
//! Prints the tables of BENCHMARKS.md and appends one line of JSON to `target/bench.jsonl`. Asserts
//! nothing: a miss is a result, and a machine that is busy is no reason for a test to fail.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process;
use crate::program::Knee;
use crate::truth::{Laboratory, stall};

mod agreement;
mod cost;
pub mod figure;
mod footprint;
pub mod nginx;
mod script;
mod tool;

use figure::{Figure, goals};
use nginx::Nginx;
use tool::{Load, Script, Tool};

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Memory after 10^8 requests in place of 10^7, the stall for 60 s, and k6, hey and oha in the table of costs
    #[arg(long)]
    long: bool,
    /// Rounds of the comparisons with peers
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of one run of one tool
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Measure this build in place of the release build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
    /// Measure one of them: plain, tls, connections, requests, lag, start, stall, script (which includes outputs and crowd), outputs, crowd or agreement
    #[arg(long, value_name = "FIGURE")]
    only: Option<String>,
}

/// Connections of the comparisons.
const CONNECTIONS: u32 = 64;

/// Where figures are taken.
struct Bench {
    laboratory: Laboratory,
    nginx: Nginx,
    scratch: TempDir,
    options: Options,
    /// Every number, for the line of JSON.
    bare: Vec<Value>,
}

/// Measures everything, prints tables and keeps a line of JSON.
pub fn run(root: &Path, mut options: Options) -> Result<()> {
    if process::cpus() < 2 {
        bail!("a benchmark needs a CPU for the server and one for the generator");
    }
    let nginx = Nginx::start()?;
    let laboratory = Laboratory {
        knee: Knee::get(root, options.knee.take())?,
        root: root.to_owned(),
        short: !options.long,
    };
    let scratch = TempDir::new()?;
    let mut bench = Bench { laboratory, nginx, scratch, options, bare: Vec::new() };
    let figures = bench.figures()?;
    if !figures.is_empty() {
        println!("{}", goals(&figures));
    }
    if bench.is_asked("agreement") {
        bench.agreement()?;
    }
    let line = json!({ "figures": figures, "bare": bench.bare });
    println!("{line}");
    let kept = root.join("target/bench.jsonl");
    writeln!(OpenOptions::new().create(true).append(true).open(kept)?, "{line}")?;
    Ok(())
}

impl Bench {
    fn is_asked(&self, name: &str) -> bool {
        self.options.only.as_deref().is_none_or(|only| only == name)
    }

    fn figures(&mut self) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        if self.is_asked("plain") {
            figures.extend(self.cost(false)?);
        }
        if self.is_asked("tls") {
            figures.extend(self.cost(true)?);
        }
        let (knee, nginx) = (&self.laboratory.knee, &self.nginx);
        if self.is_asked("connections") {
            figures.push(footprint::connections(knee, nginx)?);
        }
        if self.is_asked("requests") {
            figures.push(footprint::requests(knee, nginx, self.options.long)?);
        }
        if self.is_asked("lag") {
            figures.push(footprint::lag(knee, nginx, 1_000, 0.1)?);
            figures.push(footprint::lag(knee, nginx, 20_000, 1.0)?);
        }
        if self.is_asked("start") {
            figures.push(footprint::start(knee)?);
        }
        if self.is_asked("script") {
            figures.extend(self.script()?);
        }
        if self.is_asked("outputs") || self.options.only.as_deref() == Some("script") {
            figures.extend(self.outputs()?);
        }
        if self.is_asked("crowd") || self.options.only.as_deref() == Some("script") {
            figures.extend(self.crowd()?);
        }
        if self.is_asked("stall") {
            figures.extend(self.stall()?);
        }
        Ok(figures)
    }

    fn load(&self, tls: bool) -> Load {
        let (url, seconds) = (self.nginx.url(tls), self.options.seconds);
        Load { url, connections: CONNECTIONS, seconds, anywhere: false }
    }

    /// CPU per request with and without TLS, and with the live screen.
    fn cost(&mut self, tls: bool) -> Result<Vec<Figure>> {
        let mut wanted = vec![Tool::Wrk, Tool::Knee];
        if !tls {
            wanted.push(Tool::KneeScreen);
        }
        if self.options.long {
            wanted.extend([Tool::H2load, Tool::Oha, Tool::Hey, Tool::K6]);
        }
        let tools = Tool::present(&wanted);
        let (knee, rounds) = (&self.laboratory.knee, self.options.rounds);
        let all = cost::measure(knee, &self.nginx, &tools, &self.load(tls), rounds, self.scratch.path())?;
        println!("{}", cost::overview(&all));
        self.bare
            .extend(all.iter().map(|one| json!({ "tool": one.tool.name(), "tls": tls, "laps": one.laps })));
        if tls {
            return Ok(vec![cost::figure(
                &all,
                Tool::Knee,
                Tool::Wrk,
                "the same over TLS, against wrk",
                1.0,
            )]);
        }
        Ok(vec![
            cost::figure(&all, Tool::Knee, Tool::Wrk, "CPU per request, against wrk", 1.0),
            cost::figure(&all, Tool::KneeScreen, Tool::Wrk, "the same with the live screen", 1.05),
        ])
    }

    /// What k6 scripts cost, with k6 and wrk beside them.
    fn script(&mut self) -> Result<Vec<Figure>> {
        let (ours, theirs) = (Tool::KneeScript(Script::Check), Tool::K6Script(Script::Check));
        let tools = Tool::present(&[Tool::Wrk, ours, theirs]);
        let (knee, nginx, load) = (&self.laboratory.knee, &self.nginx, self.load(false));
        let (rounds, scratch) = (self.options.rounds, self.scratch.path());
        let all = cost::measure(knee, nginx, &tools, &load, rounds, scratch)?;
        println!("{}", cost::overview(&all));
        let name = "script with a check, CPU per request against";
        Ok(vec![
            cost::figure(&all, ours, Tool::Wrk, &format!("{name} wrk"), 1.5),
            cost::figure(&all, ours, theirs, &format!("{name} k6"), 0.1),
            script::rich(knee, nginx, &load, rounds, scratch)?,
        ])
    }

    /// What outputs of samples and of sums cost a script.
    fn outputs(&self) -> Result<Vec<Figure>> {
        let (knee, nginx, load) = (&self.laboratory.knee, &self.nginx, self.load(false));
        let (rounds, scratch) = (self.options.rounds, self.scratch.path());
        Ok(vec![
            script::samples(knee, nginx, &load, rounds, scratch)?,
            script::sums(knee, nginx, &load, rounds, scratch)?,
        ])
    }

    /// What many virtual users and many endpoints take.
    fn crowd(&self) -> Result<Vec<Figure>> {
        let (knee, nginx, scratch) = (&self.laboratory.knee, &self.nginx, self.scratch.path());
        let mut figures = script::crowd(knee, nginx, scratch)?;
        figures.push(script::ready(knee, scratch)?);
        figures.push(script::weight(knee, nginx, scratch)?);
        figures.push(script::shared(knee, scratch)?);
        figures.push(script::many(knee, nginx, scratch)?);
        figures.push(script::endpoints(knee, nginx, scratch)?);
        Ok(figures)
    }

    fn stall(&self) -> Result<Vec<Figure>> {
        let rows = stall::run(&self.laboratory)?;
        let judged = rows.into_iter().filter(|row| row.error_share.is_some());
        let figure = |row: crate::truth::row::Row| Figure {
            name: format!("stall oracle, {}", row.figure),
            goal: "within 2 %".to_owned(),
            measured: format!("{} of {}: {}; {}", row.measured, row.truth, row.error, row.verdict),
            met: row.pass == Some(true),
            values: row.error_share.into_iter().collect(),
        };
        Ok(judged.map(figure).collect())
    }

    fn agreement(&mut self) -> Result<()> {
        let tools = Tool::present(&[Tool::Knee, Tool::Wrk, Tool::Hey, Tool::Oha, Tool::K6]);
        let (knee, rounds) = (&self.laboratory.knee, self.options.rounds);
        let load = self.load(false);
        let (table, bare) =
            agreement::measure(knee, &self.nginx, &tools, &load, rounds, self.scratch.path())?;
        println!("{table}");
        self.bare.push(json!({ "agreement": bare }));
        Ok(())
    }
}
