//! The documents in the folder of a study: its results, its pictures, and the table of claims in files that people write.
//!
//! The same trials give the same bytes, wherever and whenever they are written. Does not calculate.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use knee_driver::{pictures, private_file, saved};
use knee_report::study::plot::{self, Plot};
use knee_report::study::{self, Commands, Document, Provenance, Session};
use knee_study::study::{Conclusion, Options};

use crate::problem::{Problem, on_one_line, reason};

/// The file of the results.
const RESULTS: &str = "RESULTS.md";

/// The folder of the pictures, beside the results.
const PLOTS: &str = "plots";

/// The file that people write.
const README: &str = "README.md";

/// The last line of the results.
const WRITTEN: &str = "<!-- `knee study` writes this file. -->";

/// The last line of the results of a study that is not over.
const WRITTEN_SO_FAR: &str = "<!-- `knee study` writes this file; trials are left. -->";

/// The folder of a study whose documents are written.
pub struct StudyFolder {
    /// Where its `study.toml` is.
    folder: PathBuf,
    /// Where its results are: the same folder, or one that no repository has.
    into: PathBuf,
    /// Whether it has every variant and trials of full length.
    whole: bool,
    /// The commands for it.
    commands: Commands,
    /// Further files that have a table of its claims, relative to its folder.
    claims_in: Vec<String>,
}

impl StudyFolder {
    /// The folder of a study with these options, and further files that have a table of its claims.
    pub fn of(folder: &Path, options: &Options, claims_in: &[String]) -> Self {
        Self {
            folder: folder.to_owned(),
            into: saved::documents(folder, options),
            whole: saved::is_whole(options),
            commands: commands(folder, options),
            claims_in: claims_in.to_vec(),
        }
    }

    /// The commands for the study.
    pub const fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Makes sure that it is clear where the tables of claims go.
    ///
    /// # Errors
    ///
    /// When markers in a file are incomplete, or a file that the study names is missing.
    pub fn check(&self) -> Result<(), Problem> {
        for name in &self.claims_in {
            if existing(&self.folder.join(name))?.is_none() {
                let what = format!("there is no text file `{}`, for `claims_in`", on_one_line(name));
                return Err(Problem::new(what, "give the path of the file from the folder of the study"));
            }
        }
        for (path, begin, _) in self.tables() {
            if let Some(text) = existing(&path)? {
                study::with_claims(&text, &begin, &[]).map_err(|_| unclear(&path, &begin))?;
            }
        }
        Ok(())
    }

    /// Writes all documents and reports their names. A study that is not over leaves the documents of one that was.
    ///
    /// # Errors
    ///
    /// When one cannot be written.
    pub fn write(
        &self,
        conclusion: &Conclusion,
        sessions: &[Session],
        narrate: fn(&str),
    ) -> Result<(), Problem> {
        if conclusion.trials.is_empty() {
            return Ok(());
        }
        let results = self.into.join(RESULTS);
        let written = existing(&results)?.and_then(|text| writer(&text));
        if !conclusion.over && written == Some(WRITTEN) {
            narrate(&format!(
                "note: trials are left, so {} keeps the results of all trials before",
                shown(&results)
            ));
            return Ok(());
        }
        let plots = plot::all(conclusion);
        self.draw(&plots)?;
        let made = Provenance {
            sessions: sessions.to_vec(),
            commands: Some(self.commands.clone()),
            plots: Some(PLOTS.to_owned()),
        };
        let text = study::markdown(&Document::of(conclusion, &made, &plots));
        self.keep_foreign(&results)?;
        let mark = if conclusion.over { WRITTEN } else { WRITTEN_SO_FAR };
        replace(&results, &format!("{text}\n{mark}\n"))?;
        narrate(&format!("results: {}", shown(&results)));
        for (path, begin, results) in self.tables() {
            let Some(text) = existing(&path)? else { continue };
            let table = study::summary(conclusion, &results);
            let filled = study::with_claims(&text, &begin, &table).map_err(|_| unclear(&path, &begin))?;
            if let Some(filled) = filled {
                replace(&path, &filled)?;
                narrate(&format!("claims:  {}", shown(&path)));
            }
        }
        Ok(())
    }

    /// Writes the pictures, and removes those that an earlier report wrote and this one does not have.
    fn draw(&self, plots: &[Plot]) -> Result<(), Problem> {
        let folder = self.into.join(PLOTS);
        if !plots.is_empty() {
            fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        }
        plots.iter().try_for_each(|plot| replace(&folder.join(&plot.file), &plot.svg))?;
        pictures::remove_others(&folder, plots).map_err(|error| unwritable(&folder, &error))
    }

