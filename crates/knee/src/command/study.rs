//! `knee study`: runs the trials of a study, or reads its saved ones, and writes the result.
//!
//! `knee_driver` runs the trials; `knee_study` chooses them and draws the conclusion. Does not calculate.

use std::path::{Path, PathBuf};

use knee_driver::saved::Packed;
use knee_driver::study::{self as driver, Start};
use knee_engine::control::{Control, Request};
use knee_report::number::counted;
use knee_report::study::Session;
use knee_study::definition::Definition;
use knee_study::study::{Conclusion, Options, Study};

use super::failed::{Failed, driver_failed, failed, refused};
use super::keep::keep;
use super::progress::{Progress, plan};
use super::pushes::{self, Feed};
use super::{build, noise};
use crate::args::StudyArgs;
use crate::exit::Exit;
use crate::other_load::Presence;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::fleet::Remote;
use crate::settings::{Surroundings, fleet, observe, output};
use crate::signals;

mod document;

mod folder;

pub(super) mod source;

mod up;

use document::Writer;
use folder::StudyFolder;
use source::Declared;

/// The file that declares a study.
pub(super) const FILE: &str = "study.toml";

/// Runs the command.
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
    let read_it = if args.extent.up.is_some() { Definition::read_to_start } else { Definition::read };
    let definition = read_it(&text, &file, &exists).map_err(|problems| refused(problem_of(&problems)))?;
    // Who writes a report needs no key.
    let remote = if args.extent.report_only {
        None
    } else {
        Remote::of(&args.fleet, &args.service_host).map_err(refused)?
    };
    Remote::refuse_observers(remote.as_ref(), &args.observe).map_err(refused)?;
    if let Some(variant) = &args.extent.up {
        return up::up(&definition, &folder, variant.as_deref(), args.output.quiet, narrate);
    }
    if args.extent.dry_run {
        let (study, _) = begin(&definition, args, &folder, narrate)?;
        driver::check(&study).map_err(driver_failed)?;
        for line in plan(&study) {
            narrate(&line);
        }
        return Ok(Exit::Ok);
    }
    observe::of_trial(&args.observe, &[]).map_err(refused)?;
    let targets = output::pushes(&args.output.out).map_err(refused)?;
    fleet::refuse_pushes(&args.fleet, &args.output.out).map_err(refused)?;
    let mut writer = Writer::open(args, color).map_err(refused)?;
    let claims_in = &definition.claims_in;
    StudyFolder::of(&folder, &options_of(args), claims_in).check().map_err(refused)?;
    // Before the saved trials are read: another study in the folder would add to them.
    let lock =
        (!args.extent.report_only).then(|| driver::lock(&folder)).transpose().map_err(driver_failed)?;
    let (mut study, mut sessions) = begin(&definition, args, &folder, narrate)?;
    let place = StudyFolder::of(&folder, study.options(), claims_in);
    let control = Control::new();
    let measures = lock.is_some() && !study.is_over();
    if measures {
        pushes::during(&targets, narrate, |feed| {
            let by = By { args, remote, feed };
            measure(&mut study, &mut sessions, &folder, &control, by, narrate)
        })?;
    }
    let packed = driver::pack(&study, &sessions, &folder, lock.as_ref());
    let conclusion = study.conclude();
    writer.write(&conclusion, &place, &sessions).map_err(failed)?;
    if measures {
        keep(&document::kept(&conclusion, &place, &sessions), narrate);
    }
    match packed.map_err(driver_failed) {
        Ok(Packed::Unfinished(path)) => narrate(&unfinished(&path)),
        Ok(packed) => {
            if let Packed::In(path) = packed {
                narrate(&format!("trials:  {}", shown(&path)));
            }
            place.write(&conclusion, &sessions, narrate).map_err(failed)?;
        }
        Err((problem, _)) if args.extent.report_only => {
            narrate(&format!("note: {}", on_one_line(&problem.what)));
        }
        Err(failure) => return Err(failure),
    }
    Ok(exit_of(&conclusion, &control))
}

