//! A fleet: a NATS server, agents and a target, on the loopback interface or on machines of a [`Lan`].
//!
//! Starts processes and reads what they leave behind. Does not judge it, and kills only what it started.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::counting::Counting;
use super::lan::{FOLDER, Lan};

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(240);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A process that ends with its owner.
pub(super) struct Ending(Child);

impl Ending {
    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill(Pid::from_raw(i32::try_from(self.0.id())?), signal)?)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // It can have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the processes of a fleet are.
pub(super) enum Place {
    /// All on this machine, without namespaces.
    Loopback,
    /// On machines of their own.
    Lan(Lan),
}

/// What is different about an agent.
#[derive(Clone, Default)]
pub(super) struct Kind {
    /// More lines of its file; a setting that is there replaces that of the world.
    pub config: String,
    /// Words before its command.
    pub prefix: Vec<String>,
    /// Where it reaches NATS, if that is not the server itself.
    pub nats: Option<SocketAddr>,
}

/// A controller, or another command that goes on.
pub(super) struct Running {
    process: Ending,
    home: String,
}

impl Running {
    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it said.
    pub log: String,
}

/// A fleet and what it loads.
pub(super) struct World {
    knee: PathBuf,
    folder: TempDir,
    place: Place,
    port: u16,
    pub target: Counting,
    server: Option<Ending>,
    /// More lines of the server's configuration.
    server_config: String,
    agents: Vec<Option<Ending>>,
    key: String,
}

impl World {
    /// A fleet of agents that are all ordinary, and a target that answers at once.
    pub(super) fn start(knee: &Path, place: Place, agents: usize) -> Result<Self> {
        let mut world = Self::without_agents(knee, place, Duration::ZERO, "")?;
        for number in 1..=agents {
            world.start_agent(number, &Kind::default())?;
        }
        world.wait_for_agents(agents)?;
        Ok(world)
    }

