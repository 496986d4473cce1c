//! The noise floor of this machine: where it is kept, and whether it still holds.
//!
//! Does not measure it (`knee calibrate` does), and does not know what it means for a verdict.
//!
//! ```text
//! $KNEE_HOME/calibration/intel-r-xeon-r-cpu-2.20ghz-2.json     one file a machine: its CPU and how many of them
//! ```

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_study::study::Calibration;
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, printable, reason};
use crate::store;

/// The version of the file that this program writes and reads.
const VERSION: u32 = 1;

/// After so many days a machine may be another one than it was: neighbours, updates, dust.
pub const DAYS: u64 = 30;

/// The file of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What this is, for whoever finds the file.
    pub format: String,
    /// Of the file.
    pub version: u32,
    /// When it was measured, since the Unix epoch.
    pub made: Nanos,
    /// The program that measured.
    pub build: Build,
    /// The machine.
    pub machine: Machine,
    /// Its noise.
    pub calibration: Calibration,
}

impl Kept {
    /// A calibration that was made just now.
    pub fn new(made: Nanos, build: Build, machine: Machine, calibration: Calibration) -> Self {
        Self { format: "knee-calibration".to_owned(), version: VERSION, made, build, machine, calibration }
    }

    /// Why it no longer holds for `machine` at the time `now`.
    fn stale(&self, machine: &Machine, now: Nanos) -> Option<String> {
        let own = &self.machine;
        if (&own.cpu, own.cores, &own.arch) != (&machine.cpu, machine.cores, &machine.arch) {
            return Some("it is of another machine".to_owned());
        }
        if own.system != machine.system {
            return Some(format!("it was measured under {}, and this is {}", own.system, machine.system));
        }
        let days = now.since(self.made).as_nanos() / (86_400 * 1_000_000_000);
        (days > DAYS).then(|| format!("it is {days} days old"))
    }
}

/// What there is to know of this machine's noise.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// It was measured, and holds.
    Holds(Box<Kept>),
    /// It was measured and does not hold; why, as a sentence.
    Ignored(String),
    /// It was never measured.
    Never,
}

impl Known {
    /// The calibration, if it holds; tells why one was ignored.
    pub fn calibration(self, narrate: fn(&str)) -> Option<Calibration> {
        match self {
            Self::Holds(kept) => Some(kept.calibration),
            Self::Ignored(why) => {
                narrate(&format!(
                    "note: the noise floor that is kept is ignored, {why}; `knee calibrate` measures it anew"
                ));
                None
            }
            Self::Never => None,
        }
    }
}

/// The folder in which calibrations are kept.
#[derive(Clone, Debug)]
pub struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    /// The one that the environment names; `None` when it names no home at all.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        Some(Self { folder: store::home(variable)?.join("calibration") })
    }

    /// That of this process.
    pub fn of_process() -> Option<Self> {
        Self::of(|name| std::env::var_os(name))
    }

    fn file(&self, machine: &Machine) -> PathBuf {
        let cpu = machine.cpu.as_deref().unwrap_or(&machine.arch);
        self.folder.join(format!("{}-{}.json", store::slug(cpu), machine.cores))
    }

    /// What is known of `machine` at the time `now`.
    pub fn look(&self, machine: &Machine, now: Nanos) -> Known {
        let path = self.file(machine);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Known::Never,
            Err(error) => {
                return Known::Ignored(format!("`{}` cannot be read: {}", shown(&path), reason(&error)));
            }
        };
        match serde_json::from_str::<Kept>(&text) {
            Ok(kept) if kept.version == VERSION => match kept.stale(machine, now) {
                Some(why) => Known::Ignored(why),
                None => Known::Holds(Box::new(kept)),
            },
            _ => Known::Ignored(format!("`{}` is not of this version of knee", shown(&path))),
        }
    }

    /// Keeps a calibration in place of an earlier one of its machine; returns the name of the file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn keep(&self, kept: &Kept) -> Result<PathBuf, Problem> {
        let path = self.file(&kept.machine);
        let unable = |error: std::io::Error| {
            let hint = "check the folder, its permissions and the space left";
            Problem::new(format!("`{}` cannot be written: {}", shown(&path), reason(&error)), hint)
        };
        fs::create_dir_all(&self.folder).map_err(unable)?;
        // Names for keys and numbers always serialise.
        let text = serde_json::to_string_pretty(kept).unwrap_or_default() + "\n";
        // Whoever reads meanwhile finds the old one or the new one, whole.
        let half = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&half, text).and_then(|()| fs::rename(&half, &path)).map_err(unable)?;
        Ok(path)
    }
}

