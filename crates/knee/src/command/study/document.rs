//! The result of a study on stdout or in the file of `-o`, with its pictures.
//!
//! Finds all errors of the destinations before the first trial. Does not calculate; see [`super::folder`] for the
//! documents of the study's own folder.

use std::fs;
use std::path::{Path, PathBuf};

use knee_driver::private_file;
use knee_report::html;
use knee_report::kept::{self, COLUMNS, KeptResult};
use knee_report::study::plot::{self, Plot};
use knee_report::study::{self, Document, Provenance, Session};
use knee_report::text::Palette;
use knee_study::study::Conclusion;

use super::folder::{StudyFolder, between};
use crate::args::{StudyArgs, StudyFormat, StudyOutputFlags};
use crate::problem::{Problem, reason};
use crate::settings::output::{Sink, open_result};

/// The destination of a result.
pub struct Writer<'a> {
    flags: &'a StudyOutputFlags,
    format: StudyFormat,
    palette: Palette,
    sink: Sink,
}

impl<'a> Writer<'a> {
    /// Makes sure that everything can be written.
    ///
    /// # Errors
    ///
    /// When a file or a folder cannot be written.
    pub fn open(args: &'a StudyArgs, color: bool) -> Result<Self, Problem> {
        let flags = &args.output;
        let format = flags.output_format.unwrap_or_default();
        if let Some(folder) = &flags.plots {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let sink = open_result(flags.output.as_deref())?;
        let palette = if color { Palette::Ansi } else { Palette::None };
        Ok(Self { flags, format, palette, sink })
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// When something cannot be written.
    pub fn write(
        &mut self,
        conclusion: &Conclusion,
        place: &StudyFolder,
        sessions: &[Session],
    ) -> Result<(), Problem> {
        let plots = if self.flags.plots.is_some() { plot::all(conclusion) } else { Vec::new() };
        if let Some(folder) = &self.flags.plots {
            draw(folder, &plots)?;
        }
        let link = |folder: &PathBuf| link(folder, self.flags.output.as_deref());
        let made = Provenance {
            sessions: sessions.to_vec(),
            commands: Some(place.commands().clone()),
            plots: self.flags.plots.as_ref().map(link),
        };
        let text = match self.format {
            StudyFormat::Json => study::json::render(conclusion, &made),
            StudyFormat::Text => study::text(&Document::of(conclusion, &made, &plots), COLUMNS, self.palette),
            StudyFormat::Html => html::study(conclusion, &made),
            StudyFormat::Md => study::markdown(&Document::of(conclusion, &made, &plots)),
        };
        self.sink.write(text.as_bytes())
    }
}

/// The result as it is saved: without pictures in files.
pub fn kept(conclusion: &Conclusion, place: &StudyFolder, sessions: &[Session]) -> KeptResult {
    let commands = Some(place.commands().clone());
    let made = Provenance { sessions: sessions.to_vec(), commands, plots: None };
    kept::study(conclusion, &made).with_page(html::study(conclusion, &made))
}

fn draw(folder: &Path, plots: &[Plot]) -> Result<(), Problem> {
    for plot in plots {
        let file = folder.join(&plot.file);
        private_file::write(&file, plot.svg.as_bytes()).map_err(|error| unwritable(&file, &error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    let text = format!("`{}` cannot be written: {}", path.display(), reason(error));
    Problem::new(text, "check the folder, its permissions and the space left")
}

/// A folder as a link in a document in `output`, or in the working folder.
fn link(folder: &Path, output: Option<&Path>) -> String {
    let beside = output.and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    let real = |path: &Path| fs::canonicalize(path).ok();
    let relative = real(folder).zip(real(beside.unwrap_or(Path::new("."))));
    let relative = relative.map(|(to, from)| between(&from, &to));
    let link = relative.unwrap_or_else(|| folder.to_owned()).display().to_string();
    if link == "." { String::new() } else { link }
}
