//! A native histogram of Prometheus, with the resolution that k6 chooses: a bucket is at most 1.1 times as wide as the
//! next smaller one, so a doubling has eight.

use std::collections::BTreeMap;

use super::message::{Histogram, Span};

/// Buckets for each doubling: 2 to the power of this.
const SCHEMA: i32 = 3;
const PER_DOUBLING: f64 = 8.0;
/// Values up to this count as zero: 2^-128, as in Prometheus' own libraries.
const ZERO: f64 = f64::from_bits((1_023 - 128) << 52);

/// Values in buckets.
#[derive(Clone, Debug, Default)]
pub struct NativeHistogram {
    count: u64,
    sum: f64,
    zero: u64,
    positive: BTreeMap<i32, u64>,
    negative: BTreeMap<i32, u64>,
}

impl NativeHistogram {
    /// Takes a value `count` times.
    pub fn add(&mut self, value: f64, count: u64) {
        if !value.is_finite() {
            return;
        }
        self.count += count;
        self.sum += value * count as f64;
        let size = value.abs();
        if size <= ZERO {
            self.zero += count;
            return;
        }
        let buckets = if value > 0.0 { &mut self.positive } else { &mut self.negative };
        *buckets.entry(bucket(size)).or_default() += count;
    }

    /// The histogram as it is sent.
    pub fn message(&self, timestamp: i64) -> Histogram {
        let (positive_spans, positive_deltas) = spans(&self.positive);
        let (negative_spans, negative_deltas) = spans(&self.negative);
        Histogram {
            count: Some(self.count),
            sum: self.sum,
            schema: SCHEMA,
            zero_threshold: ZERO,
            zero_count: Some(self.zero),
            negative_spans,
            negative_deltas,
            positive_spans,
            positive_deltas,
            timestamp,
        }
    }
}

/// The number of the bucket of a value above zero. Bucket `i` ends with 2^(i/8), which belongs to it.
fn bucket(value: f64) -> i32 {
    let end = |bucket: i32| (f64::from(bucket) / PER_DOUBLING).exp2();
    let mut bucket = (value.log2() * PER_DOUBLING).ceil() as i32;
    // The logarithm is rounded.
    if end(bucket) < value {
        bucket += 1;
    } else if end(bucket - 1) >= value {
        bucket -= 1;
    }
    bucket
}

/// Buckets as spans and differences.
fn spans(buckets: &BTreeMap<i32, u64>) -> (Vec<Span>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<Span>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut last) = (0, 0);
    for (bucket, count) in buckets {
        match spans.last_mut() {
            Some(span) if *bucket == next => span.length += 1,
            _ => spans.push(Span { offset: bucket - next, length: 1 }),
        }
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - last);
        (next, last) = (bucket + 1, count);
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_buckets_that_end_with_powers_of_the_eighth_root_of_two() {
        for power in -40..40 {
            let end = (f64::from(power) / 8.0).exp2();
            assert_eq!(bucket(end), power, "the end belongs to the bucket");
            assert_eq!(bucket(end * (1.0 + 1e-12)), power + 1);
        }
        assert_eq!((bucket(1.0), bucket(2.0), bucket(0.5)), (0, 8, -8));
    }

    #[test]
    fn a_histogram_is_sent_as_spans_of_buckets_and_differences_of_counts() {
        let mut histogram = NativeHistogram::default();
        for value in [1.0, 1.0, 1.0, 1.05, 2.0, 0.0, -4.0, f64::NAN] {
            histogram.add(value, 1);
        }
        let message = histogram.message(7);
        assert_eq!((message.count, message.zero_count, message.timestamp), (Some(7), Some(1), 7));
        assert!((message.sum - 2.05).abs() < 1e-9);
        let span = |offset, length| Span { offset, length };
        assert_eq!(message.positive_spans, [span(0, 2), span(6, 1)]);
        assert_eq!(message.positive_deltas, [3, -2, 0]);
        assert_eq!((message.negative_spans, message.negative_deltas), (vec![span(16, 1)], vec![1]));
    }
}
