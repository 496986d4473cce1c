//! The files that a script can read: those below its root (its own folder by default), and those that were explicitly
//! allowed.
//!
//! A path is checked after all its links were followed. Each file is read once; no file is read after the script has
//! been loaded.
//!
//! Modules have other rules than data: `import` runs a file without revealing its text, and suites import from folders
//! above them. A file with the extension of a script can be imported from anywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::archive::anonymous;
use super::bundle::{Bundle, Content, SCRIPTS, is_script};
use crate::loader::specifier;
use crate::loader::trouble::Trouble;

/// Largest file that is read into memory.
const FILE_MAX: u64 = 4 << 30;
/// Largest script; limits endless input.
const SCRIPT_MAX: u64 = 64 << 20;
/// The name of a script that is no file, as in k6.
const STANDARD_INPUT: &str = "-";

/// A script, as it is handed over.
#[derive(Clone, Debug)]
pub enum Script {
    /// A file.
    File(PathBuf),
    /// A text that came from elsewhere, as if it were a file in this folder.
    Text {
        /// Base of its imports and of `open()`.
        folder: PathBuf,
        /// Its source.
        source: Vec<u8>,
    },
    /// A module from the network.
    Url {
        /// Its address, which begins with `https://`.
        address: String,
        /// Base of `open()`, and folder of the lock.
        folder: PathBuf,
    },
    /// A script that was loaded on another machine, with everything that it read there. No file of this one is read.
    Bundle(Bundle),
}

impl From<&Path> for Script {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Outside of what the script can read.
    #[error("{0} is outside of the folders that the script can read; allow it with --allow-read")]
    Outside(String),
    /// Not read while the script was loaded.
    #[error("{0} was not opened while the script was loaded; call open() in the init stage")]
    Late(String),
    /// Larger than anything a test needs.
    #[error("{0} is larger than 4 GiB")]
    Large(String),
    /// The system refused.
    #[error("open {0}: {1}")]
    Io(String, io::Error),
}

/// What a script can read.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Everything below this folder; `None` for the script's own.
    pub root: Option<PathBuf>,
    /// Files and folders besides.
    pub also: Vec<PathBuf>,
    /// The folder that a file of the script opens up by where it lies: the script itself, and each module that it
    /// imports from disk.
    pub by_file: Option<fn(&Path) -> Option<PathBuf>>,
}

/// Files and folders that a script can read, and the files it has read.
pub struct Files {
    script: PathBuf,
    folder: PathBuf,
    roots: Mutex<Vec<PathBuf>>,
    by_file: Option<fn(&Path) -> Option<PathBuf>>,
    sealed: AtomicBool,
    known: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
    /// The paths that the script had for the files that it read, and theirs.
    asked: Mutex<BTreeMap<PathBuf, PathBuf>>,
    /// Whether files are those of a bundle.
    bundled: bool,
    /// The options of the bundle.
    options: Option<String>,
    /// Names of variables that belong to the bundle.
    variables: BTreeSet<String>,
}

impl Files {
    /// The script itself, and what is within `reach`.
    pub fn new(script: Script, reach: &Reach) -> io::Result<Self> {
        let script = match script {
            Script::Bundle(bundle) => return Ok(Self::of_bundle(bundle)),
            script => script,
        };
        let (script, source) = match script {
            Script::File(path) => (std::path::absolute(path)?, None),
            Script::Text { folder, source } => (folder.canonicalize()?.join(STANDARD_INPUT), Some(source)),
            Script::Url { folder, .. } => (folder.canonicalize()?.join(STANDARD_INPUT), Some(Vec::new())),
            Script::Bundle(bundle) => (bundle.script, None),
        };
        let folder = script.parent().unwrap_or_else(|| Path::new("/")).canonicalize()?;
        let within = reach.root.iter().chain(&reach.also).map(|path| path.canonicalize());
        let own = reach.root.is_none().then(|| Ok(folder.clone()));
        let roots = own.into_iter().chain(within).collect::<io::Result<Vec<_>>>()?;
        let source: Arc<[u8]> = match source {
            Some(source) => source.into(),
            // Whatever its name and wherever a link leads: this file was asked for by a person.
            None => bounded(std::fs::File::open(&script)?)?.into(),
        };
        let mut known = HashMap::from([(script.clone(), source.clone())]);
        // What a shell passes as a file can be a pipe, which has a name and no path of its own.
        if let Ok(real) = script.canonicalize() {
            known.insert(real, source);
        }
        let known = Mutex::new(known);
        let (roots, by_file) = (Mutex::new(roots), reach.by_file);
        let asked = Mutex::new(BTreeMap::from([(specifier::tidy(&script), script.clone())]));
        let sealed = AtomicBool::new(false);
        let files = Self {
            script,
            folder,
            roots,
            by_file,
            sealed,
            known,
            asked,
            bundled: false,
            options: None,
            variables: BTreeSet::new(),
        };
        if let Ok(real) = files.script.canonicalize() {
            files.open_up(&real);
        }
        Ok(files)
    }

