//! `knee study`: bring up what a study declares, run its trials one after the other, and say what they showed.
//!
//! Which trial comes next and what all of them mean is decided by `knee_study`; services and databases are
//! brought up by `knee_rig`. What each trial measured is kept before the next begins, so that a study that was
//! stopped goes on with `--resume`. Does not calculate.

use std::path::{Path, PathBuf};

use knee_engine::control::{Control, Request};
use knee_study::definition::Definition;
use knee_study::study::{Conclusion, Options, Refusal, Study, Told, Trial};

use super::trials::{Bench, Course, Failed, Standing, refusal_of};
use crate::args::StudyArgs;
use crate::exit::Exit;
use crate::noise;
use crate::problem::{Problem, printable, reason};
use crate::settings::Surroundings;
use crate::settings::output::open_result;
use crate::signals;

mod declared;

mod kept;

pub(super) mod result;

use declared::Declared;
use kept::Kept;

/// The file that says what a study is.
const FILE: &str = "study.toml";

/// Does it.
///
/// # Errors
///
/// What is wrong with the study ([`Exit::Configuration`]), or what failed on this machine.
pub fn study(args: &StudyArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let surroundings = Surroundings::read();
    let is_terminal = surroundings.stdout_terminal && args.output.output.is_none();
    let color = is_terminal && !(args.output.no_color || surroundings.no_color);
    let (folder, text, file) = read(&args.study).map_err(refused)?;
    let exists = |path: &str| folder.join(path).is_file();
    let definition = Definition::read(&text, &file, &exists).map_err(|problems| refused(told(&problems)))?;
    let options = Options {
        quick: args.extent.quick,
        arms: args.extent.arms.clone(),
        blocks: args.extent.blocks,
        against_itself: args.extent.against_itself.clone(),
    };
    let mut study = begin(&definition, &options, &folder, args.extent.resume, narrate)?;
    if args.extent.dry_run {
        for line in result::plan(&study) {
            narrate(&line);
        }
        return Ok(Exit::Ok);
    }
    let mut sink = open_result(args.output.output.as_deref()).map_err(refused)?;
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let fault = run(&mut study, &folder, args.output.quiet, &control, narrate)?;
    let conclusion = study.conclude();
    if let Some(fault) = fault.filter(|_| conclusion.totals.trials == 0) {
        return Err(fault);
    }
    let format = args.output.output_format.unwrap_or_default();
    sink.write(result::render(&conclusion, format, color).as_bytes()).map_err(failed)?;
    Ok(exit_of(&conclusion, &control))
}

/// The folder of the study, the text of its file, and how the file is called in messages.
fn read(given: &Path) -> Result<(PathBuf, String, String), Problem> {
    let file = if given.is_dir() { given.join(FILE) } else { given.to_owned() };
    let shown = printable(&file.display().to_string());
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let hint = "give the folder of a study; what belongs into its study.toml stands in docs/reference/study-toml.md";
        Problem::new(format!("cannot read `{shown}`: {}", reason(&error)), hint)
    })?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), text, shown))
}

/// The study before its next trial: from the beginning, or from where it was stopped.
fn begin(
    definition: &Definition,
    options: &Options,
    folder: &Path,
    resume: bool,
    narrate: fn(&str),
) -> Result<Study, Failed> {
    let refuse = |refusal: Refusal| refused(refusal_of(&refusal));
    let noise = noise::of_this_machine(narrate);
    if !resume {
        return Study::new(definition.clone(), options.clone(), noise).map_err(refuse);
    }
    let entries = Kept::at(folder).entries(definition, options).map_err(refused)?;
    narrate(&format!("going on after {} trials", entries.len()));
    Study::resume(definition.clone(), options.clone(), noise, entries).map_err(refuse)
}

/// Runs all trials that are left; what ended it before its time is returned.
fn run(
    study: &mut Study,
    folder: &Path,
    quiet: bool,
    control: &Control,
    narrate: fn(&str),
) -> Result<Option<Failed>, Failed> {
    let mut journal = Kept::at(folder).open(study).map_err(refused)?;
    narrate("bringing up what the study declares");
    let standing = Standing::up(&study.definition().rig, folder, control)?;
    let driver = Declared { folder: standing.rig.study().to_owned() };
    let bench = Bench::new(Some(standing), Box::new(driver), control.clone());
    let interrupted = "interrupted: the result is drawn from the trials that were made; --resume goes on";
    let mut keep = |trial: &Trial, told: &Told| journal.add(trial, told);
    Course { control, quiet, narrate, interrupted, keep: &mut keep }.run(study, bench)
}

/// How a study ends the program: trials that measured nothing count more than how it came to its end.
fn exit_of(conclusion: &Conclusion, control: &Control) -> Exit {
    if control.request() != Request::Run {
        return Exit::Interrupted;
    }
    let totals = conclusion.totals;
    if totals.valid + totals.suspect == 0 { Exit::Invalid } else { Exit::Ok }
}

fn told(problems: &knee_study::definition::Problems) -> Problem {
    Problem::new(problems.to_string(), "every key is described in docs/reference/study-toml.md")
}

fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}
