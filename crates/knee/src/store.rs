//! Where runs are saved when `--record` names no file.
//!
//! Names files, opens them and finds them again. Does not know what is in a record and never
//! deletes or overwrites one.
//!
//! ```text
//! $KNEE_HOME/runs/20261121T101530.123Z-127.0.0.1-8080.knee      when KNEE_HOME is set
//! …/runs/20261121T101530.123Z-sweep-127.0.0.1-8080.result      the result of a series of runs
//! $XDG_DATA_HOME/knee/runs/…                                    else, when that is set
//! $HOME/.local/share/knee/runs/…                                else
//! …/knee/trials/20261121T101530.123Z-study-tickets/…            trials, a folder per study
//! ```
//!
//! URLs, host names and errors in a record can be confidential: only its owner can read it.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::Timestamp;
use knee_core::clock;
use knee_core::unit::Nanos;
use knee_driver::private_file;

use crate::problem::{Problem, on_one_line, reason};

/// The suffix of a record's name.
const SUFFIX: &str = ".knee";

/// The suffix of the name of a result that is no run.
const RESULT_SUFFIX: &str = ".result";

/// Most runs that can begin in one millisecond against one host and still get names.
const SAME_NAME_MAX: u32 = 1_000;

/// The folder in which runs are saved; created by the first run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run of its own: what `last` counts.
    Run,
    /// A trial or step of a study, sweep, comparison or calibration.
    Trial,
}

/// The folder of the trials of this process.
static SERIES: OnceLock<String> = OnceLock::new();

/// Sets the series of this process's trials; only the first call counts.
pub fn begin_series(command: &str, of: &str) {
    let name = Path::new(of).file_name().map_or(of, |name| name.to_str().unwrap_or(of));
    let of = if of.contains("://") { of.split("://").last().unwrap_or(of) } else { name };
    // A URL can contain credentials, a command its secrets: the name of the host is enough.
    let of = of.rsplit('@').next().unwrap_or(of);
    let of = of.split(['/', '?', '#', ' ']).next().unwrap_or(of);
    let _ = SERIES.set(stem(clock::wall(), &format!("{command}-{of}")));
}

/// Goes on with the series in `folder`; only the first call counts.
pub fn continue_series(folder: &Path) {
    if let Some(name) = folder.file_name().and_then(|name| name.to_str()) {
        let _ = SERIES.set(name.to_owned());
    }
}

/// The series of this process without its time, as in `sweep-127.0.0.1-8080`.
pub fn series_name() -> Option<&'static str> {
    SERIES.get().map(|stem| label(stem))
}

/// The name of a saved run or result without its time: `127.0.0.1-8080`.
pub fn label(stem: &str) -> &str {
    stem.split_once('-').map_or(stem, |(_, name)| name)
}

/// Whether a file in the store is a record, by its name.
pub fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == &SUFFIX[1..])
}

/// Whether a file in the store is a result that is no run, by its name.
pub fn is_result(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == &RESULT_SUFFIX[1..])
}

/// A record that is about to be written.
#[derive(Debug)]
pub struct NewRecord {
    /// Empty, open for writing.
    pub file: File,
    /// Its name.
    pub path: PathBuf,
}

/// The folder in which everything is saved; `None` if the environment names no home.
pub fn home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("KNEE_HOME")
        .or_else(|| folder("XDG_DATA_HOME").filter(|path| path.is_absolute()).map(|path| path.join("knee")))
        .or_else(|| folder("HOME").map(|path| path.join(".local/share/knee")))
}

