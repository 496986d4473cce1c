//! The curve of a sweep as an SVG.

use super::SweepView;

/// The picture.
pub fn render(view: &SweepView<'_>) -> String {
    let _ = view;
    String::new()
}
