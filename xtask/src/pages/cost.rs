//! What three watchers of the live page cost the load generator.
//!
//! The same load is sent with a page that three watch, and without a page, alternately. The watchers read the stream as a browser
//! does, on the CPU of the server. Asserts nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Result, anyhow, ensure};
use tempfile::TempDir;

use crate::bench::nginx::Nginx;
use crate::paired;
use crate::process::{self, GENERATOR_CPU};

/// Pairs of a run with watchers and a run without.
const BLOCKS: u32 = 10;

/// Tabs that watch.
const WATCHERS: usize = 3;

/// The load of each run.
const LOAD: [&str; 6] = ["-q", "20000", "-z", "8s", "-c", "64"];

/// Measures it and prints a row.
pub fn measure(knee: &Path) -> Result<()> {
    ensure!(process::cpus() >= 2, "the generator and the server need a CPU each");
    let (nginx, home) = (Nginx::start()?, TempDir::new()?);
    let cost = |watched: bool| -> Result<f64> {
        let mut command = Command::new(knee);
        command.arg(nginx.url(false)).args(LOAD).arg("--no-tui").env("KNEE_HOME", home.path());
        let ran = if watched {
            let (ran, watched) = process::run_beside(GENERATOR_CPU, command.arg("--web"), watch)?;
            watched?;
            ran
        } else {
            process::run_on(GENERATOR_CPU, command.stderr(Stdio::null()))?
        };
        Ok(ran.cpu.as_secs_f64())
    };
    cost(true)?;
    let mut pairs = Vec::new();
    for block in 0..BLOCKS {
        // Which comes first alternates, so that a drift of the machine costs both alike.
        let (first, second) = (cost(block % 2 == 0)?, cost(block % 2 == 1)?);
        pairs.push(if block % 2 == 0 { (first, second) } else { (second, first) });
        let (with, without) = pairs[pairs.len() - 1];
        eprintln!(
            "block {}: {with:.3} s of CPU time with {WATCHERS} watchers, {without:.3} s without a page",
            block + 1
        );
    }
    let (low, mean, high) = paired::change(pairs.into_iter());
    println!(
        "| CPU time of the generator at {}/s, {WATCHERS} watchers against no page, {BLOCKS} blocks | {mean:+.1} % ({low:+.1} to {high:+.1}) |",
        LOAD[1]
    );
    Ok(())
}

/// Watches the page whose URL is in what the command says.
fn watch(stderr: ChildStderr) -> Result<()> {
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let page = lines.by_ref().find(|line| line.contains("page: http://")).context("there is no page")?;
    thread::scope(|scope| {
        let watchers = [(); WATCHERS].map(|()| scope.spawn(|| read(&page)));
        lines.for_each(drop);
        let ended = |watcher: ScopedJoinHandle<'_, Result<()>>| {
            watcher.join().map_err(|_| anyhow!("a watcher died"))?
        };
        watchers.into_iter().try_for_each(ended)
    })
}

/// Reads the stream to its end, as a tab does.
fn read(page: &str) -> Result<()> {
    let (_, rest) = page.split_once("http://").context("no URL")?;
    let (address, token) = rest.trim().split_once("/?token=").context("no token")?;
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n")?;
    let mut start = [0; 12];
    stream.read_exact(&mut start)?;
    ensure!(&start == b"HTTP/1.1 200", "the page was refused: {}", String::from_utf8_lossy(&start));
    std::io::copy(&mut stream, &mut std::io::sink())?;
    Ok(())
}
