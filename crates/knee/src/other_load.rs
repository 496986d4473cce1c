//! Detects another knee that measures on this machine at the same time: waits for it, or reports it.
//!
//! Both hold locks on files in the folder for temporary files, whatever their users. Series of trials (studies, sweeps,
//! comparisons, calibrations) run one after another. A single load does not wait, because several processes can
//! generate one load together. Refuses nothing, and does neither if a file cannot be opened.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use knee_driver::lock;
use knee_engine::control::{Control, Request};
use rustix::fs::OFlags;

use crate::problem::on_one_line;

/// The file that every load locks, in the folder for temporary files.
const FILE: &str = "knee-load.lock";

/// The file that the one series of trials locks, in the same folder.
const SERIES: &str = "knee-series.lock";

/// Interval of attempts while another series runs.
const PAUSE: Duration = Duration::from_millis(200);

/// The report.
const NOTE: &str = "another knee is measuring on this machine; its load changes this result, and your load changes its result";

/// Whether this process has a [`Presence`]: its own trials are not another load.
static PRESENT: AtomicBool = AtomicBool::new(false);

/// Whether another load was reported.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Marks this process as one that measures, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Presence {
    file: Option<File>,
    /// The lock of a series of trials, held until this is dropped.
    series: Option<File>,
    reported: bool,
    narrate: fn(&str),
}

impl Presence {
    /// Joins the measuring processes. Reports another one now, or at the end if it came later.
    pub fn announce(narrate: fn(&str)) -> Self {
        let nested = PRESENT.swap(true, Ordering::Relaxed);
        let file = if nested { None } else { open(&std::env::temp_dir().join(FILE)) };
        let reported = file.as_ref().is_some_and(enter);
        if reported {
            report(narrate);
        }
        Self { file, series: None, reported, narrate }
    }

    /// The same for a series of trials: waits until no other series runs on this machine, and says which one runs. Ends
    /// the wait if the user interrupts.
    pub fn of_series(control: &Control, narrate: fn(&str)) -> Self {
        let nested = PRESENT.load(Ordering::Relaxed);
        let series = if nested { None } else { open(&std::env::temp_dir().join(SERIES)) };
        if let Some(file) = &series {
            wait(file, control, narrate);
        }
        let mut presence = Self::announce(narrate);
        presence.series = series;
        presence
    }
}

/// Waits for the whole lock of a file.
fn wait(file: &File, control: &Control, narrate: fn(&str)) {
    let mut said = false;
    while control.request() == Request::Run && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        if !said {
            said = true;
            let other = lock::holder(file).unwrap_or_else(|| "another knee".to_owned());
            narrate(&format!(
                "waiting: {} measures on this machine, and this would disturb it; Ctrl-C ends the wait",
                on_one_line(&other)
            ));
        }
        thread::sleep(PAUSE);
    }
}

fn report(narrate: fn(&str)) {
    REPORTED.store(true, Ordering::Relaxed);
    narrate(&format!("note: {NOTE}"));
}

/// What a record of this process should say about other loads.
pub fn note() -> Option<&'static str> {
    REPORTED.load(Ordering::Relaxed).then_some(NOTE)
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            if !self.reported && is_shared(&file) {
                report(self.narrate);
            }
            PRESENT.store(false, Ordering::Relaxed);
        }
        // Last: the series that waits for this one looks for other loads as soon as it has the lock.
        drop(self.series.take());
    }
}

/// Takes a shared lock. Returns whether another process had one.
fn enter(file: &File) -> bool {
    let others = is_shared(file);
    // Another process that looks around just now has the whole lock for a moment.
    for _ in 0..20 {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            _ => break,
        }
    }
    others
}

/// Whether another process has a shared lock.
fn is_shared(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// The file, made readable for all users; `None` if it cannot be opened. Another user can have put something else in
/// its place, so links are not followed, and a pipe does not block.
fn open(path: &Path) -> Option<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let existing = || OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match existing() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let new =
                OpenOptions::new().read(true).write(true).create_new(true).custom_flags(flags).open(path);
            match new {
                Ok(file) => {
                    // Other users are noticed only if they can open it.
                    let _ = fs::set_permissions(path, Permissions::from_mode(0o644));
                    Some(file)
                }
                Err(_) => existing().ok(),
            }
        }
        opened => opened.ok(),
    };
    file.filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_two_sees_the_first_at_once_and_the_first_the_second_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let first = open(&path).unwrap();
        assert!(!enter(&first));
        let second = open(&path).unwrap();
        assert!(enter(&second));
        assert!(is_shared(&first));
        drop(second);
        assert!(!is_shared(&first));
    }

    #[test]
    fn the_file_is_for_all_users_and_nothing_in_its_place_makes_it_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert!(open(&path).is_some(), "whoever may only read it takes part");
        assert!(open(&folder.path().join("absent/lock")).is_none());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(open(&link).is_none());
        assert!(open(folder.path()).is_none(), "a folder is no file");
    }

    #[test]
    fn a_series_waits_for_the_one_that_runs_until_the_user_interrupts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SERIES);
        let (first, second) = (open(&path).unwrap(), open(&path).unwrap());
        let control = Control::new();
        wait(&first, &control, |line| panic!("nobody else is here: {line}"));
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        control.stop();
        wait(&second, &control, |line| panic!("{line}"));
        let control = Control::new();
        drop(first);
        wait(&second, &control, |line| panic!("{line}"));
    }

    #[test]
    fn a_presence_within_another_of_the_same_process_is_silent() {
        let outer = Presence::announce(|_| {});
        let inner = Presence::announce(|line| panic!("{line}"));
        assert!(inner.file.is_none());
        drop(inner);
        assert!(PRESENT.load(Ordering::Relaxed), "the outer one goes on");
        drop(outer);
        assert!(!PRESENT.load(Ordering::Relaxed));
    }
}
