//! The commands of the program, one file per command.
//!
//! Each takes what was typed and returns the exit code; `main` prints errors.

pub mod load;

pub mod merge;

pub mod report;

pub mod agent;

pub mod archive;

pub mod inspect;

pub mod audit;

pub mod demo;

pub mod tour;

pub mod run;

pub mod shell;

pub mod sweep;

pub mod study;

pub mod compare;

pub mod calibrate;

pub mod doctor;

pub mod explain;

pub mod history;

pub mod serve;

pub mod find;

pub mod fleet;

pub(crate) mod failed;

mod journal;

mod keep;

mod locust;

mod noise;

mod observe;

mod outputs;

mod progress;

mod pushes;
mod rendered;

pub mod saved;

mod sides;

use knee_core::record::compact::Compact;
use knee_core::record::{Build, Run};
use knee_core::validity::Validity;
use knee_report::number::Unit;
use knee_report::text::{Palette, Style};
use knee_report::{View, csv, html, json, oha_json, text};

use crate::args::Format;
use crate::problem::on_one_line;

/// Why a result is invalid, for formats that do not contain the reason.
fn why_invalid(run: &Run, format: Format) -> Option<String> {
    let silent = matches!(format, Format::Csv | Format::Quiet | Format::OhaJson);
    let worst =
        run.validity.warnings.iter().find(|one| one.validity == Validity::Invalid).filter(|_| silent)?;
    Some(format!("invalid: {} [{}]", on_one_line(&worst.message), on_one_line(&worst.code)))
}

/// What to do about an incomplete record of a run.
const INCOMPLETE: &str =
    "the printed result is complete; free some space, or save the run elsewhere with KNEE_HOME";

/// What to do about an incomplete record of a trial.
const INCOMPLETE_TRIAL: &str = "free some space, or save the trials elsewhere with KNEE_HOME";

/// Most bytes of the record within a page. In text that a page can hold they are a third more.
const RECORD_IN_PAGE_MAX: usize = 1_000_000;

/// This program.
pub(crate) fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("KNEE_COMMIT").map(str::to_owned),
        optimized: !cfg!(debug_assertions),
    }
}

/// A run in the format that was asked for; empty if that is none.
fn render(run: &Run, format: Format, color: bool, unit: Option<Unit>) -> String {
    let view = View::of(run);
    match format {
        Format::Text => {
            let palette = if color { Palette::Ansi } else { Palette::None };
            text::render(&view, &Style { palette, unit, ..Style::default() })
        }
        Format::Html => {
            let record = Compact::of(run, RECORD_IN_PAGE_MAX);
            html::run(&view, record.as_ref(), &Style { unit, ..Style::default() })
        }
        Format::Json => json::render(&view),
        Format::Csv => csv::render(&view),
        Format::OhaJson => oha_json::render(&view),
        Format::Quiet => String::new(),
    }
}
