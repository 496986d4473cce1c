//! The finished result of a study: written as a whole file or into a part of one, with its pictures.
//!
//! Finds all errors of the destinations before the first trial. Does not calculate.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use knee_driver::private_file;
use knee_report::study::plot::{self, Plot};
use knee_report::study::{self, Document, Provenance, Session};
use knee_report::text::Palette;
use knee_study::study::{Conclusion, Options};

use crate::args::{StudyArgs, StudyFormat, StudyOutputFlags};
use crate::problem::{Problem, reason};
use crate::settings::output::{Sink, open_result};

/// Width of a text, whatever the terminal's: results are pasted.
const COLUMNS: usize = 100;

/// The destination of a result.
pub struct Writer<'a> {
    flags: &'a StudyOutputFlags,
    study: &'a Path,
    format: StudyFormat,
    palette: Palette,
    sink: Sink,
}

impl<'a> Writer<'a> {
    /// Makes sure that everything can be written.
    ///
    /// # Errors
    ///
    /// When a file or a folder cannot be written, or when the markers of the results in a file are incomplete.
    pub fn open(args: &'a StudyArgs, color: bool) -> Result<Self, Problem> {
        let flags = &args.output;
        let format = flags.output_format.unwrap_or_default();
        if let Some(file) = flags.output.as_deref().filter(|_| format == StudyFormat::Md) {
            check_marks(file)?;
        }
        if let Some(folder) = &flags.plots {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let sink = open_result(flags.output.as_deref())?;
        let palette = if color { Palette::Ansi } else { Palette::None };
        Ok(Self { flags, study: &args.study, format, palette, sink })
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// When something cannot be written.
    pub fn write(
        &mut self,
        conclusion: &Conclusion,
        options: &Options,
        sessions: Vec<Session>,
    ) -> Result<(), Problem> {
        let plots = if self.flags.plots.is_some() { plot::all(conclusion) } else { Vec::new() };
        if let Some(folder) = &self.flags.plots {
            draw(folder, &plots)?;
        }
        let link = |folder: &PathBuf| link(folder, self.flags.output.as_deref());
        let made = Provenance {
            sessions,
            command: Some(command(self.study, options, self.flags)),
            plots: self.flags.plots.as_ref().map(link),
        };
        let text = match self.format {
            StudyFormat::Json => study::json::render(conclusion, &made),
            StudyFormat::Text => study::text(&Document::of(conclusion, &made, &plots), COLUMNS, self.palette),
            StudyFormat::Md => self.markdown(&Document::of(conclusion, &made, &plots))?,
        };
        self.sink.write(text.as_bytes())
    }

    /// The whole file: the old text around the results, or only the document.
    fn markdown(&self, document: &Document) -> Result<String, Problem> {
        let Some(file) = &self.flags.output else { return Ok(study::markdown(document)) };
        // It might have been edited while the study ran.
        check_marks(file)?;
        let existing = existing(file)?;
        Ok(study::within(&existing, document).unwrap_or_else(|| study::markdown(document)))
    }
}

/// The content of a file; empty if there is none.
fn existing(file: &Path) -> Result<String, Problem> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text),
        // What is no text has no marks; it is replaced as a whole.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
            Ok(String::new())
        }
        Err(error) => Err(unwritable(file, &error)),
    }
}

/// Refuses a file in which it is not clear where results go.
fn check_marks(file: &Path) -> Result<(), Problem> {
    // Devices and pipes would be read for ever.
    if !file.is_file() {
        return Ok(());
    }
    let text = existing(file)?;
    let marked = text.lines().any(|line| [study::BEGIN, study::END].contains(&line.trim()));
    let nothing = Document { title: String::new(), blocks: Vec::new() };
    if marked && study::within(&text, &nothing).is_none() {
        let words = format!("`{}` does not say where its results begin and end", file.display());
        let hint =
            format!("write the lines `{}` and `{}` once each, in this order", study::BEGIN, study::END);
        return Err(Problem::new(words, hint));
    }
    Ok(())
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

/// The relative path from one absolute folder to another.
fn between(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to[shared..].iter().copied()).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

/// The command line that repeats study and document, whether or not this one ran any trial.
fn command(study: &Path, options: &Options, flags: &StudyOutputFlags) -> String {
    let mut words = vec!["knee".to_owned(), "study".to_owned(), study.display().to_string()];
    let mut add = |flag: &str, value: Option<String>| {
        words.push(flag.to_owned());
        words.extend(value);
    };
    if options.quick {
        add("--quick", None);
    }
    options.variants.iter().for_each(|variant| add("--variant", Some(variant.clone())));
    if let Some(blocks) = options.blocks {
        add("--blocks", Some(blocks.to_string()));
    }
    if let Some(variant) = &options.aa {
        add("--aa", Some(variant.clone()));
    }
    if options.share_cpus {
        add("--share-cpus", None);
    }
    match flags.output_format.unwrap_or_default() {
        StudyFormat::Text => {}
        StudyFormat::Md => add("--output-format", Some("md".to_owned())),
        StudyFormat::Json => add("--output-format", Some("json".to_owned())),
    }
    for (flag, path) in [("-o", &flags.output), ("--plots", &flags.plots)] {
        if let Some(path) = path {
            add(flag, Some(path.display().to_string()));
        }
    }
    // Only a NUL cannot be quoted, and no argument has one.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_linked_from_where_the_document_is() {
        let ways = [
            ("/a/b", "/a/b/plots", "plots"),
            ("/a/b", "/a/plots", "../plots"),
            ("/a", "/a", "."),
            ("/", "/x/y", "x/y"),
        ];
        for (from, to, way) in ways {
            assert_eq!(between(Path::new(from), Path::new(to)), Path::new(way), "{from} to {to}");
        }
    }

    #[test]
    fn the_command_is_what_a_shell_takes_and_does_not_go_on_with_old_trials() {
        let options =
            Options { quick: true, variants: vec!["best - cache".to_owned()], ..Options::default() };
        let flags = StudyOutputFlags {
            output: Some("labs/a/README.md".into()),
            output_format: Some(StudyFormat::Md),
            plots: Some("it's".into()),
            ..StudyOutputFlags::default()
        };
        let expected = "knee study labs/a --quick --variant 'best - cache' --output-format md -o labs/a/README.md --plots \"it's\"";
        assert_eq!(command(Path::new("labs/a"), &options, &flags), expected);
    }
}
