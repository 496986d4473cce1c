//! The result of a search on stdout or in the file of `-o`.
//!
//! Does not lay it out; [`knee_report::find`] does.

use knee_report::find::{self, Search};
use knee_report::text::{Palette, Style};
use knee_report::{html, kept};

use crate::args::{FindArgs, FindFormat};
use crate::command::failed::{Failed, failed};
use crate::command::keep::keep;
use crate::problem::Problem;
use crate::settings::Surroundings;
use crate::settings::output::{Sink, open_result};

/// Where the result goes, opened before any load.
pub struct Writer<'a> {
    args: &'a FindArgs,
    sink: Sink,
}

impl<'a> Writer<'a> {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn open(args: &'a FindArgs) -> Result<Self, Problem> {
        Ok(Self { args, sink: open_result(args.output.output.as_deref())? })
    }

    /// Writes the result in the format that was asked for, and saves it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&mut self, search: &Search, narrate: fn(&str)) -> Result<(), Failed> {
        let flags = &self.args.output;
        let text = match flags.output_format.unwrap_or_default() {
            FindFormat::Json => find::json(search),
            FindFormat::Html => html::search(search, &Style { unit: flags.time_unit, ..Style::default() }),
            FindFormat::Text => {
                let surroundings = Surroundings::read();
                let plain = flags.no_color || surroundings.no_color || flags.output.is_some();
                let color = surroundings.stdout_terminal && !plain;
                let palette = if color { Palette::Ansi } else { Palette::None };
                find::text(search, &Style { palette, unit: flags.time_unit, ..Style::default() })
            }
        };
        self.sink.write(text.as_bytes()).map_err(failed)?;
        let style = Style { unit: flags.time_unit, ..Style::default() };
        keep(&kept::search(search, &style).with_page(html::search(search, &style)), narrate);
        Ok(())
    }
}