    /// A NATS server, with more lines of configuration, and a target that answers after `delay`.
    pub(super) fn without_agents(knee: &Path, place: Place, delay: Duration, config: &str) -> Result<Self> {
        let (folder, nats, target) = match &place {
            Place::Loopback => (tempfile::tempdir()?, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
            Place::Lan(lan) => (tempfile::tempdir_in(FOLDER)?, lan.nats(), lan.target()),
        };
        let mut world = Self {
            knee: knee.to_owned(),
            folder,
            port: TcpListener::bind((nats, 0))?.local_addr()?.port(),
            target: Counting::start(IpAddr::V4(target), delay)?,
            place,
            server: None,
            server_config: config.to_owned(),
            agents: Vec::new(),
            key: String::new(),
        };
        world.start_server()?;
        let key = world.command("home", None).args(["fleet", "key"]).output()?;
        String::from_utf8(key.stdout)?.trim().clone_into(&mut world.key);
        Ok(world)
    }

    /// A path in the folder of the world.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The machines.
    pub(super) fn lan(&self) -> Result<&Lan> {
        match &self.place {
            Place::Lan(lan) => Ok(lan),
            Place::Loopback => anyhow::bail!("there are no machines"),
        }
    }

    /// Where NATS listens.
    pub(super) fn nats(&self) -> SocketAddr {
        let address = match &self.place {
            Place::Loopback => Ipv4Addr::LOCALHOST,
            Place::Lan(lan) => lan.nats(),
        };
        (address, self.port).into()
    }

    fn url(&self) -> String {
        format!("nats://{}", self.nats())
    }

    /// Starts NATS on the disk that it had.
    pub(super) fn start_server(&mut self) -> Result<()> {
        let (address, config) = (self.nats(), self.path("nats.conf"));
        fs::write(&config, &self.server_config)?;
        let mut command = Command::new("nats-server");
        command.args(["-js", "-a", &address.ip().to_string(), "-p", &self.port.to_string(), "-c"]);
        command.arg(config).arg("-sd").arg(self.path("nats"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(Ending(command.spawn().context("nats-server")?));
        wait_for("nats-server", || Ok(TcpStream::connect(address).is_ok()))
    }

    /// Kills NATS.
    pub(super) fn kill_server(&mut self) {
        self.server = None;
    }

    /// Starts the agent with this number, from 1 on, on the machine `aN`.
    pub(super) fn start_agent(&mut self, number: usize, kind: &Kind) -> Result<()> {
        let nats = kind.nats.unwrap_or_else(|| self.nats());
        let mut text = format!(
            "nats = \"nats://{nats}\"\nid = \"load-{number}\"\nfolder = \"{}\"\n{}\n",
            self.path(&format!("agent-{number}")).display(),
            kind.config,
        );
        let (key, target) = (&self.key, self.target.address);
        for (name, value) in [("signers", format!("[\"{key}\"]")), ("targets", format!("[\"{target}\"]"))] {
            if !kind.config.contains(name) {
                text.extend([name, " = ", &value, "\n"]);
            }
        }
        let config = self.path(&format!("agent-{number}.toml"));
        fs::write(&config, text)?;
        let mut words = match &self.place {
            Place::Loopback => Vec::new(),
            Place::Lan(lan) => lan.prefix(&format!("a{number}")),
        };
        words.extend(kind.prefix.iter().cloned());
        let mut command = self.command_after(&words, &format!("home-{number}"));
        command.arg("agent").arg("--config").arg(config).stdout(Stdio::null());
        command.stderr(fs::File::create(self.path(&format!("agent-{number}.log")))?);
        let agent = Ending(command.spawn().context("an agent")?);
        self.agents.resize_with(self.agents.len().max(number), || None);
        self.agents[number - 1] = Some(agent);
        Ok(())
    }

    /// Kills the agent with this number.
    pub(super) fn kill_agent(&mut self, number: usize) {
        self.agents[number - 1] = None;
    }

    /// The agent with this number.
    pub(super) fn agent(&self, number: usize) -> Result<&Ending> {
        self.agents.get(number - 1).and_then(Option::as_ref).context("there is no such agent")
    }

    /// Waits until `count` agents are free.
    pub(super) fn wait_for_agents(&self, count: usize) -> Result<()> {
        wait_for("agents", || Ok(self.list("home")?.matches(" free\n").count() == count))
    }

    /// What `knee fleet ls` prints.
    pub(super) fn list(&self, home: &str) -> Result<String> {
        let mut command = self.command(home, None);
        let list = command.args(["fleet", "ls", "--nats", &self.url()]).output()?;
        Ok(String::from_utf8_lossy(&list.stdout).into_owned())
    }

    /// The run that can be taken over.
    pub(super) fn run_id(&self) -> Result<String> {
        let list = self.list("home")?;
        let line = list.lines().find_map(|line| line.strip_prefix("run "));
        let run = line.and_then(|line| line.split(':').next()).map(str::to_owned);
        run.with_context(|| format!("no run in: {list}"))
    }

    /// A command of knee with a home, on a machine or where this process is.
    pub(super) fn command(&self, home: &str, machine: Option<&str>) -> Command {
        let words = match (&self.place, machine) {
            (Place::Lan(lan), Some(machine)) => lan.prefix(machine),
            _ => Vec::new(),
        };
        self.command_after(&words, home)
    }

    fn command_after(&self, words: &[String], home: &str) -> Command {
        let mut command = match words {
            [] => Command::new(&self.knee),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.knee);
                command
            }
        };
        command.env("KNEE_HOME", self.path(home)).env("TMPDIR", self.folder.path()).stdin(Stdio::null());
        command.current_dir(self.folder.path());
        command
    }

    /// Begins a load of a fleet from `home`, on the machine `c1` if there are machines. The words of `line` are its
    /// flags, and the URL of the target, or a script, is among them.
    pub(super) fn load(&self, home: &str, line: &str) -> Result<Running> {
        let mut command = self.command(home, Some("c1"));
        command.args(line.split_ascii_whitespace()).args(["--no-tui", "--output-format", "quiet"]);
        command.args(["--nats", &self.url()]).arg("--fleet-key").arg(self.path("home/fleet.key"));
        self.spawn(command, home)
    }

    /// Lets another controller take over, from a home and a machine of its own.
    pub(super) fn resume(&self, run: &str, home: &str, machine: &str) -> Result<Running> {
        let mut command = self.command(home, Some(machine));
        command.args(["fleet", "resume", run, "--nats", &self.url()]);
        command.arg("--fleet-key").arg(self.path("home/fleet.key"));
        self.spawn(command, home)
    }

    fn spawn(&self, mut command: Command, home: &str) -> Result<Running> {
        fs::create_dir_all(self.path(home))?;
        command.stdout(Stdio::null()).stderr(fs::File::create(self.log(home))?);
        Ok(Running { process: Ending(command.spawn()?), home: home.to_owned() })
    }

    fn log(&self, home: &str) -> PathBuf {
        self.path(&format!("{home}.log"))
    }

    /// Waits for the first request of a load, unless its controller ends before.
    pub(super) fn wait_for_load(&self, running: &mut Running) -> Result<()> {
        self.wait_for_count(running, 1)
    }

    /// Waits until the target has `count` requests, unless the controller ends before.
    pub(super) fn wait_for_count(&self, running: &mut Running, count: u64) -> Result<()> {
        wait_for("requests", || {
            let ended = running.process.0.try_wait()?.is_some();
            let come = self.target.count() >= count;
            ensure!(come || !ended, "no load: {}", self.said(&running.home));
            Ok(come)
        })
    }

    fn said(&self, home: &str) -> String {
        fs::read_to_string(self.log(home)).unwrap_or_default()
    }

    /// Waits for the end of a command.
    pub(super) fn finish(&self, mut running: Running) -> Result<Finished> {
        let home = running.home.clone();
        let mut code = None;
        let ended = wait_for("the end", || {
            let status = running.process.0.try_wait()?;
            code = status.and_then(|status| status.code());
            Ok(status.is_some())
        });
        ended.with_context(|| format!("it hangs: {}", self.said(&home)))?;
        Ok(Finished { code, log: self.said(&home) })
    }

    /// The result of the last run of `home`.
    pub(super) fn report(&self, home: &str) -> Result<Value> {
        let report = self.command(home, None).args(["report", "last", "--format", "json"]).output()?;
        serde_json::from_slice(&report.stdout).with_context(|| format!("no result: {}", self.said(home)))
    }

    /// The records below a folder of a home, in order of their names.
    pub(super) fn records(&self, home: &str, folder: &str) -> Result<Vec<PathBuf>> {
        records_below(&self.path(home).join(folder))
    }

    /// The only merged record of a home.
    pub(super) fn record(&self, home: &str) -> Result<PathBuf> {
        let mut records = self.records(home, "runs")?;
        ensure!(records.len() == 1, "{} records", records.len());
        Ok(records.remove(0))
    }

    /// The record that the agent with this number keeps of its last run.
    pub(super) fn own_record(&self, number: usize) -> Result<PathBuf> {
        let mut records = records_below(&self.path(&format!("agent-{number}")))?;
        ensure!(records.len() == 1, "{} records of an agent", records.len());
        Ok(records.remove(0))
    }

    /// Fails unless `knee merge` makes the record of `home` out of `copies`, byte for byte.
    pub(super) fn check_merge(&self, home: &str, copies: &[PathBuf]) -> Result<()> {
        let again = self.path("again.merged");
        // There is one if it was merged in another order before.
        let _ = fs::remove_file(&again);
        let mut command = self.command(home, None);
        command.args(["merge", "--output-format", "quiet", "--record"]).arg(&again);
        let merged = command.args(copies).output()?;
        let error = String::from_utf8_lossy(&merged.stderr).into_owned();
        let (one, other) = (fs::read(&again).context(error)?, fs::read(self.record(home)?)?);
        ensure!(one == other, "`knee merge` over the copies gives another record");
        Ok(())
    }

    /// Removes what a home has of runs.
    pub(super) fn forget(&self, home: &str) -> Result<()> {
        for folder in ["runs", "fleet"] {
            let folder = self.path(home).join(folder);
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        self.target.forget();
        Ok(())
    }

    /// Writes a script, with the target's URL for `TARGET`.
    pub(super) fn script(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, text.replace("TARGET", &format!("http://{}", self.target.address)))?;
        Ok(path)
    }

    /// The URL of the target.
    pub(super) fn target_url(&self) -> String {
        format!("http://{}/", self.target.address)
    }
}

fn records_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "knee") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Waits until `is`.
pub(super) fn wait_for(what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !is()? {
        ensure!(begun.elapsed() < LIMIT, "{what}: nothing within {LIMIT:?}");
        thread::sleep(LOOK);
    }
    Ok(())
}

/// What a result says of the requests of all agents: seen, and lost.
pub(super) fn seen_and_lost(report: &Value) -> Result<(u64, u64)> {
    let seen = report["requests"]["planned"].as_u64().context("no number of requests")?;
    Ok((seen, parts(report)?.iter().filter_map(|part| part["lost"].as_u64()).sum()))
}

/// The parts of a result.
pub(super) fn parts(report: &Value) -> Result<&Vec<Value>> {
    report["parts"].as_array().context("there are no parts")
}
