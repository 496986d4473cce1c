//! A script that has been read, compiled and evaluated once: what all VUs share.
//!
//! Does not run anything; [`crate::world`] does. Files are read only while the script is loaded,
//! and only below its own folder unless more was allowed.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::loader::position::Maps;
use crate::loader::remote::{Remote, RemoteSettings};
use crate::loader::trouble::Trouble;
use crate::loader::uses::{Imports, Named, Names};
use crate::loader::{lock, replacement, specifier};
use crate::runtime::bytecode::Bytecode;
use crate::runtime::intrinsic::Needs;
use knee_engine::http::proxy::rules::ProxyRules;
use knee_k6::data::Elements;
use knee_k6::grpc::descriptors::Loaded;
use knee_k6::http::pace::Pace;
use knee_k6::metric::Registry;
use knee_k6::secrets::Secrets;

pub mod archive;

pub mod bundle;

pub mod files;

use bundle::{Bundle, Content};
use files::{FileError, Files, Reach, Script};

/// Level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// `console.debug`.
    Debug,
    /// `console.log`, `console.info`.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`, and what scripts throw.
    Error,
}

/// A log line of a script or about one.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// How grave it is.
    pub level: LogLevel,
    /// What it says.
    pub message: &'a str,
    /// What k6 adds beside the message, in k6's order: names and values.
    pub fields: &'a [(&'static str, &'a str)],
}

/// Receives the log lines of scripts and about scripts.
pub type Narrator = Arc<dyn Fn(&LogLine<'_>) + Send + Sync>;

/// Bounds of one VU.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a VU: its values, and what this program holds for them, such as bodies.
    pub memory: usize,
    /// Most bytes of all shared arrays together.
    pub shared: usize,
    /// Bytes of the stack, of which only the ones touched cost memory.
    pub stack: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 512 << 20, shared: 8 << 30, stack: 512 << 10 }
    }
}

/// Settings of a script.
#[derive(Clone)]
pub struct Surroundings {
    /// `__ENV`.
    pub environment: Vec<(String, String)>,
    /// Files that it can read.
    pub reach: Reach,
    /// Bounds of each VU.
    pub limits: Limits,
    /// Receives log lines.
    pub narrator: Narrator,
    /// Receives lines of the script's `console`; if `None`, `narrator` does.
    pub console: Option<Narrator>,
    /// Settings of modules from the network.
    pub remote: RemoteSettings,
    /// The secrets that it can ask for.
    pub secrets: Arc<Secrets>,
}

/// Defaults of requests.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the options are independent switches")]
pub struct HttpDefaults {
    /// `maxRedirects`.
    pub redirects: u32,
    /// `discardResponseBodies`.
    pub discard_bodies: bool,
    /// `throw`.
    pub throw: bool,
    /// `batch`: most requests of one batch in flight.
    pub batch: usize,
    /// `batchPerHost`: the same for one host.
    pub batch_per_host: usize,
    /// `noCookiesReset`.
    pub keep_cookies: bool,
    /// `noVUConnectionReuse`: connections end with the iteration.
    pub fresh_connections: bool,
    /// `userAgent`.
    pub user_agent: String,
    /// `rps`: how fast requests of all VUs can follow each other.
    pub pace: Option<Arc<Pace>>,
    /// How fast an agent lets requests, calls, streams and sockets follow each other.
    pub ceiling: Option<Arc<Pace>>,
    /// The proxies that the environment names.
    pub proxies: Option<Arc<ProxyRules>>,
}

impl Default for HttpDefaults {
    fn default() -> Self {
        Self {
            redirects: 10,
            discard_bodies: false,
            throw: false,
            batch: 20,
            batch_per_host: 6,
            keep_cookies: false,
            fresh_connections: false,
            user_agent: concat!("knee/", env!("CARGO_PKG_VERSION")).to_owned(),
            pace: None,
            ceiling: None,
            proxies: None,
        }
    }
}

/// A script and everything that its VUs share.
pub struct Program {
    /// The name of its first module: a URL.
    pub entry: String,
    /// Its settings.
    pub surroundings: Surroundings,
    /// The files it can read, and those it has read.
    pub files: Files,
    /// The metrics that VUs declare while they are loaded.
    pub metrics: Arc<Registry>,
    /// Source positions of transformed modules.
    pub maps: Maps,
    /// The modules that it imports from the network.
    pub remote: Remote,
    store: Mutex<Store>,
}