    /// Files with a table of claims of this study: the file, the line above the table, and a link to the results. A part
    /// of a study fills no table.
    fn tables(&self) -> Vec<(PathBuf, String, String)> {
        if !self.whole {
            return Vec::new();
        }
        let own = (self.folder.join(README), study::claims_begin(""), RESULTS.to_owned());
        let real = fs::canonicalize(&self.folder).ok();
        let above =
            real.as_deref().and_then(|folder| Some((folder.parent()?, folder.file_name()?.to_str()?)));
        let above = above.map(|(parent, name)| {
            (parent.join(README), study::claims_begin(name), format!("{name}/{RESULTS}"))
        });
        let named = self.claims_in.iter().filter_map(|name| {
            let file = fs::canonicalize(self.folder.join(name)).ok()?;
            let way = between(file.parent()?, real.as_deref()?);
            let results = way.join(RESULTS).display().to_string();
            Some((file, study::claims_begin(&way.display().to_string()), results))
        });
        std::iter::once(own).chain(above).chain(named).collect()
    }

    /// Moves a file that `knee` did not write out of the way.
    fn keep_foreign(&self, results: &Path) -> Result<(), Problem> {
        match existing(results)? {
            Some(text) if writer(&text).is_none() => {
                let unable = |error| unwritable(results, &error);
                let before = saved::make_private(&self.folder).map_err(unable)?.join("RESULTS.before.md");
                fs::rename(results, before).map_err(unable)
            }
            _ => Ok(()),
        }
    }
}

/// The mark of the study that wrote these results; `None` if a person did.
fn writer(text: &str) -> Option<&'static str> {
    [WRITTEN, WRITTEN_SO_FAR].into_iter().find(|mark| text.trim_end().ends_with(mark))
}

/// The text of a file; `None` if there is no such file, or if it is no text.
fn existing(file: &Path) -> Result<Option<String>, Problem> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        Err(error) => Err(unwritable(file, &error)),
    }
}

/// Replaces a file as a whole, if its content changes. An existing file keeps its permissions.
fn replace(file: &Path, text: &str) -> Result<(), Problem> {
    if fs::read(file).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let fresh = target.with_extension("new");
    let written = private_file::write(&fresh, text.as_bytes())
        .and_then(|()| match fs::metadata(&target) {
            Ok(old) => fs::set_permissions(&fresh, old.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| fs::rename(&fresh, &target));
    written.map_err(|error| unwritable(file, &error))
}

fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}

fn unclear(path: &Path, begin: &str) -> Problem {
    let words = format!("`{}` does not say where its table of claims begins and ends", shown(path));
    let hint = format!("write the lines `{begin}` and `<!-- /knee:claims -->` once each, in this order");
    Problem::new(words, hint)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    let text = format!("`{}` cannot be written: {}", path.display(), reason(error));
    Problem::new(text, "check the folder, its permissions and the space left")
}

/// The relative path from one absolute folder to another.
pub fn between(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to[shared..].iter().copied()).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

/// The commands for a study, the same wherever they are typed: from the root of its repository, or without one from its
/// own folder.
fn commands(folder: &Path, options: &Options) -> Commands {
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let root = real.ancestors().find(|folder| folder.join(".git").exists());
    let path = root.and_then(|root| real.strip_prefix(root).ok()).unwrap_or(Path::new(""));
    let path = if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() };
    let mut words = vec!["knee".to_owned(), "study".to_owned(), path];
    words.extend(flags(options));
    let quoted = |words: &[String]| {
        // Only a NUL cannot be quoted, and no argument has one.
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
    };
    let repeat = quoted(&words);
    words.push("--report-only".to_owned());
    let place = if root.is_some() { "the root of the repository" } else { "the folder of the study" };
    Commands { folder: place.to_owned(), repeat, report: quoted(&words) }
}

/// The flags of these options.
fn flags(options: &Options) -> Vec<String> {
    let mut words = Vec::new();
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
    if options.observed {
        add("--observe", Some("started".to_owned()));
    }
    words.extend(options.fleet.iter().cloned());
    words
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
    fn the_command_is_what_a_shell_takes_and_the_same_wherever_it_is_typed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("labs/a lab");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        let options =
            Options { quick: true, variants: vec!["best - cache".to_owned()], ..Options::default() };
        let known = commands(&folder, &options);
        assert_eq!(known.repeat, "knee study 'labs/a lab' --quick --variant 'best - cache'");
        assert_eq!(known.report, format!("{} --report-only", known.repeat));
        assert_eq!(known, commands(&folder.join("../a lab"), &options));
    }
}
