//! Bytes that are not the head of an HTTP/1.1 response.

use knee_core::outcome::{Blame, Fault};

use super::Ends::{self, In};
use super::{check, rows};
use crate::behaviour::{After::Hold, Behaviour, Behaviour::Sends};

const NOT_HTTP: Ends = In(Fault::MalformedHead, Blame::Protocol);
const BAD_HEADER: Ends = In(Fault::MalformedHeader, Blame::Protocol);
const TOO_LARGE: Ends = In(Fault::HeadTooLarge, Blame::Protocol);

rows! { check;
    the_greeting_of_another_protocol_is_a_malformed_head: Behaviour::Garbage => NOT_HTTP;
    random_bytes_are_a_malformed_head: Behaviour::RandomBytes(7) => NOT_HTTP;
    a_page_without_a_head_is_a_malformed_head: Behaviour::NoHead => NOT_HTTP;
    a_version_that_does_not_exist_is_a_malformed_head: Behaviour::OtherVersion => NOT_HTTP;
    the_text_http_2_is_a_malformed_head: Sends("HTTP/2 200\r\nContent-Length: 0\r\n\r\n", Hold) => NOT_HTTP;
    a_frame_of_http_2_is_a_malformed_head: Sends("\0\0\0\x04\0\0\0\0\0", Hold) => NOT_HTTP;
    a_tls_alert_on_a_plain_connection_is_a_malformed_head: Behaviour::TlsAlert => NOT_HTTP;
    a_version_in_small_letters_is_a_malformed_head:
        Sends("http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Hold) => NOT_HTTP;
    a_blank_before_the_version_is_a_malformed_head:
        Sends(" HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Hold) => NOT_HTTP;
    an_icy_status_line_is_a_malformed_head: Sends("ICY 200 OK\r\n\r\n", Hold) => NOT_HTTP;
    a_status_of_two_digits_is_a_malformed_head: Sends("HTTP/1.1 20 OK\r\n\r\n", Hold) => NOT_HTTP;
    a_status_of_four_digits_is_a_malformed_head: Sends("HTTP/1.1 2000 OK\r\n\r\n", Hold) => NOT_HTTP;
    a_status_that_is_no_number_is_a_malformed_head: Sends("HTTP/1.1 abc OK\r\n\r\n", Hold) => NOT_HTTP;
    a_status_below_one_hundred_is_a_malformed_head: Sends("HTTP/1.1 099 Low\r\n\r\n", Hold) => NOT_HTTP;
    a_nul_in_the_status_line_is_a_malformed_head: Sends("HTTP/1.1 200 O\0K\r\n\r\n", Hold) => NOT_HTTP;
    lines_that_end_in_a_carriage_return_alone_are_a_malformed_head:
        Sends("HTTP/1.1 200 OK\rContent-Length: 0\r\r", Hold) => NOT_HTTP;
    endless_empty_lines_are_a_malformed_head: Behaviour::EmptyLines => NOT_HTTP;
    a_protocol_change_without_a_request_is_an_unexpected_upgrade:
        Behaviour::Upgrade => In(Fault::UnexpectedUpgrade, Blame::Protocol);
    hundreds_of_header_lines_are_too_large_a_head: Behaviour::ManyHeaders => TOO_LARGE;
    an_endless_header_line_is_too_large_a_head: Behaviour::LongHeader => TOO_LARGE;
    endless_cookies_are_too_large_a_head: Behaviour::CookieFlood => TOO_LARGE;
    endless_interim_responses_are_too_many:
        Behaviour::InterimFlood => In(Fault::TooManyInterim, Blame::Protocol);
    a_nul_in_a_header_is_a_malformed_header: Behaviour::NulInHeader => BAD_HEADER;
    a_control_character_in_a_header_is_a_malformed_header:
        Behaviour::Framing("X-Bell: a\x07b\r\nContent-Length: 5") => BAD_HEADER;
    a_carriage_return_within_a_header_is_a_malformed_header:
        Behaviour::Framing("X-Bare: a\rb\r\nContent-Length: 5") => BAD_HEADER;
    a_blank_before_the_colon_is_a_malformed_header:
        Behaviour::Framing("X-Blank : a\r\nContent-Length: 5") => BAD_HEADER;
    a_blank_within_a_name_is_a_malformed_header:
        Behaviour::Framing("X Y: a\r\nContent-Length: 5") => BAD_HEADER;
    a_header_without_a_name_is_a_malformed_header: Behaviour::Framing(": a\r\nContent-Length: 5") => BAD_HEADER;
    a_folded_header_is_a_malformed_header: Behaviour::FoldedHeader => BAD_HEADER;
    a_header_without_a_colon_is_a_malformed_header: Behaviour::NoColon => BAD_HEADER;
}
