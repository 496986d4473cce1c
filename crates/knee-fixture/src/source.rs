//! The source of a program (the study's folder, or a revision of its repository), and its build, which runs once.
//!
//! A revision is a clone inside of the fixture's folder that borrows the objects of the user's repository, so nothing
//! is written to that repository and nothing must be undone. Does not fetch submodules and externally stored large
//! files. Does not know the results of a build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::launcher::Launcher;
use crate::registry::{Launch, StopSignal};

/// Variables that would make git use another repository.
const GIT_VARIABLES: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"];

/// The checkouts and builds of a fixture.
#[derive(Debug)]
pub(crate) struct Sources {
    study: PathBuf,
    /// The study's folder in each revision, by the name of the revision.
    checkouts: BTreeMap<String, PathBuf>,
    /// Commands that succeeded, with their folders.
    built: BTreeSet<(String, PathBuf)>,
    cpus: Vec<usize>,
}

impl Sources {
    pub(crate) fn new(study: PathBuf, cpus: Vec<usize>) -> Self {
        Self { study, checkouts: BTreeMap::new(), built: BTreeSet::new(), cpus }
    }

    /// The study's folder, as it is or as it was in a revision.
    pub(crate) fn folder(&mut self, launcher: &Launcher, revision: Option<&str>) -> Result<PathBuf, Error> {
        let Some(revision) = revision else { return Ok(self.study.clone()) };
        if let Some(folder) = self.checkouts.get(revision) {
            return Ok(folder.clone());
        }
        let folder = self.check_out(launcher, revision)?;
        self.checkouts.insert(revision.to_owned(), folder.clone());
        Ok(folder)
    }

    /// Whether a shell command has succeeded in `folder`.
    pub(crate) fn is_built(&self, command: &str, folder: &Path) -> bool {
        self.built.contains(&(command.to_owned(), folder.to_owned()))
    }

    /// Runs a shell command in `folder`, unless that was done before.
    pub(crate) fn build(
        &mut self,
        launcher: &Launcher,
        service: &str,
        command: &str,
        folder: &Path,
        logs: &Path,
    ) -> Result<(), Error> {
        if self.is_built(command, folder) {
            return Ok(());
        }
        let log = logs.join(format!("{service}-build-{}.log", self.built.len() + 1));
        let args = ["-c".to_owned(), command.to_owned()].to_vec();
        let launch = self.launch("/bin/sh", args, folder, &log);
        launcher.run_well(&launch, &format!("the build of `{service}`"))?;
        self.built.insert((command.to_owned(), folder.to_owned()));
        Ok(())
    }

    fn check_out(&self, launcher: &Launcher, revision: &str) -> Result<PathBuf, Error> {
        if revision.is_empty() || revision.starts_with('-') {
            let reason = "there is no revision of this name".to_owned();
            return Err(Error::Revision { revision: revision.to_owned(), reason });
        }
        let git = |args: &[&str], folder: &Path| self.git(launcher, revision, args, folder);
        let commit = git(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")], &self.study)?;
        let top = git(&["rev-parse", "--show-toplevel"], &self.study)?;
        let below = git(&["rev-parse", "--show-prefix"], &self.study)?;
        let clone = launcher.root.join(format!("revision-{}", self.checkouts.len() + 1));
        let to = clone.display().to_string();
        git(&["clone", "--quiet", "--shared", "--no-checkout", "--", &top, &to], &launcher.root)?;
        git(&["checkout", "--quiet", "--detach", &commit], &clone)?;
        let folder = clone.join(below);
        if folder.is_dir() {
            return Ok(folder);
        }
        let reason = "this revision does not contain the study's folder".to_owned();
        Err(Error::Revision { revision: revision.to_owned(), reason })
    }

    /// The output of git with `args`, in one line.
    fn git(
        &self,
        launcher: &Launcher,
        revision: &str,
        args: &[&str],
        folder: &Path,
    ) -> Result<String, Error> {
        let log = launcher.root.join("git.log");
        // Each answer has the file for itself.
        let _ = fs::remove_file(&log);
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let launch = self.launch("git", args, folder, &log);
        let (exit, last_lines) = launcher.run(&launch, "checking out a revision")?;
        if exit.is_success() {
            return Ok(fs::read_to_string(&log).unwrap_or_default().trim_end().to_owned());
        }
        if crate::error::is_full_disk(&last_lines, &launcher.root) {
            return Err(Error::DiskFull {
                what: format!("revision `{revision}`"),
                path: launcher.root.clone(),
            });
        }
        Err(Error::Revision { revision: revision.to_owned(), reason: last_lines.join("; ") })
    }

    /// A command with our own environment, which contains settings of compilers.
    fn launch(&self, program: &str, args: Vec<String>, folder: &Path, log: &Path) -> Launch {
        let mut env: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| !GIT_VARIABLES.contains(&name.as_str()))
            .collect();
        env.push(("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()));
        Launch {
            program: program.into(),
            args,
            env,
            folder: folder.to_owned(),
            log: log.to_owned(),
            user: None,
            cpus: self.cpus.clone(),
            group: None,
            stop_signal: StopSignal::Terminate,
        }
    }
}
