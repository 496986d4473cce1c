//! Charts as inline SVG: axes, bands, lines and dots, drawn once for wide pages and once for narrow ones.
//!
//! Defines what is drawn; [`draw`] draws it. Colours are classes of the page's style sheet, so that light and dark pages
//! and paper have their own. Does not calculate figures and writes no legend: a page does that in HTML, whose lines wrap.

pub mod axis;

mod svg;

pub(crate) mod tick;

pub use axis::Axis;
pub use svg::{draw, sample};

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence or two, for readers who do not see it.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Stretches of the horizontal axis that mean something.
    pub bands: Vec<Band>,
    /// Lines, the first one lowest.
    pub lines: Vec<Line>,
    /// Dots, above the lines.
    pub dots: Vec<Dot>,
    /// Its height on a wide page, in pixels.
    pub height: f64,
}

/// The height of a chart that is alone.
const HEIGHT: f64 = 250.0;

impl Chart {
    /// A chart of lines alone.
    pub fn of_lines(name: &str, description: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        Self { name, description, x, y, bands: Vec::new(), lines, dots: Vec::new(), height: HEIGHT }
    }

    /// Whether there is anything to see.
    pub fn is_empty(&self) -> bool {
        self.dots.is_empty() && self.lines.iter().all(Line::is_empty)
    }
}

/// A colour of the page's style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Blue.
    Blue,
    /// Orange.
    Orange,
    /// Green.
    Green,
    /// Purple.
    Purple,
    /// Light blue.
    Sky,
    /// Ochre.
    Ochre,
    /// Grey.
    Grey,
}

impl Tone {
    /// The class of the style sheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Blue => "c1",
            Self::Orange => "c2",
            Self::Green => "c3",
            Self::Purple => "c4",
            Self::Sky => "c5",
            Self::Ochre => "c6",
            Self::Grey => "c0",
        }
    }
}

/// A stretch of the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its colour.
    pub tone: Tone,
    /// What it is; written near its top.
    pub name: String,
    /// Whether a bar beside the name shows its ends, for bands that can lie on each other.
    pub barred: bool,
}

/// How a line is drawn, so that lines differ without their colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Without gaps.
    Solid,
    /// Long dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Thin, without gaps.
    Thin,
}

impl Stroke {
    /// The class of the style sheet.
    const fn class(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Dashed => "dashed",
            Self::Dotted => "dotted",
            Self::Thin => "thin",
        }
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend; empty if it continues the line before it.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Its points from left to right; a gap is `None`.
    pub points: Vec<Option<(f64, f64)>>,
}

impl Line {
    /// A line.
    pub fn new(name: &str, tone: Tone, stroke: Stroke, points: Vec<Option<(f64, f64)>>) -> Self {
        Self { name: name.to_owned(), tone, stroke, points }
    }

    /// Whether it has no point.
    pub fn is_empty(&self) -> bool {
        self.points.iter().all(Option::is_none)
    }
}

/// The shape of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A filled circle.
    Disc,
    /// A circle.
    Ring,
    /// A cross.
    Cross,
}

/// A dot.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Its place.
    pub at: (f64, f64),
    /// Its colour.
    pub tone: Tone,
    /// Its shape.
    pub shape: Shape,
    /// What it stands for.
    pub text: String,
}
