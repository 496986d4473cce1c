//! `cargo xtask audit`: whether `knee audit` stays silent about results in which nothing is wrong.
//!
//! Load testing tools that are on PATH load a server whose law is known, from one core while the server has the other,
//! and every file and text that they leave is audited. Does not try what `knee audit` finds: its tests do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::truth::law::Law;
use crate::truth::server::OracleServer;

mod output;

use output::{Load, Output};

/// Servers, and the connections that load each. The last one has fewer workers than connections, so that requests wait.
const PLACES: [(&str, Law, u32); 4] = [
    ("5 ms each, 4 connections", Law::Fixed { span: 5_000_000 }, 4),
    ("2 ms each, 32 connections", Law::Fixed { span: 2_000_000 }, 32),
    (
        "2 ms, every hundredth 20 ms, 10 connections",
        Law::Bimodal { fast: 2_000_000, slow: 20_000_000, every: 100 },
        10,
    ),
    (
        "4 workers, 4 ms on average, 20 connections",
        Law::Workers { workers: 4, mean: 4_000_000, seed: Some(1) },
        20,
    ),
];

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Length of each run
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Try this build in place of the release build of this tree
    #[arg(long, value_name = "PROGRAM")]
    knee: Option<PathBuf>,
    /// Keep all outputs in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// What `knee audit` says of one output.
struct Audited {
    /// The tool and its format.
    format: String,
    /// What it finds beyond notes; empty if the output is consistent.
    findings: Vec<String>,
}

/// Makes all results, audits them, prints a table, and fails at the first wrong alarm.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let knee = options.knee.clone().unwrap_or_else(|| root.join("target/release/knee"));
    ensure!(knee.exists(), "`{}` is missing: build it, or name one with --knee", knee.display());
    let scratch = tempfile::tempdir()?;
    let folder = options.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let mut audited = Vec::new();
    for (number, (place, law, connections)) in PLACES.into_iter().enumerate() {
        let server = OracleServer::start(law)?;
        let folder = folder.join(number.to_string());
        std::fs::create_dir_all(&folder)?;
        let load = Load { url: server.url.clone(), connections, seconds: options.seconds };
        for output in output::made(&load, &folder)? {
            let result = audit(&knee, &output, connections)?;
            eprintln!("{place}: {}: {}", output.tool, line(&result));
            audited.push(result);
        }
        server.end()?;
    }
    for tool in output::missing() {
        println!("left out: {tool} is not on PATH");
    }
    println!("{}", table(&audited));
    let wrong = audited.iter().filter(|result| !result.findings.is_empty()).count();
    ensure!(wrong == 0, "{wrong} of {} sound results are called wrong", audited.len());
    Ok(())
}

/// Audits one output.
fn audit(knee: &Path, output: &Output, connections: u32) -> Result<Audited> {
    let mut command = Command::new(knee);
    command.args(["audit", "--format", "json", "-c", &connections.to_string()]).arg(&output.path);
    let printed = command.output().context("cannot run `knee audit`")?;
    let json: Value = serde_json::from_slice(&printed.stdout).with_context(|| {
        format!("{}: {}", output.path.display(), String::from_utf8_lossy(&printed.stderr).trim())
    })?;
    let audited = &json["outputs"][0];
    let all = audited["findings"].as_array().context("`knee audit` printed no findings")?;
    let alarms = all.iter().filter(|finding| finding["grade"] != "note");
    let said = |finding: &Value| format!("{} ({})", text(&finding["says"]), text(&finding["check"]));
    Ok(Audited { format: text(&audited["format"]), findings: alarms.map(said).collect() })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn line(result: &Audited) -> String {
    let said = if result.findings.is_empty() { "consistent".to_owned() } else { result.findings.join("; ") };
    format!("{}: {said}", result.format)
}

/// One row a format: results, and those that are called wrong.
fn table(audited: &[Audited]) -> String {
    let mut formats: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for result in audited {
        let (results, wrong) = formats.entry(&result.format).or_default();
        *results += 1;
        *wrong += usize::from(!result.findings.is_empty());
    }
    let mut lines = vec!["| format | results | called wrong |".to_owned(), "|---|---|---|".to_owned()];
    lines.extend(
        formats.iter().map(|(format, (results, wrong))| format!("| {format} | {results} | {wrong} |")),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_results_and_alarms_by_format() {
        let of = |format: &str, findings: &[&str]| Audited {
            format: format.to_owned(),
            findings: findings.iter().map(|finding| (*finding).to_owned()).collect(),
        };
        let table = table(&[of("wrk text", &[]), of("ab text", &["x (part)"]), of("wrk text", &[])]);
        assert!(table.ends_with("| ab text | 1 | 1 |\n| wrk text | 2 | 0 |"), "{table}");
    }
}
