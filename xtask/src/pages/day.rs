//! A record of 24 hours, and how long its page takes.
//!
//! The seconds of a short run are repeated, each with a time of its own, so it takes seconds to make. What the record
//! says of a second is real. Its result is invalid, because requests that ended after the short run are missing. Knows
//! the layout of records from `docs/reference/record-format.md`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use flate2::Crc;

use super::said;
use crate::bench::figure::median;

const SECOND_NS: u64 = 1_000_000_000;
/// Seconds of a day.
pub const DAY_S: u64 = 86_400;
/// Times that the page is made.
const ROUNDS: usize = 5;
/// Bytes before the first frame.
const START: usize = 12;
/// Bytes of a frame before its content: its length, its checksum and its kind.
const FRAME: usize = 9;
/// Kinds of frames.
const HEAD: u8 = 1;
const INTERVAL: u8 = 2;
const TAIL: u8 = 4;

/// Writes a record of so many seconds that repeats the whole seconds of the short one at `from`.
pub fn write(from: &Path, to: &Path, lasts: u64) -> Result<()> {
    let short = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    let frames = frames(&short)?;
    let of = |kind: u8| frames.iter().filter(move |(known, _)| *known == kind).map(|(_, content)| content);
    let head = of(HEAD).next().context("the record has no head")?;
    let tail = of(TAIL).next().context("the record has no tail")?;
    let mut seconds: Vec<&Vec<u8>> = of(INTERVAL).collect();
    // The last one has what came after the load.
    seconds.pop();
    ensure!(!seconds.is_empty(), "the record has no whole second");
    let mut file = BufWriter::new(File::create(to)?);
    file.write_all(short.get(..START).context("the record is empty")?)?;
    file.write_all(&framed(HEAD, &with_number(head, b"\xa2at", lasts * SECOND_NS)?)?)?;
    for (second, content) in (0..lasts).zip(seconds.iter().cycle()) {
        let begun = with_number(content, b"\xa4from", second * SECOND_NS)?;
        let whole = with_number(&begun, b"\xa2to", (second + 1) * SECOND_NS)?;
        file.write_all(&framed(INTERVAL, &whole)?)?;
    }
    file.write_all(&framed(TAIL, &with_number(tail, b"\xa9intervals", lasts)?)?)?;
    Ok(file.flush()?)
}

/// Has the page of the record at `record` made some times; prints a row with the median time.
pub fn measure(knee: &Path, record: &Path, page: &Path) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        said(Command::new(knee).arg("report").arg(record).args(["--format", "html", "-o"]).arg(page))?;
        times.push(begun.elapsed().as_secs_f64());
    }
    println!(
        "| page of 24 hours from a record of {} MB: time to make it, median of {ROUNDS}; size | {:.2} s; {} KB |",
        fs::metadata(record)?.len() / 1_000_000,
        median(&times),
        fs::metadata(page)?.len() / 1_000
    );
    Ok(())
}

/// The frames of a record: their kinds and what they hold.
fn frames(record: &[u8]) -> Result<Vec<(u8, Vec<u8>)>> {
    let (mut frames, mut at) = (Vec::new(), START);
    while let Some(length) = record.get(at..).and_then(|rest| rest.first_chunk()) {
        let end = at + FRAME - 1 + u32::from_le_bytes(*length) as usize;
        let packed = record.get(at + FRAME..end).context("the record is cut off")?;
        frames.push((record[at + FRAME - 1], zstd::decode_all(packed)?));
        at = end;
    }
    Ok(frames)
}

/// A frame with this content.
fn framed(kind: u8, content: &[u8]) -> Result<Vec<u8>> {
    let mut body = vec![kind];
    body.extend(zstd::bulk::compress(content, 3)?);
    let mut checksum = Crc::new();
    checksum.update(&body);
    let mut frame = u32::try_from(body.len())?.to_le_bytes().to_vec();
    frame.extend(checksum.sum().to_le_bytes());
    frame.extend(body);
    Ok(frame)
}

/// The packed `content` with `number` as the value of a key that has no number of another meaning after it.
///
/// Interval frames begin with their times, and the count of intervals ends a tail: hence the first and the last place.
fn with_number(content: &[u8], key: &[u8], number: u64) -> Result<Vec<u8>> {
    let mut places = content.windows(key.len()).enumerate().filter(|(_, bytes)| *bytes == key);
    let is_last = key.ends_with(b"intervals");
    let place = if is_last { places.next_back() } else { places.next() };
    let (place, _) = place.with_context(|| format!("a frame has no {}", key.escape_ascii()))?;
    let value = place + key.len();
    let bytes = match content.get(value) {
        Some(0..=0x7f) => 1,
        Some(0xcc) => 2,
        Some(0xcd) => 3,
        Some(0xce) => 5,
        Some(0xcf) => 9,
        _ => anyhow::bail!("{} is no number", key.escape_ascii()),
    };
    let mut changed = content[..value].to_vec();
    changed.push(0xcf);
    changed.extend(number.to_be_bytes());
    changed.extend(&content[value + bytes..]);
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_record_has_the_head_and_the_tail_of_its_run_and_each_second_once() {
        let folder = tempfile::tempdir().unwrap();
        let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/knee-core/tests/fixtures/v2.knee");
        let to = folder.path().join("long.knee");
        write(Path::new(record), &to, 5).unwrap();
        let long = frames(&fs::read(&to).unwrap()).unwrap();
        let kinds: Vec<u8> = long.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [HEAD, INTERVAL, INTERVAL, INTERVAL, INTERVAL, INTERVAL, TAIL]);
        let third = with_number(&long[3].1, b"\xa4from", 2 * SECOND_NS).unwrap();
        assert_eq!(third, long[3].1, "it begins after two seconds");
    }
}
