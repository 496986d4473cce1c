//! A machine's share of a load: which users and which arrivals are its own, so that several machines without a
//! connection to each other make the load of one.
//!
//! The arithmetic is that of k6's execution segments, so that a script splits in the same way under both tools. The whole
//! is cut into segments of rational length. Index after index goes to one of them: in every cycle of as many indexes as the
//! least common denominator of the lengths, a segment gets as many as its length says, evenly spread. Does not send
//! anything, and does not know what the indexes number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The longest cycle: finer segments are refused, because a share would take more memory than the load.
const CYCLE_MAX: u64 = 1_000_000;

/// Most segments of a sequence.
pub const SEGMENTS_MAX: usize = 1_000;

/// Why a text is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// A point is no number from 0 to 1.
    #[error("`{0}` is not a fraction, decimal or percentage from 0 to 1")]
    Point(String),
    /// A segment ends where it begins, or before.
    #[error("the segment `{0}` must end after it begins")]
    Empty(String),
    /// A sequence has fewer than two points.
    #[error("a sequence of segments needs two points or more: `{0}` has {1}")]
    Short(String, usize),
    /// The segment is none of those of the sequence.
    #[error("the segment {segment} is not in the sequence {sequence}")]
    Foreign {
        /// The segment.
        segment: String,
        /// The sequence.
        sequence: String,
    },
    /// The lengths have too large a common denominator, or there are too many segments.
    #[error(
        "the segments are too fine: at most {}, in multiples of 1/n with n up to {}",
        SEGMENTS_MAX,
        CYCLE_MAX
    )]
    Fine,
}

/// A rational number from 0 to 1 in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    numerator: u64,
    denominator: u64,
}

impl Point {
    const ZERO: Self = Self { numerator: 0, denominator: 1 };
    const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The fraction; `None` if it is above 1, or finer than the longest cycle.
    fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let divisor = gcd(numerator, denominator);
        let (numerator, denominator) = (numerator.checked_div(divisor)?, denominator.checked_div(divisor)?);
        (numerator <= denominator && denominator <= CYCLE_MAX).then_some(Self { numerator, denominator })
    }

    /// In units of 1/`cycle`, of which the denominator is a divisor.
    const fn units(self, cycle: u64) -> u64 {
        self.numerator * (cycle / self.denominator)
    }

    /// Both numbers as multiples of one unit, for comparison: the products stay below 10^12.
    const fn is_before(self, other: Self) -> bool {
        self.numerator * other.denominator < other.numerator * self.denominator
    }
}

impl FromStr for Point {
    type Err = ShareError;

    /// A fraction (`1/3`), a decimal (`0.25`, `1`) or a whole percentage (`25%`).
    fn from_str(text: &str) -> Result<Self, ShareError> {
        let point = if let Some(percent) = text.strip_suffix('%') {
            digits(percent).and_then(|percent| Self::new(percent, 100))
        } else if let Some((numerator, denominator)) = text.split_once('/') {
            digits(numerator).zip(digits(denominator)).and_then(|(over, under)| Self::new(over, under))
        } else {
            decimal(text)
        };
        point.ok_or_else(|| ShareError::Point(text.to_owned()))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(to, "{}", self.numerator),
            under => write!(to, "{}/{under}", self.numerator),
        }
    }
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// `0.25` is 25/100.
fn decimal(text: &str) -> Option<Point> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let scale = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let whole = if whole.is_empty() && !part.is_empty() { 0 } else { digits(whole)? };
    let part = if part.is_empty() { 0 } else { digits(part)? };
    Point::new(whole.checked_mul(scale)?.checked_add(part)?, scale)
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A part of the whole: from one point to a later one. As text `1/4:1/2`; a single point is the end of a segment that
/// begins at 0, so `1/4` is `0:1/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    from: Point,
    to: Point,
}

impl Segment {
    const WHOLE: Self = Self { from: Point::ZERO, to: Point::ONE };

    fn new(from: Point, to: Point) -> Result<Self, ShareError> {
        let segment = Self { from, to };
        if from.is_before(to) { Ok(segment) } else { Err(ShareError::Empty(segment.to_string())) }
    }
}

