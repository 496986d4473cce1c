//! Load testing tools at work, and the outputs that each of them leaves.
//!
//! Tools keep their default settings, except for connections, time and where they write. Does not read the outputs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::bench::nginx::find;
use crate::process::{self, GENERATOR_CPU};
use crate::program::words;

/// Programs that make outputs, if they are on PATH.
const TOOLS: [&str; 7] = ["k6", "oha", "hey", "wrk", "ab", "vegeta", "locust"];

const SCRIPT: &str = "import http from 'k6/http';\nimport { check } from 'k6';\n\
    export default function () {\n  const answer = http.get(__ENV.TARGET);\n  \
    check(answer, { 'status is 200': (it) => it.status === 200 });\n}\n";

/// Users who do not pause.
const LOCUSTFILE: &str = "from locust import HttpUser, task, constant\n\n\nclass User(HttpUser):\n    \
    wait_time = constant(0)\n\n    @task\n    def get(self):\n        self.client.get('/')\n";

/// The load that every tool puts on a server.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where to.
    pub url: String,
    /// Connections or users.
    pub connections: u32,
    /// For how long.
    pub seconds: u32,
}

/// A file that a tool wrote, or what it printed.
#[derive(Debug)]
pub struct Output {
    /// The tool.
    pub tool: &'static str,
    /// Where it lies.
    pub path: PathBuf,
}

/// The tools that are not on PATH.
pub fn missing() -> Vec<&'static str> {
    TOOLS.into_iter().filter(|tool| find(tool).is_none()).collect()
}

/// Runs every tool that is there, one after the other, and keeps what they wrote and printed in `folder`.
pub fn made(load: &Load, folder: &Path) -> Result<Vec<Output>> {
    let mut all = Vec::new();
    for tool in TOOLS.into_iter().filter(|tool| find(tool).is_some()) {
        let paths = match tool {
            "k6" => k6(load, folder),
            "vegeta" => vegeta(load, folder),
            "locust" => locust(load, folder),
            "oha" => oha(load, folder),
            "hey" => hey(load, folder),
            "wrk" => wrk(load, folder),
            _ => ab(load, folder),
        };
        let paths = paths.with_context(|| format!("{tool} failed"))?;
        all.extend(paths.into_iter().map(|path| Output { tool, path }));
    }
    Ok(all)
}

/// Runs a tool and keeps what it prints as `name`.
fn printed(tool: &str, line: &str, folder: &Path, name: &str) -> Result<PathBuf> {
    let said = folder.join(format!("{name}.stderr"));
    let mut command = Command::new(tool);
    command.args(words(line)).current_dir(folder).stderr(File::create(&said)?);
    let ran = process::run_on(GENERATOR_CPU, &mut command)?;
    if !ran.ended.success() {
        bail!("{}: {}", ran.ended, fs::read_to_string(&said)?.trim());
    }
    let path = folder.join(name);
    fs::write(&path, ran.stdout)?;
    Ok(path)
}

fn k6(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::write(folder.join("get.js"), SCRIPT)?;
    let Load { url, connections, seconds } = load;
    let line = format!(
        "run --no-usage-report --no-color --vus {connections} --duration {seconds}s --summary-export k6-summary.json \
         --out json=k6.json --out csv=k6.csv --env TARGET={url} get.js"
    );
    let text = printed("k6", &line, folder, "k6.txt")?;
    let files = ["k6-summary.json", "k6.json", "k6.csv"].map(|name| folder.join(name));
    Ok([text].into_iter().chain(files).collect())
}

fn oha(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    let Load { url, connections, seconds } = load;
    let line = |format: &str| format!("--no-tui -c {connections} -z {seconds}s {format}{url}");
    Ok(vec![
        printed("oha", &line(""), folder, "oha.txt")?,
        printed("oha", &line("--output-format json "), folder, "oha.json")?,
    ])
}

fn hey(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    let Load { url, connections, seconds } = load;
    let line = |format: &str| format!("-c {connections} -z {seconds}s {format}{url}");
    Ok(vec![
        printed("hey", &line(""), folder, "hey.txt")?,
        printed("hey", &line("-o csv "), folder, "hey.csv")?,
    ])
}

fn wrk(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    let Load { url, connections, seconds } = load;
    let line = format!("-t1 -c{connections} -d{seconds}s --latency {url}");
    Ok(vec![printed("wrk", &line, folder, "wrk.txt")?])
}

fn ab(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    let Load { url, connections, seconds } = load;
    // `-t` alone stops after 50,000 requests.
    let line = format!("-k -q -c {connections} -t {seconds} -n 10000000 {url}");
    Ok(vec![printed("ab", &line, folder, "ab.txt")?])
}

/// vegeta keeps a rate; this one is below what every server here can do.
fn vegeta(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::write(folder.join("targets.txt"), format!("GET {}\n", load.url))?;
    let attack =
        format!("attack -targets targets.txt -rate 200 -duration {}s -output vegeta.bin", load.seconds);
    printed("vegeta", &attack, folder, "vegeta-attack.txt")?;
    Ok(vec![
        printed("vegeta", "report vegeta.bin", folder, "vegeta.txt")?,
        printed("vegeta", "report -type json vegeta.bin", folder, "vegeta-report.json")?,
        printed("vegeta", "encode -to json vegeta.bin", folder, "vegeta.jsonl")?,
    ])
}

fn locust(load: &Load, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::write(folder.join("locustfile.py"), LOCUSTFILE)?;
    let Load { url, connections: users, seconds } = load;
    let host = url.trim_end_matches('/');
    let line = format!(
        "--headless -u {users} -r {users} -t {seconds}s --host {host} --csv locust --html locust.html --loglevel ERROR"
    );
    printed("locust", &line, folder, "locust-screen.txt")?;
    Ok(["locust_stats.csv", "locust_stats_history.csv", "locust.html"].map(|name| folder.join(name)).into())
}
