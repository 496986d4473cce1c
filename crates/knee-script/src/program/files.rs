//! The files that a script may read: those below its own folder, and what was allowed besides.
//!
//! A path is judged after all links in it were followed. Each file is read once; when the script
//! has been loaded, no file is read any more.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest file that is read into memory.
const FILE_MAX: u64 = 4 << 30;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Outside of the script's folder.
    #[error("{0} is outside of the script's folder; allow it with --allow-read")]
    Outside(String),
    /// Not read while the script was loaded.
    #[error("{0} was not opened while the script was loaded; open() belongs into the init stage")]
    Late(String),
    /// Larger than anything a test needs.
    #[error("{0} is larger than 4 GiB")]
    Large(String),
    /// The system refused.
    #[error("open {0}: {1}")]
    Io(String, io::Error),
}

/// Where a script may read, and what it has read.
pub struct Files {
    script: PathBuf,
    roots: Vec<PathBuf>,
    sealed: AtomicBool,
    known: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
}

impl Files {
    /// The files below the folder of `script`, and `also`.
    pub fn beside(script: &Path, also: &[PathBuf]) -> io::Result<Self> {
        let script = script.canonicalize()?;
        let folder = script.parent().map_or_else(|| PathBuf::from("/"), Path::to_path_buf);
        let also = also.iter().map(|path| path.canonicalize());
        let roots = std::iter::once(Ok(folder)).chain(also).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { script, roots, sealed: AtomicBool::new(false), known: Mutex::default() })
    }

    /// The module name of the script itself.
    pub fn entry(&self) -> String {
        format!("file://{}", self.script.display())
    }

    /// The path that `path` means to the module called `from`.
    pub fn resolve(&self, from: &str, path: &str) -> PathBuf {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let folder = from.strip_prefix("file://").map_or(self.script.as_path(), Path::new).parent();
        folder.unwrap_or_else(|| Path::new("/")).join(path)
    }

    /// The contents of a file.
    pub fn read(&self, path: &Path) -> Result<(PathBuf, Arc<[u8]>), FileError> {
        let shown = || path.display().to_string();
        let refused = |error| FileError::Io(shown(), error);
        let real = path.canonicalize().map_err(refused)?;
        if !self.roots.iter().any(|root| real.starts_with(root)) {
            return Err(FileError::Outside(shown()));
        }
        if let Some(known) = self.known().get(&real) {
            return Ok((real, known.clone()));
        }
        if self.sealed.load(Ordering::Relaxed) {
            return Err(FileError::Late(shown()));
        }
        let about = real.metadata().map_err(refused)?;
        if !about.is_file() {
            return Err(refused(io::Error::other("not a regular file")));
        }
        if about.len() > FILE_MAX {
            return Err(FileError::Large(shown()));
        }
        let bytes: Arc<[u8]> = std::fs::read(&real).map_err(refused)?.into();
        self.known().insert(real.clone(), bytes.clone());
        Ok((real, bytes))
    }

    /// From now on, only what was read before can be read.
    pub fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Arc<[u8]>>> {
        // The map is whole at every moment.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
