//! What the pictures of a study share: rows with names at the left, panels beside each other, words at their right.
//!
//! Does not know what is drawn in a panel.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use crate::clean;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// Metrics side by side in one picture.
pub(super) const PANELS: usize = 2;

/// Pixels of a picture's width: what a README shows.
pub(super) const WIDTH: u32 = 880;
const ROW: u32 = 24;
const HEAD: u32 = 78;
const FOOT: u32 = 48;
const MARGIN: u32 = 8;
/// Pixels that a letter of a small text takes, at the most on average.
const LETTER: f64 = 7.0;
const NAMES_MAX: u32 = 270;
/// Letters of a line of small text that fits into the width of a picture.
const LINE_MAX: usize = 140;

const FONT: &str = "Helvetica, Arial, sans-serif";
pub(super) const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
pub(super) const FAINT: RGBColor = RGBColor(0x65, 0x6d, 0x76);
pub(super) const RULE: RGBColor = RGBColor(0xd8, 0xdc, 0xe0);
pub(super) const BAND: RGBColor = RGBColor(0xee, 0xf1, 0xf4);
pub(super) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(super) const ORANGE: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub(super) const GREEN: RGBColor = RGBColor(0x00, 0x7a, 0x59);
/// Colours of lines beside each other (Okabe and Ito).
pub(super) const LINES: [RGBColor; 6] =
    [BLUE, ORANGE, GREEN, RGBColor(0xcc, 0x79, 0xa7), RGBColor(0x56, 0xb4, 0xe9), RGBColor(0x99, 0x77, 0x00)];

/// A row of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// A heading of the rows below it.
    Group(String),
    /// Something with a name.
    Named(String),
}

/// Where text is relative to its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A colour on a light page, and the one in its place on a dark page.
const DARK: [(RGBColor, &str); 11] = [
    (WHITE, "#0d1117"),
    (INK, "#e6edf3"),
    (FAINT, "#9198a1"),
    (RULE, "#30363d"),
    (BAND, "#21262d"),
    (BLUE, "#58a6ff"),
    (ORANGE, "#f0883e"),
    (GREEN, "#3fb950"),
    (LINES[3], "#e29bc6"),
    (LINES[4], "#79c0ff"),
    (LINES[5], "#d4a72c"),
];

/// A drawn picture, and what it shows in words.
pub(super) struct Drawing {
    /// A short description.
    pub alt: String,
    /// Every figure of it, as far as they are few.
    pub description: String,
    pub svg: String,
}

impl Drawing {
    /// The picture with its description, which screen readers read, and its colours for dark pages.
    pub fn described(&self) -> String {
        let Some((svg, rest)) = self.svg.split_once('>') else { return self.svg.clone() };
        let escaped =
            |text: &str| clean::line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!(
            "{svg} role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{}</style>{rest}",
            escaped(&self.alt),
            escaped(&self.description),
            dark()
        )
    }
}

/// Style rules for dark pages.
fn dark() -> String {
    let rules = DARK.iter().map(|(RGBColor(red, green, blue), dark)| {
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        format!("[fill=\"{light}\"] {{ fill: {dark} }} [stroke=\"{light}\"] {{ stroke: {dark} }} ")
    });
    format!("@media (prefers-color-scheme: dark) {{ {}}}", rules.collect::<String>())
}

/// The size that `plotters` calls letters of so many pixels: it divides sizes by 1.24.
fn font_size(pixels: i32) -> f64 {
    f64::from(pixels) * 1.24
}

/// Draws into a text; what `plotters` refuses to lay out leaves the picture bare, because writing into a text cannot fail.
pub(super) fn picture(height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let _ = area.fill(&WHITE);
        let _ = draw(&area);
        let _ = area.present();
    }
    svg
}

/// The height of a picture with so many rows.
pub(super) const fn height(rows: usize) -> u32 {
    HEAD + FOOT + MARGIN + ROW * rows as u32
}

/// Text with letters of so many pixels whose `side` is at a place, vertically centred.
pub(super) fn write(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    letters: i32,
    side: Side,
    colour: RGBColor,
) -> Drawn {
    let anchor = match side {
        Side::Left => HPos::Left,
        Side::Right => HPos::Right,
    };
    let style = (FONT, font_size(letters)).into_font().color(&colour).pos(Pos::new(anchor, VPos::Center));
    area.draw(&Text::new(clean::line(text), at, style))?;
    Ok(())
}