impl Store {
    /// The store that the environment names; `None` when it names no home at all.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        Some(Self { folder: home(variable)?.join("runs") })
    }

    /// The store of this process.
    pub fn of_process() -> Option<Self> {
        Self::of(|name| std::env::var_os(name))
    }

    /// Where records of a kind go: runs here, trials to the folder of their series.
    #[must_use]
    pub fn of_kind(self, kind: Kind) -> Self {
        match kind {
            Kind::Run => self,
            Kind::Trial => {
                let series = SERIES.get_or_init(|| stem(clock::wall(), "trials"));
                Self { folder: self.trials().join(series) }
            }
        }
    }

    /// The folder of all series of trials.
    fn trials(&self) -> PathBuf {
        self.folder.with_file_name("trials")
    }

    /// Every series of trials, newest first.
    ///
    /// # Errors
    ///
    /// When their folder is there and cannot be read.
    pub fn series(&self) -> Result<Vec<Self>, Problem> {
        let folders = entries(&self.trials())?.into_iter().filter(|path| path.is_dir());
        let mut series: Vec<Self> = folders.map(|folder| Self { folder }).collect();
        series.sort_by(|one, other| other.folder.cmp(&one.folder));
        Ok(series)
    }

    /// Where the runs lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens a new record for a run against `host` that starts at `started`, wall-clock time.
    ///
    /// # Errors
    ///
    /// When the folder or the file cannot be written.
    pub fn create(&self, started: Nanos, host: &str) -> Result<NewRecord, Problem> {
        self.create_with(SUFFIX, started, host)
    }

    /// Saves a result that is no run, which ended at `at`, wall-clock time. Returns its name.
    ///
    /// # Errors
    ///
    /// When the folder or the file cannot be written.
    pub fn keep(&self, at: Nanos, name: &str, result: &[u8]) -> Result<PathBuf, Problem> {
        let NewRecord { mut file, path } = self.create_with(RESULT_SUFFIX, at, name)?;
        let written = file.write_all(result).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // A part of a result is none.
            let _ = fs::remove_file(&path);
            unwritable(&path, &error)
        })?;
        Ok(path)
    }

    fn create_with(&self, suffix: &str, started: Nanos, host: &str) -> Result<NewRecord, Problem> {
        let missing: Vec<&Path> = self.folder.ancestors().take_while(|folder| !folder.exists()).collect();
        private_file::create_folder(&self.folder).map_err(|error| unwritable(&self.folder, &error))?;
        missing.into_iter().for_each(sync_folder_of);
        let stem = stem(started, host);
        for number in 1..=SAME_NAME_MAX {
            let name =
                if number == 1 { format!("{stem}{suffix}") } else { format!("{stem}-{number}{suffix}") };
            let path = self.folder.join(name);
            match create_new(&path) {
                Ok(file) => return Ok(NewRecord { file, path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unwritable(&path, &error)),
            }
        }
        Err(Problem::new(format!("`{stem}` has no free name in `{}`", shown(&self.folder)), ""))
    }

    /// The saved runs and other results, newest first.
    ///
    /// # Errors
    ///
    /// When the folder is there and cannot be read.
    pub fn list(&self) -> Result<Vec<PathBuf>, Problem> {
        let mut runs = entries(&self.folder)?;
        runs.retain(|path| is_record(path) || is_result(path));
        // By stem: `a-2.knee` comes after `a.knee`, although `-` sorts before `.`.
        runs.sort_by(|one, other| other.file_stem().cmp(&one.file_stem()));
        Ok(runs)
    }

    /// Everything in the folder of runs, in any order.
    ///
    /// # Errors
    ///
    /// When the folder is there and cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, Problem> {
        entries(&self.folder)
    }

    /// Whether a file of the folder of runs lies in it: a link that leads elsewhere does not. A link to another file of
    /// the folder does.
    pub fn holds(&self, path: &Path) -> bool {
        let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        let within = || Some(fs::canonicalize(path).ok()?.starts_with(fs::canonicalize(&self.folder).ok()?));
        !is_link || within().unwrap_or(false)
    }

    /// The saved run or result of this name, and nothing that lies elsewhere: for names that came over the network.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn find_saved(&self, name: &str) -> Result<PathBuf, Problem> {
        let paths = [SUFFIX, RESULT_SUFFIX].map(|suffix| self.folder.join(format!("{name}{suffix}")));
        let is_here =
            |path: &PathBuf| path.parent() == Some(&*self.folder) && path.is_file() && self.holds(path);
        paths.into_iter().find(is_here).ok_or_else(|| missing(Path::new(name)))
    }

    /// The file that has the list of what is saved, so that not every file is read for it.
    pub fn index(&self) -> PathBuf {
        self.folder.with_file_name("runs.index")
    }

    /// The record that `wanted` means: `last`, `last~1` for the run before, the name of a saved run or
    /// trial, or a path.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn find(&self, wanted: &str) -> Result<PathBuf, Problem> {
        match steps_back(wanted) {
            Some(back) => self.nth(back, wanted, self.list()?),
            None => self.find_named(wanted),
        }
    }

    /// As [`Self::find`], but other results than runs do not count for `last`: for commands that want a run.
    ///
    /// # Errors
    ///
    /// When there is none. A name or a path can be that of another result.
    pub fn find_run(&self, wanted: &str) -> Result<PathBuf, Problem> {
        match steps_back(wanted) {
            Some(back) => {
                self.nth(back, wanted, self.list()?.into_iter().filter(|path| is_record(path)).collect())
            }
            None => self.find_named(wanted),
        }
    }

    fn find_named(&self, wanted: &str) -> Result<PathBuf, Problem> {
        let path = Path::new(wanted);
        let named = |folder: &Path| {
            ["", SUFFIX, RESULT_SUFFIX].map(|suffix| folder.join(format!("{wanted}{suffix}")))
        };
        let series = self.series().unwrap_or_default();
        let folders = [self.folder.clone(), self.trials()].into_iter();
        let folders = folders.chain(series.into_iter().map(|series| series.folder));
        std::iter::once(path.to_owned())
            .chain(folders.flat_map(|folder| named(&folder)))
            .find(|path| path.is_file())
            .ok_or_else(|| missing(path))
    }

    /// The one of these, newest first, that lies so far back.
    fn nth(&self, back: usize, wanted: &str, runs: Vec<PathBuf>) -> Result<PathBuf, Problem> {
        if runs.is_empty() {
            return Err(Problem::new(
                format!("there is no saved run in `{}`", shown(&self.folder)),
                "load something first, as in `knee http://127.0.0.1:8080/`, or give the file of a saved run",
            ));
        }
        let saved = runs.len();
        runs.into_iter().nth(back).ok_or_else(|| {
            let runs = if saved == 1 { "run is" } else { "runs are" };
            Problem::new(
                format!("`{wanted}` goes too far back: {saved} {runs} saved"),
                "`knee report --list` lists them",
            )
        })
    }
}

