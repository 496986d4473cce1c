//! Finds the long parts of a body that it has more than once.
//!
//! Cuts the body where its content says so, into parts of about 4 KiB, so that equal contents are cut alike wherever
//! they are, and compares the parts. A repeated content of some 10 KiB and more is found; names and values that every
//! entry of a list has are shorter than a part. Takes about a nanosecond per byte, so it is for the time after the load.

use std::collections::BTreeSet;

/// Shortest and longest part, in bytes.
const PART_MIN: usize = 1 << 10;
const PART_MAX: usize = 64 << 10;

/// A part whose first bytes, this many, are in it again has a short content many times, such as zeros or empty cells.
const BEGINNING: usize = 32;

/// A part ends where these bits of the hash are zero: once in 4,096 bytes. They depend on the 52 bytes before and more.
const ENDS: u64 = 0xfff << 52;

/// A number for each byte, as random as they look (splitmix64).
static NUMBERS: [u64; 256] = numbers();

const fn numbers() -> [u64; 256] {
    let mut numbers = [0; 256];
    let mut state = 0_u64;
    let mut place = 0;
    while place < numbers.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        numbers[place] = mixed ^ (mixed >> 31);
        place += 1;
    }
    numbers
}

/// How many bytes of a body are in long parts that it had before.
pub fn repeated_bytes(body: &[u8]) -> u64 {
    let mut known: BTreeSet<&[u8]> = BTreeSet::new();
    let (mut hash, mut from, mut repeated) = (0_u64, 0, 0);
    for (place, byte) in body.iter().enumerate() {
        hash = (hash << 1).wrapping_add(NUMBERS[usize::from(*byte)]);
        let length = place + 1 - from;
        let is_cut = hash & ENDS == 0 && length >= PART_MIN;
        if is_cut || length == PART_MAX || place + 1 == body.len() {
            let part = &body[from..=place];
            if !known.insert(part) && length >= PART_MIN && !is_of_short_content(part) {
                repeated += length as u64;
            }
            from = place + 1;
        }
    }
    repeated
}

fn is_of_short_content(part: &[u8]) -> bool {
    let is_in_it = |beginning: &[u8]| part[1..].windows(BEGINNING).any(|bytes| bytes == beginning);
    part.get(..BEGINNING).is_some_and(is_in_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that do not repeat.
    fn picture(length: usize) -> Vec<u8> {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b'a' + (state >> 58) as u8 % 26
        };
        std::iter::repeat_with(&mut next).take(length).collect()
    }

    fn share(body: &[u8]) -> f64 {
        repeated_bytes(body) as f64 / body.len() as f64
    }

    /// A list of so many entries with this content.
    fn list(entries: usize, content: &[u8]) -> Vec<u8> {
        let one =
            |number: usize| [format!("{{\"wish\":{number},\"is\":\"").as_bytes(), content, b"\"},"].concat();
        (0..entries).flat_map(one).collect()
    }

    #[test]
    fn a_picture_in_each_entry_of_a_list_is_found_and_in_the_beginning_of_the_list_too() {
        let body = list(12, &picture(96 << 10));
        assert!(share(&body) > 0.8, "{}", share(&body));
        let beginning = share(&body[..256 << 10]);
        assert!((0.5..0.65).contains(&beginning), "{beginning}");
    }

    #[test]
    fn lists_with_the_same_names_and_bodies_that_do_not_repeat_have_no_such_part() {
        assert!(share(&list(5_000, b"tea of the season")) < 0.01);
        assert!(share(&picture(1 << 20)) < 0.01);
        assert_eq!(repeated_bytes(b""), 0);
    }

    #[test]
    fn zeros_and_empty_cells_are_no_long_content() {
        assert_eq!(repeated_bytes(&vec![0; 256 << 10]), 0);
        for length in [7, 60, 200, 400] {
            let cells: Vec<u8> = picture(length).into_iter().cycle().take(256 << 10).collect();
            assert_eq!(repeated_bytes(&cells), 0, "cells of {length} bytes");
        }
    }
}
