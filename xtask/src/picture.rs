//! `cargo xtask picture`: a capture of a terminal becomes an SVG for the README.
//!
//! Reads what `tmux capture-pane -p -e` prints and writes the picture to standard output. Blocks, braille
//! and lines are drawn as shapes and every other character has its own place, so that the picture
//! looks the same whatever fonts its reader has. Knows colours and bold print, and no other escapes.

use std::fmt::Write as _;
use std::io::Read;

use anyhow::{Context, Result};

#[cfg(test)]
mod tests;

/// Width and height of a cell.
const CELL: (f64, f64) = (8.4, 17.0);
/// Around the cells.
const MARGIN: f64 = 14.0;
const GROUND: &str = "#14181f";
const INK: &str = "#d5dbe3";
/// Black, red, green, yellow, blue, magenta, cyan, white; then the same, bright.
const COLORS: [&str; 16] = [
    "#2b313a", "#e06c75", "#8fc76b", "#e2b45c", "#61a8ef", "#c678dd", "#4fb6c4", "#d5dbe3", "#5c6370",
    "#ef7f88", "#a3d97f", "#f0c674", "#7cbcff", "#d894ee", "#66cfdd", "#ffffff",
];

/// How characters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    /// Place in [`COLORS`].
    ink: Option<usize>,
    ground: Option<usize>,
    bold: bool,
    reversed: bool,
}

impl Look {
    fn ink(self) -> &'static str {
        if self.reversed { self.ground.map_or(GROUND, |place| COLORS[place]) } else { self.plain_ink() }
    }

    fn plain_ink(self) -> &'static str {
        self.ink.map_or(INK, |place| COLORS[place])
    }

    fn ground(self) -> Option<&'static str> {
        if self.reversed { Some(self.plain_ink()) } else { self.ground.map(|place| COLORS[place]) }
    }

    /// Obeys the numbers of an escape sequence, `38;5;2` among them: the long way to say 32.
    fn obey_all(&mut self, codes: &str) {
        let mut codes = codes.split(';').map(|code| code.parse().unwrap_or(0));
        while let Some(code) = codes.next() {
            if !matches!(code, 38 | 48) {
                self.obey(code);
            } else if let (Some(5), Some(place @ 0..16)) = (codes.next(), codes.next()) {
                if code == 38 { self.ink = Some(place) } else { self.ground = Some(place) }
            }
        }
    }

    /// Obeys one number of an escape sequence.
    fn obey(&mut self, code: usize) {
        match code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            7 => self.reversed = true,
            22 => self.bold = false,
            27 => self.reversed = false,
            30..=37 => self.ink = Some(code - 30),
            39 => self.ink = None,
            40..=47 => self.ground = Some(code - 40),
            49 => self.ground = None,
            90..=97 => self.ink = Some(code - 90 + 8),
            _ => {}
        }
    }
}

/// What the picture shows.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What programs read aloud instead of the picture
    #[arg(long, default_value = "The live screen of knee in a terminal")]
    title: String,
}

/// Turns standard input into a picture.
pub fn run(options: &Options) -> Result<()> {
    let mut capture = String::new();
    std::io::stdin().read_to_string(&mut capture).context("the capture cannot be read")?;
    print!("{}", svg(&capture, &options.title));
    Ok(())
}

/// The whole picture.
fn svg(capture: &str, title: &str) -> String {
    let mut look = Look::default();
    let rows: Vec<Vec<(char, Look)>> = capture.lines().map(|line| cells(line, &mut look)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = columns as f64 * CELL.0 + 2.0 * MARGIN;
    let height = rows.len() as f64 * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, \
         'DejaVu Sans Mono', monospace\" font-size=\"14\" role=\"img\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    );
    for (row, cells) in rows.iter().enumerate() {
        draw_row(&mut svg, cells, MARGIN + row as f64 * CELL.1);
    }
    svg + "</svg>\n"
}

/// The characters of a line; `look` goes on from line to line.
fn cells(line: &str, look: &mut Look) -> Vec<(char, Look)> {
    let mut cells = Vec::new();
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        if let Some((codes, after)) = rest.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m')) {
            look.obey_all(codes);
            rest = after;
        } else {
            cells.push((char, *look));
            rest = &rest[char.len_utf8()..];
        }
    }
    cells
}

/// Draws the runs of cells that look the same.
fn draw_row(svg: &mut String, cells: &[(char, Look)], y: f64) {
    let mut column = 0;
    for run in cells.chunk_by(|one, other| one.1 == other.1) {
        let x = MARGIN + column as f64 * CELL.0;
        let look = run[0].1;
        if let Some(ground) = look.ground() {
            rect(svg, x, y, run.len() as f64 * CELL.0, CELL.1, ground);
        }
        draw_shapes(svg, run, x, y);
        draw_text(svg, run, x, y);
        column += run.len();
    }
}

