//! `knee archive`: a script with everything that it needs in one file, which k6 and `knee run` take.
//!
//! Sends no request. Does not know the format; [`knee_js::program::archive`] does.

use std::path::Path;

use knee_js::program::archive::Archive;

use super::failed::{Failed, failed, refused};
use super::run::prepare;
use crate::args::ArchiveArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::settings::output::open_result;

/// Runs the command.
///
/// # Errors
///
/// What is wrong with the script or its options, or why the archive cannot be written.
pub fn archive(args: &ArchiveArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let prepared = prepare(&args.run(), narrate)?;
    let program = &prepared.session.program;
    let mut bundle = program.bundle();
    bundle.options = Some(prepared.options.plain.to_string());
    let environment = if args.exclude_env_vars { &[][..] } else { &program.surroundings.environment };
    let archive = Archive { bundle, environment: environment.iter().cloned().collect() };
    let mut bytes = Vec::new();
    archive.write(&mut bytes).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let file = Some(&*args.archive_out).filter(|path| *path != Path::new("-"));
    let mut sink = open_result(file).map_err(refused)?;
    sink.write(&bytes).map_err(failed)?;
    Ok(Exit::Ok)
}
