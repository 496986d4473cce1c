//! Reads the response times of a record as `docs/reference/record-format.md` describes them.
//!
//! Uses no code of the product: it says whether the product adds histograms rightly. Does not check a frame's CRC.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// The bytes before the first frame.
const PREAMBLE: usize = 12;
/// The kind of frames that are intervals.
const INTERVAL: u8 = 2;
/// Buckets per doubling.
const BUCKETS: u64 = 1_024;

/// A value of `MessagePack`, as far as records need it.
#[derive(Debug)]
enum Value {
    Nil,
    Number(u64),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(Self, Self)>),
    /// What is of no use here: bytes, signs, fractions.
    Other,
}

impl Value {
    fn get(&self, name: &str) -> Result<&Self> {
        let Self::Map(entries) = self else { bail!("no map with `{name}`") };
        let found = entries.iter().find(|(key, _)| matches!(key, Self::Text(text) if text == name));
        found.map(|(_, value)| value).with_context(|| format!("no `{name}`"))
    }

    fn number(&self) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(*number),
            other => bail!("no number: {other:?}"),
        }
    }

    fn list(&self) -> Result<&[Self]> {
        match self {
            Self::List(list) => Ok(list),
            other => bail!("no list: {other:?}"),
        }
    }
}

/// Reads one value from the beginning of `bytes`.
fn value(bytes: &mut &[u8]) -> Result<Value> {
    let first = take(bytes, 1)?[0];
    Ok(match first {
        0x00..=0x7f => Value::Number(u64::from(first)),
        0x80..=0x8f => map(bytes, u64::from(first & 0x0f))?,
        0x90..=0x9f => list(bytes, u64::from(first & 0x0f))?,
        0xa0..=0xbf => text(bytes, u64::from(first & 0x1f))?,
        0xc0 => Value::Nil,
        0xc4..=0xc6 => {
            let length = number(bytes, 1 << (first - 0xc4))?;
            take(bytes, length as usize)?;
            Value::Other
        }
        0xca | 0xcb => {
            take(bytes, 4 << (first - 0xca))?;
            Value::Other
        }
        0xcc..=0xcf => Value::Number(number(bytes, 1 << (first - 0xcc))?),
        0xd0..=0xd3 => {
            take(bytes, 1 << (first - 0xd0))?;
            Value::Other
        }
        0xd9..=0xdb => {
            let length = number(bytes, 1 << (first - 0xd9))?;
            text(bytes, length)?
        }
        0xdc | 0xdd => {
            let length = number(bytes, 2 << (first - 0xdc))?;
            list(bytes, length)?
        }
        0xde | 0xdf => {
            let length = number(bytes, 2 << (first - 0xde))?;
            map(bytes, length)?
        }
        0xc2 | 0xc3 | 0xe0.. => Value::Other,
        other => bail!("MessagePack has the kind {other:#x}"),
    })
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8]> {
    ensure!(count <= bytes.len(), "the value is cut off");
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    Ok(taken)
}

