//! Clusters of PostgreSQL copied from one: making one takes most of a second, and filling it often longer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

use crate::succeed;

/// A stopped cluster that others are copies of. It is there as long as one of them is.
pub struct Original(TempDir);

/// A cluster that is filled once in a process, for [`Cluster::filled`](crate::Cluster::filled).
pub struct Filled(tokio::sync::Mutex<Weak<Original>>);

impl Filled {
    /// Nothing is filled yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(tokio::sync::Mutex::const_new(Weak::new()))
    }

    /// The filled cluster; `make` makes it if there is none.
    pub(crate) async fn get(&self, make: impl AsyncFnOnce() -> Original) -> Arc<Original> {
        let mut filled = self.0.lock().await;
        if let Some(there) = filled.upgrade() {
            return there;
        }
        let first = Arc::new(make().await);
        *filled = Arc::downgrade(&first);
        first
    }
}

impl Default for Filled {
    fn default() -> Self {
        Self::new()
    }
}

impl Original {
    /// The empty one of this process; made by `initdb` if there is none.
    pub fn empty() -> Arc<Self> {
        static ORIGINAL: Mutex<Weak<Original>> = Mutex::new(Weak::new());
        let mut original = ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner);
        original.upgrade().unwrap_or_else(|| {
            let made = Arc::new(Self::make());
            *original = Arc::downgrade(&made);
            made
        })
    }

    fn make() -> Self {
        let folder = folder();
        succeed(
            program("initdb")
                .args([
                    "--auth=trust",
                    "--username=postgres",
                    "--no-sync",
                    "--encoding=UTF8",
                    "--locale=C",
                    "-D",
                ])
                .arg(folder.path().join("data")),
        );
        Self(folder)
    }

    /// A copy of a stopped cluster in a folder.
    pub fn copy_of(stopped: &Path) -> Self {
        let folder = folder();
        copy(stopped, folder.path());
        Self(folder)
    }

    /// Puts a copy into a folder that [`folder`] made.
    pub fn copy_to(&self, folder: &Path) {
        copy(self.0.path(), folder);
    }
}

fn copy(from: &Path, to: &Path) {
    let mut copy = unprivileged(Path::new("cp"));
    succeed(copy.arg("-Rp").arg(from.join("data")).arg(to.join("data")));
}

/// A folder that PostgreSQL can write to.
pub fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    if is_root() {
        succeed(Command::new("chown").arg("postgres").arg(folder.path()));
    }
    folder
}

/// A program of PostgreSQL, as a user that it agrees to run as.
pub fn program(name: &str) -> Command {
    let path = find(name).unwrap_or_else(|| {
        panic!(
            "{name} is needed, in the folder of KNEE_POSTGRES if that is set; install it: apt-get install \
             postgresql (or: brew install postgresql)"
        )
    });
    unprivileged(&path)
}

/// A program as the user `postgres`, if the tests run as root: PostgreSQL does not.
fn unprivileged(path: &Path) -> Command {
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    // That user may lack access to the current folder.
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    succeed(Command::new("id").arg("-u")) == "0\n"
}

/// Searches the folder that `KNEE_POSTGRES` names, and without it PATH and the folders of Debian and Homebrew.
fn find(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KNEE_POSTGRES").filter(|folder| !folder.is_empty());
    // Programs are started in other folders than this one.
    let named = named.and_then(|folder| std::path::absolute(folder).ok());
    let folders = named.map_or_else(folders, |folder| vec![folder]);
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for base in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join("bin")));
    }
    folders
}
