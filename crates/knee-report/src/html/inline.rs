//! The scripts that pages run. A content policy names each by its hash, so that a page runs no other.
//!
//! Every page is complete without them. Does not describe them; each script begins with its purpose.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use sha2::{Digest, Sha256};

use super::raw;

/// A script of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inline {
    /// The cursor over the charts of a run.
    Cursor,
    /// Keeps the token that controls out of every address.
    Control,
}

impl Inline {
    const fn text(self) -> &'static str {
        match self {
            Self::Cursor => include_str!("cursor.js"),
            Self::Control => include_str!("control.js"),
        }
    }

    /// What a content policy says of it: `'sha256-…'`.
    pub fn source(self) -> String {
        format!("'sha256-{}'", STANDARD.encode(Sha256::digest(self.text())))
    }

    /// Its element.
    pub(super) fn element(self) -> Markup {
        html! { script { (raw::script(self.text())) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_ends_where_its_element_ends_and_neither_writes_markup_nor_loads_anything() {
        for script in [Inline::Cursor, Inline::Control] {
            let text = script.text().to_ascii_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--"), "{script:?}");
            for sink in
                ["innerhtml", "outerhtml", "insertadjacent", "document.write", "eval(", "fetch(", "import("]
            {
                assert!(!text.contains(sink), "{script:?}: {sink}");
            }
        }
    }
}
