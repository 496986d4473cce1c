//! What is done to the load generator: given too much to do, stopped, throttled, starved.
//!
//! Everything that is set up goes with the value that stands for it: programs, cgroups.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process::{self, GENERATOR_CPU, Running};

/// A disturbance by name.
#[derive(Clone, Debug)]
pub struct Disturbance {
    /// For the table.
    pub name: &'static str,
    /// What it does.
    pub effect: Effect,
    /// Whether arrivals follow a plan.
    pub open: bool,
}

/// What a disturbance does.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// More to do than one CPU can.
    Saturated,
    /// SIGSTOP for 300 to 900 ms.
    Paused,
    /// A CPU quota.
    Throttled {
        /// Of a group above the one that the program is in.
        above: bool,
    },
    /// Other programs on the same CPU, which go first.
    Starved,
}

const ALL: [Disturbance; 9] = [
    Disturbance { name: "saturated, closed", effect: Effect::Saturated, open: false },
    Disturbance { name: "paused, closed", effect: Effect::Paused, open: false },
    Disturbance { name: "throttled, closed", effect: Effect::Throttled { above: false }, open: false },
    Disturbance { name: "starved, closed", effect: Effect::Starved, open: false },
    Disturbance { name: "saturated, open", effect: Effect::Saturated, open: true },
    Disturbance { name: "paused, open", effect: Effect::Paused, open: true },
    Disturbance { name: "throttled, open", effect: Effect::Throttled { above: false }, open: true },
    Disturbance { name: "starved, open", effect: Effect::Starved, open: true },
    Disturbance { name: "throttled above, closed", effect: Effect::Throttled { above: true }, open: false },
];

/// The disturbances that can be made here, of those whose name begins with `only`.
pub fn possible(only: Option<&str>) -> Vec<Disturbance> {
    let asked = |one: &&Disturbance| only.is_none_or(|only| one.name.starts_with(only));
    let here = |one: &&Disturbance| !matches!(one.effect, Effect::Throttled { .. }) || Group::trial().is_ok();
    ALL.iter().filter(asked).filter(here).cloned().collect()
}

/// What cannot be made here.
pub fn left_out() -> Vec<String> {
    Group::trial().err().map(|error| format!("throttled generators: {error:#}")).into_iter().collect()
}

/// Something that lasts as long as the trial.
#[allow(dead_code, reason = "held, so that it ends with the trial")]
pub enum Held {
    /// A program that takes CPU time.
    Program(Running),
    /// A cgroup.
    Group(Group),
}

/// Programs that take the CPU of the generator.
const HOGS: usize = 3;

impl Disturbance {
    /// Starts `command` under the disturbance.
    pub fn start(&self, command: Command) -> Result<(Running, Vec<Held>)> {
        match self.effect {
            Effect::Paused => Ok((process::spawn(&mut { command })?, Vec::new())),
            Effect::Saturated => Ok((process::spawn_on(GENERATOR_CPU, &mut { command })?, Vec::new())),
            Effect::Starved => {
                let mut held = Vec::new();
                for _ in 0..HOGS {
                    let mut hog = Command::new("sh");
                    hog.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
                    held.push(Held::Program(process::spawn_on(GENERATOR_CPU, &mut hog)?));
                }
                // Behind the others, so that they really keep it from running.
                let mut behind = wrapped("nice", &["-n", "10"], &command);
                Ok((process::spawn_on(GENERATOR_CPU, &mut behind)?, held))
            }
            Effect::Throttled { above } => {
                let group = Group::new(above)?;
                let enter = format!("echo $$ > {} && exec \"$0\" \"$@\"", group.tasks().display());
                let mut inside = wrapped("sh", &["-c", &enter], &command);
                // Dropped in this order: the program first, then what it was in.
                Ok((process::spawn(&mut inside)?, vec![Held::Group(group)]))
            }
        }
    }
}

/// `program arguments command`, with the surroundings of `command`.
fn wrapped(program: &str, arguments: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(program);
    outer.args(arguments).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    outer
}

/// A cgroup with a quota of a fifth of a CPU, of version 2 or 1.
#[derive(Debug)]
pub struct Group {
    /// The group with the quota.
    limited: PathBuf,
    /// The group that programs go into: the same or one below.
    own: PathBuf,
    is_second_version: bool,
}

impl Group {
    const PERIOD_US: u32 = 100_000;
    const QUOTA_US: u32 = 20_000;

    /// Whether one can be made.
    fn trial() -> Result<()> {
        Self::new(true).map(|_| ())
    }

    fn new(above: bool) -> Result<Self> {
        let second = Path::new("/sys/fs/cgroup/cgroup.controllers");
        let controllers = fs::read_to_string(second).unwrap_or_default();
        let is_second_version = controllers.split_whitespace().any(|name| name == "cpu");
        let root = if is_second_version { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
        let limited = Path::new(root).join(format!("knee-validity-{}", std::process::id()));
        let own = if above { limited.join("below") } else { limited.clone() };
        // A group that is there already is one of an earlier trial that could not go.
        fs::create_dir_all(&limited)
            .with_context(|| format!("cannot make the cgroup {}", limited.display()))?;
        let group = Self { limited, own, is_second_version };
        let (period, quota) = (Self::PERIOD_US.to_string(), Self::QUOTA_US.to_string());
        let set = |file: &str, value: &str| {
            fs::write(group.limited.join(file), value)
                .with_context(|| format!("cannot write {file} of a cgroup"))
        };
        if is_second_version {
            set("cpu.max", &format!("{quota} {period}"))?;
        } else {
            set("cpu.cfs_period_us", &period)?;
            set("cpu.cfs_quota_us", &quota)?;
        }
        fs::create_dir_all(&group.own).context("cannot make a cgroup below another")?;
        Ok(group)
    }

    fn tasks(&self) -> PathBuf {
        self.own.join(if self.is_second_version { "cgroup.procs" } else { "tasks" })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Programs in it have ended; one that has not keeps the group, which the next trial uses again.
        let _ = fs::remove_dir(&self.own);
        let _ = fs::remove_dir(&self.limited);
    }
}