fn draw_shapes(svg: &mut String, run: &[(char, Look)], x: f64, y: f64) {
    let ink = run[0].1.ink();
    let mut column = 0;
    for same in run.chunk_by(|one, other| one.0 == other.0) {
        let x = x + column as f64 * CELL.0;
        let width = same.len() as f64 * CELL.0;
        match same[0].0 {
            '█' | '■' => rect(svg, x, y, width, CELL.1, ink),
            '─' => rect(svg, x, y + CELL.1 / 2.0 - 0.5, width, 1.0, ink),
            shape => {
                for place in 0..same.len() {
                    draw_shape(svg, shape, x + place as f64 * CELL.0, y, ink);
                }
            }
        }
        column += same.len();
    }
}

/// Draws one cell, if its character is one that is drawn.
fn draw_shape(svg: &mut String, shape: char, x: f64, y: f64, ink: &str) {
    let (middle_x, middle_y) = (x + CELL.0 / 2.0, y + CELL.1 / 2.0);
    let code = shape as u32;
    match shape {
        '▁'..='▇' => {
            let height = CELL.1 * f64::from(code - 0x2580) / 8.0;
            rect(svg, x, y + CELL.1 - height, CELL.0, height, ink);
        }
        '▉'..='▏' => rect(svg, x, y, CELL.0 * f64::from(0x2590 - code) / 8.0, CELL.1, ink),
        '│' => rect(svg, middle_x - 0.5, y, 1.0, CELL.1, ink),
        '┌' | '┐' | '└' | '┘' => {
            let end_x = if "┌└".contains(shape) { x + CELL.0 } else { x };
            let end_y = if "┌┐".contains(shape) { y + CELL.1 } else { y };
            let _ = writeln!(
                svg,
                "<path d=\"M{end_x:.1} {middle_y:.1}H{middle_x:.1}V{end_y:.1}\" fill=\"none\" stroke=\"{ink}\"/>"
            );
        }
        '•' => dot(svg, middle_x, middle_y, 2.2, ink),
        '\u{2801}'..='\u{28ff}' => {
            // Bits 0 to 2 and 6 are the left column from the top, 3 to 5 and 7 the right one.
            for bit in (0..8u32).filter(|bit| (code - 0x2800) >> bit & 1 == 1) {
                let (column, row) = if bit < 6 { (bit / 3, bit % 3) } else { (bit - 6, 3) };
                let x = x + CELL.0 * (0.27 + 0.46 * f64::from(column));
                dot(svg, x, y + CELL.1 * (0.14 + 0.24 * f64::from(row)), 1.25, ink);
            }
        }
        _ => {}
    }
}

/// Whether [`draw_shapes`] draws a character.
fn is_shape(char: char) -> bool {
    matches!(char, '▁'..='█' | '▉'..='▏' | '■' | '─' | '│' | '┌' | '┐' | '└' | '┘' | '•' | '\u{2800}'..='\u{28ff}')
}

/// Writes the characters that are none of those shapes, each at its own place, with one space in each gap: readers copy
/// the text, and programs read it aloud.
fn draw_text(svg: &mut String, run: &[(char, Look)], x: f64, y: f64) {
    let letters = run.iter().enumerate().filter(|(_, (char, _))| *char != ' ' && !is_shape(*char));
    let mut written: Vec<(usize, char)> = Vec::new();
    for (place, (char, _)) in letters {
        if let Some((last, _)) = written.last().copied().filter(|(last, _)| last + 1 < place) {
            written.push((last + 1, ' '));
        }
        written.push((place, *char));
    }
    if written.is_empty() {
        return;
    }
    let places: Vec<String> =
        written.iter().map(|(place, _)| format!("{:.1}", x + *place as f64 * CELL.0)).collect();
    let mut text = String::new();
    for (_, char) in &written {
        match char {
            '<' => text.push_str("&lt;"),
            '&' => text.push_str("&amp;"),
            other => text.push(*other),
        }
    }
    let weight = if run[0].1.bold { " font-weight=\"bold\"" } else { "" };
    let (ink, baseline) = (run[0].1.ink(), y + CELL.1 * 0.76);
    // Writing into a String cannot fail, here and below.
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{baseline:.1}\" fill=\"{ink}\"{weight}>{text}</text>",
        places.join(" ")
    );
}

fn rect(svg: &mut String, x: f64, y: f64, width: f64, height: f64, ink: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{ink}\"/>"
    );
}

fn dot(svg: &mut String, x: f64, y: f64, radius: f64, ink: &str) {
    let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{ink}\"/>");
}