/// A module that has been compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Its bytecode.
    pub code: Bytecode,
    /// Whether its source speaks of `import.meta`; most do not, and the object costs memory in every VU.
    pub wants_meta: bool,
    /// Built-in objects that its text speaks of.
    pub needs: Needs,
    /// Whether it is `CommonJS`, so that its code is a function that runs it.
    pub is_commonjs: bool,
}

#[derive(Default)]
struct Store {
    modules: HashMap<String, Compiled>,
    imports: Imports,
    /// What each module imports by name.
    named: HashMap<String, Named>,
    arrays: HashMap<String, Arc<Elements>>,
    /// Descriptors of gRPC by the paths and the names of their files.
    descriptors: HashMap<(Vec<String>, Vec<String>), Loaded>,
    trouble: Option<Trouble>,
    notes: Vec<String>,
}

impl Program {
    /// A program that has not been evaluated yet.
    pub fn new(script: impl Into<Script>, surroundings: Surroundings) -> io::Result<Self> {
        let script = script.into();
        let address = match &script {
            Script::Url { address, .. } => Some(address.clone()),
            Script::Bundle(bundle) => bundle.address.clone(),
            _ => None,
        };
        let files = Files::new(script, &surroundings.reach)?;
        Ok(Self {
            entry: address.unwrap_or_else(|| files.entry()),
            remote: Remote::new(surroundings.remote.clone(), files.folder()),
            surroundings,
            files,
            metrics: Arc::default(),
            maps: Maps::default(),
            store: Mutex::default(),
        })
    }