    fn of_bundle(bundle: Bundle) -> Self {
        let asked = bundle.files.keys().map(|path| (path.clone(), path.clone())).collect();
        let known = bundle.files.into_iter().map(|(path, Content(bytes))| (path, bytes)).collect();
        Self {
            script: bundle.script,
            folder: bundle.folder,
            roots: Mutex::default(),
            by_file: None,
            sealed: AtomicBool::new(false),
            known: Mutex::new(known),
            asked: Mutex::new(asked),
            bundled: true,
            options: bundle.options,
            variables: bundle.variables,
        }
    }

    /// The script and every file that it read, by the paths that it has for them.
    pub(super) fn bundle(&self) -> Bundle {
        // Both maps are whole at every moment.
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known();
        let file =
            |(path, real): (&PathBuf, &PathBuf)| Some((path.clone(), Content(known.get(real)?.clone())));
        Bundle {
            script: specifier::tidy(&self.script),
            address: None,
            folder: self.folder.clone(),
            files: asked.iter().filter_map(file).collect(),
            modules: BTreeMap::new(),
            options: self.options.clone(),
            variables: self.variables.clone(),
        }
    }

    /// JSON of options that replace those that the script exports.
    pub fn options(&self) -> Option<&str> {
        self.options.as_deref()
    }

    /// The module name of the script itself.
    pub fn entry(&self) -> String {
        specifier::name_of(&self.script)
    }

    /// The folder of the script.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path that `path` means to the module called `from`.
    pub fn resolve(&self, from: &str, path: &str) -> PathBuf {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let folder = specifier::path_of(from).unwrap_or(&self.script).parent();
        folder.unwrap_or_else(|| Path::new("/")).join(path)
    }

    /// The contents of a file.
    pub fn read(&self, path: &Path) -> Result<(PathBuf, Arc<[u8]>), FileError> {
        self.read_if(path, |real| self.is_below(real))
    }

    /// The source of a module.
    pub fn module(&self, path: &Path) -> Result<Arc<[u8]>, Trouble> {
        let known = self.known().get(path).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let name = path.display();
        if !self.bundled && path.is_dir() {
            let hint = format!("import a file in this folder, such as {name}/index.js");
            return Err(Trouble::new(format!("{name} is a folder and cannot be imported"), hint));
        }
        let read = self.read_if(path, |real| self.is_below(real) || is_script(real));
        if let Ok((real, _)) = &read
            && !self.bundled
        {
            self.open_up(real);
        }
        read.map(|(_, bytes)| bytes).map_err(|error| match error {
            FileError::Io(name, error) if error.kind() == io::ErrorKind::NotFound => Trouble::new(
                format!("The moduleSpecifier \"{name}\" couldn't be found on local disk"),
                missing(path),
            ),
            error => Trouble::new(error.to_string(), ""),
        })
    }

    /// Lets the script read what one of its own files opens up.
    fn open_up(&self, file: &Path) {
        let opened = self.by_file.and_then(|by_file| by_file(file));
        let mut roots = self.roots();
        if let Some(folder) = opened.filter(|folder| !roots.contains(folder)) {
            roots.push(folder);
        }
    }

    fn roots(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        // The list is whole at every moment.
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_below(&self, real: &Path) -> bool {
        self.roots().iter().any(|root| real.starts_with(root))
    }

    fn read_if(
        &self,
        path: &Path,
        allowed: impl Fn(&Path) -> bool,
    ) -> Result<(PathBuf, Arc<[u8]>), FileError> {
        let shown = || path.display().to_string();
        let refused = |error| FileError::Io(shown(), error);
        if self.bundled {
            let path = specifier::tidy(path);
            // Archives have no names of users.
            let found = {
                let known = self.known();
                known.get(&path).or_else(|| known.get(&anonymous(&path))).cloned()
            };
            return found.map(|bytes| (path, bytes)).ok_or_else(|| {
                refused(io::Error::new(
                    io::ErrorKind::NotFound,
                    "the machine that sent the script did not read it",
                ))
            });
        }
        let real = path.canonicalize().map_err(refused)?;
        if !allowed(&real) {
            return Err(FileError::Outside(shown()));
        }
        let known = self.known().get(&real).cloned();
        if let Some(known) = known {
            self.note(path, &real);
            return Ok((real, known));
        }
        if self.is_sealed() {
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
        self.note(path, &real);
        Ok((real, bytes))
    }

    fn note(&self, path: &Path, real: &Path) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert(specifier::tidy(path), real.to_owned());
    }

    /// From now on, only what was read before can be read.
    pub fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
    }

    /// Whether the script has been loaded.
    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Relaxed)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Arc<[u8]>>> {
        // The map is whole at every moment.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The whole source of a script, up to the size limit.
pub fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut source = Vec::new();
    from.take(SCRIPT_MAX + 1).read_to_end(&mut source)?;
    let fits = source.len() as u64 <= SCRIPT_MAX;
    fits.then_some(source).ok_or_else(|| io::Error::other("it is larger than 64 MiB"))
}

/// Hint for a missing file.
fn missing(path: &Path) -> String {
    let whole = |ending: &&str| PathBuf::from(format!("{}.{ending}", path.display()));
    match SCRIPTS.iter().find(|ending| whole(ending).is_file()) {
        Some(ending) => format!("add the ending to the name: {}", whole(ending).display()),
        None => "check the path of the import; it is relative to the importing file".to_owned(),
    }
}
