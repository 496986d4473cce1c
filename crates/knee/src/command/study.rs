//! `knee study`: bring up what a study declares, run its trials one after the other, and say what they showed.
//!
//! Which trial comes next and what all of them mean is decided by `knee_study`; services and databases are
//! brought up by `knee_rig`. What each trial measured is kept before the next begins, so that a study that was
//! stopped goes on with `--resume`, and its document is made again without running anything. Does not calculate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use knee_core::clock::{self, MonotonicClock};
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_engine::host;
use knee_report::study::Session;
use knee_rig::{Options as RigOptions, Rig, guard};
use knee_study::definition::Definition;
use knee_study::study::{Conclusion, Options, Refusal, Study, Told, Trial};

use super::build;
use crate::args::StudyArgs;
use crate::exit::Exit;
use crate::problem::{Problem, printable, reason};
use crate::settings::Surroundings;
use crate::signals;

mod arm;

mod document;

mod figures;

mod kept;

mod place;

mod processes;

mod result;

mod trial;

use document::Writer;
use kept::{Journal, Kept};

/// A study that failed: with the code to end with.
type Failed = (Problem, Exit);

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
    let (study, sessions) = begin(&definition, args, &folder, narrate)?;
    if args.extent.dry_run {
        for line in result::plan(&study) {
            narrate(&line);
        }
        return Ok(Exit::Ok);
    }
    let mut writer = Writer::open(args, color).map_err(refused)?;
    let control = Control::new();
    let (study, sessions) = if args.extent.report_only || study.is_over() {
        (study, sessions)
    } else {
        let course = Course { folder: &folder, control: &control, quiet: args.output.quiet, narrate };
        measure(study, sessions, &course)?
    };
    let conclusion = study.conclude();
    writer.write(&conclusion, study.options(), sessions).map_err(failed)?;
    Ok(exit_of(&conclusion, &control))
}

/// Runs the trials that are left. What failed is an error only if nothing at all was measured.
fn measure(
    study: Study,
    mut sessions: Vec<Session>,
    course: &Course<'_>,
) -> Result<(Study, Vec<Session>), Failed> {
    let _signals = signals::watch(course.control.clone())
        .map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    sessions.push(Session {
        started: clock::wall(),
        first_trial: study.entries().len(),
        build: build(),
        machine: host::machine(),
    });
    let journal = Kept::at(course.folder).open(&study, &sessions).map_err(refused)?;
    let (study, fault) = course.run(study, journal)?;
    match fault.filter(|_| study.entries().is_empty()) {
        Some(fault) => Err(fault),
        None => Ok((study, sessions)),
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
        arms: extent.arms.clone(),
        blocks: extent.blocks,
        against_itself: extent.against_itself.clone(),
    };
    let kept = Kept::at(folder);
    let stored = if extent.report_only {
        kept.read(definition).map_err(refused)?
    } else if extent.resume {
        let stored = kept.resumed(definition, &options).map_err(refused)?;
        narrate(&format!("going on after {} trials", stored.entries.len()));
        stored
    } else {
        let study = Study::new(definition.clone(), options, None).map_err(refuse)?;
        return Ok((study, Vec::new()));
    };
    let study = Study::resume(definition.clone(), stored.options, None, stored.entries).map_err(refuse)?;
    Ok((study, stored.sessions))
}

/// A study while its trials run.
struct Course<'a> {
    folder: &'a Path,
    control: &'a Control,
    quiet: bool,
    narrate: fn(&str),
}

impl Course<'_> {
    /// Runs all trials that are left; what ended it before its time is returned beside it.
    fn run(&self, mut study: Study, mut journal: Journal) -> Result<(Study, Option<Failed>), Failed> {
        let interrupt = Arc::new(AtomicBool::new(false));
        let _bridge = Bridge::between(self.control.clone(), interrupt.clone())
            .map_err(|error| failed(Problem::new(error.to_string(), "")))?;
        let options = RigOptions {
            guard: Some(guard::Program::this().map_err(|error| failed(Problem::new(error.to_string(), "")))?),
            interrupt,
            ..RigOptions::new(self.folder)
        };
        (self.narrate)("bringing up what the study declares");
        let rig = Rig::up(&study.definition().rig, &options).map_err(|error| broken(&error))?;
        let mut bench = trial::Bench::new(rig, self.control.clone());
        let clock = MonotonicClock::start();
        let (mut fault, mut done) = (None, 0_u32);
        while self.control.request() == Request::Run
            && let Some(next) = study.next()
        {
            match bench.take(&study, &next) {
                Ok(told) => {
                    journal.add(&next, &told).map_err(failed)?;
                    done += 1;
                    self.tell(&study, &next, &told, clock.now(), done);
                    // The trial is the one that was asked for.
                    study.tell(&next, told).map_err(|refusal| failed(refusal_of(&refusal)))?;
                }
                Err(_) if self.control.request() != Request::Run => break,
                Err(failure) => {
                    fault = Some(failure);
                    break;
                }
            }
        }
        if self.control.request() != Request::Run {
            (self.narrate)(
                "interrupted: the result is drawn from the trials that were made; --resume goes on",
            );
        }
        if let Some((problem, _)) = &fault {
            (self.narrate)(&problem.to_string());
        }
        bench.down().map_err(|error| broken(&error))?;
        Ok((study, fault))
    }

    /// A line on what came of a trial, with what is left.
    fn tell(&self, study: &Study, trial: &Trial, told: &Told, elapsed: Nanos, done: u32) {
        if self.quiet {
            return;
        }
        let left = study.remaining().saturating_sub(1);
        let seconds = elapsed.as_secs_f64() / f64::from(done) * left as f64;
        (self.narrate)(&result::line(trial, told, left, Nanos::from_secs_f64(seconds)));
    }
}

/// Tells whoever waits for the rig that somebody wants to stop.
struct Bridge {
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Bridge {
    /// How late a wish to stop may reach the rig.
    const PERIOD: Duration = Duration::from_millis(50);

    fn between(control: Control, interrupt: Arc<AtomicBool>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let watch = move || {
            while !ends.load(Ordering::Relaxed) {
                if control.request() != Request::Run {
                    interrupt.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(Self::PERIOD);
            }
        };
        let thread = std::thread::Builder::new().name("interrupt".to_owned()).spawn(watch)?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot panic, and if it did there is nothing left for it to do.
            let _ = thread.join();
        }
    }
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

fn refusal_of(refusal: &Refusal) -> Problem {
    let hint = match refusal {
        Refusal::OtherStudy(_) => "leave --resume and --report-only out to begin anew",
        Refusal::MarginWithinNoise { .. } => "ask for more blocks, or a wider margin",
        _ => "",
    };
    Problem::new(refusal.to_string(), hint)
}

/// What the rig could not do.
fn broken(error: &knee_rig::Error) -> Failed {
    let exit = match error {
        knee_rig::Error::Interrupted(_) => Exit::Interrupted,
        _ => Exit::Failure,
    };
    (Problem::new(printable_lines(&error.to_string()), error.hint()), exit)
}

/// A text of somebody else's in several lines, without what would steer a terminal.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}
