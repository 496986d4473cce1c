//! What the owner of the second token can ask for on the live page: stop the load, change its rate.
//!
//! A form comes in that was admitted; the answer says what happens now. Does not decide who can send one
//! ([`crate::web`] does) nor up to which rate ([`knee_engine::steering`] does).

use knee_core::amendment::Amendment;
use knee_core::unit::Nanos;
use knee_report::number;
use serde_json::json;
use signal_hook::consts::SIGINT;
use signal_hook::low_level::raise;

use crate::live::feed::Feed;
use crate::live::fold::Phase;
use crate::web::answer::JSON;
use crate::web::{Answer, Refusal, Request};

/// Where forms are taken.
pub const PATHS: [&str; 2] = [STOP, STEER];

const STOP: &str = "/api/run/stop";
const STEER: &str = "/api/run/steer";

/// The answer to a form.
pub fn carry_out(request: &Request, feed: &Feed) -> Answer {
    match request.path.as_str() {
        STOP => stop(feed),
        STEER => steer(request, feed),
        _ => Answer::refusal(Refusal::Path),
    }
}

/// The same as Ctrl-C in the terminal: a second time ends requests in flight too.
fn stop(feed: &Feed) -> Answer {
    if feed.read().over {
        return refused("the command has ended");
    }
    feed.mention("the load was stopped on the live page");
    feed.note("stopped on the live page");
    match raise(SIGINT) {
        Ok(()) => done("stopping, as after Ctrl-C; a second time ends everything at once"),
        Err(_) => refused("this process could not be interrupted"),
    }
}

fn steer(request: &Request, feed: &Feed) -> Answer {
    let number =
        |name: &str| request.field(name)?.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let (Some(rate), Some(over)) =
        (number("rate"), number("over_s").filter(|over| (0.0..=1e6).contains(over)))
    else {
        return refused("give a rate in requests per second, and a time in seconds, both 0 or more");
    };
    let phase = feed.read().phase;
    let Some(steering) = feed.steering().filter(|_| phase == Phase::Loading) else {
        return refused("no load is in progress");
    };
    match steering.steer(rate, Nanos::from_secs_f64(over)) {
        Ok(amendment) => {
            let text = says(&amendment);
            feed.mention(&format!("steered on the live page: {text}"));
            feed.note(&text);
            done(&text)
        }
        Err(why) => refused(&why.to_string()),
    }
}

/// A change in words: `the rate changes from 1,000/s to 2,000/s at 21.0 s, within 5.00 s`.
fn says(amendment: &Amendment) -> String {
    let within =
        if amendment.over > Nanos::ZERO { format!(", within {}", amendment.over) } else { String::new() };
    let (from, to) = (number::level(amendment.from), number::level(amendment.to));
    format!("the rate changes from {from}/s to {to}/s at {}{within}", amendment.at)
}

fn done(text: &str) -> Answer {
    Answer::ok(JSON, json!({ "done": true, "says": text }).to_string())
}

/// A form that asks for what cannot be done now changes nothing.
fn refused(text: &str) -> Answer {
    Answer::ok(JSON, json!({ "done": false, "says": text }).to_string()).with_status("409 Conflict")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use knee_core::event::Event;
    use knee_engine::control::Control;
    use knee_engine::steering::Ceiling;
    use knee_engine::worker::Shared;

    use super::*;
    use crate::live::term::synthetic;
    use crate::web::form_of;

    /// A load of 1,000/s that can be steered up to twice as many, and has begun.
    fn load() -> (Feed, Control) {
        let (feed, control) = (Feed::default(), Control::new());
        control.steering().allow(Ceiling::Rate(2_000.0));
        feed.attach(control.clone());
        let head = synthetic::head();
        let _ = Shared::new(head.plan.clone(), control.clone());
        feed.take(&Event::Started(Arc::new(head)));
        (feed, control)
    }

    fn answered(feed: &Feed, form: &str) -> String {
        let mut bytes = Vec::new();
        carry_out(&form_of(STEER, form), feed).write(&mut bytes, false).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn numbers_that_are_no_rate_and_rates_over_the_ceiling_change_nothing() {
        let (feed, control) = load();
        for form in [
            "rate=2001&over_s=0",
            "rate=-1&over_s=0",
            "rate=NaN&over_s=0",
            "rate=inf&over_s=0",
            "rate=1e400&over_s=0",
            "rate=&over_s=0",
            "rate=1",
            "rate=1&over_s=-1",
            "rate=1&over_s=1e300",
            "over_s=1",
            "",
        ] {
            let answer = answered(&feed, form);
            assert!(
                answer.starts_with("HTTP/1.1 409 ") && answer.contains("\"done\":false"),
                "{form}: {answer}"
            );
        }
        assert_eq!(control.steering().amendments(), []);
    }

    #[test]
    fn a_load_that_has_ended_or_was_not_opened_for_it_is_not_steered() {
        let (feed, _control) = load();
        feed.take(&Event::Ended);
        assert!(answered(&feed, "rate=1&over_s=0").contains("no load is in progress"));
        assert!(answered(&Feed::default(), "rate=1&over_s=0").contains("no load is in progress"));
    }

    #[test]
    fn a_change_is_said_in_words() {
        let change = Amendment {
            at: Nanos::from_secs(21),
            from: 1_000.0,
            over: Nanos::from_secs(5),
            to: 1_999.5,
            first: 0.0,
        };
        assert_eq!(says(&change), "the rate changes from 1,000/s to 2,000/s at 21.0 s, within 5.00 s");
    }
}
