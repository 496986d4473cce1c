//! What fixtures can do on this machine, for users who ask before they declare anything.
//!
//! Starts no service. The trials of cgroups make an empty cgroup with one waiting process, and remove both.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use knee_core::fixture::division::{self, CpuSplit};
use knee_core::fixture::{Declaration, Service};

use crate::error::reason;
use crate::fixture::{divided, usual};
use crate::placement::Bounds;
use crate::platform;

/// How a fixture divides the CPUs of this machine for services that declare none.
pub fn cpu_split() -> CpuSplit {
    let service = Service { command: vec!["service".to_owned()], ..Service::default() };
    let declaration =
        Declaration { service: [("main".to_owned(), service)].into(), ..Declaration::default() };
    let allowed = platform::allowed_cpus();
    let cores: BTreeSet<usize> = allowed.iter().map(|cpu| platform::core_of(*cpu)).collect();
    CpuSplit {
        division: divided(&declaration, &allowed, usual(&allowed)),
        cores: cores.len(),
        by_pilot: division::is_free(&declaration, &allowed),
    }
}

/// Tries whether fixtures can limit the CPU time of a service.
///
/// # Errors
///
/// The reason why not, in words.
pub fn try_cpu_limit() -> Result<(), String> {
    try_group(Bounds { share: Some(1.0), generator_weight: None })
}

/// Tries whether fixtures can give the generator a higher CPU weight.
///
/// # Errors
///
/// The reason why not, in words.
pub fn try_cpu_weight() -> Result<(), String> {
    try_group(Bounds { share: None, generator_weight: Some(2) })
}

/// Names of cgroups of trials begin so; the number of the process that tries follows.
const PREFIX: &str = "knee-doctor-";

/// Makes a cgroup, moves a process into it, and removes both.
fn try_group(bounds: Bounds) -> Result<(), String> {
    remove_leftovers();
    let group = platform::create_group(&format!("{PREFIX}{}", std::process::id()), bounds)?;
    let moved = try_move(&group);
    platform::remove_group(&group);
    moved.map_err(|error| format!("no process can be moved into `{}`: {}", group.display(), reason(&error)))
}

/// Moves a process that waits for its input into the group, then ends it.
fn try_move(group: &Path) -> io::Result<()> {
    let mut waiting =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let moved = std::fs::write(group.join("cgroup.procs"), waiting.id().to_string());
    end(&mut waiting)?;
    moved
}

/// Removes the empty cgroups of trials that were killed.
fn remove_leftovers() {
    for group in platform::groups(PREFIX) {
        let name = group.file_name().unwrap_or_default().to_string_lossy();
        let process = name.trim_start_matches(PREFIX);
        if !Path::new("/proc").join(process).exists() {
            let _ = std::fs::remove_dir(&group);
        }
    }
}

/// Closes the input of a process, which ends it.
fn end(waiting: &mut Child) -> io::Result<()> {
    drop(waiting.stdin.take());
    waiting.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_is_that_of_a_study_and_covers_every_cpu() {
        let split = cpu_split();
        let allowed: BTreeSet<usize> = platform::allowed_cpus().into_iter().collect();
        let side = |list: &str| division::parse(list).unwrap_or_default();
        let both: BTreeSet<usize> =
            side(&split.division.generator).into_iter().chain(side(&split.division.others)).collect();
        assert_eq!(both, allowed, "{split:?}");
        assert_eq!(split.division.shared.is_none(), allowed.len() > 1, "{split:?}");
        assert!(split.cores <= allowed.len(), "{split:?}");
    }

    #[test]
    fn what_a_killed_trial_left_is_removed_by_the_next_one() {
        // No process has this number.
        let name = format!("{PREFIX}4194305");
        // Where no cgroup can be made, none can be left.
        let left = platform::create_group(&name, Bounds { share: Some(1.0), generator_weight: None });
        remove_leftovers();
        assert!(left.is_err() || left.as_ref().is_ok_and(|path| !path.exists()), "{left:?}");
    }

    #[test]
    fn a_trial_of_cgroups_leaves_nothing_behind_and_explains_itself() {
        for tried in [try_cpu_limit(), try_cpu_weight()] {
            assert!(tried.is_ok() || tried.as_ref().is_err_and(|reason| !reason.is_empty()), "{tried:?}");
        }
        let name = format!("{PREFIX}{}", std::process::id());
        assert_eq!(platform::groups(&name), Vec::<std::path::PathBuf>::new());
    }
}
