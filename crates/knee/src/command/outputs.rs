//! Files that other tools wrote, as `knee report` shows them and `knee compare` compares them.
//!
//! `knee_audit` reads and checks them, and `knee_report` lays documents out. Draws no verdict, and does not find files.

mod document;

mod json;

mod opened;

mod side;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use knee_audit::{Examined, Known, ReadError, examine, pair};
use knee_core::record::format::MAGIC;
use knee_report::kept::{self, COLUMNS};
use knee_report::page_data;
use knee_report::study::{markdown, text};
use knee_report::text::Palette;

pub use self::opened::{Opened, Output};
use self::side::Side;
use super::audit::unreadable;
use super::rendered::render;
use super::saved;
use crate::args::{CompareFormat, CompareOutputFlags, ReportArgs, ReportFormat};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line};
use crate::settings::Surroundings;
use crate::settings::output::open_result;

/// How a file begins.
enum Beginning {
    Saved,
    /// knee's page, or that of another tool.
    Page,
    Other,
}

/// Reads a file of knee or of another tool; the content decides, not the name.
///
/// # Errors
///
/// When it cannot be read, or is neither.
pub fn open(path: &Path, narrate: fn(&str)) -> Result<Opened, Problem> {
    let saved = || saved::open(path, narrate).map(Opened::Saved);
    let name = on_one_line(&path.display().to_string());
    match beginning(path) {
        // The reader of saved runs reports what is wrong with the file.
        None | Some(Beginning::Saved) => saved(),
        Some(Beginning::Page) => saved().or_else(|problem| match read(path, &name) {
            Ok(examined) if examined.document.format.starts_with("Locust") => Ok(output(name, examined)),
            _ => Err(problem),
        }),
        Some(Beginning::Other) => match read(path, &name) {
            Ok(examined) => Ok(output(name, examined)),
            Err(ReadError::UnknownFormat | ReadError::Io(_)) => saved(),
            Err(error) => Err(unreadable(&name, &error)),
        },
    }
}

fn output(name: String, examined: Examined) -> Opened {
    Opened::Output(Box::new(Output { name, examined }))
}

/// `None` if the file cannot be read.
fn beginning(path: &Path) -> Option<Beginning> {
    let mut source = BufReader::new(File::open(path).ok()?);
    let start = source.fill_buf().ok()?;
    Some(match start {
        _ if start.starts_with(&MAGIC) || start.starts_with(&kept::MAGIC) => Beginning::Saved,
        _ if page_data::is_page(start) => Beginning::Page,
        _ => Beginning::Other,
    })
}

fn read(path: &Path, name: &str) -> Result<Examined, ReadError> {
    examine(name, File::open(path)?, &Known::default())
}

/// Prints two runs beside each other, of which at least one is the output of another tool.
///
/// # Errors
///
/// If one of them is not a run, or they have no figure in common.
pub fn compare(sides: [(&Path, Opened); 2], flags: &CompareOutputFlags) -> Result<Exit, Problem> {
    let [a, b] = sides;
    let (a, b) = (Side::of(a.0, a.1)?, Side::of(b.0, b.1)?);
    let figures = pair::figures(&a.run, &b.run);
    if !pair::is_enough(&figures) {
        let what = format!("`{}` and `{}` have no figure in common that can be compared", a.name, b.name);
        return Err(Problem::new(what, format!("A has {}; B has {}", a.figure_names(), b.figure_names())));
    }
    let differences = pair::differences(&a.run, &b.run);
    let rendered = match flags.output_format.unwrap_or_default() {
        CompareFormat::Html => {
            let what = "a comparison with the output of another tool has no page";
            return Err(Problem::new(what, "use text, md or json"));
        }
        CompareFormat::Json => json::pair(&a, &b, &differences, &figures),
        CompareFormat::Text | CompareFormat::Md => {
            render(&document::pair(&a, &b, &differences, &figures), flags)
        }
    };
    open_result(flags.output.as_deref())?.write(rendered.as_bytes())?;
    Ok(Exit::Ok)
}

/// Prints the figures of an output, and what the checks found in it.
///
/// # Errors
///
/// If it is not one run, or does not have the format.
pub fn report(args: &ReportArgs, output: Output) -> Result<Exit, Problem> {
    let answer = knee_audit::report::answer(std::slice::from_ref(&output.examined.report));
    let side = Side::of_output(output)?;
    let shown = || document::one(&side, &answer, args.time_unit);
    let rendered = match args.format {
        ReportFormat::Text => text(&shown(), COLUMNS, palette(args)),
        ReportFormat::Md => markdown(&shown()),
        ReportFormat::Json => json::one(&side, &answer),
        ReportFormat::Quiet => String::new(),
        ReportFormat::Html | ReportFormat::Csv | ReportFormat::OhaJson | ReportFormat::LocustCsv => {
            let what = format!("`{}` is an output of {}, which has no such format", side.name, side.run.tool);
            return Err(Problem::new(what, "use text, md or json"));
        }
    };
    open_result(args.output.as_deref())?.write(rendered.as_bytes())?;
    Ok(Exit::Ok)
}

fn palette(args: &ReportArgs) -> Palette {
    let surroundings = Surroundings::read();
    let color =
        !args.no_color && !surroundings.no_color && surroundings.stdout_terminal && args.output.is_none();
    if color { Palette::Ansi } else { Palette::None }
}
