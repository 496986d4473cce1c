//! `knee study`: bring up what a study declares, run its trials one after the other, and say what they showed.
//!
//! Which trial comes next and what all of them mean is decided by `knee_study`; services and databases are
//! brought up by `knee_fixture`. What each trial measured is kept before the next begins, so that a study that was
//! stopped goes on with `--resume`, and its document is made again without running anything. Does not calculate.

use std::path::{Path, PathBuf};

use knee_core::clock;
use knee_engine::control::{Control, Request};
use knee_engine::host;
use knee_report::study::Session;
use knee_study::definition::Definition;
use knee_study::study::{Conclusion, Options, Refusal, Study, Trial, TrialResult};

use super::build;
use super::trials::{Bench, Course, Failed, Standing, refusal_of};
use crate::args::StudyArgs;
use crate::exit::Exit;
use crate::noise;
use crate::problem::{Problem, printable, reason};
use crate::settings::Surroundings;
use crate::signals;

mod declared;

mod document;

mod kept;

pub(super) mod result;

use declared::Declared;
use document::Writer;
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
    let definition =
        Definition::read(&text, &file, &exists).map_err(|problems| refused(problem_of(&problems)))?;
    let (mut study, mut sessions) = begin(&definition, args, &folder, narrate)?;
    if args.extent.dry_run {
        for line in result::plan(&study) {
            narrate(&line);
        }
        return Ok(Exit::Ok);
    }
    let mut writer = Writer::open(args, color).map_err(refused)?;
    let control = Control::new();
    if !(args.extent.report_only || study.is_over()) {
        let order = Order { folder: &folder, control: &control, quiet: args.output.quiet, narrate };
        order.measure(&mut study, &mut sessions)?;
    }
    let conclusion = study.conclude();
    writer.write(&conclusion, study.options(), sessions).map_err(failed)?;
    Ok(exit_of(&conclusion, &control))
}

/// How trials of a study are run.
struct Order<'a> {
    folder: &'a Path,
    control: &'a Control,
    quiet: bool,
    narrate: fn(&str),
}

impl Order<'_> {
    /// Runs the trials that are left and adds when that was. What failed is an error only if nothing at all was measured.
    fn measure(&self, study: &mut Study, sessions: &mut Vec<Session>) -> Result<(), Failed> {
        let _signals = signals::watch(self.control.clone())
            .map_err(|error| failed(Problem::new(error.to_string(), "")))?;
        sessions.push(Session {
            started: clock::wall(),
            first_trial: study.entries().len(),
            build: build(),
            machine: host::machine(),
        });
        let fault = self.run(study, sessions)?;
        fault.filter(|_| study.entries().is_empty()).map_or(Ok(()), Err)
    }

    /// Runs all trials that are left; what ended it before its time is returned.
    fn run(&self, study: &mut Study, sessions: &[Session]) -> Result<Option<Failed>, Failed> {
        let Self { folder, control, quiet, narrate } = *self;
        narrate("bringing up what the study declares");
        let standing = Standing::up(&study.definition().fixture, folder, control)?;
        standing.check(&study.definition().workloads)?;
        // Not before: it takes the place of the trials that were kept.
        let mut journal = Kept::at(folder).open(study, sessions).map_err(refused)?;
        let driver = Declared { folder: standing.fixture.study().to_owned() };
        let bench = Bench::new(Some(standing), Box::new(driver), control.clone());
        let interrupted = "interrupted: the result is drawn from the trials that were made; --resume goes on";
        let mut keep = |trial: &Trial, result: &TrialResult| journal.add(trial, result);
        Course { control, quiet, narrate, interrupted, keep: &mut keep }.run(study, bench)
    }
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

/// The study before its next trial, from the beginning or from where it was stopped, and when it was made until then.
fn begin(
    definition: &Definition,
    args: &StudyArgs,
    folder: &Path,
    narrate: fn(&str),
) -> Result<(Study, Vec<Session>), Failed> {
    let refuse = |refusal: Refusal| refused(refusal_of(&refusal));
    let extent = &args.extent;
    let options = Options {
        quick: extent.quick,
        variants: extent.variants.clone(),
        blocks: extent.blocks,
        aa: extent.aa.clone(),
    };
    let noise = noise::of_this_machine(narrate);
    let kept = Kept::at(folder);
    let stored = if extent.report_only {
        kept.read(definition).map_err(refused)?
    } else if extent.resume {
        let stored = kept.resumed(definition, &options).map_err(refused)?;
        narrate(&format!("going on after {} trials", stored.entries.len()));
        stored
    } else {
        let study = Study::new(definition.clone(), options, noise).map_err(refuse)?;
        return Ok((study, Vec::new()));
    };
    let study = Study::resume(definition.clone(), stored.options, noise, stored.entries).map_err(refuse)?;
    Ok((study, stored.sessions))
}

/// How a study ends the program: trials that measured nothing count more than how it came to its end.
fn exit_of(conclusion: &Conclusion, control: &Control) -> Exit {
    if control.request() != Request::Run {
        return Exit::Interrupted;
    }
    let totals = conclusion.totals;
    if totals.valid + totals.suspect == 0 { Exit::Invalid } else { Exit::Ok }
}

fn problem_of(problems: &knee_study::definition::Problems) -> Problem {
    Problem::new(problems.to_string(), "every key is described in docs/reference/study-toml.md")
}

fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}
