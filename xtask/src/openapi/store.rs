//! Private stores for services that are asked: PostgreSQL and Redis on free ports, gone with their value.
//!
//! Nothing that they keep survives, so neither waits for the disk.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::process::{self, Running};

/// A store and where it answers.
pub struct Store {
    /// Its address, as its clients read it.
    pub url: String,
    process: Running,
    _folder: TempDir,
}

impl Store {
    /// An empty cluster of PostgreSQL.
    pub fn postgres() -> Result<Self> {
        let folder = TempDir::new()?;
        let data = folder.path().join("data");
        own(folder.path())?;
        let mut make = program("initdb")?;
        make.args([
            "--auth=trust",
            "--username=postgres",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "-D",
        ]);
        let output = make.arg(&data).output().context("cannot run initdb")?;
        if !output.status.success() {
            bail!("initdb: {}", String::from_utf8_lossy(&output.stderr));
        }
        let port = free_port()?;
        let mut command = program("postgres")?;
        command.arg("-D").arg(&data).args([
            "-c",
            &format!("port={port}"),
            "-c",
            "listen_addresses=127.0.0.1",
        ]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=100", "-c", "fsync=off"]);
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        Self::serve(command, url, port, folder)
    }

    /// An empty Redis, or Valkey.
    pub fn redis() -> Result<Self> {
        let found = ["redis-server", "valkey-server"].into_iter().find_map(|name| find(name).ok());
        let folder = TempDir::new()?;
        let port = free_port()?;
        let mut command =
            Command::new(found.context("redis-server is needed: apt-get install redis-server")?);
        command.args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        command.arg("--dir").arg(folder.path());
        Self::serve(command, format!("redis://127.0.0.1:{port}/0"), port, folder)
    }

    fn serve(mut command: Command, url: String, port: u16, folder: TempDir) -> Result<Self> {
        let log = File::create(folder.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut store = Self { url, process: process::spawn(&mut command)?, _folder: folder };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(store);
            }
            if let Some(status) = store.process.child().try_wait()? {
                bail!("{} ended with {status}", store.url);
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("{} does not answer", store.url)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // PostgreSQL would wait for its clients on SIGTERM. One that has ended needs neither.
        let _ = self.process.signal(Signal::SIGINT);
    }
}

/// PostgreSQL does not run as root: then it is the user `postgres`, who must own the folder.
fn own(folder: &Path) -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let status = Command::new("chown").arg("postgres").arg(folder).status()?;
    if !status.success() {
        bail!("as root this needs the user `postgres`");
    }
    Ok(())
}

/// A program of PostgreSQL: of the folder that `KNEE_POSTGRES` names, if it is set.
fn program(name: &str) -> Result<Command> {
    let named = std::env::var_os("KNEE_POSTGRES").filter(|folder| !folder.is_empty());
    let path = named.map_or_else(|| find(name), |folder| find_in(Path::new(&folder), name))?;
    if !is_root() {
        return Ok(Command::new(path));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path).current_dir("/");
    Ok(command)
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// In a folder that the user named.
fn find_in(folder: &Path, name: &str) -> Result<PathBuf> {
    // Programs are started in other folders than this one.
    let path = std::path::absolute(folder.join(name))?;
    if !path.is_file() {
        bail!("`KNEE_POSTGRES` names {}, which has no `{name}`", folder.display());
    }
    Ok(path)
}

/// On PATH, or where packages put PostgreSQL.
fn find(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for base in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join("bin")));
    }
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.with_context(|| format!("`{name}` is needed; `./check` installs it"))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
