//! Bodies in the codings of HTTP.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

/// `bytes` in the coding of this name; unchanged if nobody knows it.
pub fn encode(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let coded = match coding {
        "gzip" => finish(GzEncoder::new(Vec::new(), Compression::fast()), bytes, GzEncoder::finish),
        "deflate" => finish(ZlibEncoder::new(Vec::new(), Compression::fast()), bytes, ZlibEncoder::finish),
        "brotli" => brotli(bytes),
        "zstd" => zstd::encode_all(bytes, 1),
        _ => Ok(bytes.to_vec()),
    };
    // Memory does not refuse what is written to it.
    coded.unwrap_or_default()
}

fn finish<W: Write>(
    mut writer: W,
    bytes: &[u8],
    end: impl FnOnce(W) -> std::io::Result<Vec<u8>>,
) -> std::io::Result<Vec<u8>> {
    writer.write_all(bytes)?;
    end(writer)
}

fn brotli(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut coded = Vec::new();
    let mut writer = brotli::CompressorWriter::new(&mut coded, 4_096, 4, 20);
    writer.write_all(bytes)?;
    drop(writer);
    Ok(coded)
}
