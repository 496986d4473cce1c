//! A NATS server and a fleet of agents for the tests: processes that they start, and kill.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Finished, Home, Running, number};
use crate::server::Server;

/// A NATS server on a free port, with its stream on a disk of its own.
pub struct Nats {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Nats {
    pub fn start() -> Self {
        Self::with("")
    }

    /// `config` is what else is in its configuration.
    pub fn with(config: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("nats.conf"), config).unwrap();
        let child = Self::spawn(port, &folder);
        let nats = Self { child, port, folder };
        nats.wait();
        nats
    }

    pub fn spawn(port: u16, folder: &TempDir) -> Child {
        let mut command = Command::new("nats-server");
        command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder.path());
        command.arg("-c").arg(folder.path().join("nats.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub fn wait(&self) {
        for _ in 0..500 {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("nats-server does not answer");
    }

    /// Kills it with its process, and starts it again on the same disk.
    pub fn restart(&mut self, away: Duration) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        thread::sleep(away);
        self.child = Self::spawn(self.port, &self.folder);
        self.wait();
    }

    /// Kills it, and starts it again with an empty disk.
    pub fn lose_disk(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        fs::remove_dir_all(self.folder.path().join("jetstream")).unwrap();
        self.child = Self::spawn(self.port, &self.folder);
        self.wait();
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fleet whose agents are processes of this machine.
pub struct Fleet {
    pub home: Home,
    pub nats: Nats,
    pub server: Server,
    pub agents: Vec<Running>,
}

impl Fleet {
    pub fn start(count: usize) -> Self {
        Self::with(count, |_| String::new())
    }

    /// `more` is what else is in the file of an agent.
    pub fn with(count: usize, more: impl Fn(usize) -> String) -> Self {
        let (home, nats, server) = (Home::new(), Nats::start(), Server::start());
        let mut fleet = Self { home, nats, server, agents: Vec::new() };
        (1..=count).for_each(|number| fleet.add(number, &more(number)));
        fleet
    }

    /// One more agent.
    pub fn add(&mut self, number: usize, more: &str) {
        let (signer, targets) = (self.key(""), self.server.address());
        let default = |name: &str, line: String| if more.contains(name) { String::new() } else { line };
        let file = format!(
            "nats = \"{}\"\nid = \"load-{number:02}\"\nfolder = \"{}\"\n{}{}{more}\n",
            self.nats.url(),
            self.home.path(&format!("agent-{number}")).display(),
            default("signers", format!("signers = [\"{signer}\"]\n")),
            default("targets", format!("targets = [\"{targets}\"]\n")),
        );
        self.home.file(&format!("agent-{number}.toml"), file);
        let agent = self.start_agent(number);
        self.agents.push(agent);
    }

    /// The public key of a controller, made if there is none.
    pub fn key(&self, flags: &str) -> String {
        let key = self.home.knee("fleet key").args(flags).run();
        assert_eq!(key.code, Some(0), "{key:?}");
        key.stdout.trim().to_owned()
    }

    /// The name of the run whose controller is gone.
    pub fn run_to_take_over(&self) -> String {
        let list = self.knee_fleet("ls");
        let line = list.stdout.lines().find_map(|line| line.strip_prefix("run "));
        let line = line.unwrap_or_else(|| panic!("{list:?}"));
        line.split(':').next().unwrap_or(line).to_owned()
    }

    pub fn start_agent(&self, number: usize) -> Running {
        let mut agent = self.home.knee(&format!("agent --config agent-{number}.toml")).start();
        agent.wait_for("waiting for a controller");
        agent
    }

    /// A load by `agents` of the fleet.
    pub fn load(&self, line: &str, agents: usize) -> Running {
        let nats = self.nats.url();
        let fleet = format!("--nats {nats} --agents {agents} --no-tui --output-format json");
        self.home.knee(line).args(&fleet).arg(self.server.url("/")).start()
    }

    pub fn knee_fleet(&self, line: &str) -> Finished {
        self.home.knee("fleet").args(line).args(&format!("--nats {}", self.nats.url())).run()
    }

    /// The copies of the agents' records of the only run.
    pub fn copies(&self) -> Vec<PathBuf> {
        let mut copies = self.home.files();
        copies.retain(|path| path.starts_with(self.home.path("fleet")));
        copies.sort();
        copies
    }

    /// The merged record of the only run.
    pub fn record(&self) -> PathBuf {
        let mut records = self.home.files();
        records.retain(|path| {
            path.starts_with(self.home.path("runs")) && path.extension().is_some_and(|kind| kind == "knee")
        });
        assert_eq!(records.len(), 1, "{records:?}");
        records.remove(0)
    }

    /// Fails unless `knee merge` makes the record of the run out of the copies, byte for byte, and each copy is the record
    /// that its agent has.
    pub fn check_copies(&self, of: usize) {
        self.check_copies_without(of, None);
    }

    /// The same after the agent `dead` was killed, whose copy can lack the end.
    pub fn check_copies_without(&self, of: usize, dead: Option<usize>) {
        let copies = self.copies();
        assert_eq!(copies.len(), of, "{copies:?}");
        let mut line = self.home.knee("merge --record again.merged --output-format quiet");
        for copy in copies.iter().rev() {
            line = line.arg(copy);
        }
        let merged = line.run();
        assert!(matches!(merged.code, Some(0 | 105 | 120)), "{merged:?}");
        let bytes = |path: PathBuf| fs::read(path).unwrap();
        assert!(bytes(self.home.path("again.merged")) == bytes(self.record()), "byte for byte");
        for copy in copies {
            let name = copy.file_stem().unwrap().to_str().unwrap().to_owned();
            let number: usize = name.trim_start_matches("load-").parse().unwrap();
            let of_agent = |path: &PathBuf| path.starts_with(self.home.path(&format!("agent-{number}")));
            let own: Vec<PathBuf> = self.home.files().into_iter().filter(of_agent).collect();
            let own = own.into_iter().find(|path| path.ends_with("record.knee")).unwrap();
            let (copy, own) = (bytes(copy), bytes(own));
            assert!(own.starts_with(&copy), "the copy of {name} is no beginning of its record");
            assert!(copy == own || dead == Some(number), "the copy of {name} is not its record");
        }
    }
}

pub fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"))
}

/// Requests that were planned: those that were seen and those that lost agents did not send.
pub fn planned(run: &Value) -> (u64, u64) {
    let parts = run["parts"].as_array().unwrap();
    let lost = parts.iter().map(|part| part["lost"].as_u64().unwrap()).sum();
    (number(run, "/requests/planned"), lost)
}

pub fn codes(run: &Value) -> Vec<&str> {
    run["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}
