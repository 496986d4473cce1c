//! Fragment cache: rendered parts of pages, keyed by the version of their content.
//!
//! Does not invalidate: a change creates a new version, pages look that one up, and the old fragment is evicted in time. So the
//! cache stays correct when another process or program writes.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::counter::Counters;
use crate::store::read::Version;

/// Maximum size of the cache per process, in bytes of rendered text.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Kind of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FragmentKind {
    /// A post in a list.
    Listed,
    /// A post with its comments.
    Whole,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<(FragmentKind, Version), Arc<str>> for ByLength {
    fn weight(&self, _: &(FragmentKind, Version), text: &Arc<str>) -> u64 {
        // 64 bytes for the key and the entry.
        text.len() as u64 + 64
    }
}

/// The fragments of a process; always empty if the switch is off.
#[derive(Debug)]
pub struct Fragments {
    cache: Option<Cache<(FragmentKind, Version), Arc<str>, ByLength>>,
    counters: Arc<Counters>,
}

impl Fragments {
    /// A cache if `on`, otherwise none.
    pub fn new(on: bool, counters: Arc<Counters>) -> Self {
        let cache = on.then(|| Cache::with_weighter(50_000, BYTES_MAX, ByLength));
        Self { cache, counters }
    }

    /// Whether fragments are cached.
    pub fn is_on(&self) -> bool {
        self.cache.is_some()
    }

    /// The fragment of that version, if it is cached.
    pub fn get(&self, kind: FragmentKind, version: Version) -> Option<Arc<str>> {
        self.cache.as_ref()?.get(&(kind, version))
    }

    /// Stores a fragment.
    pub fn put(&self, kind: FragmentKind, version: Version, text: Arc<str>) {
        if let Some(cache) = &self.cache {
            cache.insert((kind, version), text);
        }
    }

    /// Counts the hits and misses of a page.
    pub fn count(&self, hits: u64, misses: u64) {
        self.counters.fragment_hits.add(hits);
        self.counters.fragment_misses.add(misses);
    }
}
