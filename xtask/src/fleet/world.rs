//! One trial: a NATS server, four agents, a controller, a target, and who dies when.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::counting::Counting;

const AGENTS: usize = 4;
/// Requests per second of all agents, and seconds.
const RATE: u64 = 200;
const SECONDS: u64 = 8;
/// No trial takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// Who dies, and how many seconds after the first request.
#[derive(Debug)]
pub(super) enum Death {
    /// An agent, and with it its part.
    Agent { number: usize, after: f64 },
    /// The controller; another one takes over after `away` seconds.
    Controller { after: f64, away: f64 },
    /// The NATS server, which comes back after `away` seconds.
    Server { after: f64, away: f64 },
}

/// What a trial gave: all of it agreed.
#[derive(Debug)]
pub(super) struct Verdict {
    pub planned: u64,
    pub seen: u64,
    pub lost: u64,
}

/// A process that ends with its owner.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It can have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) struct World {
    knee: PathBuf,
    folder: TempDir,
    port: u16,
    target: Counting,
    server: Option<Ending>,
    agents: Vec<Ending>,
}

impl World {
    pub(super) fn start(knee: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let target = Counting::start()?;
        let mut world =
            Self { knee: knee.to_owned(), folder, port, target, server: None, agents: Vec::new() };
        world.start_server()?;
        let key = world.knee(&["fleet", "key"])?;
        let key = String::from_utf8(key.stdout)?.trim().to_owned();
        for number in 1..=AGENTS {
            world.start_agent(number, &key)?;
        }
        world.wait_for("agents", |world| {
            let list = world.knee(&["fleet", "ls", "--nats", &world.url()])?;
            Ok(String::from_utf8_lossy(&list.stdout).matches(" free\n").count() == AGENTS)
        })?;
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn start_server(&mut self) -> Result<()> {
        let mut command = Command::new("nats-server");
        command.args(["-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"]).arg(self.path("nats"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(Ending(command.spawn().context("nats-server")?));
        self.wait_for("nats-server", |world| {
            Ok(std::net::TcpStream::connect(("127.0.0.1", world.port)).is_ok())
        })
    }

    fn start_agent(&mut self, number: usize, key: &str) -> Result<()> {
        let config = self.path(&format!("agent-{number}.toml"));
        let text = format!(
            "nats = \"{}\"\nid = \"load-{number}\"\nfolder = \"{}\"\nsigners = [\"{key}\"]\ntargets = [\"{}\"]\n",
            self.url(),
            self.path(&format!("agent-{number}")).display(),
            self.target.address,
        );
        fs::write(&config, text)?;
        let mut command = self.command();
        command.arg("agent").arg("--config").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        self.agents.push(Ending(command.spawn().context("an agent")?));
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.knee);
        command.env("KNEE_HOME", self.path("home")).env("TMPDIR", self.folder.path()).stdin(Stdio::null());
        command
    }

    fn knee(&self, words: &[&str]) -> Result<Output> {
        Ok(self.command().args(words).output()?)
    }

    fn wait_for(&self, what: &str, is: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let begun = Instant::now();
        while !is(self)? {
            ensure!(begun.elapsed() < LIMIT, "{what}: nothing within {LIMIT:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Makes the load, kills, and checks that everything agrees.
    pub(super) fn trial(&mut self, death: &Death) -> Result<Verdict> {
        let mut command = self.command();
        let url = format!("http://{}/", self.target.address);
        let (rate, span) = (RATE.to_string(), format!("{SECONDS}s"));
        let line =
            ["-q", &rate, "-z", &span, "--no-tui", "--output-format", "quiet", "--agents", "4", "--nats"];
        command.args(line).arg(self.url()).arg(url);
        command.stdout(Stdio::null()).stderr(fs::File::create(self.path("controller.log"))?);
        let mut controller = Ending(command.spawn()?);
        self.wait_for("the first request", |world| Ok(world.target.count() > 0))?;
        let report = match *death {
            Death::Agent { number, after } => {
                thread::sleep(Duration::from_secs_f64(after));
                drop(self.agents.remove(number - 1));
                self.ended(&mut controller)?
            }
            Death::Server { after, away } => {
                thread::sleep(Duration::from_secs_f64(after));
                self.server = None;
                thread::sleep(Duration::from_secs_f64(away));
                self.start_server()?;
                self.ended(&mut controller)?
            }
            Death::Controller { after, away } => {
                thread::sleep(Duration::from_secs_f64(after));
                drop(controller);
                thread::sleep(Duration::from_secs_f64(away));
                self.resumed()?
            }
        };
        self.check(death, &report)
    }

    /// Waits for the controller, and reads its record.
    fn ended(&self, controller: &mut Ending) -> Result<Value> {
        let begun = Instant::now();
        while controller.0.try_wait()?.is_none() {
            let log = fs::read_to_string(self.path("controller.log")).unwrap_or_default();
            ensure!(begun.elapsed() < LIMIT, "it hangs: {log}");
            thread::sleep(Duration::from_millis(20));
        }
        self.report()
    }

    /// Lets another controller take over.
    fn resumed(&self) -> Result<Value> {
        let list = self.knee(&["fleet", "ls", "--nats", &self.url()])?;
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let line = list.lines().find_map(|line| line.strip_prefix("run "));
        let run =
            line.and_then(|line| line.split(':').next()).with_context(|| format!("no run in: {list}"))?;
        for path in self.records("runs")?.into_iter().chain(self.records("fleet")?) {
            fs::remove_file(path)?;
        }
        let mut command = self.command();
        command.args(["fleet", "resume", run, "--nats", &self.url()]);
        command.stdout(Stdio::null()).stderr(fs::File::create(self.path("controller.log"))?);
        self.ended(&mut Ending(command.spawn()?))
    }

    fn report(&self) -> Result<Value> {
        let report = self.knee(&["report", "last", "--format", "json"])?;
        let log = || fs::read_to_string(self.path("controller.log")).unwrap_or_default();
        serde_json::from_slice(&report.stdout).with_context(|| format!("no result: {}", log()))
    }

    /// The records below a folder of the home.
    fn records(&self, folder: &str) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("home").join(folder)];
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

    fn check(&self, death: &Death, report: &Value) -> Result<Verdict> {
        let parts = report["parts"].as_array().context("there are no parts")?;
        let lost: u64 = parts.iter().filter_map(|part| part["lost"].as_u64()).sum();
        let seen = report["requests"]["planned"].as_u64().context("no number of requests")?;
        let planned = RATE * SECONDS;
        ensure!(parts.len() == AGENTS, "{} parts", parts.len());
        ensure!(seen + lost == planned, "{seen} seen and {lost} lost of {planned}");
        let counted = self.target.count();
        if let Death::Agent { number, .. } = death {
            let name = format!("load-{number}");
            let others = parts.iter().filter(|part| part["agent"] != name.as_str());
            ensure!(others.into_iter().all(|part| part["lost"] == 0), "another agent lost something");
            // What the dead one sent in its last second is in no record.
            let more = counted.saturating_sub(seen);
            ensure!(more <= 2 * RATE / AGENTS as u64, "the target saw {counted}, the record has {seen}");
            let open = seen.saturating_sub(counted);
            ensure!(open <= 2, "the target saw {counted}, the record has {seen}");
        } else {
            ensure!(lost == 0, "{lost} lost");
            ensure!(counted == planned, "the target saw {counted} of {planned}");
        }
        self.check_merge()?;
        Ok(Verdict { planned, seen, lost })
    }

    /// The copies give the record again.
    fn check_merge(&self) -> Result<()> {
        let again = self.path("again.merged");
        let mut command = self.command();
        command.args(["merge", "--output-format", "quiet", "--record"]).arg(&again);
        let merged = command.args(self.records("fleet")?).output()?;
        let error = String::from_utf8_lossy(&merged.stderr).into_owned();
        let (one, other) = (fs::read(&again).context(error)?, fs::read(&self.records("runs")?[0])?);
        ensure!(one == other, "`knee merge` over the copies gives another record");
        Ok(())
    }
}
