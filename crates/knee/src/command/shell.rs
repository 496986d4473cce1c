//! `knee completions` and `knee man`: what packages install beside the program.
//!
//! Does not know the flags; `args` does.

use std::fs;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use crate::args::{self, CompletionsArgs, ManArgs};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::output::Sink;

/// Prints what makes a shell complete commands and flags.
///
/// # Errors
///
/// When it cannot be printed.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Problem> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut args::definition(), "knee", &mut text);
    Sink::Stdout.write(&text)?;
    Ok(Exit::Ok)
}

/// Writes a manual page for the program and for each of its commands.
///
/// # Errors
///
/// When a page cannot be written.
pub fn man(args: &ManArgs) -> Result<Exit, Problem> {
    let program = args::definition();
    page(&args.folder, "knee", program.clone())?;
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("knee-{}", command.get_name());
        // A page is of the whole command line that it explains.
        page(&args.folder, &name, command.clone().display_name(&name).bin_name(name.replacen('-', " ", 1)))?;
    }
    Ok(Exit::Ok)
}

fn page(folder: &Path, name: &str, command: Command) -> Result<(), Problem> {
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    let written = Man::new(command).render(&mut text).and_then(|()| fs::write(&path, &text));
    written.map_err(|error| {
        let what = format!("`{}`: {}", on_one_line(&path.display().to_string()), reason(&error));
        Problem::new(what, "give a folder that exists and can be written")
    })
}
