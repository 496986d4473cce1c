//! Machines of a fleet on this one: network namespaces, each with a way to NATS and a way to the target.
//!
//! The namespaces belong to a process that has a network, mounts and processes of its own: [`enter`] starts this
//! program again as that process. When it ends, everything in it is gone. Does not start fleets.

use std::env;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use super::quota;

/// Says to this program that it is the process in the namespaces.
const INSIDE: &str = "KNEE_FLEET_INSIDE";
/// Where everything is written: a disk in memory that only this process and its children see.
pub(super) const FOLDER: &str = "/run/fleet";
const NEEDED: [&str; 6] = ["nats-server", "ip", "unshare", "nsenter", "mount", "sha256sum"];
const HINT: &str = "hint: on Debian, apt-get install nats-server iproute2 util-linux mount coreutils";

/// Starts this program again in namespaces of its own, with more `arguments`, and waits for its end. Returns whether
/// this is that program already.
pub(super) fn enter(arguments: &[String]) -> Result<bool> {
    if env::var_os(INSIDE).is_some() {
        settle()?;
        return Ok(true);
    }
    ensure!(
        cfg!(target_os = "linux"),
        "the checks of fleets need Linux\n\nhint: run them in a virtual machine"
    );
    for program in NEEDED {
        let found =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let missing = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        ensure!(!missing, "`{program}` is not there\n\n{HINT}");
    }
    let tried = unshare().arg("true").output().context("unshare")?;
    if !tried.status.success() {
        let why = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
        bail!("namespaces cannot be made: {why}\n\nhint: run the command as root, or allow user namespaces");
    }
    let mut again = unshare();
    again.arg(env::current_exe()?).args(env::args_os().skip(1)).args(arguments).env(INSIDE, "1");
    // However this process ends, the pipe is closed then, and the other one ends too.
    let mut child = again.stdin(Stdio::piped()).spawn().context("unshare")?;
    let pipe = child.stdin.take();
    let status = child.wait()?;
    drop(pipe);
    if !status.success() {
        // The other one has said why.
        exit(status.code().unwrap_or(1));
    }
    Ok(false)
}

/// The words before a command that has namespaces of its own.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]);
    command
}

/// Makes the new namespaces fit for use, and has the end of the process outside end them.
fn settle() -> Result<()> {
    thread::spawn(|| {
        // Nothing is written: this returns when the pipe is closed.
        let _ = io::stdin().read(&mut [0]);
        quota::remove_all();
        exit(1);
    });
    ran(Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]))?;
    fs::create_dir_all("/run/netns")?;
    fs::create_dir_all(FOLDER)?;
    ip("link set lo up")
}

#[allow(clippy::exit, reason = "all threads are to end, whatever they wait for")]
fn exit(code: i32) {
    process::exit(code);
}

/// Runs a command that says nothing.
fn ran(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "{command:?}: {error}");
    Ok(())
}

fn ip(line: &str) -> Result<()> {
    ran(Command::new("ip").args(line.split(' ')))
}

/// Two networks, and machines that are in both: one leads to NATS, the other one to the target. NATS and the target are
/// where this process is.
pub(super) struct Lan {
    number: u8,
    machines: Vec<String>,
}

/// Networks that were made so far.
static MADE: AtomicU8 = AtomicU8::new(0);

impl Lan {
    /// Makes the networks and the machines.
    pub(super) fn new(machines: &[&str]) -> Result<Self> {
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let mut lan = Self { number, machines: Vec::new() };
        for (kind, address) in [("n", lan.nats()), ("t", lan.target())] {
            ip(&format!("link add {kind}{number} type bridge"))?;
            ip(&format!("addr add {address}/24 dev {kind}{number}"))?;
            ip(&format!("link set {kind}{number} up"))?;
        }
        for machine in machines {
            lan.machines.push((*machine).to_owned());
            lan.join(machine)?;
        }
        Ok(lan)
    }

    /// Gives a new machine its two ways.
    fn join(&self, machine: &str) -> Result<()> {
        let (number, space, place) = (self.number, self.space(machine), self.place(machine));
        ip(&format!("netns add {space}"))?;
        ip(&format!("-n {space} link set lo up"))?;
        for (kind, device, network) in [("n", "eth0", self.nats()), ("t", "eth1", self.target())] {
            let outer = format!("{kind}{number}v{place}");
            let [a, b, c, _] = network.octets();
            ip(&format!("link add {outer} type veth peer name {device} netns {space}"))?;
            ip(&format!("link set {outer} master {kind}{number} up"))?;
            ip(&format!("-n {space} addr add {a}.{b}.{c}.{place}/24 dev {device}"))?;
            ip(&format!("-n {space} link set {device} up"))?;
        }
        Ok(())
    }

    fn space(&self, machine: &str) -> String {
        format!("w{}-{machine}", self.number)
    }

    /// The last number of the machine's addresses.
    fn place(&self, machine: &str) -> u8 {
        let index = self.machines.iter().position(|known| known == machine).unwrap_or_default();
        11 + index as u8
    }

    /// The address of NATS.
    pub(super) const fn nats(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.number, 1, 1)
    }

    /// The address of the target.
    pub(super) const fn target(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.number, 2, 1)
    }

    /// The address that the target sees of a machine.
    pub(super) fn seen_as(&self, machine: &str) -> Ipv4Addr {
        Ipv4Addr::new(10, self.number, 2, self.place(machine))
    }

    /// Words before a command that is to run on a machine. Mounts stay those of this process, unlike with `ip netns
    /// exec`: what the kernel says of control groups is below `/sys`.
    pub(super) fn prefix(&self, machine: &str) -> Vec<String> {
        vec!["nsenter".to_owned(), format!("--net=/run/netns/{}", self.space(machine))]
    }

    /// Cuts a machine's way to NATS, or mends it.
    pub(super) fn set_link(&self, machine: &str, state: &str) -> Result<()> {
        ip(&format!("-n {} link set eth0 {state}", self.space(machine)))
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        // At the latest, they go with this process.
        for machine in &self.machines {
            let _ = ip(&format!("netns del {}", self.space(machine)));
        }
        for kind in ["n", "t"] {
            let _ = ip(&format!("link del {kind}{}", self.number));
        }
    }
}
