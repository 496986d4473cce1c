//! Responses that do not end within the time limit, each stopped or slowed down at another place.

use knee_core::outcome::{Blame, Fault};
use knee_core::unit::Nanos;

use super::Ends::{self, In, With};
use super::{check_with, rows};
use crate::behaviour::{After, Behaviour};

/// Long enough for a good response on a busy machine.
const LIMIT: Nanos = Nanos::from_millis(500);
const LATE: Ends = In(Fault::RequestTimeout, Blame::Server);

fn check(behaviour: &Behaviour, ends: Ends) {
    check_with(behaviour, ends, |drive| drive.with(|settings| settings.request_timeout = Some(LIMIT)));
}

rows! { check;
    no_response_is_a_timeout: Behaviour::Silence => LATE;
    silence_within_the_status_line_is_a_timeout: Behaviour::Sends("HTTP/1.", After::Hold) => LATE;
    silence_within_a_header_is_a_timeout: Behaviour::Sends("HTTP/1.1 200 OK\r\nX: ", After::Hold) => LATE;
    silence_after_an_interim_response_is_a_timeout:
        Behaviour::Sends("HTTP/1.1 100 Continue\r\n\r\n", After::Hold) => LATE;
    silence_after_the_head_is_a_timeout: Behaviour::SilenceAfterHead => LATE;
    silence_within_a_chunk_is_a_timeout:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal", After::Hold) => LATE;
    silence_before_the_last_empty_line_is_a_timeout:
        Behaviour::Sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", After::Hold) => LATE;
    a_body_without_length_that_does_not_end_is_a_timeout:
        Behaviour::Sends("HTTP/1.1 200 OK\r\n\r\nand then", After::Hold) => LATE;
    an_endless_slow_head_is_a_timeout: Behaviour::DripHead => LATE;
    an_endless_slow_body_is_a_timeout: Behaviour::DripBody => LATE;
    endless_slow_interim_responses_are_a_timeout: Behaviour::DripInterim => LATE;
    a_slow_response_in_time_is_a_response: Behaviour::DripInTime => With(200);
}