impl FromStr for Segment {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let (from, to) = text.split_once(':').unwrap_or(("0", text));
        Self::new(from.parse()?, to.parse()?)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}", self.from, self.to)
    }
}

/// Segments that follow each other. As text their points: `0,1/4,1/2,1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence(Vec<Segment>);

impl Sequence {
    /// Its segments, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The sequence of the whole that has these segments, or this one if there are none: what is missing at the ends is
    /// one segment each.
    fn filled(sequence: Option<&Self>, segment: Segment) -> Self {
        let mut all = sequence.map_or_else(|| vec![segment], |sequence| sequence.0.clone());
        // A sequence has one segment at least.
        let (first, last) = (all[0], all[all.len() - 1]);
        if first.from != Point::ZERO {
            all.insert(0, Segment { from: Point::ZERO, to: first.from });
        }
        if last.to != Point::ONE {
            all.push(Segment { from: last.to, to: Point::ONE });
        }
        Self(all)
    }
}

impl FromStr for Sequence {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let points: Vec<Point> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        if points.len() < 2 {
            return Err(ShareError::Short(text.to_owned(), points.len()));
        }
        let pairs = points.windows(2).map(|pair| Segment::new(pair[0], pair[1]));
        Ok(Self(pairs.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0.first().map_or(Point::ZERO, |segment| segment.from);
        write!(to, "{first}")?;
        self.0.iter().try_for_each(|segment| write!(to, ",{}", segment.to))
    }
}

/// One of several shares of a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Indexes of a cycle that each share gets; their sum is the length of a cycle. They have no common divisor.
    weights: Vec<u64>,
    /// Which of them this one is.
    own: usize,
    segment: Segment,
    sequence: Sequence,
}

impl Share {
    /// The share of a segment within a sequence. Without a segment it is the whole; without a sequence, what is before and
    /// after the segment are two others.
    ///
    /// # Errors
    /// If the segment is not in the sequence, or the segments are too fine.
    pub fn new(segment: Option<Segment>, sequence: Option<&Sequence>) -> Result<Self, ShareError> {
        let segment = segment.unwrap_or(Segment::WHOLE);
        let sequence = Sequence::filled(sequence, segment);
        let place = sequence.0.iter().position(|one| *one == segment);
        let own = place.ok_or_else(|| ShareError::Foreign {
            segment: segment.to_string(),
            sequence: sequence.to_string(),
        })?;
        if sequence.0.len() > SEGMENTS_MAX {
            return Err(ShareError::Fine);
        }
        let points = || sequence.0.iter().flat_map(|segment| [segment.from, segment.to]);
        let cycle = points().try_fold(1u64, |cycle, point| {
            let cycle = cycle / gcd(cycle, point.denominator) * point.denominator;
            if cycle <= CYCLE_MAX { Ok(cycle) } else { Err(ShareError::Fine) }
        })?;
        let length = |segment: &Segment| segment.to.units(cycle) - segment.from.units(cycle);
        let weights = lowest(sequence.0.iter().map(length).collect());
        Ok(Self { weights, own, segment, sequence })
    }

    /// The segment.
    pub const fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Its place among all segments of the whole, from 0.
    pub const fn place(&self) -> usize {
        self.own
    }

    /// All segments of the whole.
    pub const fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Whether nothing is left for others.
    pub fn is_whole(&self) -> bool {
        self.weights.len() == 1
    }

    /// Which indexes are its own.
    pub fn stripe(&self) -> Stripe {
        stripe(&self.weights, self.own)
    }

    /// Which indexes are its own, in proportion to how many of `whole` users each share has: so each can send as often as
    /// its users allow. Nothing if it has no user.
    pub fn stripe_by_users(&self, whole: u64) -> Stripe {
        let counts = self.counts(whole);
        if counts[self.own] == 0 {
            return Stripe { cycle: 1, own: Vec::new() };
        }
        // Shares without users take no turn.
        let own = counts[..self.own].iter().filter(|count| **count > 0).count();
        let weights = lowest(counts.into_iter().filter(|count| *count > 0).collect());
        stripe(&weights, own)
    }

