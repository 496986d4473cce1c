//! Bodies that are too large, or not encoded as announced.

use knee_core::outcome::{Blame, Fault};

use super::Ends::{self, In, With};
use super::{check, rows};
use crate::behaviour::{Behaviour, Behaviour::Coded};
use crate::bodies::{encode, large_window};
use crate::drive::BODY_MAX;

const TOO_LONG: Ends = In(Fault::BodyLimit, Blame::Protocol);
const BOMB: Ends = In(Fault::DecodeLimit, Blame::Protocol);
const NOT_CODED: Ends = In(Fault::DecodeFailed, Blame::Protocol);

/// A response that decodes to more than the limit.
fn bomb(coding: &'static str) -> Behaviour {
    Coded(coding, encode(coding, &vec![0; 4 * BODY_MAX as usize]))
}

/// A body without its last bytes.
fn cut(coding: &'static str) -> Behaviour {
    let text: Vec<u8> = (0..5_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut body = encode(coding, &text);
    body.truncate(body.len() - 9);
    Coded(coding, body)
}

/// A body with a change in the byte that many bytes before its end.
fn changed(coding: &'static str, before_end: usize) -> Behaviour {
    let mut body = encode(coding, b"hello hello hello hello");
    let place = body.len() - before_end;
    body[place] ^= 1;
    Coded(coding, body)
}

/// A body with other bytes behind it.
fn followed(coding: &'static str) -> Behaviour {
    Coded(coding, [&encode(coding, b"hello hello hello")[..], b"and more"].concat())
}

fn plain(coding: &'static str) -> Behaviour {
    Coded(coding, b"plain text".to_vec())
}

rows! { check;
    endless_chunks_hit_the_body_limit: Behaviour::EndlessChunks => TOO_LONG;
    an_endless_body_hits_the_body_limit: Behaviour::EndlessBody => TOO_LONG;
    a_length_over_the_body_limit_hits_it: Behaviour::HugeLength => TOO_LONG;
    a_bomb_of_gzip_hits_the_limit_on_decoded_bytes: bomb("gzip") => BOMB;
    a_bomb_of_deflate_hits_the_limit_on_decoded_bytes: bomb("deflate") => BOMB;
    a_bomb_of_brotli_hits_the_limit_on_decoded_bytes: bomb("br") => BOMB;
    a_bomb_of_zstd_hits_the_limit_on_decoded_bytes: bomb("zstd") => BOMB;
    text_is_no_gzip: plain("gzip") => NOT_CODED;
    text_is_no_deflate: plain("deflate") => NOT_CODED;
    text_is_no_brotli: plain("br") => NOT_CODED;
    text_is_no_zstd: plain("zstd") => NOT_CODED;
    a_cut_gzip_body_fails_to_decode: cut("gzip") => NOT_CODED;
    a_cut_deflate_body_fails_to_decode: cut("deflate") => NOT_CODED;
    a_cut_brotli_body_fails_to_decode: cut("br") => NOT_CODED;
    a_cut_zstd_body_fails_to_decode: cut("zstd") => NOT_CODED;
    a_wrong_checksum_of_gzip_fails_to_decode: changed("gzip", 8) => NOT_CODED;
    a_wrong_length_of_gzip_fails_to_decode: changed("gzip", 4) => NOT_CODED;
    a_wrong_checksum_of_deflate_fails_to_decode: changed("deflate", 1) => NOT_CODED;
    bytes_behind_a_gzip_body_fail_to_decode: followed("gzip") => NOT_CODED;
    bytes_behind_a_brotli_body_fail_to_decode: followed("br") => NOT_CODED;
    bytes_behind_a_zstd_body_fail_to_decode: followed("zstd") => NOT_CODED;
    gzip_announced_as_brotli_fails_to_decode: Coded("br", encode("gzip", b"hello hello hello")) => NOT_CODED;
    zstd_announced_as_gzip_fails_to_decode: Coded("gzip", encode("zstd", b"hello hello hello")) => NOT_CODED;
    a_brotli_window_over_16_mib_fails_to_decode: Coded("br", large_window()) => NOT_CODED;
    a_body_in_an_unknown_coding_is_not_decoded: Coded("rot13", b"uryyb".to_vec()) => With(200);
}
