//! A control group that lets a process have a part of a CPU: version 1 or 2, whichever the machine has.
//!
//! Does not start processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The groups that exist, for an end by a signal.
static GROUPS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A group until its owner ends.
pub(super) struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// A group whose processes have `percent` of one CPU together.
    pub(super) fn new(percent: u32) -> Result<Self> {
        let (period, quota) = (100_000, 1_000 * percent);
        let name = format!("knee-checks-{:016x}", rand::random::<u64>());
        let (first, second) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let (root, files) = if first.join("cgroup.procs").exists() {
            (first, vec![("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", quota.to_string())])
        } else if second.join("cgroup.controllers").exists() {
            // The root of the tree can have it switched on already.
            let _ = fs::write(second.join("cgroup.subtree_control"), "+cpu");
            (second, vec![("cpu.max", format!("{quota} {period}"))])
        } else {
            bail!("there are no control groups");
        };
        let folder = root.join(name);
        fs::create_dir(&folder).with_context(|| format!("no control group: {}", folder.display()))?;
        if let Ok(mut groups) = GROUPS.lock() {
            groups.push(folder.clone());
        }
        let group = Self { folder };
        for (file, text) in files {
            fs::write(group.folder.join(file), text)
                .context("the control group takes no quota of the CPU")?;
        }
        Ok(group)
    }

    /// The words before a command that is to run in the group.
    pub(super) fn prefix(&self) -> Vec<String> {
        let script = format!("echo $$ > '{}/cgroup.procs' && exec \"$@\"", self.folder.display());
        ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
    }
}

/// Removes a group as soon as its processes have ended; gives up after two seconds.
fn remove(folder: &Path) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..100 {
        result = fs::remove_dir(folder);
        if result.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    result
}

/// Ends what is in the groups that exist, and removes them.
pub(super) fn remove_all() {
    let folders = GROUPS.lock().map(|groups| groups.clone()).unwrap_or_default();
    for folder in folders {
        let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        for line in processes.lines() {
            // One that has ended meanwhile needs no signal.
            let process = line.parse().map(nix::unistd::Pid::from_raw);
            let _ = process.map(|process| nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL));
        }
        // The processes go with this one; an empty group that stays costs nothing.
        let _ = remove(&folder);
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = remove(&self.folder);
        if let Ok(mut groups) = GROUPS.lock() {
            groups.retain(|folder| *folder != self.folder);
        }
    }
}