/// A text that is at most so many pixels wide.
pub(super) fn fitting(text: &str, pixels: u32) -> String {
    let most = (f64::from(pixels) / LETTER) as usize;
    let clean = clean::line(text).into_owned();
    if clean.chars().count() <= most {
        return clean;
    }
    clean.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The title, and below it up to two lines on how to read the picture; ` · ` is between its parts.
pub(super) fn heading(area: &Area<'_>, title: &str, reading: &str) -> Drawn {
    write(area, &fitting(title, WIDTH - 120), (12, 18), 16, Side::Left, INK)?;
    let mut lines = vec![String::new()];
    for part in reading.split(" · ") {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(part),
            Some(line) if line.chars().count() + part.chars().count() < LINE_MAX => {
                line.push_str(" · ");
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    for (position, line) in lines.iter().take(2).enumerate() {
        write(area, line, (12, 40 + 17 * position as i32), 12, Side::Left, FAINT)?;
    }
    Ok(())
}

/// Rows of names, and so many panels with `words` pixels of text at the right of each.
pub(super) struct Rows<'a> {
    lines: &'a [Row],
    names: u32,
    panel: u32,
    words: u32,
}

impl<'a> Rows<'a> {
    pub fn new(rows: &'a [Row], panels: usize, words: u32) -> Self {
        let longest = rows.iter().map(|row| match row {
            // Headings are a little smaller and begin further left.
            Row::Group(name) => name.chars().count().saturating_sub(3),
            Row::Named(name) => name.chars().count(),
        });
        let names = (longest.max().unwrap_or(0) as f64 * LETTER) as u32 + 24;
        let names = names.clamp(70, NAMES_MAX);
        Self { lines: rows, names, panel: (WIDTH - names - 8) / panels.max(1) as u32, words }
    }

    /// The height of a row's middle on the vertical axis of every panel.
    pub fn position(&self, row: usize) -> f64 {
        self.lines.len() as f64 - row as f64 - 0.5
    }

    fn pixel(row: usize) -> i32 {
        (HEAD + ROW * row as u32 + ROW / 2) as i32
    }

    /// Writes the names.
    pub fn names(&self, area: &Area<'_>) -> Drawn {
        for (position, row) in self.lines.iter().enumerate() {
            let y = Self::pixel(position);
            match row {
                Row::Group(name) => {
                    write(area, &fitting(name, self.names + 8), (12, y + 2), 12, Side::Left, FAINT)?;
                }
                Row::Named(name) => {
                    let name = fitting(name, self.names - 20);
                    write(area, &name, (self.names as i32 - 8, y), 13, Side::Right, INK)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a panel: its axis, its rules, its name.
    pub fn panel<'b>(
        &self,
        area: &Area<'b>,
        position: usize,
        axis: &Axis,
        name: &str,
    ) -> Result<Chart<'b, 'b>, Box<dyn std::error::Error>> {
        let left = self.names + self.panel * position as u32;
        let right = left + self.panel - self.words;
        let bottom = HEAD + ROW * self.lines.len() as u32;
        let field = area.clone().shrink((left, HEAD), (right - left, bottom + FOOT - HEAD));
        let rows = self.lines.len() as f64;
        frame(&field, axis, &Axis { from: 0.0, to: rows, ticks: Vec::new() }, name, 0)
    }

    /// Words beside a row of a panel; `column` pixels from where the words begin.
    pub fn word(
        &self,
        area: &Area<'_>,
        panel: usize,
        row: usize,
        (column, text): (i32, &str),
        colour: RGBColor,
    ) -> Drawn {
        let left = self.names + self.panel * (panel as u32 + 1) - self.words;
        write(area, text, (left as i32 + column + 8, Self::pixel(row)), 12, Side::Left, colour)
    }
}

/// A field with both axes: rules at the ticks, `name` below.
pub(super) fn frame<'b>(
    field: &Area<'b>,
    x: &Axis,
    y: &Axis,
    name: &str,
    left: u32,
) -> Result<Chart<'b, 'b>, Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(field)
        .x_label_area_size(FOOT)
        .y_label_area_size(left)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let small = (FONT, font_size(12)).into_font().color(&FAINT);
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .axis_style(RULE)
        .label_style(small.clone())
        .axis_desc_style((FONT, font_size(12)).into_font().color(&INK));
    if left == 0 {
        mesh.disable_y_mesh().y_labels(0);
    }
    mesh.x_desc(name).draw()?;
    drop(mesh);
    Ok(chart)
}
