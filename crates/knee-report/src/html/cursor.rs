//! What the cursor over the charts of a run says: the figures of each moment, in words.
//!
//! Does not move it; [`Inline::Cursor`] does.

use maud::{Markup, html};
use serde_json::json;

use super::inline::Inline;
use super::raw;

/// A moment of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    /// Seconds since the start of the run.
    pub from: f64,
    /// Likewise.
    pub to: f64,
    /// Its figures, in words.
    pub text: String,
}

/// The moments and the script; nothing without moments.
pub(super) fn elements(moments: &[Moment]) -> Markup {
    let rounded = |seconds: f64| (seconds * 1e3).round() / 1e3;
    let list: Vec<_> =
        moments.iter().map(|moment| json!([rounded(moment.from), rounded(moment.to), moment.text])).collect();
    html! {
        @if !moments.is_empty() {
            script type="application/json" id="knee-moments" { (raw::json(&json!(list).to_string())) }
            (Inline::Cursor.element())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_moment_cannot_end_their_element() {
        let moment = Moment { from: 0.0, to: 1.000_04, text: "</script><b>".to_owned() };
        let written = elements(&[moment]).into_string();
        assert!(written.contains("[[0.0,1.0,\"\\u003c/script\\u003e\\u003cb\\u003e\"]]"), "{written}");
        assert_eq!(elements(&[]).into_string(), "");
    }
}
