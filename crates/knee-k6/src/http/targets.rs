//! The URLs of requests that a worker has met, each parsed once.
//!
//! Bounded. Sends nothing.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use knee_engine::http::proxy::rules::ProxyRules;
use rustc_hash::FxHashMap;

use super::go_url::GoUrl;
use super::request::{Target, Unsendable};

/// Most URLs that a worker caches; scripts that generate URLs fill it repeatedly.
const TARGETS_MAX: usize = 1_024;
/// Longest URL that is cached, so that the cache stays small whatever a script generates.
const CACHED_MAX: usize = 4 << 10;

/// URLs a worker has met.
#[derive(Default)]
pub struct Targets {
    known: RefCell<FxHashMap<Box<str>, Rc<Target>>>,
}

impl Targets {
    /// The target of a URL as the script wrote it, in a run with these proxies.
    pub fn find(&self, written: &str, proxies: Option<&Arc<ProxyRules>>) -> Result<Rc<Target>, Unsendable> {
        if let Some(known) = self.known.borrow().get(written) {
            return Ok(known.clone());
        }
        let wrong = |error| Unsendable { words: format!("invalid URL: {error}"), code: 1020 };
        let url = GoUrl::parse(written.as_bytes()).map_err(wrong)?;
        let target = Rc::new(Target::new(url, written, proxies));
        if written.len() > CACHED_MAX {
            return Ok(target);
        }
        let mut known = self.known.borrow_mut();
        if known.len() >= TARGETS_MAX {
            known.clear();
        }
        known.insert(written.into(), target.clone());
        Ok(target)
    }
}
