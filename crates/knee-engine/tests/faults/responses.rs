//! Malformed and unusual responses: the fault of each, on new and on kept connections, in closed and
//! open plans. The run always continues.

use std::sync::atomic::{AtomicU64, Ordering};

use knee_core::outcome::{Fault, Outcome};

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::identity::{Certificate, Greeting};
use crate::server::{Seen, Server};

/// The expected result of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// A fault; the connection is closed.
    In(Fault),
    /// A response with this status.
    With(u16),
}

/// Requests of each run.
pub const REQUESTS: u64 = 20;
/// Number of connections whose first request meets the misbehaviour.
pub const BAD: u64 = 5;
/// Rates of the open runs, per second.
const RATES: [f64; 3] = [100.0, 500.0, 2_000.0];

/// Makes the same request meet `behaviour` in every kind of run.
pub fn check(behaviour: &Behaviour, ends: Ends) {
    for drive in runs() {
        on_new_connections(behaviour, ends, drive);
    }
    on_kept_connections(behaviour, ends);
    over_tls(behaviour, ends);
}

/// One closed run, and one open run per rate; the URL is passed later.
pub fn runs() -> impl Iterator<Item = fn(&str) -> Drive> {
    let open: [fn(&str) -> Drive; 3] = [
        |url| Drive::open(url, REQUESTS, 10, RATES[0]),
        |url| Drive::open(url, REQUESTS, 10, RATES[1]),
        |url| Drive::open(url, REQUESTS, 10, RATES[2]),
    ];
    std::iter::once::<fn(&str) -> Drive>(|url| Drive::closed(url, REQUESTS, 3)).chain(open)
}

/// The first request of each of the first connections meets `behaviour`.
fn on_new_connections(behaviour: &Behaviour, ends: Ends, drive: impl Fn(&str) -> Drive) {
    let server = misbehaving(behaviour, |_| Greeting::Plain);
    let drive = drive(&server.url("/"));
    // Only tests of time limits set time limits.
    verify(behaviour, ends, BAD, &drive, &server);
}

fn over_tls(behaviour: &Behaviour, ends: Ends) {
    let server = misbehaving(behaviour, |_| Greeting::Tls(Certificate::Good));
    let drive = Drive::closed(&server.secure_url("/"), REQUESTS, 3).trusting();
    verify(behaviour, ends, BAD, &drive, &server);
}

fn misbehaving(behaviour: &Behaviour, greet: fn(u64) -> Greeting) -> Server {
    let behaviour = behaviour.clone();
    Server::greeting(greet, move |request| {
        if request.connection < BAD && request.place == 0 { behaviour.clone() } else { Behaviour::Good }
    })
}

/// The second request of a few connections meets `behaviour`. Without any byte of a response, the
/// server could have closed an idle connection while the request was sent: it is sent again.
fn on_kept_connections(behaviour: &Behaviour, ends: Ends) {
    let bad = AtomicU64::new(0);
    let script = behaviour.clone();
    let server = Server::start(move |request| {
        let second = request.place == 1 && bad.fetch_add(1, Ordering::SeqCst) < 4;
        if second { script.clone() } else { Behaviour::Good }
    });
    let drive = Drive::closed(&server.url("/"), REQUESTS, 3);
    if behaviour.is_hang_up() {
        let run = drive.run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{behaviour:?}: {:?}", faults(&run));
        assert_eq!(all(&run).resent, 4, "{behaviour:?}");
        server.all_closed();
    } else {
        verify(behaviour, ends, 4, &drive, &server);
    }
}

/// Makes the run and expects `bad` requests to end in `ends` and all others well.
pub fn verify(behaviour: &Behaviour, ends: Ends, bad: u64, drive: &Drive, server: &Server) -> Seen {
    let run = drive.run();
    let tally = all(&run);
    let seen = server.all_closed();
    match ends {
        In(fault) => {
            assert_eq!(faults(&run), [(fault, bad)], "{behaviour:?}: {:?}", tally.faults);
            assert_eq!(count(&run, Outcome::Ok), REQUESTS - bad, "{behaviour:?}");
        }
        With(status) => {
            // The connection can be kept after these, so there can be fewer than `bad` connections.
            let met = tally.status.iter().find(|(known, _)| *known == status).map_or(0, |(_, met)| *met);
            assert!(met > 0 && (met <= bad || status == 200), "{behaviour:?}: {:?}", tally.status);
            let good = (200..400).contains(&status);
            let ok = if good { REQUESTS } else { REQUESTS - met };
            assert_eq!(count(&run, Outcome::Ok), ok, "{behaviour:?}");
            assert_eq!(count(&run, Outcome::HttpError), REQUESTS - ok, "{behaviour:?}");
        }
    }
    assert_eq!(tally.resent, 0, "{behaviour:?}");
    assert_eq!(seen.after_fault, 0, "{behaviour:?}: nothing is sent on a connection that went wrong");
    assert_eq!(seen.requests.len() as u64, REQUESTS, "{behaviour:?}: each request is sent once");
    seen
}

