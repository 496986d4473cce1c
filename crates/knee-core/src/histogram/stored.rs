//! The form of a histogram in records and JSON: gaps between used buckets and their counts.
//!
//! Records of the current version are read without it (see `record::format`), because a list of numbers takes many
//! times the memory of its bytes.

use serde::{Deserialize, Serialize};

use super::layout::{HIGHEST, LAST_INDEX, index_of};
use super::{Extent, Histogram};

#[derive(Serialize, Deserialize)]
struct Stored {
    count: u64,
    overflow: u64,
    /// High and low half of the sum; formats without 128-bit numbers can hold it.
    sum: (u64, u64),
    min: u64,
    max: u64,
    /// Alternating.
    gaps_and_counts: Vec<u64>,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut gaps_and_counts = Vec::new();
        let mut next = 0;
        for (index, count) in self.buckets() {
            // Of buckets that are counted as one, the last is nearest to what a quantile reports.
            let last = ((index + 1) << self.coarseness) - 1;
            let bucket = last.min(index_of(self.max.min(HIGHEST.0)));
            gaps_and_counts.extend([(bucket - next) as u64, count]);
            next = bucket + 1;
        }
        let sum = ((self.sum >> 64) as u64, self.sum as u64);
        let (min, max) = if self.count == 0 { (0, 0) } else { (self.min, self.max) };
        Stored { count: self.count, overflow: self.overflow, sum, min, max, gaps_and_counts }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        from_stored(&stored).ok_or_else(|| serde::de::Error::custom("a histogram contradicts itself"))
    }
}

/// Rebuilds from the stored form; `None` if its parts do not agree.
fn from_stored(stored: &Stored) -> Option<Histogram> {
    let mut histogram = Histogram::new();
    if stored.count == 0 {
        return Some(histogram);
    }
    let (mut next, mut ends, mut total) = (0usize, None, Some(0_u64));
    for pair in stored.gaps_and_counts.chunks(2) {
        let [gap, count] = pair else { return None };
        let index = next.checked_add(usize::try_from(*gap).ok()?)?;
        if index > LAST_INDEX || *count == 0 {
            return None;
        }
        histogram.add_to_bucket(index, *count);
        total = total.and_then(|total| total.checked_add(*count));
        ends = Some((ends.map_or(index, |(first, _)| first), index));
        next = index + 1;
    }
    let extent = Extent {
        count: stored.count,
        overflow: stored.overflow,
        sum: u128::from(stored.sum.0) << 64 | u128::from(stored.sum.1),
        min: stored.min,
        max: stored.max,
    };
    extent.fits(ends, total).then(|| {
        histogram.add_extent(&extent);
        histogram
    })
}