    /// The source of our own copy of a library, if a module from the network is answered with one.
    pub fn copy_of(&self, name: &str) -> Option<&'static str> {
        replacement::find(name).filter(|_| self.surroundings.remote.replacements).map(|found| found.source)
    }

    /// The source of a module that is not one of k6's.
    pub fn source(&self, name: &str) -> Result<Arc<[u8]>, Trouble> {
        if let Some(path) = specifier::path_of(name) {
            return self.files.module(path);
        }
        if let Some(found) = replacement::find(name).filter(|_| self.surroundings.remote.replacements) {
            self.note(format!("jslib {}: using knee's own copy", found.library));
            return Ok(found.source.as_bytes().into());
        }
        if self.files.is_sealed() {
            return Err(Trouble::new(format!("{name} was not imported in the init stage"), ""));
        }
        self.remote.source(name)
    }

    /// The script has been loaded: nothing more is read, and what was learnt is written down.
    pub fn seal(&self) {
        self.files.seal();
        match self.remote.write_lock() {
            Ok(Some(path)) if path.ends_with(lock::NAME) => self.note(format!("updated {}", path.display())),
            Ok(Some(path)) => {
                let words = "to keep the hashes with the script, copy this file into the script's folder as knee.lock";
                self.note(format!("hashes of remote modules: {}; {words}", path.display()));
            }
            Ok(None) => {}
            Err(error) => {
                let words = format!("cannot write the hashes of remote modules: {error}");
                self.say(LogLevel::Warn, &words);
            }
        }
    }

    /// The script and everything that it read while it was loaded, for other machines.
    pub fn bundle(&self) -> Bundle {
        let address = specifier::path_of(&self.entry).is_none().then(|| self.entry.clone());
        let modules = self.remote.sources().into_iter().map(|(name, source)| (name, Content(source)));
        Bundle { address, modules: modules.collect(), ..self.files.bundle() }
    }

    /// Notes for users about how the script was loaded.
    pub fn notes(&self) -> Vec<String> {
        self.lock().notes.clone()
    }

    fn note(&self, note: String) {
        let notes = &mut self.lock().notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Keeps why a module could not be had.
    pub fn keep_trouble(&self, trouble: Trouble) {
        self.lock().trouble = Some(trouble);
    }

    /// Why a module could not be had last.
    pub fn trouble(&self) -> Option<Trouble> {
        self.lock().trouble.clone()
    }

    /// Writes a line.
    pub fn say(&self, level: LogLevel, message: &str) {
        self.say_with(level, message, &[]);
    }

    /// Writes a line with what belongs to it.
    pub fn say_with(&self, level: LogLevel, message: &str, fields: &[(&'static str, &str)]) {
        let secrets = &self.surroundings.secrets;
        let masked: Vec<Cow<'_, str>> = fields.iter().map(|(_, value)| secrets.masked(value)).collect();
        let fields: Vec<(&'static str, &str)> =
            fields.iter().zip(&masked).map(|((name, _), value)| (*name, &**value)).collect();
        let message = &secrets.masked(message);
        (self.surroundings.narrator)(&LogLine { level, message, fields: &fields });
    }

    /// Writes a line of the script's `console`.
    pub fn print(&self, level: LogLevel, message: &str) {
        let message = &self.surroundings.secrets.masked(message);
        let line = LogLine { level, message, fields: &[("source", "console")] };
        (self.surroundings.console.as_ref().unwrap_or(&self.surroundings.narrator))(&line);
    }

    /// A module that was compiled before.
    pub fn module(&self, name: &str) -> Option<Compiled> {
        self.lock().modules.get(name).cloned()
    }

    /// The names of the modules that were compiled.
    pub fn compiled(&self) -> Vec<String> {
        self.lock().modules.keys().cloned().collect()
    }

    /// Keeps what a module imports. Before it is compiled, because the compiler asks for the modules that it imports.
    pub fn keep_imports(&self, name: &str, imports: &Imports, named: Named) {
        let store = &mut self.lock();
        store.imports.merge(imports);
        store.named.insert(name.to_owned(), named);
    }

    /// Keeps a compiled module for the VUs to come.
    pub fn keep_module(&self, name: &str, code: Compiled) {
        self.lock().modules.entry(name.to_owned()).or_insert(code);
    }

    /// The names that `module` imports of the module which it calls `specifier`.
    pub fn named(&self, module: &str, specifier: &str) -> BTreeSet<String> {
        let store = self.lock();
        store.named.get(module).and_then(|named| named.get(specifier)).cloned().unwrap_or_default()
    }

    /// What the script imports of a module of k6 by name; not known before all of its own modules are.
    pub fn imports_of(&self, module: &str) -> Names {
        if self.files.is_sealed() { self.lock().imports.of(module) } else { Names::All }
    }

    /// The descriptors of `.proto` files, which are looked for in `paths`, or in the folder of the script. They are
    /// compiled once. The error is in words.
    pub fn descriptors(&self, paths: &[String], files: &[String]) -> Result<Loaded, String> {
        let own = [self.files.folder().display().to_string()];
        let paths = if paths.is_empty() { &own[..] } else { paths };
        self.loaded(paths, files, || {
            let read = |path: &str| self.read_for(path).map(|bytes| bytes.to_vec());
            Loaded::compile(paths, files, &read).map_err(|error| error.to_string())
        })
    }

    /// The descriptors in a set, which are read once. The error is in words.
    pub fn descriptor_set(&self, file: &str) -> Result<Loaded, String> {
        let files = [file.to_owned()];
        self.loaded(&[], &files, || {
            let bytes = self.read_for(file).map_err(|error| format!("couldn't open protoset: {error}"))?;
            let loaded = Loaded::from_set(&bytes);
            loaded.map_err(|error| format!("couldn't unmarshal protoset file {file}: {error}"))
        })
    }

    fn loaded(
        &self,
        paths: &[String],
        files: &[String],
        load: impl FnOnce() -> Result<Loaded, String>,
    ) -> Result<Loaded, String> {
        let key = (paths.to_vec(), files.to_vec());
        let known = self.lock().descriptors.get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let loaded = load()?;
        self.lock().descriptors.insert(key, loaded.clone());
        Ok(loaded)
    }

    /// The bytes of a file that the script itself names.
    fn read_for(&self, path: &str) -> io::Result<Arc<[u8]>> {
        let path = self.files.resolve(&self.files.entry(), path);
        self.files.read(&path).map(|(_, bytes)| bytes).map_err(|error| match error {
            FileError::Io(_, error) => error,
            other => io::Error::other(other.to_string()),
        })
    }

    /// The shared array of this name, if it was made before.
    pub fn array(&self, name: &str) -> Option<Arc<Elements>> {
        self.lock().arrays.get(name).cloned()
    }

    /// Keeps a shared array; the first one of a name stays. `None` if all of them together would exceed
    /// [`Limits::shared`].
    pub fn keep_array(&self, name: &str, elements: Elements) -> Option<Arc<Elements>> {
        let mut store = self.lock();
        if let Some(known) = store.arrays.get(name) {
            return Some(known.clone());
        }
        let others: usize = store.arrays.values().map(|array| array.bytes()).sum();
        if others.saturating_add(elements.bytes()) > self.surroundings.limits.shared {
            return None;
        }
        let elements = Arc::new(elements);
        store.arrays.insert(name.to_owned(), elements.clone());
        Some(elements)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Store> {
        // Both maps are whole between any two statements that hold the lock.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
