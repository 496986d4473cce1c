//! The load generators that are compared, with the options that make each send the same load.
//!
//! Options are defaults except for what the comparison needs: connections, time, trust in
//! self-signed certificates. Does not read their results (see [`super::agreement`]).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::nginx::find;
use crate::process::{self, GENERATOR_CPU, Ran};
use crate::program::{Knee, words};

/// The closed load that every tool puts on the server.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where to.
    pub url: String,
    /// Kept connections.
    pub connections: u32,
    /// For how long.
    pub seconds: u32,
}

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// With one line per second.
    Knee,
    /// With the live screen.
    KneeScreen,
    Wrk,
    H2load,
    Oha,
    Hey,
    K6,
    /// A k6 script with one check, under knee.
    KneeScript,
    /// The same script under k6.
    K6Script,
}

/// What k6 does in each iteration.
const SCRIPT: &str = "import http from 'k6/http';\nexport default function () { http.get(__ENV.TARGET); }\n";

/// The same with one check.
const SCRIPT_WITH_CHECK: &str = "import http from 'k6/http';\nimport { check } from 'k6';\n\
    export default function () {\n  const answer = http.get(__ENV.TARGET);\n  \
    check(answer, { 'status is 200': (it) => it.status === 200 });\n}\n";

impl Tool {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Knee => "knee",
            Self::KneeScreen => "knee, live screen",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::Hey => "hey",
            Self::K6 => "k6",
            Self::KneeScript => "knee, script with a check",
            Self::K6Script => "k6, script with a check",
        }
    }

    /// The program that must be on PATH for it; none for knee.
    const fn program(self) -> Option<&'static str> {
        match self {
            Self::Knee | Self::KneeScreen | Self::KneeScript => None,
            Self::K6Script => Some("k6"),
            other => Some(other.name()),
        }
    }

    /// Those of `wanted` that are there; a line about each that is not.
    pub fn present(wanted: &[Self]) -> Vec<Self> {
        let here = |tool: &Self| {
            let here = tool.program().is_none_or(|program| find(program).is_some());
            if !here {
                eprintln!("bench: {} is not on PATH and is left out", tool.name());
            }
            here
        };
        wanted.iter().copied().filter(here).collect()
    }

    /// Runs `load` once. Tools write their files into `scratch`.
    pub fn run(self, knee: &Knee, load: &Load, scratch: &Path) -> Result<Ran> {
        let Load { url, connections: c, seconds: z } = load;
        let of_knee = || words(&format!("{url} -c {c} -z {z}s --insecure"));
        let line = match self {
            Self::Knee => return knee.cost(&of_knee()),
            Self::KneeScreen => {
                return process::run_in_terminal(GENERATOR_CPU, &mut knee.command(&of_knee()));
            }
            Self::Wrk => format!("-t1 -c{c} -d{z}s --latency {url}"),
            Self::H2load => format!("--h1 -t1 -c{c} -D{z} {url}"),
            Self::Oha => format!("--no-tui --insecure -c {c} -z {z}s --output-format json {url}"),
            Self::Hey => format!("-c {c} -z {z}s {url}"),
            Self::K6 => return k6(load, SCRIPT, scratch),
            Self::K6Script => return k6(load, SCRIPT_WITH_CHECK, scratch),
            Self::KneeScript => {
                let script = put(SCRIPT_WITH_CHECK, scratch)?;
                let line = format!("--quiet --vus {c} --duration {z}s --env TARGET={url}");
                return process::run_on(GENERATOR_CPU, &mut knee.script(&script, &words(&line)));
            }
        };
        let mut command = Command::new(self.name());
        command.args(words(&line)).stderr(Stdio::null());
        process::run_on(GENERATOR_CPU, &mut command)
    }
}

/// Where k6 leaves its summary.
pub fn k6_summary(scratch: &Path) -> PathBuf {
    scratch.join("k6-summary.json")
}

fn put(script: &str, scratch: &Path) -> Result<PathBuf> {
    let path = scratch.join("get.js");
    std::fs::write(&path, script)?;
    Ok(path)
}

fn k6(load: &Load, script: &str, scratch: &Path) -> Result<Ran> {
    let script = put(script, scratch)?;
    let mut command = Command::new("k6");
    command.args(words(&format!(
        "run --quiet --no-usage-report --insecure-skip-tls-verify --vus {} --duration {}s \
         --summary-trend-stats avg,med,p(99) --summary-export",
        load.connections, load.seconds
    )));
    command.arg(k6_summary(scratch)).arg("--env").arg(format!("TARGET={}", load.url)).arg(script);
    process::run_on(GENERATOR_CPU, command.stderr(Stdio::null()))
}