/// Opens the record that `--record` names. A record is a measurement: an existing one is not overwritten.
///
/// # Errors
///
/// When there is something of that name, or it cannot be written.
pub fn create_named(path: &Path) -> Result<NewRecord, Problem> {
    match create_new(path) {
        Ok(file) => Ok(NewRecord { file, path: path.to_owned() }),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Problem::new(
            format!("`{}` exists already, for `--record`", shown(path)),
            "give another name, or remove it first",
        )),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// The record for a run: the one that `--record` names, or one in the store. If the store cannot be written, the run
/// continues without a record, and the text says so.
///
/// # Errors
///
/// When `named` cannot be written.
pub fn open_record(
    named: Option<&Path>,
    store: Option<&Store>,
    started: Nanos,
    host: &str,
) -> Result<Result<NewRecord, String>, Problem> {
    if let Some(path) = named {
        return create_named(path).map(Ok);
    }
    let Some(store) = store else {
        return Ok(Err("this run is not saved: neither KNEE_HOME nor HOME is set".to_owned()));
    };
    Ok(store.create(started, host).map_err(|problem| format!("this run is not saved: {}", problem.what)))
}

fn create_new(path: &Path) -> std::io::Result<File> {
    let file = private_file::create_new(path)?;
    // Where files cannot be locked, a record in progress looks like one that was cut off.
    let _ = file.try_lock();
    sync_folder_of(path);
    Ok(file)
}

/// Whether a process is still writing this record: it is locked for as long as that goes on.
pub fn is_in_progress(record: &File) -> bool {
    let locked = matches!(record.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !locked {
        let _ = record.unlock();
    }
    locked
}

/// Waits until the name of a new file or folder is on the disk: without its name, a synced record is lost with the
/// power.
fn sync_folder_of(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not every file system can do that; the record is then as safe as it can be there.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// What is in a folder; nothing if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::new(
            format!("`{}` cannot be read: {}", shown(folder), reason(&error)),
            "check its permissions, or set KNEE_HOME to another folder",
        )
    };
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path()).map_err(unreadable)).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreadable(error)),
    }
}

