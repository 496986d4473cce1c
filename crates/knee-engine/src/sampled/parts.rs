//! Finds the contents that a body has more than once.
//!
//! Cuts the body where its content says so, into parts of some 200 bytes, so that equal contents are cut alike wherever
//! they are, and compares the parts. Where a part is there again, all bytes around it that are equal are one content. It
//! counts from 1 KiB on: names and values that every entry of a list has are shorter, and what is shorter is also mostly
//! missed. Takes some dozens of nanoseconds per byte at most, so it is for the time after the load.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Shortest and longest part, in bytes.
const PART_MIN: usize = 64;
const PART_MAX: usize = 2 << 10;

/// A content counts from so many bytes on.
const CONTENT_MIN: usize = 1 << 10;

/// And if it has so many different stretches of so many bytes: zeros and empty cells are a short content many times.
const DIFFERENT_MIN: usize = CONTENT_MIN / 2;
const STRETCH: usize = 32;

/// A part ends where these bits of the hash are zero: once in 128 bytes. They depend on the 57 bytes before and more.
const ENDS: u64 = 0x7f << 57;

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

/// How many bytes of a body are in contents that it had before.
pub fn repeated_bytes(body: &[u8]) -> u64 {
    // Where each part was first.
    let mut known: BTreeMap<&[u8], usize> = BTreeMap::new();
    let (mut hash, mut from, mut repeated) = (0_u64, 0, 0);
    // Where the last content ends that was there again.
    let mut judged = 0;
    for (place, byte) in body.iter().enumerate() {
        hash = (hash << 1).wrapping_add(NUMBERS[usize::from(*byte)]);
        let end = place + 1;
        let length = end - from;
        let is_cut = hash & ENDS == 0 && length >= PART_MIN;
        if is_cut || length == PART_MAX || end == body.len() {
            let first = *known.entry(&body[from..end]).or_insert(from);
            if first < from && end > judged {
                let content = content(body, first, from..end, judged);
                if content.len() >= CONTENT_MIN {
                    judged = content.end;
                    let counts = has_different(&body[content.clone()]);
                    repeated += if counts { content.len() as u64 } else { 0 };
                }
            }
            from = end;
        }
    }
    repeated
}

/// All equal bytes around a part that was at `first` before, from the end of the last content on.
fn content(body: &[u8], first: usize, part: Range<usize>, judged: usize) -> Range<usize> {
    let before = alike_before(body, first, part.start, judged);
    let behind = alike_behind(body, first + part.len(), part.end);
    part.start.max(judged) - before..part.end + behind
}

/// How many bytes before `place` are those before `first`, from the end of the last content on.
fn alike_before(body: &[u8], first: usize, place: usize, judged: usize) -> usize {
    let new = body.get(judged..place).unwrap_or_default().iter().rev();
    new.zip(body[..first].iter().rev()).take_while(|(byte, earlier)| byte == earlier).count()
}

/// How many bytes from `place` on are those from `first` on.
fn alike_behind(body: &[u8], first: usize, place: usize) -> usize {
    let both = body[place..].iter().zip(&body[first..]);
    both.take_while(|(byte, earlier)| byte == earlier).count()
}

/// Whether a content has many different stretches.
fn has_different(content: &[u8]) -> bool {
    let mut different = BTreeSet::new();
    content.windows(STRETCH).any(|stretch| {
        different.insert(stretch);
        different.len() >= DIFFERENT_MIN
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that do not repeat.
    fn picture(length: usize) -> Vec<u8> {
        picture_of(7, length)
    }

    /// The same, and others for each seed.
    fn picture_of(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed;
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
        // Of twelve pictures, all but the first.
        assert!((0.915..0.918).contains(&share(&body)), "{}", share(&body));
    }

    #[test]
    fn of_a_content_that_is_there_again_no_byte_is_left_out_although_it_begins_and_ends_within_parts() {
        // The beginning of the list has two pictures and two thirds of one: wherever the pictures are cut, and however
        // long their parts are, all but the first count.
        for seed in 0..20 {
            let picture = picture_of(seed, 96 << 10);
            let body = list(12, &picture);
            let beginning = share(&body[..256 << 10]);
            assert!((0.624..0.626).contains(&beginning), "{seed}: {beginning}");
        }
        let again = [picture(20_000).as_slice(), picture_of(3, 9_000).as_slice(), &picture(20_000)].concat();
        // Letters next to it are equal by chance.
        assert!((20_000..20_010).contains(&repeated_bytes(&again)), "{}", repeated_bytes(&again));
    }

    #[test]
    fn an_author_in_each_entry_of_a_list_is_found_although_it_is_short_and_there_are_two_of_them() {
        for seed in 0..20 {
            for length in [2_000, 3_400] {
                let authors = [picture_of(seed, length), picture_of(100 + seed, length)];
                let entry = |number: usize| {
                    let begin = format!("{{\"number\":{number},\"author\":\"");
                    [begin.as_bytes(), authors[number % 2].as_slice(), b"\"},"].concat()
                };
                let body: Vec<u8> = (0..60).flat_map(entry).collect();
                // All but the first two of sixty, and but the numbers.
                let share = share(&body);
                assert!((0.94..0.97).contains(&share), "{seed} and {length}: {share}");
            }
        }
    }

    #[test]
    fn fields_of_an_entry_with_names_and_numbers_of_its_own_do_not_hide_what_an_author_repeats() {
        let badge =
            |number: usize| format!("{{\"badge\":{number},\"note\":\"given for good reviews in a row\"}},");
        let badges = (0..40).map(badge).collect::<Vec<String>>().concat();
        let share = share(&list(50, badges.as_bytes()));
        assert!(share > 0.95, "{share}");
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
        let words = "word ".repeat(400);
        assert_eq!(repeated_bytes(&list(100, words.as_bytes())), 0, "words that fill an entry");
    }
}
