//! Modules from the network on this machine's disk, by their hash, so that two projects can hold the same URL
//! to different bytes.
//!
//! ```text
//! folder/content/<sha256 of the bytes>     the bytes
//! folder/url/<sha256 of the URL>           the hash of the bytes seen last
//! ```
//!
//! Content is hashed again when it is read, so a damaged file counts as missing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::hash::Hash;

/// A folder of modules.
#[derive(Clone, Debug)]
pub struct Cache {
    content: PathBuf,
    url: PathBuf,
}

impl Cache {
    /// The cache in this folder, which is made when something is put into it.
    pub fn in_folder(folder: &Path) -> Self {
        Self { content: folder.join("content"), url: folder.join("url") }
    }

    /// The bytes with this hash.
    pub fn get(&self, hash: Hash) -> Option<Vec<u8>> {
        let bytes = fs::read(self.content.join(hash.digits())).ok()?;
        (Hash::of(&bytes) == hash).then_some(bytes)
    }

    /// The hash of what was behind this URL when it was fetched last.
    pub fn last(&self, url: &str) -> Option<Hash> {
        fs::read_to_string(self.pointer(url)).ok()?.trim().parse().ok()
    }

    /// Keeps what was behind a URL.
    pub fn put(&self, url: &str, bytes: &[u8]) -> io::Result<()> {
        let hash = Hash::of(bytes);
        fs::create_dir_all(&self.content)?;
        fs::create_dir_all(&self.url)?;
        replace(&self.content.join(hash.digits()), bytes)?;
        replace(&self.pointer(url), hash.to_string().as_bytes())
    }

    fn pointer(&self, url: &str) -> PathBuf {
        self.url.join(Hash::of(url.as_bytes()).digits())
    }
}

/// Writes a file atomically: others see the old one or the new one.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
    let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The draft is useless now; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&draft);
    }
    written
}