/// Why the documents of a study are not replaced.
fn unfinished(path: &Path) -> String {
    format!(
        "note: this study was begun anew and is unfinished, so {} and the documents keep the one before; --resume \
         continues, and removing this file lets the new one take its place",
        shown(path)
    )
}

/// A path in a message.
fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}

/// What makes the loads of a study, and what their figures go to.
struct By<'a> {
    args: &'a StudyArgs,
    remote: Option<Remote>,
    feed: Option<Feed>,
}

/// Runs the trials that are left. An early end is an error only if there is no trial at all.
fn measure(
    study: &mut Study,
    sessions: &mut Vec<Session>,
    folder: &Path,
    control: &Control,
    By { args, remote, feed }: By<'_>,
    narrate: fn(&str),
) -> Result<(), Failed> {
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let interrupted = "interrupted: the result covers the trials so far; --resume continues";
    let mut progress = Progress::new(narrate, args.output.quiet, interrupted);
    let source = |folder: &Path| {
        Box::new(Declared { folder: folder.to_owned(), observe: args.observe.clone(), remote, feed })
            as Box<_>
    };
    let mut observe = |event: knee_driver::Event<'_>| progress.report(&event);
    let presence = Presence::of_series(control, narrate);
    let fault = driver::run(study, sessions, folder, build(), source, control, &mut observe);
    drop(presence);
    progress.explain();
    match fault.map_err(driver_failed)?.map(driver_failed) {
        Some(fault) if study.entries().is_empty() => Err(fault),
        Some((problem, _)) => {
            narrate(&problem.to_string());
            Ok(())
        }
        None => Ok(()),
    }
}

/// The folder of the study, the text of its file, and the name of the file in messages.
pub(super) fn read(given: &Path) -> Result<(PathBuf, String, String), Problem> {
    let file = if given.is_dir() { given.join(FILE) } else { given.to_owned() };
    let shown = on_one_line(&file.display().to_string());
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let hint = "give the folder of a study; docs/reference/study-toml.md describes its study.toml";
        Problem::new(format!("cannot read `{shown}`: {}", reason(&error)), hint)
    })?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), text, shown))
}

/// The study before its next trial, from the beginning or from where it was stopped, and its sessions until then.
fn begin(
    definition: &Definition,
    args: &StudyArgs,
    folder: &Path,
    narrate: fn(&str),
) -> Result<(Study, Vec<Session>), Failed> {
    let (extent, options) = (&args.extent, options_of(args));
    let start = match (extent.report_only, extent.resume) {
        (true, _) if options == Options::default() => Start::Saved,
        (true, _) | (false, true) => Start::Resumed,
        (false, false) => Start::New,
    };
    // A study that continues has the noise floor of its first day.
    let noise = if start == Start::New { noise::of_this_machine(narrate) } else { None };
    let (study, sessions) =
        driver::begin(definition, options, start, noise, folder).map_err(driver_failed)?;
    if extent.resume {
        narrate(&format!("continuing after {}", counted(study.entries().len() as u64, "saved trial")));
    }
    Ok((study, sessions))
}

/// The options that were asked for.
fn options_of(args: &StudyArgs) -> Options {
    let extent = &args.extent;
    Options {
        quick: extent.quick,
        variants: extent.variants.clone(),
        blocks: extent.blocks,
        aa: extent.aa.clone(),
        share_cpus: extent.share_cpus,
        observed: observe::names_started(&args.observe),
        fleet: Remote::words(&args.fleet, &args.service_host),
    }
}

/// Exit code of a study: a lack of usable trials has precedence over the way it ended.
fn exit_of(conclusion: &Conclusion, control: &Control) -> Exit {
    if control.request() != Request::Run {
        return Exit::Interrupted;
    }
    let totals = conclusion.totals;
    if totals.valid + totals.suspect == 0 { Exit::Invalid } else { Exit::Ok }
}

/// The mistakes of a study.toml as one problem.
pub(super) fn problem_of(problems: &knee_study::definition::Problems) -> Problem {
    let hint = match &problems.0[..] {
        [one] if !one.hint.is_empty() => one.hint.clone(),
        _ => "every key is described in docs/reference/study-toml.md".to_owned(),
    };
    Problem::new(problems.to_string(), hint)
}
