//! `knee run script.js`: runs a k6 script, shows it live, saves the record, prints the result.
//!
//! The order matters: the script is loaded and its options are checked before the first request, and the record is
//! saved before anything is printed. [`source`] loads the script, [`course`] makes the run, and [`ending`] prints.

use super::failed::{Failed, refused};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::other_load::Presence;
use crate::problem::on_one_line;
use crate::settings::Surroundings as Terminal;
use crate::settings::fleet as fleets;
use crate::settings::proxy;
use crate::settings::script::{Asked, asked};

mod counted;
mod course;
mod ending;
mod fleet;
mod job;
mod log;
pub mod part;
mod source;
pub(super) mod steps;
pub(super) mod takeover;
mod watch;
pub(super) mod whole;

use std::sync::Arc;

use job::Job;
use knee_js::session::Session;
use knee_k6::options::Options;
use log::Lines;
pub(super) use source::of_script;
use source::{load, options, unsupported};

/// A script that was loaded, with its options.
pub(super) struct Prepared {
    /// Flags and variables.
    asked: Asked,
    /// Where lines of the script go.
    lines: Arc<Lines>,
    /// The script.
    pub(super) session: Session,
    /// The options of all layers.
    pub(super) options: Options,
}

/// Loads a script and checks its options. Sends no request.
pub(super) fn prepare(args: &RunArgs, narrate: fn(&str)) -> Result<Prepared, Failed> {
    let env = |name: &str| std::env::var(name).ok();
    let asked = asked(args, &env, Terminal::read().no_color).map_err(refused)?;
    asked.notes.iter().for_each(|note| narrate(&format!("note: {}", on_one_line(note))));
    let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
    let session = load(args, &asked, &lines)?;
    session.program.notes().iter().for_each(|note| narrate(&format!("note: {}", on_one_line(note))));
    let options = options(&asked, &session)?;
    let warnings = options.warnings.iter().cloned().chain(unsupported(&options));
    warnings.for_each(|warning| narrate(&format!("warning: {}", on_one_line(&warning))));
    Ok(Prepared { asked, lines, session, options })
}

/// Runs the command.
///
/// # Errors
///
/// What is wrong with the script or its options, or what failed on this machine.
pub fn run(args: &RunArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let Prepared { asked, lines, session, options } = prepare(args, narrate)?;
    let env = |name: &str| std::env::var(name).ok();
    let warnings = proxy::of_script(&env).1;
    for warning in &warnings {
        narrate(&format!("warning: {}", on_one_line(warning)));
    }
    let terminal = Terminal::read();
    let job = Job::new(args, &asked, &session, &options, terminal, &lines)?;
    if !args.report.quiet {
        job.introduce(narrate);
    }
    let presence = Presence::announce(narrate);
    let course = match fleets::choice(&args.fleet).map_err(refused)? {
        Some(choice) => job.course_of_fleet(&choice, narrate)?,
        None => job.course(narrate)?,
    };
    drop(presence);
    ending::end(&job, &course, narrate)
}
