//! Connections that end before their response is complete.

use knee_core::outcome::{Blame, Fault};

use super::Ends::{In, With};
use super::{check, rows};
use crate::behaviour::{After, Behaviour};

const SHORT_BODY: super::Ends = In(Fault::ShortBody, Blame::Protocol);
const SHORT_HEAD: super::Ends = In(Fault::ShortHead, Blame::Protocol);
const RESET: super::Ends = In(Fault::Reset, Blame::Network);

rows! { check;
    a_reset_instead_of_a_response_is_a_reset: Behaviour::ResetAtOnce => RESET;
    a_reset_within_the_head_is_a_reset: Behaviour::ResetInHead => RESET;
    a_reset_within_the_body_is_a_reset: Behaviour::ResetInBody => RESET;
    a_reset_after_an_interim_response_is_a_reset:
        Behaviour::Sends("HTTP/1.1 100 Continue\r\n\r\n", After::Reset) => RESET;
    the_end_instead_of_a_response_is_closed_early: Behaviour::EndAtOnce => In(Fault::ClosedEarly, Blame::Server);
    the_end_within_the_status_line_is_a_short_head: Behaviour::Sends("HTTP/1.1 20", After::Close) => SHORT_HEAD;
    the_end_within_the_head_is_a_short_head: Behaviour::EndInHead => SHORT_HEAD;
    the_end_after_an_interim_response_is_a_short_head:
        Behaviour::Sends("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", After::Close) => SHORT_HEAD;
    the_end_right_after_the_head_is_a_short_body:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", After::Close) => SHORT_BODY;
    the_end_before_the_announced_length_is_a_short_body: Behaviour::EndInBody => SHORT_BODY;
    half_a_close_within_the_body_is_a_short_body:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal", After::HalfClose) => SHORT_BODY;
    the_end_within_a_chunk_size_is_a_short_body:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1", After::Close) => SHORT_BODY;
    the_end_within_a_chunk_is_a_short_body: Behaviour::EndInChunk => SHORT_BODY;
    the_end_between_chunks_is_a_short_body: Behaviour::EndBetweenChunks => SHORT_BODY;
    the_end_within_the_trailer_is_a_short_body:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y", After::Close)
        => SHORT_BODY;
    the_end_before_the_last_empty_line_is_a_short_body:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", After::Close)
        => SHORT_BODY;
    half_a_close_after_a_whole_response_is_no_fault:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", After::HalfClose)
        => With(200);
}
