//! Records that were made up: whatever the bytes, reading ends without a panic and in bounded
//! memory, and what comes out can be shown.
//!
//! Two kinds of damage: to the bytes of the file, which the checksums catch, and to the content
//! inside of frames whose checksums are right, which only the types catch. The seed is printed;
//! `KNEE_SEED` repeats a run.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints its seed and trusts its own input"
)]

use knee_core::estimate::Distribution;
use knee_core::record::run::read;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// One of each version, and one with what this version does not know.
const RECORDS: [&[u8]; 3] = [
    include_bytes!("fixtures/v1.knee"),
    include_bytes!("fixtures/v2.knee"),
    include_bytes!("fixtures/v2-later.knee"),
];

/// How often each of them is changed.
const ROUNDS: u32 = 1_500;

fn random() -> ChaCha8Rng {
    let given = std::env::var("KNEE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| knee_core::clock::wall().as_nanos());
    println!("KNEE_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// A number below `limit`, which is above zero.
fn below(random: &mut ChaCha8Rng, limit: usize) -> usize {
    (random.next_u64() % limit as u64) as usize
}

/// Changes, removes, repeats or inserts bytes, one to four times.
fn mutate(random: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=below(random, 4) {
        let place = below(random, bytes.len().max(1)).min(bytes.len());
        let length = below(random, 16).min(bytes.len() - place);
        match below(random, 6) {
            0 => bytes.truncate(place),
            1 => drop(bytes.drain(place..place + length)),
            2 => {
                let again = bytes[place..place + length].to_vec();
                bytes.splice(place..place, again);
            }
            3 => {
                let number = [0, 1, u64::MAX, i64::MAX as u64, random.next_u64()][below(random, 5)];
                let bytes_of_it = number.to_be_bytes();
                let end = (place + bytes_of_it.len()).min(bytes.len());
                bytes[place..end].copy_from_slice(&bytes_of_it[..end - place]);
            }
            4 => bytes[place..place + length].fill(0xFF),
            _ if place < bytes.len() => bytes[place] ^= 1 << below(random, 8),
            _ => {}
        }
    }
}

/// Reads it and takes everything from it that a report would show.
fn survive(bytes: &[u8]) -> bool {
    let Ok(reading) = read(bytes) else { return false };
    let run = reading.run;
    for tally in [run.warm_up.all(), run.measured.all()] {
        let (response, lag) = (Distribution::response(&tally), Distribution::lag(&tally));
        let _ = (response.summary(), lag.summary(), Distribution::service_ok(&tally).summary());
    }
    let _ = (run.window(), run.measured.accounting().difference(), format!("{:?}", run.validity));
    true
}

#[test]
fn thousands_of_damaged_files_are_read_without_a_panic() {
    let mut random = random();
    for record in RECORDS {
        let record = packed(record, &contents(record));
        for _ in 0..ROUNDS {
            let mut bytes = record.clone();
            mutate(&mut random, &mut bytes);
            survive(&bytes);
        }
    }
}

/// Frames of a fixture, unpacked: kind and content. Of the six intervals only the first (which
/// is all warm-up) and the second, to be quick.
fn contents(record: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut rest = &record[12..];
    while let Some((prefix, more)) = rest.split_first_chunk::<8>() {
        let length = u32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
        let (frame, after) = more.split_at(length);
        frames.push((frame[0], zstd::decode_all(&frame[1..]).unwrap()));
        rest = after;
    }
    let mut intervals = 0;
    frames.retain(|(kind, _)| {
        intervals += u32::from(*kind == 2);
        *kind != 2 || intervals <= 2
    });
    frames
}

fn packed(record: &[u8], frames: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = record[..12].to_vec();
    for (kind, content) in frames {
        let mut frame = vec![*kind];
        frame.extend(zstd::bulk::compress(content, 1).unwrap());
        bytes.extend((frame.len() as u32).to_le_bytes());
        bytes.extend(crc32fast::hash(&frame).to_le_bytes());
        bytes.extend(frame);
    }
    bytes
}

#[test]
fn thousands_of_forged_contents_with_right_checksums_are_read_without_a_panic() {
    let mut random = random();
    for record in RECORDS {
        let frames = contents(record);
        let mut reached = 0;
        for _ in 0..ROUNDS {
            let mut forged = frames.clone();
            let place = below(&mut random, forged.len());
            mutate(&mut random, &mut forged[place].1);
            reached += u32::from(survive(&packed(record, &forged)));
        }
        assert!(reached > ROUNDS / 2, "the forgeries get past the head: {reached}");
    }
}
