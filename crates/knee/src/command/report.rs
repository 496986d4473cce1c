//! `knee report`: show a saved run in any format, or list them.
//!
//! Does not measure and does not judge again: it shows the stored validity.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use knee_core::record::Run;
use knee_core::record::format::ReadError;
use knee_core::record::run::read;
use knee_report::number::Unit;
use knee_report::text::{Palette, Style};
use knee_report::{View, text};

mod list;

use super::{locust, render};
use crate::args::{Format, ReportArgs};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::Surroundings;
use crate::settings::output::{Sink, open_result};
use crate::store::Store;

/// Runs the command.
///
/// # Errors
///
/// When there is no such record, or the file is not a record.
pub fn report(args: &ReportArgs, narrate: fn(&str)) -> Result<Exit, Problem> {
    let store = Store::of_process().ok_or_else(|| {
        Problem::new("no folder for saved runs: neither KNEE_HOME nor HOME is set", "set HOME or KNEE_HOME")
    })?;
    if args.list {
        let list =
            args.record.as_deref().map_or_else(|| list::runs(&store), |name| list::trials(&store, name))?;
        Sink::Stdout.write(list.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let path = store.find(args.record.as_deref().unwrap_or("last"))?;
    let run = open(&path, narrate)?;
    let surroundings = Surroundings::read();
    let color =
        !args.no_color && !surroundings.no_color && surroundings.stdout_terminal && args.output.is_none();
    let Some(format) = args.format.of_one_text() else {
        locust::write(&path, &run, args.output.as_deref())?;
        return Ok(Exit::Ok);
    };
    let text = if args.all_findings && format == Format::Text {
        with_all_findings(&run, color, args.time_unit)
    } else {
        render(&run, format, color, args.time_unit)
    };
    open_result(args.output.as_deref())?.write(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// The text with every finding, its evidence, and the rules that could not run.
fn with_all_findings(run: &Run, color: bool, unit: Option<Unit>) -> String {
    let palette = if color { Palette::Ansi } else { Palette::None };
    let style = Style { palette, unit, all_findings: true, ..Style::default() };
    text::render(&View::of(run), &style)
}

/// Reads a record and reports its damage.
///
/// # Errors
///
/// When it cannot be read, or is not a record.
pub(super) fn open(path: &Path, narrate: fn(&str)) -> Result<Run, Problem> {
    let named = |text: String, hint| {
        let name = on_one_line(&path.display().to_string());
        Problem::new(format!("`{name}`: {}", on_one_line(&text)), hint)
    };
    let file = File::open(path).map_err(|error| named(reason(&error), "check its permissions"))?;
    let reading = read(BufReader::new(file)).map_err(|error| {
        let hint = match error {
            ReadError::Version(_) | ReadError::Later { .. } => {
                "use the version of knee that wrote it, or a later one"
            }
            _ => "give the file of a saved run; `knee report --list` lists them",
        };
        named(error.to_string(), hint)
    })?;
    for note in &reading.notes {
        narrate(&format!("note: at {}: {}", note.at, on_one_line(&note.text)));
    }
    Ok(reading.run)
}
