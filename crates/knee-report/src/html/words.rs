//! Texts of a page: foreign ones made harmless and short, names kept apart from the direction of the text around them.
//!
//! Does not escape HTML; `maud` does.

use maud::{Markup, html};

use crate::clean;
use crate::prose::{self, Piece};
use crate::text::ink::cut;

/// Most columns of a text that others wrote.
const TEXT_MAX: usize = 600;
/// Most columns of a name in a table or a title.
const NAME_MAX: usize = 200;

/// A text that others can have had a part in.
pub(super) fn text(text: &str) -> String {
    shown(text, TEXT_MAX)
}

/// A sentence of our own: what it has between backticks is code.
pub(super) fn sentence(sentence: &str) -> Markup {
    let shown = text(sentence);
    html! {
        @for piece in prose::pieces(&shown) {
            @match piece { Piece::Text(text) => (text), Piece::Code(code) => code { (code) } }
        }
    }
}

fn shown(text: &str, columns: usize) -> String {
    let replaced = |c: char| if is_noncharacter(c) { char::REPLACEMENT_CHARACTER } else { c };
    cut(&clean::line(text), columns).chars().map(replaced).collect()
}

/// Whether HTML forbids a character, because it stands for nothing.
pub(super) const fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || c as u32 & 0xfffe == 0xfffe
}

/// A name that others chose. Its letters can run from right to left without turning the text around it.
pub(super) fn name(name: &str) -> Markup {
    html! { bdi { (plain_name(name)) } }
}

/// A name where no element can be.
pub(super) fn plain_name(name: &str) -> String {
    shown(name, NAME_MAX)
}

/// Parts of a sentence.
pub(super) fn joined(pieces: &[String], joint: &str) -> String {
    text(&pieces.join(joint))
}
