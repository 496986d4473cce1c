//! Carts of visitors, in memory and in a file beside that of SQLite, to which they are saved now and then.
//!
//! Does not use the stores, and does not parse HTTP. Does not read the file: it begins with each start of the shop.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::defect::Defect;
use crate::refusal::Refusal;

/// Carts that there are.
const CARTS: u32 = 1_000_000;
/// Carts per line of the file, and the pause after each: a healthy shop leaves room for requests while it saves.
const PORTION: usize = 4000;
const PAUSE: Duration = Duration::from_millis(4);

/// Items of a cart.
type Cart = [u32; 4];

/// The carts and their file.
pub struct Carts {
    path: PathBuf,
    defect: Defect,
    all: Arc<Mutex<Vec<Cart>>>,
    /// Held while the carts are saved: one at a time.
    saving: Mutex<()>,
}

impl Carts {
    /// Carts whose file is beside this one. Only the healthy shop and its defect have them, so that the others have no
    /// more to keep.
    pub fn new(views: &Path, defect: Defect) -> Arc<Self> {
        let has_carts = matches!(defect, Defect::None | Defect::SnapshotUnderLock);
        let count = if has_carts { CARTS } else { 0 };
        let all = (0..count).map(|cart| [cart, 1_000_000 + cart, 7, 2_000_000 + cart]).collect();
        let path = views.with_file_name("carts.json");
        Arc::new(Self { path, defect, all: Arc::new(Mutex::new(all)), saving: Mutex::default() })
    }

    /// Adds one to the last item of a cart, and returns the cart.
    ///
    /// # Errors
    /// There is no such cart.
    pub async fn add(&self, number: usize) -> Result<Value, Refusal> {
        let mut all = self.all.lock().await;
        let cart = all.get_mut(number).ok_or(Refusal::Missing)?;
        cart[3] += 1;
        Ok(json!({"cart": number, "items": *cart}))
    }

    /// Begins to save all carts. No request waits for the end, unless it waits for the lock.
    pub fn save(self: Arc<Self>) {
        tokio::spawn(async move {
            if let Ok(_alone) = self.saving.try_lock() {
                // What fails is left to the next time.
                let _ = self.save_now().await;
            }
        });
    }

    /// A healthy shop copies the carts while it holds their lock; with the defect, it holds the lock until the file is
    /// on the disk.
    async fn save_now(&self) -> io::Result<()> {
        let path = self.path.clone();
        let guard = Arc::clone(&self.all).lock_owned().await;
        let saved = if self.defect == Defect::SnapshotUnderLock {
            tokio::task::spawn_blocking(move || write(&path, &guard, None))
        } else {
            let copy = guard.clone();
            drop(guard);
            tokio::task::spawn_blocking(move || write(&path, &copy, Some(PAUSE)))
        };
        saved.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

fn write(path: &Path, carts: &[Cart], pause: Option<Duration>) -> io::Result<()> {
    let mut file = File::create(path)?;
    for portion in carts.chunks(PORTION) {
        let mut line = serde_json::to_vec(portion)?;
        line.push(b'\n');
        file.write_all(&line)?;
        if let Some(pause) = pause {
            thread::sleep(pause);
        }
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn carts_are_locked_while_they_are_written_only_with_the_defect() {
        for (defect, is_locked) in [(Defect::None, false), (Defect::SnapshotUnderLock, true)] {
            let folder = tempfile::tempdir().unwrap();
            let carts = Carts::new(&folder.path().join("views.sqlite3"), defect);
            assert_eq!(carts.add(7).await.unwrap()["items"][3], 2_000_008, "{defect:?}");
            assert!(carts.add(CARTS as usize).await.is_err(), "{defect:?}");
            Arc::clone(&carts).save();
            // The file is there before the first cart is written.
            for _ in 0..10_000 {
                if carts.path.exists() {
                    break;
                }
                sleep(Duration::from_millis(1)).await;
            }
            let was_locked = carts.all.try_lock().is_err();
            let is_saving = carts.saving.try_lock().is_err();
            assert!(!is_saving || was_locked == is_locked, "{defect:?}");
            drop(carts.saving.lock().await);
            let text = std::fs::read_to_string(&carts.path).unwrap();
            let lines = text.lines().flat_map(|line| serde_json::from_str::<Vec<Cart>>(line).unwrap());
            let saved: Vec<Cart> = lines.collect();
            assert_eq!((saved.len(), saved[7]), (CARTS as usize, [7, 1_000_007, 7, 2_000_008]), "{defect:?}");
        }
    }
}
