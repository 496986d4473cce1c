//! Bodies whose end cannot be found.

use knee_core::outcome::{Blame, Fault};

use super::Ends::{self, In};
use super::{check, rows};
use crate::behaviour::Behaviour::{self, Chunks, Framing};

const BAD_CHUNK: Ends = In(Fault::BadChunk, Blame::Protocol);
const BAD_LENGTH: Ends = In(Fault::BadLength, Blame::Protocol);
const BAD_CODING: Ends = In(Fault::BadTransferCoding, Blame::Protocol);

rows! { check;
    a_chunk_size_that_is_no_number_is_a_bad_chunk: Chunks("five\r\nhello\r\n0\r\n\r\n") => BAD_CHUNK;
    a_chunk_size_over_64_bits_is_a_bad_chunk: Chunks("fffffffffffffffff\r\nhello") => BAD_CHUNK;
    a_chunk_size_with_a_sign_is_a_bad_chunk: Chunks("-5\r\nhello\r\n0\r\n\r\n") => BAD_CHUNK;
    a_chunk_size_with_a_prefix_is_a_bad_chunk: Chunks("0x5\r\nhello\r\n0\r\n\r\n") => BAD_CHUNK;
    a_blank_before_a_chunk_size_is_a_bad_chunk: Chunks(" 5\r\nhello\r\n0\r\n\r\n") => BAD_CHUNK;
    an_empty_line_instead_of_a_chunk_size_is_a_bad_chunk: Chunks("\r\nhello\r\n0\r\n\r\n") => BAD_CHUNK;
    a_chunk_longer_than_its_size_is_a_bad_chunk: Chunks("5\r\nhello and more\r\n0\r\n\r\n") => BAD_CHUNK;
    a_chunk_shorter_than_its_size_is_a_bad_chunk: Chunks("7\r\nhello\r\n0\r\n\r\n") => BAD_CHUNK;
    line_feeds_alone_between_chunks_are_a_bad_chunk: Chunks("5\nhello\n0\n\n") => BAD_CHUNK;
    an_endless_chunk_extension_is_a_bad_chunk: Behaviour::EndlessExtension => BAD_CHUNK;
    an_endless_trailer_is_a_bad_chunk: Behaviour::EndlessTrailer => BAD_CHUNK;
    a_length_beside_chunks_is_conflicting_framing:
        Framing("Content-Length: 5\r\nTransfer-Encoding: chunked") => In(Fault::ConflictingFraming, Blame::Protocol);
    a_transfer_coding_that_is_not_chunked_is_a_bad_transfer_coding: Framing("Transfer-Encoding: gzip") => BAD_CODING;
    the_transfer_coding_identity_is_a_bad_transfer_coding: Framing("Transfer-Encoding: identity") => BAD_CODING;
    a_transfer_coding_with_a_parameter_is_a_bad_transfer_coding:
        Framing("Transfer-Encoding: chunked;q=1") => BAD_CODING;
    a_body_that_is_chunked_twice_has_a_bad_transfer_coding:
        Framing("Transfer-Encoding: chunked, chunked") => BAD_CODING;
    a_body_that_is_chunked_twice_by_two_lines_has_a_bad_transfer_coding:
        Framing("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked") => BAD_CODING;
    two_lengths_that_differ_are_a_bad_length: Framing("Content-Length: 5\r\nContent-Length: 6") => BAD_LENGTH;
    a_list_of_lengths_that_differ_is_a_bad_length: Framing("Content-Length: 5, 6") => BAD_LENGTH;
    a_negative_length_is_a_bad_length: Framing("Content-Length: -5") => BAD_LENGTH;
    a_length_with_a_sign_is_a_bad_length: Framing("Content-Length: +5") => BAD_LENGTH;
    a_length_over_64_bits_is_a_bad_length: Framing("Content-Length: 99999999999999999999") => BAD_LENGTH;
    a_length_in_hexadecimal_is_a_bad_length: Framing("Content-Length: 0x5") => BAD_LENGTH;
    a_length_with_a_fraction_is_a_bad_length: Framing("Content-Length: 5.0") => BAD_LENGTH;
    a_length_with_a_blank_inside_is_a_bad_length: Framing("Content-Length: 5 5") => BAD_LENGTH;
    an_empty_length_is_a_bad_length: Framing("Content-Length: ") => BAD_LENGTH;
}
