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
    /// Whether a script can use every CPU, the server's too, and not the generator's alone.
    pub anywhere: bool,
}

impl Load {
    fn run(&self, command: &mut Command) -> Result<Ran> {
        if self.anywhere { process::run_anywhere(command) } else { process::run_on(GENERATOR_CPU, command) }
    }
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
    /// A k6 script, under knee.
    KneeScript(Script),
    /// The same script under k6.
    K6Script(Script),
    /// A k6 script under knee, which writes every sample into a file.
    KneeSamples(Script),
    /// A k6 script under knee, which sends sums to Prometheus: to the server that it loads, which takes everything.
    KneeSums(Script),
}

/// What a script does in each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// One request.
    Get,
    /// One request and one check.
    Check,
    /// One request as scripts of applications make them: ids in the URL, four headers, three tags, a JSON body, five
    /// checks.
    Rich,
}

impl Script {
    const fn source(self) -> &'static str {
        match self {
            Self::Get => GET,
            Self::Check => CHECK,
            Self::Rich => RICH,
        }
    }
}

const GET: &str = "import http from 'k6/http';\nexport default function () { http.get(__ENV.TARGET); }\n";

const CHECK: &str = "import http from 'k6/http';\nimport { check } from 'k6';\n\
    export default function () {\n  const answer = http.get(__ENV.TARGET);\n  \
    check(answer, { 'status is 200': (it) => it.status === 200 });\n}\n";

const RICH: &str = r"import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const id = `${__VU}-${__ITER}`;
  const body = JSON.stringify({ id, user: `user ${__VU}`, items: [{ sku: 'a-1', count: 2 }, { sku: 'b-2', count: 1 }] });
  const answer = http.post(`${__ENV.TARGET}/users/${__VU}/orders/${id}?page=${__ITER % 50}`, body, {
    headers: { 'Content-Type': 'application/json', Accept: 'application/json', 'X-Request-Id': id, Authorization: `Bearer ${id}` },
    tags: { team: 'shop', kind: 'order', version: '2' },
  });
  check(answer, {
    'status is 200': (it) => it.status === 200,
    'says ok': (it) => it.json().status === 'ok',
    'has a body': (it) => it.body.length > 0,
    'is JSON': (it) => it.headers['Content-Type'] === 'application/json',
    'is fast': (it) => it.timings.duration < 5000,
  });
}
";

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
            Self::KneeScript(Script::Get) => "knee, script",
            Self::KneeScript(Script::Check) => "knee, script with a check",
            Self::KneeScript(Script::Rich) => "knee, rich script",
            Self::KneeSamples(_) => "knee, script with -o json",
            Self::KneeSums(_) => "knee, script with remote write",
            Self::K6Script(Script::Get) => "k6, script",
            Self::K6Script(Script::Check) => "k6, script with a check",
            Self::K6Script(Script::Rich) => "k6, rich script",
        }
    }

    /// The program that must be on PATH for it; none for knee.
    const fn program(self) -> Option<&'static str> {
        match self {
            Self::Knee
            | Self::KneeScreen
            | Self::KneeScript(_)
            | Self::KneeSamples(_)
            | Self::KneeSums(_) => None,
            Self::K6Script(_) => Some("k6"),
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
        let Load { url, connections: c, seconds: z, .. } = load;
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
            Self::K6 => return k6(load, Script::Get, scratch),
            Self::K6Script(script) => return k6(load, script, scratch),
            Self::KneeScript(script) => return knee_script(knee, load, script, scratch, &[]),
            Self::KneeSamples(script) => {
                let samples = scratch.join("samples.json");
                let ran = knee_script(knee, load, script, scratch, &[&format!("json={}", samples.display())]);
                // Some gigabytes, which no one reads.
                let _ = std::fs::remove_file(samples);
                return ran;
            }
            Self::KneeSums(script) => {
                return knee_script(knee, load, script, scratch, &["experimental-prometheus-rw"]);
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

/// Writes a script into a file.
fn put(script: Script, scratch: &Path) -> Result<PathBuf> {
    let path = scratch.join("get.js");
    std::fs::write(&path, script.source())?;
    Ok(path)
}

fn knee_script(knee: &Knee, load: &Load, script: Script, scratch: &Path, out: &[&str]) -> Result<Ran> {
    let Load { url, connections, seconds, .. } = load;
    let script = put(script, scratch)?;
    let line = format!("--quiet --vus {connections} --duration {seconds}s --env TARGET={url}");
    let mut command = knee.script(&script, &words(&line));
    for out in out {
        command.arg("--out").arg(out);
    }
    command.env("K6_PROMETHEUS_RW_SERVER_URL", url);
    load.run(&mut command)
}

fn k6(load: &Load, script: Script, scratch: &Path) -> Result<Ran> {
    let script = put(script, scratch)?;
    let mut command = Command::new("k6");
    command.args(words(&format!(
        "run --quiet --no-usage-report --insecure-skip-tls-verify --vus {} --duration {}s \
         --summary-trend-stats avg,med,p(99) --summary-export",
        load.connections, load.seconds
    )));
    command.arg(k6_summary(scratch)).arg("--env").arg(format!("TARGET={}", load.url)).arg(script);
    load.run(command.stderr(Stdio::null()))
}
