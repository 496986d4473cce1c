//! Whether a text fits a pattern: `*` is any number of letters, `?` is one, and a backslash makes the next letter
//! literal.
//!
//! In the worst case, the time is proportional to the product of both lengths.

/// A piece of a pattern.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Any,
    One,
    Letter(char),
}

/// Whether all of `text` fits all of `pattern`.
pub fn fits(text: &str, pattern: &str) -> bool {
    let Some(pieces) = pieces(pattern) else { return false };
    let letters: Vec<char> = text.chars().collect();
    let (mut at, mut piece) = (0, 0);
    // Where to go on when what follows the last star does not fit: behind the star, one letter on.
    let mut retry: Option<(usize, usize)> = None;
    while at < letters.len() {
        match pieces.get(piece) {
            Some(Piece::Any) => {
                retry = Some((piece + 1, at));
                piece += 1;
                continue;
            }
            Some(Piece::One) => {}
            Some(Piece::Letter(letter)) if *letter == letters[at] => {}
            _ => {
                let Some((behind, from)) = retry else { return false };
                retry = Some((behind, from + 1));
                (piece, at) = (behind, from + 1);
                continue;
            }
        }
        piece += 1;
        at += 1;
    }
    pieces[piece..].iter().all(|piece| *piece == Piece::Any)
}

/// The pieces of a pattern; `None` if it ends in a backslash and so fits nothing.
fn pieces(pattern: &str) -> Option<Vec<Piece>> {
    let mut letters = pattern.chars();
    let mut pieces = Vec::with_capacity(pattern.len());
    while let Some(letter) = letters.next() {
        pieces.push(match letter {
            '*' => Piece::Any,
            '?' => Piece::One,
            '\\' => Piece::Letter(letters.next()?),
            _ => Piece::Letter(letter),
        });
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        for (text, pattern, fit) in [
            ("", "", true),
            ("", "*", true),
            ("", "?", false),
            ("abc", "*", true),
            ("abc", "a*c", true),
            ("abc", "a*b", false),
            ("abcbc", "a*bc", true),
            ("aXbXc", "*X*X*", true),
            ("ü", "?", true),
            ("a*c", "a\\*c", true),
            ("abc", "a\\*c", false),
            ("abc", "abc\\", false),
        ] {
            assert_eq!(fits(text, pattern), fit, "{text} {pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_is_no_trap() {
        assert!(!fits(&"a".repeat(2_000), &("*a".repeat(200) + "b")));
    }
}
