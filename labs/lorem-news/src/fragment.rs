//! Rendered pieces of pages, kept under the version of what they show.
//!
//! Nothing is ever removed because it changed: a change makes a new version, the page asks for that one, and the old
//! piece is pushed out in time. So it is right also when another process or program writes.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::counter::Counters;
use crate::store::read::Version;

/// Bytes of rendered text that a process keeps at the most.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Which piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Piece {
    /// A post in a list.
    Listed,
    /// A post with its comments.
    Whole,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<(Piece, Version), Arc<str>> for ByLength {
    fn weight(&self, _: &(Piece, Version), text: &Arc<str>) -> u64 {
        // The key and the entry weigh something too.
        text.len() as u64 + 64
    }
}

/// The pieces of a process; empty for ever when the switch is off.
#[derive(Debug)]
pub struct Fragments {
    kept: Option<Cache<(Piece, Version), Arc<str>, ByLength>>,
    counters: Arc<Counters>,
}

impl Fragments {
    /// A cache, or none.
    pub fn new(on: bool, counters: Arc<Counters>) -> Self {
        let kept = on.then(|| Cache::with_weighter(50_000, BYTES_MAX, ByLength));
        Self { kept, counters }
    }

    /// Whether pieces are kept.
    pub fn is_on(&self) -> bool {
        self.kept.is_some()
    }

    /// The piece of that version, if it is there.
    pub fn get(&self, piece: Piece, version: Version) -> Option<Arc<str>> {
        self.kept.as_ref()?.get(&(piece, version))
    }

    /// Keeps a piece.
    pub fn put(&self, piece: Piece, version: Version, text: Arc<str>) {
        if let Some(kept) = &self.kept {
            kept.insert((piece, version), text);
        }
    }

    /// Books what a page found here and what it did not.
    pub fn count(&self, hits: u64, misses: u64) {
        self.counters.fragment_hits.add(hits);
        self.counters.fragment_misses.add(misses);
    }
}
