//! What is shown and saved: format and file of the result, file of the record, screen or lines.
//!
//! Does not draw and does not write a report; opens files only in [`Output::open`], after all other
//! checks.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use knee_driver::private_file;
use knee_k6::output::{Target, TargetError};
use knee_report::number::Unit;

use super::Surroundings;
use super::number::whole;
use crate::args::{Format, OutputFlags};
use crate::problem::{Problem, reason};

/// Default redraws per second. Intervals come once per second; between them only the progress changes.
pub const FPS: u8 = 4;

/// What is shown and saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Format of the result.
    pub format: Format,
    /// File for the result; stdout without one.
    pub file: Option<PathBuf>,
    /// Name of the record; without one it is saved in the store.
    pub record: Option<PathBuf>,
    /// Name of the record in the store; the host without one.
    pub name: Option<String>,
    /// Unit of the times in a text; chosen to fit when `None`.
    pub time_unit: Option<Unit>,
    /// Whether the result can have colours.
    pub color: bool,
    /// What is shown during the load.
    pub progress: Progress,
    /// Where figures are sent during the load.
    pub pushes: Vec<Target>,
}

/// What is shown during the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The live screen, on stdout.
    Screen {
        /// Redraws per second, 1 to 60.
        fps: u8,
        /// Whether it can have colours.
        color: bool,
    },
    /// One line per interval, on stderr.
    Lines,
    /// Nothing.
    None,
}

/// Resolves the flags.
///
/// # Errors
///
/// When a value is out of range or two outputs have one name.
pub fn output(flags: &OutputFlags, surroundings: &Surroundings) -> Result<Output, Problem> {
    let fps = flags.fps.as_deref().map_or(Ok(u64::from(FPS)), |text| whole("--fps", text, 1..=60))? as u8;
    if let (Some(result), Some(record)) = (&flags.output, &flags.record)
        && result == record
    {
        return Err(Problem::new(
            format!("`-o` and `--record` both name `{}`", result.display()),
            "`-o` is for the result, `--record` for the record; give them different names",
        ));
    }
    let format = flags.output_format.unwrap_or_default();
    let color = !(flags.no_color || surroundings.no_color);
    let terminal = surroundings.stdout_terminal && surroundings.stderr_terminal;
    let progress = match format {
        Format::Quiet => Progress::None,
        _ if terminal && !flags.no_tui => Progress::Screen { fps, color },
        _ => Progress::Lines,
    };
    Ok(Output {
        format,
        color: color && surroundings.stdout_terminal && flags.output.is_none(),
        file: flags.output.clone(),
        record: flags.record.clone(),
        name: flags.name.clone(),
        time_unit: flags.time_unit,
        progress,
        pushes: pushes(&flags.out)?,
    })
}

/// Where figures are sent, by the names and variables of k6's outputs.
///
/// # Errors
///
/// If there is no such place, or its settings are wrong.
pub fn pushes(given: &[String]) -> Result<Vec<Target>, Problem> {
    let env = |name: &str| std::env::var(name).ok();
    let known = "use `experimental-prometheus-rw`, `opentelemetry` or `influxdb=URL/DATABASE`";
    let read = |text: &String| match Target::parse(text, &env) {
        Ok(target) if target.takes_intervals() => Ok(target),
        Ok(_) => Err(Problem::new(
            format!("`--out {text}` is a file of single samples, which only `knee run` has"),
            format!(
                "for a file of the result, use `-o FILE` and `--output-format`; to send figures, {known}"
            ),
        )),
        Err(error @ TargetError::Unknown(_)) => Err(Problem::new(error.to_string(), known)),
        Err(error @ TargetError::Setting(_)) => {
            Err(Problem::new(error.to_string(), "docs/guide/k6.md lists the settings of this output"))
        }
    };
    given.iter().map(read).collect()
}

/// Destination of the result, open and known to be writable.
#[derive(Debug)]
pub enum Sink {
    /// Standard output.
    Stdout,
    /// A file.
    File(ResultFile),
}

/// A file for a result. Its old content stays until the result is written. A new file is removed if there is no result.
#[derive(Debug)]
pub struct ResultFile {
    file: File,
    path: PathBuf,
    /// Whether it is new and has no result yet.
    bare: bool,
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if self.bare {
            // If it cannot be removed it stays, empty or half-written; the run reports its own error.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Output {
    /// Opens the file for the result, or takes stdout.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn open(&self) -> Result<Sink, Problem> {
        open_result(self.file.as_deref())
    }
}

/// Opens `file` for a result, or takes stdout when there is none. Only its owner can read a new file. An existing file keeps its content until
/// [`Sink::write`], so that a failed run does not destroy the last result.
///
/// # Errors
///
/// When the file cannot be written.
pub fn open_result(file: Option<&Path>) -> Result<Sink, Problem> {
    let Some(path) = file else { return Ok(Sink::Stdout) };
    let mut options = private_file::options();
    let opened = match options.write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            options.create_new(false).open(path).map(|file| (file, false))
        }
        opened => opened.map(|file| (file, true)),
    };
    match opened {
        Ok((file, bare)) => Ok(Sink::File(ResultFile { file, path: path.to_owned(), bare })),
        Err(error) => Err(unwritable(path, &error)),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        format!("`{}` cannot be written: {}", path.display(), reason(error)),
        "check the folder, its permissions and the space left",
    )
}

impl Sink {
    /// Writes the whole result. A pipe closed by its reader is not an error.
    ///
    /// # Errors
    ///
    /// When it cannot be written, such as on a full disk.
    pub fn write(&mut self, result: &[u8]) -> Result<(), Problem> {
        match self {
            Self::Stdout => {
                let mut stdout = std::io::stdout().lock();
                match stdout.write_all(result).and_then(|()| stdout.flush()) {
                    Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                        Err(Problem::new(format!("stdout cannot be written: {}", reason(&error)), ""))
                    }
                    _ => Ok(()),
                }
            }
            Self::File(ResultFile { file, path, bare }) => {
                // Pipes and devices have no length to cut; writing tells whether they work.
                let _ = file.set_len(0);
                file.write_all(result)
                    .and_then(|()| file.flush())
                    .map_err(|error| unwritable(path, &error))?;
                *bare = false;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_result_stays_until_the_new_one_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        std::fs::write(&path, "an old and long result").unwrap();
        let mut sink = open_result(Some(&path)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "an old and long result");
        sink.write(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_made_for_a_result_that_never_came_goes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        drop(open_result(Some(&path)).unwrap());
        assert!(!path.exists());
        open_result(Some(&path)).unwrap().write(b"result").unwrap();
        drop(open_result(Some(&path)).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "result");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let mut sink = open_result(Some(Path::new("/dev/full"))).unwrap();
        let problem = sink.write(b"result").unwrap_err();
        assert!(problem.what.starts_with("`/dev/full` cannot be written"), "{}", problem.what);
    }
}
