//! Modules from the network: fetched once, cached on disk, and checked against their hashes.
//!
//! Does not speak HTTP; the program provides a [`Fetch`]. Only `https` comes here; see [`super::specifier`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

use super::cache::Cache;
use super::hash::Hash;
use super::lock::Lock;
use super::trouble::Trouble;

/// Largest module that is fetched.
pub const BYTES_MAX: u64 = 16 << 20;
/// Most redirects on the way to a module.
pub const REDIRECTS_MAX: u32 = 10;

/// Fetches the content of a URL.
pub trait Fetch: Send + Sync {
    /// The body of a successful response to `GET url`: at most [`BYTES_MAX`] bytes, after at most
    /// [`REDIRECTS_MAX`] redirects, each to `https`. The error says why there is none.
    fn fetch(&self, url: &Url) -> Result<Vec<u8>, String>;
}

/// Settings of modules from the network.
#[derive(Clone)]
pub struct RemoteSettings {
    /// Fetches them; `None` forbids it.
    pub fetch: Option<Arc<dyn Fetch>>,
    /// The folder in which they are kept; `None` keeps them only for this process.
    pub cache: Option<PathBuf>,
    /// Fetch them anew and take the hashes they have now.
    pub reload: bool,
    /// Answer well-known libraries with copies of our own.
    pub replacements: bool,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self { fetch: None, cache: None, reload: false, replacements: true }
    }
}

/// The modules from the network that one program imports.
pub struct Remote {
    settings: RemoteSettings,
    cache: Option<Cache>,
    /// Where the hashes are; `None` keeps them only for this process.
    lock_path: Option<PathBuf>,
    lock: Mutex<Option<Lock>>,
    /// What was imported.
    sources: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

impl Remote {
    /// Of a script in `folder`.
    pub fn new(settings: RemoteSettings, folder: &Path) -> Self {
        let cache = settings.cache.as_ref().map(|folder| Cache::in_folder(folder));
        let lock_path = lock_path(settings.cache.as_deref(), folder);
        Self { settings, cache, lock_path, lock: Mutex::default(), sources: Mutex::default() }
    }

    /// The source of the module behind a URL.
    pub fn source(&self, name: &str) -> Result<Arc<[u8]>, Trouble> {
        let url = Url::parse(name).map_err(|error| Trouble::new(format!("{name}: {error}"), ""))?;
        let source = self.found(name, &url)?;
        self.imported().insert(url.into(), source.clone());
        Ok(source)
    }

    /// The sources of all modules that were imported, by address.
    pub fn sources(&self) -> BTreeMap<String, Arc<[u8]>> {
        self.imported().clone()
    }

    fn imported(&self) -> MutexGuard<'_, BTreeMap<String, Arc<[u8]>>> {
        // The map is whole at every moment.
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, name: &str, url: &Url) -> Result<Arc<[u8]>, Trouble> {
        let expected = self.lock()?.hash(name).filter(|_| !self.settings.reload);
        if let Some(bytes) = self.cached(name, expected) {
            self.lock()?.add(name, Hash::of(&bytes));
            return Ok(bytes.into());
        }
        let bytes = self.fetch(url)?;
        let found = Hash::of(&bytes);
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(self.changed(name, expected, found));
        }
        if let Some(cache) = &self.cache {
            // A cache that cannot be written costs time in the next run, and nothing else.
            let _ = cache.put(name, &bytes);
        }
        self.lock()?.add(name, found);
        Ok(bytes.into())
    }

    /// Writes the lock if this program has added to it; the path if it was written.
    pub fn write_lock(&self) -> std::io::Result<Option<&Path>> {
        let guard = self.guard();
        match (guard.as_ref(), &self.lock_path) {
            (Some(lock), Some(path)) if lock.is_changed() => lock.write(path).map(|()| Some(&**path)),
            _ => Ok(None),
        }
    }

    /// What the cache has: bytes of the expected hash, or the last ones seen when nothing is expected.
    fn cached(&self, name: &str, expected: Option<Hash>) -> Option<Vec<u8>> {
        let cache = self.cache.as_ref().filter(|_| !self.settings.reload)?;
        cache.get(expected.or_else(|| cache.last(name))?)
    }

    fn fetch(&self, url: &Url) -> Result<Vec<u8>, Trouble> {
        let Some(fetch) = &self.settings.fetch else {
            let hint = "run it once without --offline, or save the module beside the script and import that";
            return Err(Trouble::new(
                format!("{url} is not in the cache, and --offline forbids fetching it"),
                hint,
            ));
        };
        let bytes = fetch.fetch(url).map_err(|why| {
            let hint = "save the module beside the script and import it with ./ if there is no network";
            Trouble::new(format!("{url} cannot be fetched: {why}"), hint)
        })?;
        if bytes.len() as u64 > BYTES_MAX {
            let what = format!("{url} is larger than {} MiB", BYTES_MAX >> 20);
            return Err(Trouble::new(what, "save the module beside the script and import it with ./"));
        }
        Ok(bytes)
    }

    fn changed(&self, name: &str, expected: Hash, found: Hash) -> Trouble {
        let place = self.lock_path.as_deref().unwrap_or(Path::new(super::lock::NAME)).display();
        let what = format!("{name} has changed: its hash is {found}, but {place} expects {expected}");
        Trouble::new(what, "review the change, then run once with --reload to accept it")
    }

    /// The lock, read when it is needed first.
    fn lock(&self) -> Result<LockGuard<'_>, Trouble> {
        let mut guard = self.guard();
        if guard.is_none() {
            let known = self.lock_path.as_deref().map(Lock::read).transpose()?;
            *guard = Some(known.unwrap_or_default());
        }
        Ok(LockGuard { guard })
    }

    fn guard(&self) -> MutexGuard<'_, Option<Lock>> {
        // A lock is whole between any two statements that hold it.
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the hashes for a script in `folder` are: beside the script if a lock file is there, otherwise in the cache.
fn lock_path(cache: Option<&Path>, folder: &Path) -> Option<PathBuf> {
    let own = folder.join(super::lock::NAME);
    if own.is_file() {
        return Some(own);
    }
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = Hash::of(folder.as_os_str().as_encoded_bytes()).digits();
    Some(cache?.join("lock").join(format!("{name}.lock")))
}

/// A lock that has been read.
struct LockGuard<'a> {
    guard: MutexGuard<'a, Option<Lock>>,
}

impl LockGuard<'_> {
    fn hash(&self, name: &str) -> Option<Hash> {
        self.guard.as_ref().and_then(|lock| lock.hash(name))
    }

    fn add(&mut self, name: &str, hash: Hash) {
        if let Some(lock) = self.guard.as_mut() {
            lock.add(name, hash);
        }
    }
}

#[cfg(test)]
#[path = "remote/tests.rs"]
mod tests;
