//! A document of a comparison, as text or Markdown.
//!
//! Does not write it anywhere.

use knee_report::kept::COLUMNS;
use knee_report::study::{Document, markdown, text};
use knee_report::text::Palette;

use crate::args::{CompareFormat, CompareOutputFlags};
use crate::settings::Surroundings;

/// A document as text or Markdown.
pub(super) fn render(document: &Document, output: &CompareOutputFlags) -> String {
    let surroundings = Surroundings::read();
    let color = surroundings.stdout_terminal
        && output.output.is_none()
        && !(output.no_color || surroundings.no_color);
    match output.output_format.unwrap_or_default() {
        CompareFormat::Md => markdown(document),
        _ => text(document, COLUMNS, if color { Palette::Ansi } else { Palette::None }),
    }
}
