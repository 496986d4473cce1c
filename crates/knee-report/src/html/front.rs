//! The first screen: what was measured, the answer, whether it can be believed and why, the figures, one picture.
//!
//! Does not know what kind of result it shows.

use knee_core::validity::Validity;
use maud::{Markup, html};

use super::words;

/// How far a result can be trusted: the sign and the colour. The words are beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Good,
    /// Nothing speaks against it, but it does not suffice for an answer.
    Neutral,
    Doubtful,
    Bad,
}

impl From<Validity> for Standing {
    fn from(validity: Validity) -> Self {
        match validity {
            Validity::Valid => Self::Good,
            Validity::Suspect => Self::Doubtful,
            Validity::Invalid => Self::Bad,
        }
    }
}

impl Standing {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "trust good",
            Self::Neutral => "trust neutral",
            Self::Doubtful => "trust doubtful",
            Self::Bad => "trust bad",
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Neutral => "–",
            Self::Doubtful => "!",
            Self::Bad => "✕",
        }
    }
}

/// Whether a result can be trusted, and why.
pub(super) struct Trust {
    /// The sign.
    pub standing: Standing,
    /// The result of the check, in a sentence.
    pub summary: String,
    /// What speaks against it, each with what to do about it; the most important first.
    pub reasons: Vec<(String, String)>,
    /// Figures that speak for it, if nothing speaks against it.
    pub evidence: Vec<String>,
}

/// A figure of the first screen.
pub(super) struct Tile {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub figure: String,
    /// What belongs beside it; can be empty.
    pub beside: String,
}

/// The first screen.
pub(super) struct Front {
    /// The kind of result.
    pub kind: &'static str,
    /// What was measured.
    pub subject: String,
    /// The settings, as parts of a line.
    pub terms: Vec<String>,
    /// The answer; sentences.
    pub answer: Vec<String>,
    /// More sentences below the answer.
    pub points: Vec<String>,
    /// What limits the service; sentences. Empty if nothing is known.
    pub limits: Vec<String>,
    /// Whether to believe it; `None` if that is part of the answer.
    pub trust: Option<Trust>,
    /// The figures.
    pub tiles: Vec<Tile>,
    /// The picture.
    pub picture: Markup,
}

/// Reasons on the first screen; a section of its own has the rest.
const REASONS_MAX: usize = 3;

impl Front {
    /// The first screen.
    pub fn markup(&self) -> Markup {
        let pale = self.trust.as_ref().is_some_and(|trust| trust.standing == Standing::Bad);
        html! {
            p.kind { (self.kind) }
            h1 { (words::name(&self.subject)) }
            @if !self.terms.is_empty() { p.terms { (words::joined(&self.terms, ", ")) } }
            @for sentence in &self.answer { p.answer { (words::sentence(sentence)) } }
            @if let Some(trust) = &self.trust { (self::trust(trust)) }
            @if !self.points.is_empty() {
                ul.points { @for point in &self.points { li { (words::sentence(point)) } } }
            }
            @if !self.tiles.is_empty() { dl.tiles .pale[pale] { @for tile in &self.tiles { (self::tile(tile)) } } }
            @if !self.limits.is_empty() { (limits(&self.limits)) }
            div .pale[pale] { (self.picture) }
        }
    }
}

fn trust(trust: &Trust) -> Markup {
    let more = trust.reasons.len().saturating_sub(REASONS_MAX);
    html! {
        div class=(trust.standing.class()) {
            p.verdict {
                span.sign aria-hidden="true" { (trust.standing.sign()) }
                " " (words::sentence(&trust.summary))
            }
            @if !trust.reasons.is_empty() {
                ul {
                    @for (reason, hint) in trust.reasons.iter().take(REASONS_MAX) {
                        li { (words::sentence(reason)) @if !hint.is_empty() { span.hint { (words::sentence(hint)) } } }
                    }
                    @if more > 0 { li { a href="#validity" { (more) " more" } } }
                }
            }
            @if !trust.evidence.is_empty() { p.evidence { (words::joined(&trust.evidence, "; ")) } }
        }
    }
}

fn limits(sentences: &[String]) -> Markup {
    html! {
        div.limits {
            h2 { "What stops it" }
            @for sentence in sentences { p { (words::sentence(sentence)) } }
        }
    }
}

fn tile(tile: &Tile) -> Markup {
    html! {
        div.tile {
            dt { (tile.name) }
            dd.figure { (tile.figure) }
            @if !tile.beside.is_empty() { dd.beside { (tile.beside) } }
        }
    }
}
