//! Bodies in the codings of HTTP.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

/// `bytes` in the coding of this name; unchanged if the name is unknown.
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

/// `bytes` without the coding of this name, or the several of them, last first; unchanged where that fails.
pub fn decode(codings: &str, bytes: &[u8]) -> Vec<u8> {
    codings.split(',').rev().fold(bytes.to_vec(), |bytes, coding| {
        let mut plain = Vec::new();
        let read = match coding.trim() {
            "gzip" => GzDecoder::new(&*bytes).read_to_end(&mut plain),
            "deflate" => ZlibDecoder::new(&*bytes).read_to_end(&mut plain),
            "br" => brotli::Decompressor::new(&*bytes, 4_096).read_to_end(&mut plain),
            "zstd" => zstd::Decoder::new(&*bytes).and_then(|mut decoder| decoder.read_to_end(&mut plain)),
            _ => return bytes,
        };
        if read.is_ok() { plain } else { bytes }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_can_be_decoded() {
        for (path, header) in [("gzip", "gzip"), ("deflate", "deflate"), ("brotli", "br"), ("zstd", "zstd")] {
            let coded = encode(path, b"some text");
            assert_ne!(coded, b"some text", "{path}");
            assert_eq!(decode(header, &coded), b"some text", "{path}");
        }
        let twice = encode("deflate", &encode("gzip", b"some text"));
        assert_eq!(decode("gzip, deflate", &twice), b"some text");
    }
}
