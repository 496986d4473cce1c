//! Recordings, of which a player asks for one part after another.
//!
//! Does not use the stores, and parses of HTTP only what names a part.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::defect::Defect;

/// Bytes of a recording.
pub const LENGTH: usize = 6 << 20;

/// The recordings, which are all the same.
pub struct Recordings {
    sound: Bytes,
}

impl Recordings {
    /// Only the healthy shop and its defect have recordings, so that the others have no more to keep.
    pub fn new(defect: Defect) -> Self {
        let has_recordings = matches!(defect, Defect::None | Defect::IgnoredRange);
        let mut sound = vec![0_u8; if has_recordings { LENGTH } else { 0 }];
        fastrand::Rng::with_seed(7).fill(&mut sound);
        Self { sound: sound.into() }
    }

    /// A whole recording.
    pub fn whole(&self) -> Bytes {
        self.sound.clone()
    }

    /// A part of a recording.
    pub fn part(&self, places: &RangeInclusive<usize>) -> Bytes {
        self.sound.slice(places.clone())
    }

    /// The part that a header names (RFC 9110, section 14.1.2): one with both ends, which the recording has.
    pub fn places(&self, header: &str) -> Option<RangeInclusive<usize>> {
        let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        (first <= last && last < self.sound.len()).then_some(first..=last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_places_that_a_header_names() {
        let recordings = Recordings::new(Defect::None);
        let places = recordings.places("bytes=5-1028").unwrap();
        assert_eq!(recordings.part(&places), recordings.whole().slice(5..1029));
        for header in ["bytes=7-3", "bytes=0-6291456", "bytes=-5", "bytes=0-1,5-7", "lines=1-2"] {
            assert_eq!(recordings.places(header), None, "{header}");
        }
        assert_eq!(recordings.whole().len(), LENGTH);
    }
}
