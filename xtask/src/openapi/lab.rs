//! The labs that have a document, and how each is brought up to be asked.
//!
//! Every lab takes its settings from variables that begin with its name, says `listening on URL` first, and serves its
//! document at `/openapi.json`; what differs is a row of [`LABS`].

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::store::Store;
use crate::process::{self, Running};
use crate::program;

/// A lab.
#[derive(Debug)]
pub struct Lab {
    /// Its package, and its program.
    pub name: &'static str,
    /// Whether it needs Redis beside PostgreSQL.
    pub redis: bool,
    /// Arguments of `seed`.
    pub seed: &'static [&'static str],
    /// Arguments of `serve`.
    pub serve: &'static [&'static str],
    /// What callers have to send with every request.
    pub headers: &'static [&'static str],
}

/// Those with a document.
pub const LABS: &[Lab] =
    &[Lab { name: "todos", redis: false, seed: &["--rows", "50"], serve: &[], headers: &[] }];

impl Lab {
    /// Why it cannot be tried here, as the environment says.
    pub fn left_out(&self) -> Option<&'static str> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
        if is_set("KNEE_WITHOUT_POSTGRES") {
            return Some("the environment says that this machine does not have PostgreSQL");
        }
        (self.redis && is_set("KNEE_WITHOUT_REDIS"))
            .then_some("the environment says that this machine does not have Redis")
    }
}

/// A lab that answers.
pub struct Standing {
    /// Where.
    pub url: String,
    /// What callers have to send.
    pub headers: Vec<String>,
    // In the order in which they have to end: the service, then what it uses.
    _process: Running,
    /// Kept so that the service can always write to it.
    _output: BufReader<ChildStdout>,
    _stores: Vec<Store>,
}

impl Standing {
    /// Builds a lab as its tests do, fills stores of its own and starts it.
    pub fn up(root: &Path, lab: &Lab) -> Result<Self> {
        let path = program::lab_build(root, lab.name)?;
        let postgres = Store::postgres()?;
        let redis = lab.redis.then(Store::redis).transpose()?;
        let command = |verb: &str, arguments: &[&str]| {
            let mut command = Command::new(&path);
            let prefix = lab.name.to_uppercase();
            command.arg(verb).args(arguments).env(format!("{prefix}_POSTGRES"), &postgres.url);
            command.env(format!("{prefix}_LISTEN"), "127.0.0.1:0");
            command.env(format!("{prefix}_LOG_LEVEL"), "error");
            if let Some(redis) = &redis {
                command.env(format!("{prefix}_REDIS"), &redis.url);
            }
            command.stdin(Stdio::null());
            command
        };
        seed(&mut command("seed", lab.seed))?;
        let mut process = process::spawn(command("serve", lab.serve).stdout(Stdio::piped()))?;
        let output = process.child().stdout.take().context("the pipe is missing")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let url =
            line.trim().strip_prefix("listening on ").context("the service did not come up")?.to_owned();
        let headers = lab.headers.iter().map(|header| (*header).to_owned()).collect();
        let stores = [Some(postgres), redis].into_iter().flatten().collect();
        Ok(Self { url, headers, _process: process, _output: output, _stores: stores })
    }
}

/// Fills the stores; PostgreSQL may still be coming up when its port is open already.
fn seed(command: &mut Command) -> Result<()> {
    let mut said = String::new();
    for _ in 0..50 {
        let output = command.output().context("cannot run the lab")?;
        if output.status.success() {
            return Ok(());
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !said.contains("starting up") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    bail!("the stores cannot be filled: {said}")
}
