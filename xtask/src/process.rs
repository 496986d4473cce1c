//! Programs that are run to be measured: placed on a CPU, stopped, and what they cost.
//!
//! What a program costs is what the kernel says of it, never what it says of itself. Does not
//! know what the programs are.

use std::fs::{self, File};
use std::io::Read;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use nix::pty::{Winsize, openpty};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The CPU of the load generators.
pub const GENERATOR_CPU: usize = 0;

/// The CPU of the servers, where there are two.
pub const SERVER_CPU: usize = 1;

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How long a program can take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many CPUs this process can use.
pub fn cpus() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Has the calling thread, and what it starts, run on `cpu` alone. Does nothing where there is
/// one CPU, or where the platform cannot place threads.
pub fn pin_thread(cpu: usize) {
    #[cfg(target_os = "linux")]
    if cpus() > 1 {
        let mut set = nix::sched::CpuSet::new();
        // A CPU that is missing or forbidden leaves the thread where it is.
        let _ = set.set(cpu).and_then(|()| nix::sched::sched_setaffinity(Pid::from_raw(0), &set));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cpu;
}

/// Starts `command` on `cpu`: a new process inherits the place of the thread that starts it.
pub fn spawn_on(cpu: usize, command: &mut Command) -> Result<Running> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = || {
        pin_thread(cpu);
        command.spawn()
    };
    let child = thread::scope(|scope| scope.spawn(start).join());
    let child = child.map_err(|_| anyhow!("the thread that starts `{name}` ended"))?;
    Ok(Running(child.with_context(|| format!("cannot start `{name}`"))?))
}

/// Starts `command` wherever the scheduler wants it.
pub fn spawn(command: &mut Command) -> Result<Running> {
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(Running(command.spawn().with_context(|| format!("cannot start `{name}`"))?))
}

/// A process that does not outlive this value.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// The process, for its pipes and its end.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.0.id()).context("a process id is out of range")?;
        kill(Pid::from_raw(pid), signal).with_context(|| format!("cannot send {signal} to {pid}"))
    }

    /// Stops it from running for `span`; returns for how long it really was stopped.
    pub fn freeze(&self, span: Duration) -> Result<Duration> {
        self.signal(Signal::SIGSTOP)?;
        let stopped = Instant::now();
        thread::sleep(span);
        let frozen = stopped.elapsed();
        self.signal(Signal::SIGCONT)?;
        Ok(frozen)
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Asked first, because a program that is killed leaves its own children behind.
        if self.signal(Signal::SIGTERM).is_ok() {
            let patience = Instant::now() + PATIENCE;
            while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < patience {
                thread::sleep(LOOK);
            }
        }
        // One that has ended needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a finished program said and cost.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ended: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// CPU time, user and system, of it and of the children it waited for.
    pub cpu: Duration,
    /// Its largest resident set, in bytes; zero where the platform does not tell.
    pub resident_peak: u64,
}

/// Runs `command` on `cpu` to its end. Only one program at a time can run in this function, because
/// the kernel adds up what ended children cost.
pub fn run_on(cpu: usize, command: &mut Command) -> Result<Ran> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let before = children_cpu()?;
    let mut running = spawn_on(cpu, command)?;
    let stdout = running.child().stdout.take().context("the pipe is missing")?;
    finish(running, stdout, before)
}

/// Runs `command` on `cpu` to its end, with `beside` reading what it prints to standard error. As with [`run_on`], only one
/// program at a time.
pub fn run_beside<T: Send>(
    cpu: usize,
    command: &mut Command,
    beside: impl FnOnce(ChildStderr) -> T + Send,
) -> Result<(Ran, T)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = children_cpu()?;
    let mut running = spawn_on(cpu, command)?;
    let stdout = running.child().stdout.take().context("the pipe is missing")?;
    let stderr = running.child().stderr.take().context("the pipe is missing")?;
    thread::scope(|scope| {
        let beside = scope.spawn(|| beside(stderr));
        let ran = finish(running, stdout, before)?;
        let said = beside.join().map_err(|_| anyhow!("the thread that reads ended"))?;
        Ok((ran, said))
    })
}

/// Runs `command` to its end wherever the scheduler wants it.
pub fn run_anywhere(command: &mut Command) -> Result<Ran> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let before = children_cpu()?;
    let mut running = spawn(command)?;
    let stdout = running.child().stdout.take().context("the pipe is missing")?;
    finish(running, stdout, before)
}

/// Runs `command` on `cpu` to its end in a terminal of 80 columns and 24 lines, so that the program shows its screen.
pub fn run_in_terminal(cpu: usize, command: &mut Command) -> Result<Ran> {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None)?;
    let end = |fd: &OwnedFd| fd.try_clone().map(Stdio::from);
    command.stdin(end(&terminal.slave)?).stdout(end(&terminal.slave)?).stderr(end(&terminal.slave)?);
    command.env("TERM", "xterm-256color");
    let before = children_cpu()?;
    let running = spawn_on(cpu, command)?;
    // The screen ends when the program's side of the terminal is closed everywhere.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(terminal.slave);
    finish(running, File::from(terminal.master), before)
}

/// Waits for the end of `running`, reads what it prints, and says what it cost.
fn finish(mut running: Running, output: impl Read + Send, before: Duration) -> Result<Ran> {
    let (ended, resident_peak, stdout) = thread::scope(|scope| {
        let reader = scope.spawn(move || read(output));
        let (ended, peak) = watch(&mut running)?;
        let stdout = reader.join().map_err(|_| anyhow!("the thread that reads ended"))?;
        anyhow::Ok((ended, peak, stdout))
    })?;
    Ok(Ran { ended, stdout, cpu: children_cpu()?.saturating_sub(before), resident_peak })
}

/// Waits for the end; returns it with the largest resident set that was seen.
pub fn watch(running: &mut Running) -> Result<(ExitStatus, u64)> {
    let mut peak = 0;
    loop {
        if let Some(status) = running.child().try_wait()? {
            return Ok((status, peak));
        }
        peak = peak.max(resident_peak(running.id()));
        thread::sleep(LOOK);
    }
}

fn read(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    // What came before an error is all there is.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// CPU time of all children that have ended and were waited for.
pub fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let (user, system) = (usage.user_time(), usage.system_time());
    let micros = (user.tv_sec() + system.tv_sec()) * 1_000_000 + user.tv_usec() + system.tv_usec();
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

/// Largest resident set of a live process since it became the program it is. What the kernel says
/// at its end would count the process it was forked from.
fn resident_peak(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:") * 1_024
}

fn status_kib(pid: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_works_costs_more_than_one_that_waits() {
        let shell = |script: &str| run_on(GENERATOR_CPU, Command::new("sh").args(["-c", script])).unwrap();
        let waits = shell("echo done");
        let works = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done");
        assert_eq!((waits.stdout.as_str(), works.stdout.as_str()), ("done\n", "done\n"));
        assert!(works.cpu > waits.cpu, "{:?} {:?}", works.cpu, waits.cpu);
    }
}
