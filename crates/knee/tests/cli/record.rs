//! Records that were made up frame by frame. Does not use the writer, so that they can be wrong.

use serde_json::Value;

const V1: &[u8] = include_bytes!("../../../knee-core/tests/fixtures/v1.knee");

pub const HEAD: u8 = 1;
pub const INTERVAL: u8 = 2;
pub const NOTE: u8 = 3;
pub const TAIL: u8 = 4;

/// A frame, the same in every version.
pub fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut body = vec![kind];
    body.extend(zstd::bulk::compress(content, 3).unwrap());
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// The content of the fixture's head.
pub fn head() -> Value {
    let length = u32::from_le_bytes(V1[12..16].try_into().unwrap()) as usize;
    rmp_serde::from_slice(&zstd::decode_all(&V1[21..20 + length]).unwrap()).unwrap()
}

/// A record of version 1 with this head and these frames.
pub fn record(head: &[u8], frames: &[Vec<u8>]) -> Vec<u8> {
    record_of(1, head, frames)
}

/// The same of any version.
pub fn record_of(version: u32, head: &[u8], frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = [&V1[..8], &version.to_le_bytes()].concat();
    bytes.extend(frame(HEAD, head));
    bytes.extend(frames.concat());
    bytes
}

pub fn packed(value: &Value) -> Vec<u8> {
    rmp_serde::to_vec_named(value).unwrap()
}