    /// How many of the first `total` indexes each share has.
    fn counts(&self, total: u64) -> Vec<u64> {
        let whose = deal(&self.weights);
        let cycle = whose.len() as u64;
        let mut counts: Vec<u64> = self.weights.iter().map(|weight| weight * (total / cycle)).collect();
        whose[..(total % cycle) as usize].iter().for_each(|place| counts[*place as usize] += 1);
        counts
    }
}

/// Divides weights by their common divisor.
fn lowest(weights: Vec<u64>) -> Vec<u64> {
    let divisor = weights.iter().fold(0, |divisor, weight| gcd(divisor, *weight)).max(1);
    weights.into_iter().map(|weight| weight / divisor).collect()
}

/// Deals out the indexes of one cycle: whose each is. The n-th of a share with weight w is due at n / w of the cycle; each
/// index goes to the share of largest weight (of equal ones, the first) of which one is due.
fn deal(weights: &[u64]) -> Vec<u32> {
    let cycle: u64 = weights.iter().sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|place| Reverse(weights[*place]));
    // Ranks in that order: those of which one is due, and the others with the index from which one is.
    let mut due: BinaryHeap<Reverse<usize>> = (0..order.len()).map(Reverse).collect();
    let mut later: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut dealt = vec![0u64; weights.len()];
    let mut whose = Vec::with_capacity(cycle as usize);
    for index in 0..cycle {
        while let Some(Reverse((from, rank))) = later.peek().copied()
            && from <= index
        {
            later.pop();
            due.push(Reverse(rank));
        }
        // One is always due: until any index, the shares together are due more than were dealt.
        let Some(Reverse(rank)) = due.pop() else { continue };
        let place = order[rank];
        dealt[place] += 1;
        later.push(Reverse(((dealt[place] * cycle).div_ceil(weights[place].max(1)), rank)));
        whose.push(place as u32);
    }
    whose
}

/// The indexes of one of them.
fn stripe(weights: &[u64], own: usize) -> Stripe {
    let whose = deal(weights);
    let mine = |(index, place): (usize, &u32)| (*place as usize == own).then_some(index as u32);
    Stripe { cycle: whose.len() as u32, own: whose.iter().enumerate().filter_map(mine).collect() }
}

/// The indexes of a share: the same places of every cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// Length of a cycle; 1 or more.
    cycle: u32,
    /// Places within a cycle, ascending.
    own: Vec<u32>,
}

impl Stripe {
    /// Whether an index, from 0, is its own.
    pub fn owns(&self, index: u64) -> bool {
        self.own.binary_search(&((index % self.cycle()) as u32)).is_ok()
    }

    /// How many of the first `whole` indexes are its own.
    pub fn count(&self, whole: u64) -> u64 {
        let rest = self.own.partition_point(|place| u64::from(*place) < whole % self.cycle());
        (whole / self.cycle()).saturating_mul(self.own.len() as u64).saturating_add(rest as u64)
    }

    /// Its index with this number, from 0: where it stands in the whole. The number itself if it owns nothing.
    pub fn index(&self, number: u64) -> u64 {
        let each = self.own.len() as u64;
        if each == 0 {
            return number;
        }
        let place = u64::from(self.own[(number % each) as usize]);
        (number / each).saturating_mul(self.cycle()).saturating_add(place)
    }

    /// The items of `whole` that are its own, by their place; all of them without a stripe.
    pub const fn of<I: Iterator>(stripe: Option<Self>, whole: I) -> Owned<I> {
        Owned { whole, stripe, place: 0 }
    }

    fn cycle(&self) -> u64 {
        u64::from(self.cycle.max(1))
    }
}

/// The items of a whole that belong to a stripe; see [`Stripe::of`].
#[derive(Clone, Debug)]
pub struct Owned<I> {
    whole: I,
    stripe: Option<Stripe>,
    /// Place of the next item of the whole.
    place: u64,
}

impl<I: Iterator> Iterator for Owned<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let Some(stripe) = &self.stripe else { return self.whole.next() };
        loop {
            let item = self.whole.next()?;
            self.place += 1;
            if stripe.owns(self.place - 1) {
                return Some(item);
            }
        }
    }
}
