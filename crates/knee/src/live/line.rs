//! Without a terminal: one line per interval.
//!
//! Hands a line over as soon as its interval is there; does not move a cursor and does not write
//! itself.

use std::sync::mpsc::Receiver;

use knee_core::event::Event;
use knee_core::record::Point;
use knee_core::unit::Nanos;
use knee_report::number::Unit;
use knee_report::text::{interval_header, interval_line};

use super::feed::Feed;
use crate::problem::on_one_line;

/// Writes the lines of a run, and hands its events to `feed`, until it has ended. Returns no warnings: they are among the lines.
pub fn run(
    unit: Option<Unit>,
    events: &Receiver<Event>,
    feed: Option<&Feed>,
    mut say: impl FnMut(&str),
) -> Vec<String> {
    let mut measured_from = Nanos::ZERO;
    let mut waiting = 0;
    for event in events {
        feed.inspect(|feed| feed.take(&event));
        let line = match event {
            Event::Started(head) => {
                (measured_from, waiting) = (head.measured_from, 0);
                interval_header()
            }
            Event::Interval(interval) => {
                let point = Point::of(&interval, measured_from, waiting);
                waiting = interval.backlog;
                interval_line(&point, unit)
            }
            Event::Stopping { interrupted: true } => "interrupted: waiting for requests in flight".to_owned(),
            Event::Observed { .. } | Event::Stopping { interrupted: false } => continue,
            Event::Warning(text) => format!("warning: {}", on_one_line(&text)),
            Event::Ended => break,
        };
        say(&line);
    }
    Vec::new()
}

/// Collects the warnings of a run, and hands its events to `feed`, until it ends; shows nothing.
pub fn warnings(events: &Receiver<Event>, feed: Option<&Feed>) -> Vec<String> {
    let mut warnings = Vec::new();
    for event in events {
        feed.inspect(|feed| feed.take(&event));
        match event {
            Event::Warning(text) => warnings.push(text),
            Event::Ended => break,
            _ => {}
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::super::term::synthetic;
    use super::*;

    #[test]
    fn a_run_is_a_header_and_a_line_an_interval() {
        let (sender, receiver) = std::sync::mpsc::channel();
        for event in synthetic::events(3) {
            sender.send(event).unwrap();
        }
        sender.send(Event::Warning("disk\u{1b}[2J full".to_owned())).unwrap();
        sender.send(Event::Stopping { interrupted: true }).unwrap();
        drop(sender);
        let mut out = String::new();
        assert_eq!(run(None, &receiver, None, |line| out.extend([line, "\n"])), [""; 0]);
        insta::assert_snapshot!(out);
    }
}
