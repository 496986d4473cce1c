//! What a capture becomes.

use super::*;

#[test]
fn colours_and_bold_print_last_until_they_are_taken_back() {
    let mut look = Look::default();
    let looks = |cells: Vec<(char, Look)>| -> Vec<(char, &str, bool)> {
        cells.into_iter().map(|(char, look)| (char, look.ink(), look.bold)).collect()
    };
    assert_eq!(
        looks(cells("a\u{1b}[1;31mb\u{1b}[39mc", &mut look)),
        [('a', INK, false), ('b', COLORS[1], true), ('c', INK, true)]
    );
    assert_eq!(
        looks(cells("d\u{1b}[0me\u{1b}[96mf", &mut look)),
        [('d', INK, true), ('e', INK, false), ('f', COLORS[14], false)]
    );
    assert_eq!(
        looks(cells("\u{1b}[38;5;2mg\u{1b}[48;5;0;1mh\u{1b}[0m", &mut look)),
        [('g', COLORS[2], false), ('h', COLORS[2], true)]
    );
}

#[test]
fn letters_have_their_places_words_have_spaces_between_them_and_blocks_are_shapes() {
    let picture = svg("a <\u{1b}[36m██▄\u{1b}[0m⠁", "A title");
    assert!(
        picture.contains("<text x=\"14.0 22.4 30.8\" y=\"26.9\" fill=\"#d5dbe3\">a &lt;</text>"),
        "{picture}"
    );
    // Two whole blocks are one shape, half a block is the lower half of its cell.
    assert!(
        picture.contains("<rect x=\"39.2\" y=\"14.0\" width=\"16.8\" height=\"17.0\" fill=\"#4fb6c4\"/>")
    );
    assert!(picture.contains("<rect x=\"56.0\" y=\"22.5\" width=\"8.4\" height=\"8.5\" fill=\"#4fb6c4\"/>"));
    assert_eq!(picture.matches("<circle").count(), 1);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
}