/// The noise of this machine, if it was measured and holds.
pub fn of_this_machine(narrate: fn(&str)) -> Option<Calibration> {
    let (machine, now) = (knee_engine::host::machine(), knee_core::clock::wall());
    Shelf::of_process()?.look(&machine, now).calibration(narrate)
}

/// The day of a wall-clock time, in UTC.
pub fn day(time: Nanos) -> String {
    let time = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%d").to_string()
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use knee_study::metric::Metric;

    use super::*;

    const MADE: Nanos = Nanos(1_795_256_130_000_000_000);

    fn machine() -> Machine {
        Machine {
            system: "Linux 6.8".to_owned(),
            arch: "x86_64".to_owned(),
            cpu: Some("Some CPU @ 2.2GHz".to_owned()),
            cores: 2,
            memory_bytes: None,
        }
    }

    fn kept() -> Kept {
        let calibration = Calibration {
            of: "the demo server".to_owned(),
            blocks: 10,
            deviations: [(Metric::P50, 0.02)].into(),
            suspicious: Vec::new(),
        };
        Kept::new(MADE, Build::default(), machine(), calibration)
    }

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().as_os_str().to_owned();
        let shelf = Shelf::of(|name| (name == "KNEE_HOME").then(|| path.clone())).unwrap();
        (home, shelf)
    }

    fn days(days: u64) -> Nanos {
        MADE + Nanos::from_secs(days * 86_400)
    }

    #[test]
    fn what_was_measured_is_found_again_on_the_same_machine() {
        let (_home, shelf) = shelf();
        assert_eq!(shelf.look(&machine(), days(1)), Known::Never);
        let path = shelf.keep(&kept()).unwrap();
        assert!(path.ends_with("calibration/some-cpu-2.2ghz-2.json"), "{path:?}");
        assert_eq!(shelf.look(&machine(), days(1)), Known::Holds(Box::new(kept())));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left there");
        let newer = Kept { made: days(2), ..kept() };
        shelf.keep(&newer).unwrap();
        assert_eq!(shelf.look(&machine(), days(2)), Known::Holds(Box::new(newer)), "the later one counts");
    }

    #[test]
    fn noise_of_another_time_kernel_or_machine_is_ignored_with_the_reason() {
        let (_home, shelf) = shelf();
        let path = shelf.keep(&kept()).unwrap();
        assert_eq!(shelf.look(&machine(), days(40)), Known::Ignored("it is 40 days old".to_owned()));
        let updated = Machine { system: "Linux 6.9".to_owned(), ..machine() };
        assert_eq!(
            shelf.look(&updated, days(1)),
            Known::Ignored("it was measured under Linux 6.8, and this is Linux 6.9".to_owned())
        );
        let larger = Machine { cores: 64, ..machine() };
        assert_eq!(shelf.look(&larger, days(1)), Known::Never, "each machine has its own file");
        // A file that was copied there by hand.
        fs::copy(&path, shelf.file(&larger)).unwrap();
        assert_eq!(shelf.look(&larger, days(1)), Known::Ignored("it is of another machine".to_owned()));
        fs::write(&path, "{}").unwrap();
        assert!(matches!(shelf.look(&machine(), days(1)), Known::Ignored(_)));
    }
}
