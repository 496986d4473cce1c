//! `knee report`: show a saved run in any format or the output of another tool, or list what is saved.
//!
//! Does not measure and does not judge again: it shows the stored validity.

use std::path::Path;

use knee_core::record::Run;
use knee_report::kept::KeptResult;
use knee_report::number::Unit;
use knee_report::text::{Palette, Style};
use knee_report::{View, clean, text};

mod list;

use super::outputs::{self, Opened};
use super::saved::{Place, Saved};
use super::{locust, render};
use crate::args::{Format, ReportArgs, ReportFormat};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line};
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
    match outputs::open(&path, narrate)? {
        Opened::Saved(Saved::Run(run, place)) => of_run(args, &path, &run, place),
        Opened::Saved(Saved::Result(kept)) => of_result(args, &path, *kept),
        Opened::Output(output) => outputs::report(args, *output),
    }
}

fn of_run(args: &ReportArgs, path: &Path, run: &Run, place: Place) -> Result<Exit, Problem> {
    let surroundings = Surroundings::read();
    let color =
        !args.no_color && !surroundings.no_color && surroundings.stdout_terminal && args.output.is_none();
    let Some(format) = args.format.of_one_text() else {
        if args.format == ReportFormat::Md {
            return Err(Problem::new("a run has no Markdown", "use another format: text, html, json or csv"));
        }
        if place == Place::Page {
            let what = format!("{} is a page, which has no totals after each interval", shown(path));
            return Err(Problem::new(what, "give the record of the run; `knee history` lists records"));
        }
        locust::write(path, run, args.output.as_deref())?;
        return Ok(Exit::Ok);
    };
    let text = if args.all_findings && format == Format::Text {
        with_all_findings(run, color, args.time_unit)
    } else {
        render(run, format, color, args.time_unit)
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

/// Prints a result that is no run, as its command printed it.
fn of_result(args: &ReportArgs, path: &Path, kept: KeptResult) -> Result<Exit, Problem> {
    let what = format!("{} is the result of a {}", shown(path), kept.summary.kind.name());
    if args.time_unit.is_some() {
        let hint = "leave `-u` out: the result has the unit with which it was printed";
        return Err(Problem::new(format!("{what}, for `-u`"), hint));
    }
    let printed = kept.printed;
    let text = match args.format {
        ReportFormat::Text if args.all_findings => printed.all_findings,
        ReportFormat::Text => Some(printed.text),
        ReportFormat::Md => printed.markdown,
        ReportFormat::Json => Some(printed.json),
        ReportFormat::Html => printed.page,
        ReportFormat::Quiet => return Ok(Exit::Ok),
        ReportFormat::Csv | ReportFormat::OhaJson | ReportFormat::LocustCsv => None,
    };
    let Some(text) = text else {
        let flag = if args.all_findings { "--all-findings" } else { "this format" };
        return Err(Problem::new(format!("{what}, which does not have {flag}"), "use text or json"));
    };
    // A file from elsewhere can contain anything; a page is for browsers, not for a terminal.
    let text = if args.format == ReportFormat::Html { text } else { clean::lines(&text).into_owned() };
    open_result(args.output.as_deref())?.write(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn shown(path: &Path) -> String {
    format!("`{}`", on_one_line(&path.display().to_string()))
}
