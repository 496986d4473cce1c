//! What a remote module is fetched, kept and refused for, without a network.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A network in memory, which counts.
#[derive(Default)]
struct Net {
    pages: Mutex<HashMap<String, Vec<u8>>>,
    fetched: AtomicUsize,
}

impl Net {
    fn with(url: &str, body: &[u8]) -> Arc<Self> {
        let net = Self::default();
        net.set(url, body);
        Arc::new(net)
    }

    fn set(&self, url: &str, body: &[u8]) {
        self.pages.lock().unwrap().insert(url.to_owned(), body.to_vec());
    }

    fn count(&self) -> usize {
        self.fetched.load(Ordering::Relaxed)
    }
}

impl Fetch for Net {
    fn fetch(&self, url: &Url) -> Result<Vec<u8>, String> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let pages = self.pages.lock().unwrap();
        pages.get(url.as_str()).cloned().ok_or_else(|| "status 404".to_owned())
    }
}

const URL: &str = "https://host/a.js";

struct Place {
    home: tempfile::TempDir,
    project: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), project: tempfile::tempdir().unwrap() }
    }

    fn remote(&self, fetch: Option<Arc<Net>>, reload: bool) -> Remote {
        let fetch = fetch.map(|net| net as Arc<dyn Fetch>);
        let cache = Some(self.home.path().to_owned());
        Remote::new(RemoteSettings { fetch, cache, reload, ..RemoteSettings::default() }, self.project.path())
    }

    fn lock(&self) -> String {
        lock_path(Some(self.home.path()), self.project.path())
            .and_then(|path| std::fs::read_to_string(path).ok())
            .unwrap_or_default()
    }

    /// What is in the folder of the script.
    fn beside(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.project.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn load(remote: &Remote) -> Result<String, Trouble> {
    let source = remote.source(URL)?;
    remote.write_lock().unwrap();
    Ok(String::from_utf8(source.to_vec()).unwrap())
}

#[test]
fn a_module_is_fetched_once_and_then_needs_no_network() {
    let (place, net) = (Place::new(), Net::with(URL, b"one"));
    assert_eq!(load(&place.remote(Some(net.clone()), false)).unwrap(), "one");
    assert_eq!(load(&place.remote(Some(net.clone()), false)).unwrap(), "one");
    assert_eq!(load(&place.remote(None, false)).unwrap(), "one");
    assert_eq!(net.count(), 1);
    assert!(place.lock().contains(&format!("{URL} {}\n", Hash::of(b"one"))), "{}", place.lock());
}

#[test]
fn nothing_is_written_beside_a_script_but_a_lock_that_is_there_is_kept_up_to_date() {
    let (place, net) = (Place::new(), Net::with(URL, b"one"));
    load(&place.remote(Some(net.clone()), false)).unwrap();
    assert_eq!(place.beside(), [""; 0]);
    std::fs::write(place.project.path().join("knee.lock"), "").unwrap();
    load(&place.remote(Some(net.clone()), false)).unwrap();
    let own = std::fs::read_to_string(place.project.path().join("knee.lock")).unwrap();
    assert!(own.contains(&format!("{URL} {}\n", Hash::of(b"one"))), "{own}");
    assert_eq!(place.beside(), ["knee.lock"]);
    net.set(URL, b"two");
    std::fs::remove_dir_all(place.home.path().join("content")).unwrap();
    assert!(load(&place.remote(Some(net), false)).unwrap_err().what.contains("has changed"));
}

#[test]
fn offline_a_module_that_was_never_seen_is_an_error_with_a_hint() {
    let trouble = load(&Place::new().remote(None, false)).unwrap_err();
    assert!(trouble.what.contains("https://host/a.js is not in the cache"), "{trouble}");
    assert!(trouble.hint.contains("--offline"), "{}", trouble.hint);
}

#[test]
fn a_module_that_has_changed_is_refused_until_it_is_reloaded() {
    let (place, net) = (Place::new(), Net::with(URL, b"one"));
    load(&place.remote(Some(net.clone()), false)).unwrap();
    net.set(URL, b"two");
    std::fs::remove_dir_all(place.home.path().join("content")).unwrap();
    let trouble = load(&place.remote(Some(net.clone()), false)).unwrap_err();
    assert!(trouble.what.contains("https://host/a.js has changed"), "{trouble}");
    assert!(trouble.hint.contains("--reload"), "{}", trouble.hint);
    assert!(place.lock().contains(&Hash::of(b"one").digits()), "the lock still says what it said");
    assert_eq!(load(&place.remote(Some(net.clone()), true)).unwrap(), "two");
    assert_eq!(load(&place.remote(None, false)).unwrap(), "two");
}

#[test]
fn two_projects_can_hold_one_url_to_different_bytes() {
    let (mut place, net) = (Place::new(), Net::with(URL, b"one"));
    load(&place.remote(Some(net.clone()), false)).unwrap();
    let first = std::mem::replace(&mut place.project, tempfile::tempdir().unwrap());
    net.set(URL, b"two");
    assert_eq!(load(&place.remote(Some(net), true)).unwrap(), "two");
    place.project = first;
    assert_eq!(load(&place.remote(None, false)).unwrap(), "one");
}

#[test]
fn a_damaged_cache_is_fetched_again() {
    let (place, net) = (Place::new(), Net::with(URL, b"one"));
    load(&place.remote(Some(net.clone()), false)).unwrap();
    let kept = place.home.path().join("content").join(Hash::of(b"one").digits());
    std::fs::write(kept, b"evil").unwrap();
    assert_eq!(load(&place.remote(Some(net.clone()), false)).unwrap(), "one");
    assert_eq!(net.count(), 2);
}

#[test]
fn a_lock_that_cannot_be_read_says_where() {
    let (place, net) = (Place::new(), Net::with(URL, b"one"));
    std::fs::write(place.project.path().join("knee.lock"), "# head\n\nhttps://x sha256:12\n").unwrap();
    let trouble = load(&place.remote(Some(net), false)).unwrap_err();
    assert!(trouble.what.contains("knee.lock line 3"), "{trouble}");
}

#[test]
fn a_module_without_end_is_refused() {
    let (place, net) = (Place::new(), Net::with(URL, &vec![b' '; BYTES_MAX as usize + 1]));
    let trouble = load(&place.remote(Some(net), false)).unwrap_err();
    assert!(trouble.what.contains("larger than 16 MiB"), "{trouble}");
}
