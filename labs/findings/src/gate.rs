//! What requests pass before their route: a limit per client, authentication, and redirects of old addresses.
//!
//! Does not use the stores, and does not parse HTTP.

#![expect(clippy::disallowed_methods, reason = "a service has a clock of its own; nothing is measured here")]

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::{Shop, checksum};

/// Requests per second that a client can send, and the most at once.
pub const LIMIT: f64 = 60.0;
/// The address of every connection: that of the proxy.
const PROXY: &str = "127.0.0.1";
/// The password of all members, and the rounds of its hash.
const PASSWORD: &str = "secret";
const ROUNDS: usize = 800_000;
/// Redirects of the shop, and how old they can be until they are loaded again.
pub const REDIRECTS: usize = 2000;
const AGE_MAX: Duration = Duration::from_millis(100);

/// The state of all of them.
#[derive(Default)]
pub struct Gate {
    /// Requests that each client has left.
    left: Mutex<HashMap<String, (f64, Instant)>>,
    /// Checksums of the names and passwords that were right.
    right: Mutex<HashSet<u64>>,
    /// The stored hash of the password.
    stored: OnceLock<u64>,
    redirects: RwLock<Redirects>,
}

#[derive(Default)]
struct Redirects {
    /// Patterns of old addresses, in which a star stands for any part.
    patterns: Vec<String>,
    loaded: Option<Instant>,
}

/// Counts a request against the limit of its client. With the defect, that is the proxy for all of them.
///
/// # Errors
/// The client has no request left.
pub fn admit(shop: &Shop, client: &str) -> Result<(), Refusal> {
    let client = if shop.has(Defect::SharedLimit) { PROXY } else { client };
    let (mut all, now) = (locked(&shop.gate.left), Instant::now());
    let (left, since) = all.entry(client.to_owned()).or_insert((LIMIT, now));
    *left = LIMIT.min(*left + now.duration_since(*since).as_secs_f64() * LIMIT);
    *since = now;
    if *left < 1.0 {
        return Err(Refusal::Limited);
    }
    *left -= 1.0;
    Ok(())
}

/// Compares a name and its password with the stored hash. A healthy shop remembers for which the hash was right; the
/// defect hashes for each request.
///
/// # Errors
/// They are not right.
pub fn authenticate(shop: &Shop, credentials: &str) -> Result<(), Refusal> {
    let sum = checksum(credentials);
    if !shop.has(Defect::HashPerRequest) && locked(&shop.gate.right).contains(&sum) {
        return Ok(());
    }
    let (_, password) = credentials.split_once(':').ok_or(Refusal::Stranger)?;
    let stored = *shop.gate.stored.get_or_init(|| slow_hash(PASSWORD));
    if slow_hash(password) != stored {
        return Err(Refusal::Stranger);
    }
    locked(&shop.gate.right).insert(sum);
    Ok(())
}

/// Whether an address is an old one. Redirects that are too old are loaded again; with the defect, they stay beside the
/// new ones.
pub fn is_old(shop: &Shop, address: &str) -> bool {
    let is_due = |redirects: &Redirects| redirects.loaded.is_none_or(|loaded| loaded.elapsed() >= AGE_MAX);
    if is_due(&shop.gate.redirects.read().unwrap_or_else(PoisonError::into_inner)) {
        let mut redirects = shop.gate.redirects.write().unwrap_or_else(PoisonError::into_inner);
        if is_due(&redirects) {
            redirects.load(shop.has(Defect::GrowingRoutes));
        }
    }
    let redirects = shop.gate.redirects.read().unwrap_or_else(PoisonError::into_inner);
    redirects.patterns.iter().any(|pattern| matches(pattern, address))
}

impl Redirects {
    fn load(&mut self, keeps_old: bool) {
        if !keeps_old {
            self.patterns.clear();
        }
        self.patterns.extend((0..REDIRECTS).map(|number| format!("/*/{number}/shop-of-2019")));
        self.loaded = Some(Instant::now());
    }
}

/// Whether an address has the parts of a pattern.
fn matches(pattern: &str, address: &str) -> bool {
    let mut parts = address.split('/');
    let is_same =
        pattern.split('/').all(|part| parts.next().is_some_and(|other| part == "*" || part == other));
    is_same && parts.next().is_none()
}

/// A hash that takes milliseconds, as those for passwords do. It stands for them: it is not safe.
fn slow_hash(password: &str) -> u64 {
    let round = |sum: u64| {
        password.bytes().fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    (0..ROUNDS).fold(checksum(password), |sum, _| round(sum))
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_that_are_loaded_again_stay_beside_the_new_ones_only_with_the_defect() {
        for (keeps_old, count) in [(false, 1), (true, 3)] {
            let mut redirects = Redirects::default();
            for _ in 0..3 {
                redirects.load(keeps_old);
            }
            assert_eq!(redirects.patterns.len(), count * REDIRECTS);
        }
    }

    #[test]
    fn an_old_address_has_all_parts_of_its_pattern() {
        assert!(matches("/*/7/shop-of-2019", "/tea/7/shop-of-2019"));
        for address in ["/pages/7", "/tea/8/shop-of-2019", "/tea/7/shop-of-2019/more", "/"] {
            assert!(!matches("/*/7/shop-of-2019", address), "{address}");
        }
    }

    #[test]
    fn the_hash_of_a_password_is_its_own() {
        assert_eq!(slow_hash("secret"), slow_hash("secret"));
        assert_ne!(slow_hash("secret"), slow_hash("Secret"));
    }
}
