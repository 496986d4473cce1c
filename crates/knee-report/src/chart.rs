//! Charts as inline SVG: axes, bands, lines and dots, drawn once for wide pages and once for narrow ones.
//!
//! Defines what is drawn; [`draw`] draws it. Colours are classes of the page's style sheet, so that light and dark pages
//! and paper have their own; attributes have those of a page whose style sheet a browser refuses. Does not calculate
//! figures and writes no legend: a page does that in HTML, whose lines wrap.

pub mod axis;

pub(crate) mod paint;

mod svg;

pub(crate) mod tick;

pub use axis::Axis;
pub(crate) use svg::pixels;
pub use svg::{draw, sample, sample_of_band};

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
    /// Values of the vertical axis that must not be exceeded.
    pub limits: Vec<Limit>,
    /// Its height on a wide page, in pixels.
    pub height: f64,
}

/// The height of a chart that is alone.
const HEIGHT: f64 = 250.0;

impl Chart {
    /// A chart of lines alone.
    pub fn of_lines(name: &str, description: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        Self {
            name,
            description,
            x,
            y,
            bands: Vec::new(),
            lines,
            dots: Vec::new(),
            limits: Vec::new(),
            height: HEIGHT,
        }
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

    /// The colour where no style sheet gives one, on light and on dark pages.
    pub(crate) const fn colour(self) -> &'static str {
        match self {
            Self::Blue => "#2a82c4",
            Self::Orange => "#d0601a",
            Self::Green => "#2a8f5e",
            Self::Purple => "#ac5a8c",
            Self::Sky => "#3592c4",
            Self::Ochre => "#9a7a10",
            Self::Grey => "#79828c",
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
    /// What it is; written above it, in its width if it has no bar. Empty if the band has no name.
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
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Dashed => "dashed",
            Self::Dotted => "dotted",
            Self::Thin => "thin",
        }
    }

    /// Its width in pixels.
    pub(crate) const fn width(self) -> &'static str {
        match self {
            Self::Solid | Self::Dashed => "1.8",
            Self::Dotted => "2.4",
            Self::Thin => "1",
        }
    }

    /// Its dashes and the gaps between them, in pixels; `None` without gaps.
    pub(crate) const fn dashes(self) -> Option<&'static str> {
        match self {
            Self::Solid | Self::Thin => None,
            Self::Dashed => Some("7 5"),
            Self::Dotted => Some("1 5"),
        }
    }
}

/// A horizontal line over the whole width.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Where it is on the vertical axis.
    pub at: f64,
    /// What it is; written above it.
    pub name: String,
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
