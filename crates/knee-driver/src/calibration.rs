//! The noise floor of this machine: where it is saved, and whether it is still valid.
//!
//! Does not measure it (`knee calibrate` does), and does not know its effect on verdicts.
//!
//! ```text
//! $KNEE_HOME/calibration/intel-r-xeon-r-cpu-2.20ghz-2.json     one file a machine: its CPU and how many of them
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_study::study::Calibration;
use serde::{Deserialize, Serialize};

use crate::error::{Error, reason};
use crate::private_file;

/// The version of the file that this program writes and reads. Before 2, deviations of errors were on another scale.
const VERSION: u32 = 2;

/// Days until a calibration expires: the machine can then behave differently, because of neighbours, updates or dust.
pub const DAYS: u64 = 30;

/// The file of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedCalibration {
    /// Explains the file to people who open it.
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

impl SavedCalibration {
    /// A new calibration.
    pub fn new(made: Nanos, build: Build, machine: Machine, calibration: Calibration) -> Self {
        Self { format: "knee-calibration".to_owned(), version: VERSION, made, build, machine, calibration }
    }

    /// Why it is not valid for `machine` at the time `now`.
    fn stale(&self, machine: &Machine, now: Nanos) -> Option<String> {
        let own = &self.machine;
        if (&own.cpu, own.cores, &own.arch) != (&machine.cpu, machine.cores, &machine.arch) {
            return Some("it was measured on another machine".to_owned());
        }
        if own.system != machine.system {
            return Some(format!(
                "it was measured under {}, but this machine runs {}",
                own.system, machine.system
            ));
        }
        let days = now.since(self.made).as_nanos() / (86_400 * 1_000_000_000);
        (days > DAYS).then(|| format!("it is {days} days old"))
    }
}

/// The state of this machine's calibration.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// It exists and is valid.
    Holds(Box<SavedCalibration>),
    /// It exists but is not valid; the reason, as a sentence.
    Ignored(String),
    /// There is none.
    Never,
}

/// The folder in which calibrations are saved.
#[derive(Clone, Debug)]
pub struct CalibrationStore {
    folder: PathBuf,
}

impl CalibrationStore {
    /// The folder below the folder in which knee saves everything.
    pub fn below(home: &Path) -> Self {
        Self { folder: home.join("calibration") }
    }

    fn file(&self, machine: &Machine) -> PathBuf {
        let cpu = machine.cpu.as_deref().unwrap_or(&machine.arch);
        self.folder.join(format!("{}-{}.json", slug(cpu), machine.cores))
    }

    /// The state of the calibration of `machine` at the time `now`.
    pub fn look(&self, machine: &Machine, now: Nanos) -> Known {
        let path = self.file(machine);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Known::Never,
            Err(error) => {
                return Known::Ignored(format!("`{}` cannot be read: {}", path.display(), reason(&error)));
            }
        };
        match serde_json::from_str::<SavedCalibration>(&text) {
            Ok(kept) if kept.version == VERSION => match kept.stale(machine, now) {
                Some(why) => Known::Ignored(why),
                None => Known::Holds(Box::new(kept)),
            },
            _ => Known::Ignored(format!("`{}` is from another version of knee", path.display())),
        }
    }

    /// Saves a calibration in place of an earlier one of its machine; returns the name of the file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn keep(&self, kept: &SavedCalibration) -> Result<PathBuf, Error> {
        let path = self.file(&kept.machine);
        let unable = |error| Error::unwritable(&path, error);
        private_file::create_folder(&self.folder).map_err(unable)?;
        // Names for keys and numbers always serialise.
        let text = serde_json::to_string_pretty(kept).unwrap_or_default() + "\n";
        // A concurrent reader finds the old file or the new one, never a part of one.
        let half = path.with_extension(format!("{}.new", std::process::id()));
        private_file::write(&half, text.as_bytes())
            .and_then(|()| fs::rename(&half, &path))
            .map_err(unable)?;
        Ok(path)
    }
}

/// `name` with nothing in it that a file system or a shell treats specially.
fn slug(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let words = name.split(|c| !plain(c)).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    slug.chars().take(60).collect::<String>().trim_matches(['-', '.']).to_owned()
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

    fn kept() -> SavedCalibration {
        let calibration = Calibration {
            of: "the demo server".to_owned(),
            blocks: 10,
            deviations: [(Metric::P50, 0.02)].into(),
            suspicious: Vec::new(),
        };
        SavedCalibration::new(MADE, Build::default(), machine(), calibration)
    }

    fn shelf() -> (tempfile::TempDir, CalibrationStore) {
        let home = tempfile::tempdir().unwrap();
        let shelf = CalibrationStore::below(home.path());
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
        let newer = SavedCalibration { made: days(2), ..kept() };
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
            Known::Ignored("it was measured under Linux 6.8, but this machine runs Linux 6.9".to_owned())
        );
        let larger = Machine { cores: 64, ..machine() };
        assert_eq!(shelf.look(&larger, days(1)), Known::Never, "each machine has its own file");
        // A file that was copied there by hand.
        fs::copy(&path, shelf.file(&larger)).unwrap();
        assert_eq!(
            shelf.look(&larger, days(1)),
            Known::Ignored("it was measured on another machine".to_owned())
        );
        fs::write(&path, "{}").unwrap();
        assert!(matches!(shelf.look(&machine(), days(1)), Known::Ignored(_)));
    }
}
