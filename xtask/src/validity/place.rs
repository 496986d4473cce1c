//! Where targets run: on loopback, or in a network namespace behind a pair of virtual links.
//!
//! The namespace needs root and `ip`; without them it is left out, and said so. It goes with this
//! value.

use std::io::Read;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{self, Running};

/// Both places.
pub struct Places {
    namespace: Result<Namespace, String>,
}

/// A target in a process of its own.
pub struct Target {
    _process: Running,
    /// Where it listens.
    pub url: String,
}

impl Places {
    /// Makes the namespace, if that can be.
    pub fn new() -> Self {
        let namespace =
            Namespace::new().map_err(|error| format!("targets in a network namespace: {error:#}"));
        Self { namespace }
    }

    /// Whether there is a namespace.
    pub const fn has_namespace(&self) -> bool {
        self.namespace.is_ok()
    }

    /// What could not be made.
    pub fn left_out(&self) -> Vec<String> {
        self.namespace.as_ref().err().cloned().into_iter().collect()
    }

    /// Starts a target that takes `millis` for a response.
    pub fn target(&self, apart: bool, millis: u64) -> Result<Target> {
        let program = std::env::current_exe()?;
        let inside = self.namespace.as_ref().ok().filter(|_| apart);
        let (mut command, address) = match inside {
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &namespace.name]).arg(program);
                (command, Namespace::INSIDE)
            }
            None => (Command::new(program), "127.0.0.1"),
        };
        command.args(["validity-target", address, &millis.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = process::spawn(&mut command)?;
        let mut port = [0; 6];
        let stdout = process.child().stdout.as_mut().context("the pipe is missing")?;
        stdout.read_exact(&mut port).context("the target did not start")?;
        let port = String::from_utf8_lossy(&port).trim().to_owned();
        Ok(Target { _process: process, url: format!("http://{address}:{port}/") })
    }
}

/// Names of namespaces begin so; the id of the process that made it follows.
const PREFIX: &str = "knee-validity-";

/// A network namespace with a link to this one.
#[derive(Debug)]
struct Namespace {
    name: String,
    link: String,
}

impl Namespace {
    const OUTSIDE: &str = "10.213.77.1";
    const INSIDE: &str = "10.213.77.2";

    fn new() -> Result<Self> {
        remove_what_killed_runs_left()?;
        let id = std::process::id();
        let (name, link, peer) = (format!("{PREFIX}{id}"), format!("kv{id}a"), format!("kv{id}b"));
        ip(&format!("netns add {name}"))?;
        // From here on it goes with this value, whatever fails.
        let namespace = Self { name: name.clone(), link: link.clone() };
        ip(&format!("link add {link} type veth peer name {peer}"))?;
        ip(&format!("link set {peer} netns {name}"))?;
        ip(&format!("addr add {}/30 dev {link}", Self::OUTSIDE))?;
        ip(&format!("link set {link} up"))?;
        ip(&format!("-n {name} addr add {}/30 dev {peer}", Self::INSIDE))?;
        ip(&format!("-n {name} link set {peer} up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        Ok(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The link goes with the namespace; if it never got there it goes alone.
        let _ = ip(&format!("netns del {}", self.name));
        let _ = ip(&format!("link del {}", self.link));
    }
}

/// Removes namespaces whose process was killed: all have the same addresses, so trials would load a link without a server.
fn remove_what_killed_runs_left() -> Result<()> {
    let output = Command::new("ip").args(["netns", "list"]).output().context("cannot run `ip`")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    for id in names.filter_map(|name| name.strip_prefix(PREFIX)) {
        if std::path::Path::new("/proc").join(id).exists() {
            bail!("process {id} runs `cargo xtask validity` already: two at a time disturb each other");
        }
        drop(Namespace { name: format!("{PREFIX}{id}"), link: format!("kv{id}a") });
    }
    Ok(())
}

fn ip(arguments: &str) -> Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output().context("cannot run `ip`")?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`ip {arguments}`: {}", said.trim());
    Ok(())
}
