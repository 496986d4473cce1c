//! Any bytes are read as a record, folded and judged, without a panic and in bounded memory.
//!
//! The first byte of the input decides how the rest is used: as it is, or cut into contents of
//! frames that are then packed with the right checksums, because blind changes of compressed
//! bytes hardly ever get past those. The frames are those of the current version or of version 1.
#![no_main]

use knee_core::estimate::Distribution;
use knee_core::record::format::{MAGIC, VERSION};
use knee_core::record::run::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((0xFF, contents)) => show(&packed(VERSION, contents)),
        Some((0xFE, contents)) => show(&packed(1, contents)),
        _ => show(input),
    }
});

/// Reads, and takes from it what a report takes.
fn show(bytes: &[u8]) {
    let Ok(reading) = read(bytes) else { return };
    let run = reading.run;
    for tally in [run.warm_up.all(), run.measured.all()] {
        let _ = Distribution::response(&tally).summary();
        let _ = Distribution::service_ok(&tally).summary();
        let _ = Distribution::lag(&tally).summary();
    }
    let _ = (run.window(), run.measured.accounting().difference());
    // What this version does not know is counted nowhere else, and shown under its name.
    let unknown: u64 = run.measured.accounting().unknown;
    assert_eq!(run.measured.all().unknown.requests(), unknown);
    for outcome in &run.measured.all().unknown.outcomes {
        assert!(outcome.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    }
}

/// A record whose frames hold `contents`: kind (u8), length (u32, little-endian), bytes, repeated.
fn packed(version: u32, mut contents: &[u8]) -> Vec<u8> {
    let mut record = MAGIC.to_vec();
    record.extend(version.to_le_bytes());
    while let Some(([kind, length @ ..], rest)) = contents.split_first_chunk::<5>() {
        let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
        let (content, rest) = rest.split_at(length);
        let mut frame = vec![*kind];
        frame.extend(zstd::bulk::compress(content, 1).expect("compressing into memory cannot fail"));
        record.extend((frame.len() as u32).to_le_bytes());
        record.extend(crc32fast::hash(&frame).to_le_bytes());
        record.extend(frame);
        contents = rest;
    }
    record
}