/// A name as it stands in a line.
fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        format!("`{}` cannot be written: {}", shown(path), reason(error)),
        "check the folder, its permissions and the space left",
    )
}

fn missing(path: &Path) -> Problem {
    if path.is_dir() {
        return Problem::new(format!("`{}` is a folder", shown(path)), "give the file of a saved run");
    }
    Problem::new(
        format!("there is no saved run `{}`", shown(path)),
        "give `last`, `last~1` or a file; `knee report --list` lists saved runs",
    )
}

/// How many runs before the newest: `last` is 0, `last~2` is 2.
fn steps_back(wanted: &str) -> Option<usize> {
    match wanted.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// A name that sorts by time and contains the host: `20261121T101530.123Z-127.0.0.1-8080`.
fn stem(started: Nanos, host: &str) -> String {
    // Times that no calendar has can come only from a broken clock; the name is then a zero date.
    let time = Timestamp::from_nanosecond(i128::from(started.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{}-{}", time.strftime("%Y%m%dT%H%M%S.%3fZ"), slug(host))
}

/// `host`, or any other name, without characters that a file system or a shell treats specially.
pub fn slug(host: &str) -> String {
    const LENGTH_MAX: usize = 60;
    let mut slug = String::new();
    for c in host.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') => slug.push(c.to_ascii_lowercase()),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
        if slug.len() == LENGTH_MAX {
            break;
        }
    }
    let slug = slug.trim_matches(['-', '.']);
    if slug.is_empty() { "run".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 10:15:30.123 UTC.
    const STARTED: Nanos = Nanos(1_795_256_130_123_456_789);

    fn store() -> (tempfile::TempDir, Store) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().as_os_str().to_owned();
        let store = Store::of(|name| (name == "KNEE_HOME").then(|| path.clone())).unwrap();
        (home, store)
    }

    fn name(path: &Path) -> String {
        path.file_name().unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn the_home_is_knees_own_then_xdgs_then_the_users() {
        let store = |set: &[(&str, &str)]| {
            let set: Vec<_> =
                set.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
            Store::of(|wanted| set.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone()))
                .map(|store| store.folder().display().to_string())
        };
        assert_eq!(store(&[("KNEE_HOME", "/k"), ("HOME", "/h")]).as_deref(), Some("/k/runs"));
        assert_eq!(store(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")]).as_deref(), Some("/x/knee/runs"));
        assert_eq!(
            store(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")]).as_deref(),
            Some("/h/.local/share/knee/runs")
        );
        assert_eq!(store(&[("KNEE_HOME", ""), ("HOME", "/h")]).as_deref(), Some("/h/.local/share/knee/runs"));
        assert_eq!(store(&[]), None);
    }

    #[test]
    fn names_sort_by_time_and_tell_the_host() {
        let (_home, store) = store();
        let first = store.create(STARTED, "127.0.0.1:8080").unwrap();
        assert_eq!(name(&first.path), "20261121T101530.123Z-127.0.0.1-8080.knee");
        let second = store.create(STARTED, "127.0.0.1:8080").unwrap();
        assert_eq!(name(&second.path), "20261121T101530.123Z-127.0.0.1-8080-2.knee");
        let later = store.create(STARTED + Nanos::from_secs(1), "[::1]:80").unwrap();
        assert_eq!(name(&later.path), "20261121T101531.123Z-1-80.knee");
        assert_eq!(store.list().unwrap(), [later.path, second.path, first.path]);
    }

    #[test]
    fn the_last_runs_are_found_by_counting_back() {
        let (_home, store) = store();
        let problem = store.find("last").unwrap_err();
        assert!(problem.what.starts_with("there is no saved run"), "{problem}");
        let one = store.create(STARTED, "a").unwrap().path;
        let two = store.create(STARTED + Nanos::from_secs(9), "a").unwrap().path;
        fs::write(store.folder().join("notes.txt"), "not a run").unwrap();
        assert_eq!(store.find("last"), Ok(two.clone()));
        assert_eq!(store.find("last~0"), Ok(two));
        assert_eq!(store.find("last~1"), Ok(one.clone()));
        assert_eq!(store.find("last~2").unwrap_err().what, "`last~2` goes too far back: 2 runs are saved");
        assert_eq!(store.find(one.to_str().unwrap()), Ok(one.clone()));
        assert_eq!(store.find(&name(&one)), Ok(one.clone()));
        assert_eq!(store.find(one.file_stem().unwrap().to_str().unwrap()), Ok(one));
        assert_eq!(store.find("nothing").unwrap_err().what, "there is no saved run `nothing`");
        assert!(store.find(store.folder().to_str().unwrap()).unwrap_err().what.ends_with("is a folder"));
    }

    #[test]
    fn the_last_run_is_the_last_that_is_no_other_result() {
        let (_home, store) = store();
        let run = store.create(STARTED, "a").unwrap().path;
        let sweep = store.keep(STARTED + Nanos::from_secs(9), "sweep-a", b"a result").unwrap();
        assert_eq!((store.find("last"), store.find_run("last")), (Ok(sweep.clone()), Ok(run)));
        assert_eq!(store.find_run("last~1").unwrap_err().what, "`last~1` goes too far back: 1 run is saved");
        assert_eq!(store.find_run(&name(&sweep)), Ok(sweep));
    }

    #[test]
    fn trials_are_found_by_name_and_are_no_runs() {
        let (_home, store) = store();
        let run = store.create(STARTED, "a").unwrap().path;
        let trial =
            store.clone().of_kind(Kind::Trial).create(STARTED + Nanos::from_secs(9), "b").unwrap().path;
        assert_eq!(store.list().unwrap(), std::slice::from_ref(&run));
        assert_eq!(store.find("last"), Ok(run));
        assert_eq!(store.find(&name(&trial)), Ok(trial.clone()));
        let series = store.series().unwrap();
        assert_eq!((series.len(), series[0].list().unwrap()), (1, vec![trial]));
    }

    #[test]
    fn a_link_that_leads_out_of_the_folder_of_runs_is_no_saved_run() {
        let (home, store) = store();
        let run = store.create(STARTED, "a").unwrap().path;
        let secret = home.path().join("secret.knee");
        fs::write(&secret, "not for everyone").unwrap();
        let link = |name: &str, to: &Path| {
            let path = store.folder().join(name);
            std::os::unix::fs::symlink(to, &path).unwrap();
            path
        };
        let (out, within) = (link("out.knee", &secret), link("within.knee", &run));
        let (nowhere, around) = (link("nowhere.knee", Path::new("gone")), link("around.knee", &out));
        assert!(store.holds(&run) && store.holds(&within));
        assert!([out, nowhere, around].iter().all(|path| !store.holds(path)));
        assert_eq!(store.find_saved("within"), Ok(store.folder().join("within.knee")));
        for name in
            ["out", "nowhere", "around", "last", "../secret", home.path().join("secret").to_str().unwrap()]
        {
            assert!(store.find_saved(name).is_err(), "{name}");
        }
    }

    #[test]
    fn only_its_owner_can_read_a_record() {
        use std::os::unix::fs::PermissionsExt;
        let (_home, store) = store();
        let record = store.create(STARTED, "a").unwrap();
        assert_eq!(record.file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_record_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.knee");
        create_named(&path).unwrap();
        fs::write(&path, "measured").unwrap();
        assert!(create_named(&path).unwrap_err().what.contains("exists already"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "measured");
    }

    #[test]
    fn without_a_writable_home_a_run_goes_on_unkept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let store = Store { folder: file.join("runs") };
        let told = open_record(None, Some(&store), STARTED, "a").unwrap().unwrap_err();
        assert!(told.starts_with("this run is not saved: "), "{told}");
        assert!(open_record(None, None, STARTED, "a").unwrap().is_err());
        assert!(open_record(Some(&file.join("x")), Some(&store), STARTED, "a").is_err());
    }

    #[test]
    fn hosts_make_harmless_names() {
        for (host, slug_of_it) in [
            ("Example.com:443", "example.com-443"),
            ("../../etc/passwd", "etc-passwd"),
            ("\u{1b}[2J", "2j"),
            ("", "run"),
            ("...", "run"),
        ] {
            assert_eq!(slug(host), slug_of_it, "{host:?}");
        }
        assert!(slug(&"a".repeat(500)).len() <= 60);
    }
}
