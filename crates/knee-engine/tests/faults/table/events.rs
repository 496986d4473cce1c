//! Responses that are to be streams of events: what is none, what breaks off, what does not go on.
//!
//! Each row is met at the three rates of the table, without TLS.

use std::thread;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::tally::Phase;
use knee_core::unit::Nanos;
use knee_engine::http::settings::EventSettings;

use super::Ends::{self, In, With};
use super::{REQUESTS, Share, drive, rows};
use crate::behaviour::{After, Behaviour};
use crate::drive::{Drive, all, count, faults};
use crate::server::Server;

const NONE: Ends = In(Fault::NoEvents, Blame::Protocol);
const CUT: Ends = In(Fault::EventsCut, Blame::Server);
const SHORT: Ends = In(Fault::ShortBody, Blame::Protocol);
const LATE: Ends = In(Fault::RequestTimeout, Blame::Server);

/// Long enough for a good response on a busy machine.
const LIMIT: Nanos = Nanos::from_millis(500);

/// A response whose body comes in chunks, of which this is the first text.
macro_rules! chunked {
    ($kind:literal, $rest:literal) => {
        Behaviour::Sends(
            concat!(
                "HTTP/1.1 200 OK\r\nContent-Type: ",
                $kind,
                "\r\nTransfer-Encoding: chunked\r\n\r\n",
                $rest
            ),
            After::Hold,
        )
    };
}

/// A whole response with this head.
fn whole(head: &str, body: &str) -> Behaviour {
    Behaviour::Raw(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

fn stream(body: &str) -> Behaviour {
    whole("200 OK\r\nContent-Type: text/event-stream", body)
}

fn check(behaviour: &Behaviour, ends: Ends) {
    check_at_all_rates(behaviour, ends, None);
}

/// The same where the data `[DONE]` ends a response.
fn check_until(behaviour: &Behaviour, ends: Ends) {
    check_at_all_rates(behaviour, ends, Some("[DONE]"));
}

fn check_at_all_rates(behaviour: &Behaviour, ends: Ends, until: Option<&str>) {
    thread::scope(|scope| {
        for (share, rate) in Share::RATES {
            scope.spawn(move || check_at(behaviour, ends, until, share, rate));
        }
    });
}

/// A run in which a share of the responses is `behaviour`, and each other one has three events.
fn check_at(behaviour: &Behaviour, ends: Ends, until: Option<&str>, share: Share, rate: f64) {
    let script = behaviour.clone();
    let server = Server::start(move |request| {
        let is_bad = share.has(request.connection);
        if is_bad { script.clone() } else { stream("data: 1\n\ndata: 2\n\ndata: [DONE]\n\n") }
    });
    let run = watching(drive(&server.url("/"), rate), until).run();
    server.all_closed();
    let (tally, bad) = (all(&run), share.count());
    let good = REQUESTS - bad;
    match ends {
        In(fault, blame) => {
            assert_eq!(faults(&run), [(fault, bad)], "{behaviour:?}: {:?}", tally.faults);
            assert_eq!(fault.blame(), blame);
            assert_eq!(count(&run, Outcome::Ok), good, "{behaviour:?}");
            assert_eq!(count(&run, fault.outcome()), bad, "{behaviour:?}");
        }
        With(200) => assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{behaviour:?}: {:?}", tally.faults),
        With(_) => assert_eq!(count(&run, Outcome::HttpError), bad, "{behaviour:?}: {:?}", tally.faults),
    }
    // Each good response has a first event and two gaps; what the others had is theirs.
    let phase = |phase: Phase| tally.phases[phase as usize].count();
    assert!(phase(Phase::FirstEvent) >= good && phase(Phase::EventGap) >= 2 * good, "{behaviour:?}");
    assert_eq!(phase(Phase::LongestGap), phase(Phase::FirstEvent), "{behaviour:?}");
    let waited = phase(Phase::FirstEvent) + phase(Phase::NoEvent);
    assert!(ends != LATE || waited == REQUESTS, "{behaviour:?}: who waited in vain is counted");
}

fn watching(drive: Drive, until: Option<&str>) -> Drive {
    drive.with(|settings| {
        settings.events = Some(EventSettings { until: until.map(|text| text.as_bytes().into()) });
        settings.decode = false;
        settings.request_timeout = Some(LIMIT);
    })
}

rows! { check;
    a_page_is_no_stream_of_events: whole("200 OK\r\nContent-Type: text/html", "data: 1\n\n") => NONE;
    a_response_without_a_type_is_no_stream_of_events: whole("200 OK", "data: 1\n\n") => NONE;
    json_is_no_stream_of_events: whole("200 OK\r\nContent-Type: application/json", "{}") => NONE;
    a_stream_that_is_encoded_unasked_cannot_be_read:
        whole("200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip", "data: 1\n\n") => NONE;
    an_empty_stream_has_no_event: stream("") => NONE;
    a_stream_of_comments_has_no_event: stream(": ping\n\n: ping\n\n") => NONE;
    an_event_without_data_is_none: stream("event: x\nid: 1\n\n") => NONE;
    an_event_that_no_empty_line_ends_is_none: stream("data: 1\n") => NONE;
    no_content_is_no_stream_of_events: Behaviour::Raw("HTTP/1.1 204 No Content\r\n\r\n".to_owned()) => NONE;
    a_redirect_that_is_not_followed_is_no_stream_of_events:
        Behaviour::Redirect(302, "/elsewhere".to_owned()) => NONE;
    a_response_that_nothing_has_changed_is_no_stream_of_events:
        Behaviour::Raw("HTTP/1.1 304 Not Modified\r\n\r\n".to_owned()) => NONE;
    an_error_is_an_error_whatever_its_type:
        whole("503 Service Unavailable\r\nContent-Type: text/html", "sorry") => With(503);
    silence_before_the_first_event_is_a_timeout: chunked!("text/event-stream", "") => LATE;
    silence_within_the_first_event_is_a_timeout: chunked!("text/event-stream", "7\r\ndata: 1\r\n") => LATE;
    silence_after_an_event_is_a_timeout: chunked!("text/event-stream", "9\r\ndata: 1\n\n\r\n") => LATE;
    comments_alone_do_not_help_against_a_timeout: chunked!("text/event-stream", "4\r\n: x\n\r\n") => LATE;
    the_end_within_an_event_is_a_short_body:
        Behaviour::Sends(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ndata: ",
            After::Close,
        ) => SHORT;
    the_end_between_two_events_is_a_short_body:
        Behaviour::Sends(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n",
            After::Close,
        ) => SHORT;
    lines_of_json_are_events:
        whole("200 OK\r\nContent-Type: application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n{\"done\":true}") => With(200);
    a_stream_that_ends_with_its_connection_is_whole:
        Behaviour::Sends(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\ndata: 1\r\n\r\n",
            After::Close,
        ) => With(200);
}

/// The rows where one event ends a response.
pub const UNTIL_ROWS: &[&str] = until::ROWS;

mod until {
    use super::*;

    rows! { check_until;
        a_stream_without_its_last_event_is_cut: stream("data: 1\n\ndata: 2\n\n") => CUT;
        data_that_is_only_like_the_last_event_does_not_end_a_stream: stream("data: [DONE] \n\n") => CUT;
        a_stream_without_an_event_has_none: stream(": ping\n\n") => NONE;
        silence_before_the_last_event_is_a_timeout: chunked!("text/event-stream", "9\r\ndata: 1\n\n\r\n") => LATE;
        silence_after_the_last_event_does_not_matter:
            chunked!("text/event-stream", "e\r\ndata: [DONE]\n\n\r\n") => With(200);
    }
}