fn number(bytes: &mut &[u8], count: usize) -> Result<u64> {
    Ok(take(bytes, count)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn text(bytes: &mut &[u8], length: u64) -> Result<Value> {
    Ok(Value::Text(String::from_utf8(take(bytes, length as usize)?.to_vec())?))
}

fn list(bytes: &mut &[u8], length: u64) -> Result<Value> {
    (0..length).map(|_| value(bytes)).collect::<Result<_>>().map(Value::List)
}

fn map(bytes: &mut &[u8], length: u64) -> Result<Value> {
    let entries = (0..length).map(|_| Ok((value(bytes)?, value(bytes)?)));
    entries.collect::<Result<_>>().map(Value::Map)
}

/// A sum of histograms. Two are equal if all their buckets are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    count: u64,
    min: Option<u64>,
    max: u64,
    buckets: BTreeMap<u64, u64>,
}

impl Times {
    /// Adds the response times of all measured requests of a record.
    pub(super) fn add_record(&mut self, path: &Path) -> Result<()> {
        let bytes = fs::read(path)?;
        let mut rest = bytes.get(PREAMBLE..).context("no record")?;
        while !rest.is_empty() {
            let length = u32::from_le_bytes(take(&mut rest, 4)?.try_into()?);
            take(&mut rest, 4)?;
            let frame = take(&mut rest, length as usize)?;
            if frame.first() == Some(&INTERVAL) {
                let unpacked = zstd::decode_all(&frame[1..])?;
                self.add_interval(&value(&mut unpacked.as_slice())?)?;
            }
        }
        Ok(())
    }

    fn add_interval(&mut self, interval: &Value) -> Result<()> {
        for endpoint in interval.get("measured")?.get("endpoints")?.list()? {
            let Value::Map(outcomes) = endpoint.get("outcomes")? else { bail!("outcomes are no map") };
            for (_, outcome) in outcomes {
                self.add(outcome.get("response")?)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, histogram: &Value) -> Result<()> {
        let count = histogram.get("count")?.number()?;
        if count == 0 {
            return Ok(());
        }
        ensure!(histogram.get("overflow")?.number()? == 0, "a time is beyond an hour");
        let (min, max) = (histogram.get("min")?.number()?, histogram.get("max")?.number()?);
        self.count += count;
        self.min = Some(self.min.map_or(min, |known| known.min(min)));
        self.max = self.max.max(max);
        let mut index = 0;
        for pair in histogram.get("gaps_and_counts")?.list()?.chunks(2) {
            let [gap, count] = pair else { bail!("a gap without a count") };
            index += gap.number()?;
            *self.buckets.entry(index).or_default() += count.number()?;
            index += 1;
        }
        Ok(())
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The quantile `q` in nanoseconds.
    pub(super) fn quantile(&self, q: f64) -> Result<u64> {
        let rank = (q * self.count as f64 * (1.0 - 1e-12)).ceil().max(1.0) as u64;
        let mut passed = 0;
        for (index, count) in &self.buckets {
            passed += count;
            if passed >= rank {
                return Ok(most(*index).clamp(self.min.unwrap_or_default(), self.max));
            }
        }
        bail!("there are no times")
    }
}

/// The largest value of a bucket.
const fn most(index: u64) -> u64 {
    if index < BUCKETS {
        return index;
    }
    let shift = index / BUCKETS - 1;
    ((BUCKETS + index % BUCKETS) << shift) + (1 << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_message_pack_has_them() {
        // {"a": [1, 300, nil, -1], "b": "x"}
        let bytes = [0x82, 0xa1, b'a', 0x94, 1, 0xcd, 1, 44, 0xc0, 0xff, 0xa1, b'b', 0xd9, 1, b'x'];
        let read = value(&mut bytes.as_slice()).unwrap();
        let list = read.get("a").unwrap().list().unwrap();
        assert_eq!((list[0].number().unwrap(), list[1].number().unwrap()), (1, 300));
        assert!(matches!(list[2..], [Value::Nil, Value::Other]));
        assert!(matches!(read.get("b").unwrap(), Value::Text(text) if text == "x"));
        assert!(value(&mut [0x92, 1].as_slice()).is_err());
    }

    #[test]
    fn quantiles_are_the_most_of_their_bucket_within_the_extremes() {
        // 1,500 ns are in bucket 1,024 + 238: 1,500 to 1,501.
        assert_eq!(most(1_024 + 1_024 + 238), (1_024 + 238) * 2 + 1);
        let times =
            Times { count: 4, min: Some(3), max: 2_524, buckets: BTreeMap::from([(3, 3), (2_286, 1)]) };
        assert_eq!(times.quantile(0.5).unwrap(), 3);
        // The bucket ends at 2,525, the largest time is 2,524.
        assert_eq!(times.quantile(0.99).unwrap(), 2_524);
    }
}
