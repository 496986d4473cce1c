//! A program of another architecture, in QEMU, against a demo server of this one.
//!
//! Shows that it runs and counts right. Says nothing about its speed.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::super::platform::Platform;
use super::is_result;

/// How often the server is asked for, and how many times at most.
const PACE: Duration = Duration::from_millis(50);
const TRIES: u32 = 200;

/// Runs `program` in the emulator against a server that `native` is.
pub fn try_in(program: &Path, native: &Path, platform: &Platform) -> Result<()> {
    let emulator = format!("qemu-{}-static", platform.arch);
    if Command::new(&emulator).arg("--version").output().is_err() {
        println!("dist: {} was not tried: {emulator} is not installed", platform.name);
        return Ok(());
    }
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let _server = Server(
        Command::new(native)
            .args(["demo", "--serve-only", "--listen", &address])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?,
    );
    wait_for(&address)?;
    let home = TempDir::new()?;
    let mut load = Command::new(&emulator);
    load.arg(program)
        .args(["-n", "200", "-c", "4", "--no-tui", "--no-color"])
        .arg(format!("http://{address}/"));
    let done = load.env("KNEE_HOME", home.path()).output()?;
    is_result(&done)?;
    let out = String::from_utf8_lossy(&done.stdout);
    ensure!(out.contains("200 planned = 200 ok"), "not all requests are ok:\n{out}");
    Ok(())
}

fn wait_for(address: &str) -> Result<()> {
    for _ in 0..TRIES {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        sleep(PACE);
    }
    None.with_context(|| format!("the demo server does not listen on {address}"))
}

/// A server that ends with the trial.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It can have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
