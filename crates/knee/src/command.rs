//! What the program can be told to do: one file a command.
//!
//! Each takes what was typed and returns how the program is to end; printing errors is `main`'s.

pub mod load;

pub mod report;

pub mod demo;

pub mod run;

pub mod sweep;

pub mod study;

pub mod compare;

pub mod calibrate;

mod failed;

mod journal;

mod locust;

mod noise;

mod progress;

mod sides;

use knee_core::record::{Build, Run};
use knee_report::number::Unit;
use knee_report::text::{Palette, Style};
use knee_report::{View, csv, json, oha_json, text};

use crate::args::Format;

/// This program.
fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("KNEE_COMMIT").map(str::to_owned),
        optimized: !cfg!(debug_assertions),
    }
}

/// A run in the form that was asked for; empty if that is none.
fn render(run: &Run, format: Format, color: bool, unit: Option<Unit>) -> String {
    let view = View::of(run);
    match format {
        Format::Text => {
            let palette = if color { Palette::Ansi } else { Palette::None };
            text::render(&view, &Style { palette, unit, ..Style::default() })
        }
        Format::Json => json::render(&view),
        Format::Csv => csv::render(&view),
        Format::OhaJson => oha_json::render(&view),
        Format::Quiet => String::new(),
    }
}