macro_rules! responses {
    ($($name:ident: $behaviour:expr => $ends:expr;)*) => {
        $(#[test] fn $name() { check(&$behaviour, $ends); })*
    };
}

use Ends::{In, With};

responses! {
    // Hanging up.
    a_reset_instead_of_a_response_is_a_reset: Behaviour::ResetAtOnce => In(Fault::Reset);
    a_reset_within_the_head_is_a_reset: Behaviour::ResetInHead => In(Fault::Reset);
    a_reset_within_the_body_is_a_reset: Behaviour::ResetInBody => In(Fault::Reset);
    the_end_instead_of_a_response_is_closed_early: Behaviour::EndAtOnce => In(Fault::ClosedEarly);
    the_end_within_the_head_is_a_short_head: Behaviour::EndInHead => In(Fault::ShortHead);
    the_end_before_the_announced_length_is_a_short_body: Behaviour::EndInBody => In(Fault::ShortBody);
    the_end_within_a_chunk_is_a_short_body: Behaviour::EndInChunk => In(Fault::ShortBody);
    the_end_between_chunks_is_a_short_body: Behaviour::EndBetweenChunks => In(Fault::ShortBody);

    // Not HTTP.
    the_greeting_of_another_protocol_is_a_malformed_head: Behaviour::Garbage => In(Fault::MalformedHead);
    random_bytes_are_a_malformed_head: Behaviour::RandomBytes(7) => In(Fault::MalformedHead);
    a_page_without_a_head_is_a_malformed_head: Behaviour::NoHead => In(Fault::MalformedHead);
    a_version_that_does_not_exist_is_a_malformed_head: Behaviour::OtherVersion => In(Fault::MalformedHead);
    a_tls_alert_on_a_plain_connection_is_a_malformed_head: Behaviour::TlsAlert => In(Fault::MalformedHead);
    endless_empty_lines_are_a_malformed_head: Behaviour::EmptyLines => In(Fault::MalformedHead);
    a_protocol_change_without_a_request_is_an_unexpected_upgrade: Behaviour::Upgrade => In(Fault::UnexpectedUpgrade);

    // Heads.
    hundreds_of_header_lines_are_too_large_a_head: Behaviour::ManyHeaders => In(Fault::HeadTooLarge);
    an_endless_header_line_is_too_large_a_head: Behaviour::LongHeader => In(Fault::HeadTooLarge);
    endless_cookies_are_too_large_a_head: Behaviour::CookieFlood => In(Fault::HeadTooLarge);
    a_nul_in_a_header_is_a_malformed_header: Behaviour::NulInHeader => In(Fault::MalformedHeader);
    a_carriage_return_within_a_header_is_a_malformed_header:
        Behaviour::Framing("X-Bare: a\rb\r\nContent-Length: 5") => In(Fault::MalformedHeader);
    a_blank_before_the_colon_is_a_malformed_header:
        Behaviour::Framing("X-Blank : a\r\nContent-Length: 5") => In(Fault::MalformedHeader);
    a_folded_header_is_a_malformed_header: Behaviour::FoldedHeader => In(Fault::MalformedHeader);
    a_header_without_a_colon_is_a_malformed_header: Behaviour::NoColon => In(Fault::MalformedHeader);
    endless_interim_responses_are_too_many: Behaviour::InterimFlood => In(Fault::TooManyInterim);

    // Framing.
    a_chunk_size_that_is_no_number_is_a_bad_chunk: Behaviour::BadChunkSize => In(Fault::BadChunk);
    a_chunk_size_over_64_bits_is_a_bad_chunk: Behaviour::HugeChunkSize => In(Fault::BadChunk);
    a_chunk_longer_than_its_size_is_a_bad_chunk: Behaviour::LongChunk => In(Fault::BadChunk);
    an_endless_chunk_extension_is_a_bad_chunk: Behaviour::EndlessExtension => In(Fault::BadChunk);
    an_endless_trailer_is_a_bad_chunk: Behaviour::EndlessTrailer => In(Fault::BadChunk);
    a_length_beside_chunks_is_conflicting_framing:
        Behaviour::Framing("Content-Length: 5\r\nTransfer-Encoding: chunked") => In(Fault::ConflictingFraming);
    a_transfer_coding_that_is_not_chunked_is_a_bad_transfer_coding:
        Behaviour::Framing("Transfer-Encoding: gzip") => In(Fault::BadTransferCoding);
    a_body_that_is_chunked_twice_has_a_bad_transfer_coding:
        Behaviour::Framing("Transfer-Encoding: chunked, chunked") => In(Fault::BadTransferCoding);
    two_lengths_that_differ_are_a_bad_length:
        Behaviour::Framing("Content-Length: 5\r\nContent-Length: 6") => In(Fault::BadLength);
    a_negative_length_is_a_bad_length: Behaviour::Framing("Content-Length: -5") => In(Fault::BadLength);
    a_length_over_64_bits_is_a_bad_length:
        Behaviour::Framing("Content-Length: 99999999999999999999") => In(Fault::BadLength);
    a_list_of_lengths_that_differ_is_a_bad_length:
        Behaviour::Framing("Content-Length: 5, 6") => In(Fault::BadLength);
    a_length_in_hexadecimal_is_a_bad_length: Behaviour::Framing("Content-Length: 0x5") => In(Fault::BadLength);
    a_length_with_a_sign_is_a_bad_length: Behaviour::Framing("Content-Length: +5") => In(Fault::BadLength);

    // Unusual, but valid.
    an_interim_response_before_the_final_one_is_skipped: Behaviour::Continue => With(200);
    lines_that_end_in_a_line_feed_alone_are_read: Behaviour::BareLineFeeds => With(200);
    http_1_0_can_keep_its_connection: Behaviour::OldAndKept => With(200);
    a_body_without_length_lasts_until_the_end: Behaviour::UntilClose => With(200);
    a_list_that_repeats_a_length_is_that_length:
        Behaviour::Raw("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello".to_owned()) => With(200);
    a_slow_response_in_time_is_a_response: Behaviour::DripInTime => With(200);
    every_three_digit_status_is_a_status: Behaviour::Status(999) => With(999);
    a_server_error_is_a_response: Behaviour::Status(503) => With(503);
}
