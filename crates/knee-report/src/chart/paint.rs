//! The elements of a drawing, each with its class for the style sheet and with attributes that it has without one: a
//! server can forbid the styles of a page.
//!
//! Does not know axes and places. A style sheet overrides every attribute here.

use maud::{Markup, html};

use super::{Stroke, Tone};

/// Where a text is relative to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A rule of the vertical axis.
pub(super) fn rule(path: &str) -> Markup {
    html! { path.rule fill="none" stroke="currentColor" stroke-opacity="0.2" d=(path) {} }
}

/// The line of an axis, or a mark at it.
pub(crate) fn edge(path: &str) -> Markup {
    html! { path.edge fill="none" stroke=(Tone::Grey.colour()) d=(path) {} }
}

/// A line through points.
pub(crate) fn line(tone: Tone, stroke: Stroke, path: &str) -> Markup {
    html! {
        path class=(format!("line {} {}", tone.class(), stroke.class())) fill="none" stroke=(tone.colour())
            stroke-width=(stroke.width()) stroke-dasharray=[stroke.dashes()] stroke-linecap="round" d=(path) {}
    }
}

/// A line that must not be exceeded.
pub(super) fn limit(path: &str) -> Markup {
    html! { path.limit fill="none" stroke="currentColor" stroke-width="1.4" stroke-dasharray="10 4 2 4" d=(path) {} }
}

/// A shaded rectangle.
pub(crate) fn band(tone: Tone, (x, y): (&str, &str), (width, height): (&str, &str)) -> Markup {
    html! {
        rect class=(format!("band {}", tone.class())) fill=(tone.colour()) opacity="0.16"
            x=(x) y=(y) width=(width) height=(height) {}
    }
}

/// A label of an axis or of a line of it.
pub(super) fn label(class: Option<&str>, anchor: Anchor, (x, y): (&str, &str), text: &str) -> Markup {
    html! { text class=[class] fill="currentColor" text-anchor=(anchor.name()) x=(x) y=(y) { (text) } }
}

/// A text that can be read above lines.
pub(super) fn halo(anchor: Anchor, (x, y): (&str, &str), text: &str) -> Markup {
    html! {
        text.halo fill="currentColor" paint-order="stroke" stroke="Canvas" stroke-width="3"
            text-anchor=(anchor.name()) x=(x) y=(y) { (text) }
    }
}

/// A filled shape.
pub(crate) fn disc(tone: Tone, path: &str) -> Markup {
    html! { path class=(format!("disc {}", tone.class())) fill=(tone.colour()) stroke=(tone.colour()) d=(path) {} }
}

/// A circle, filled or not; `text` says what it stands for, if that is not said elsewhere.
pub(crate) fn circle(filled: bool, tone: Tone, (x, y): (&str, &str), radius: f64, text: &str) -> Markup {
    let (shape, fill) = if filled { ("disc", tone.colour()) } else { ("ring", "none") };
    html! {
        circle class=(format!("{shape} {}", tone.class())) fill=(fill) stroke=(tone.colour()) cx=(x) cy=(y) r=(radius) {
            @if !text.is_empty() { title { (text) } }
        }
    }
}

/// A cross with what it stands for.
pub(super) fn cross(tone: Tone, path: &str, text: &str) -> Markup {
    html! {
        path class=(format!("cross {}", tone.class())) fill="none" stroke=(tone.colour()) stroke-width="1.8" d=(path) {
            title { (text) }
        }
    }
}
