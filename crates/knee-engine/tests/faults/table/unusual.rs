//! Responses that are unusual but valid, or so common that they must be read.

use super::Ends::With;
use super::{check, rows};
use crate::behaviour::{After, Behaviour, Behaviour::Raw};

rows! { check;
    an_interim_response_before_the_final_one_is_skipped: Behaviour::Continue => With(200);
    early_hints_before_the_final_response_are_skipped:
        Raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into())
        => With(200);
    lines_that_end_in_a_line_feed_alone_are_read: Behaviour::BareLineFeeds => With(200);
    a_status_line_without_a_reason_is_read: Raw("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok".into()) => With(200);
    http_1_0_can_keep_its_connection: Behaviour::OldAndKept => With(200);
    http_1_0_ends_its_connection: Behaviour::Sends("HTTP/1.0 200 OK\r\n\r\nold", After::Close) => With(200);
    a_body_without_length_lasts_until_the_end: Behaviour::UntilClose => With(200);
    a_length_that_is_repeated_in_a_list_is_that_length:
        Raw("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello".into()) => With(200);
    a_length_that_is_repeated_in_two_lines_is_that_length:
        Raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello".into()) => With(200);
    chunks_with_extensions_and_trailers_are_read:
        Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n".into())
        => With(200);
    names_and_codings_in_any_case_are_read:
        Raw("HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".into()) => With(200);
    a_status_without_a_body_ignores_its_length:
        Raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n".into()) => With(304);
    a_body_of_a_status_without_one_is_surplus:
        Raw("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello".into()) => With(204);
    a_response_too_many_is_surplus: Behaviour::SecondResponse => With(200);
    a_refused_expectation_is_a_response: Behaviour::Status(417) => With(417);
    a_client_error_is_a_response: Behaviour::Status(404) => With(404);
    a_server_error_is_a_response: Behaviour::Status(503) => With(503);
    every_three_digit_status_is_a_status: Behaviour::Status(999) => With(999);
}
