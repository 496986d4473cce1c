//! The stream of events to one watcher: the whole run so far, then what is new.
//!
//! There is no queue: a watcher has a place in the history, and each piece is made from the fold when the watcher can
//! take it. A watcher that was slow gets everything that came meanwhile. Does not decide how many can watch.

use std::io::{self, Write};
use std::time::Duration;

use knee_core::unit::Nanos;
use knee_engine::steering::Steering;
use serde_json::Value;

use super::{observed, state};
use crate::live::feed::Feed;
use crate::live::fold::Fold;
use crate::web::{COMMON, Policy};

/// The type of the stream.
pub const KIND: &str = "text/event-stream";

/// Longest silence, after which a comment shows that the connection works.
const SILENCE: Duration = Duration::from_secs(15);

/// Least time between two pieces.
const PAUSE: Duration = Duration::from_millis(400);

/// Least time between two pieces with what observers saw: their charts are sent whole.
const OBSERVED_EVERY: Nanos = Nanos::from_secs(3);

/// Largest report that the last piece carries, in bytes.
const REPORT_MAX: usize = 8 << 20;

/// How far a watcher has read.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// What it has seen; `None` at first.
    sequence: Option<u64>,
    /// The run of which it knows `moments` moments, and how often they were joined.
    run: u64,
    halvings: u32,
    moments: usize,
    /// How many batches of observers it has seen, and when it got them.
    batches: u64,
    observed: Nanos,
}

impl Place {
    /// The next piece for a watcher at this place, who is then at its end.
    fn piece(&mut self, fold: &Fold, command: &str, now: Nanos, steering: Option<&Steering>) -> String {
        if self.sequence == Some(fold.sequence) {
            return ": nothing new\n\n".to_owned();
        }
        let joins_on =
            self.sequence.is_some() && (self.run, self.halvings) == (fold.number, fold.history.halvings());
        let first = if joins_on { self.moments } else { 0 };
        self.sequence = Some(fold.sequence);
        (self.run, self.halvings) = (fold.number, fold.history.halvings());
        self.moments = fold.history.moments().len();
        let name = match (fold.over, joins_on) {
            (true, _) => "ended",
            (false, true) => "moment",
            (false, false) => "snapshot",
        };
        let mut state = state::of(fold, command, first, now);
        state["steering"] = steering.map_or(Value::Null, state::steering);
        if !joins_on || fold.over || self.wants_observed(fold, now) {
            state["observed"] = observed::of(&fold.observed);
            (self.batches, self.observed) = (fold.observed.taken(), now);
        }
        if let Some(page) = fold
            .conclusion
            .as_ref()
            .and_then(|conclusion| conclusion.page.as_deref())
            .filter(|page| fold.over && page.len() <= REPORT_MAX)
        {
            state["report"] = page.into();
        }
        format!("event: {name}\ndata: {state}\n\n")
    }

    /// Whether observers have seen more, and the watcher has not heard of them for a while.
    fn wants_observed(&self, fold: &Fold, now: Nanos) -> bool {
        (self.batches != fold.observed.taken() || fold.observed.is_broken())
            && now.since(self.observed) >= OBSERVED_EVERY
    }
}

/// Writes the stream until the command ends.
///
/// # Errors
///
/// When the watcher is gone or has not read for a while.
pub fn send(mut out: impl Write, feed: &Feed, command: &str) -> io::Result<()> {
    let policy = Policy::OwnFiles.header();
    write!(out, "HTTP/1.1 200 OK\r\ncontent-type: {KIND}\r\n{policy}{COMMON}\r\n")?;
    let mut place = Place::default();
    loop {
        feed.mention_watcher();
        let steering = feed.steering();
        let (piece, over) = {
            let fold = feed.wait(place.sequence, SILENCE);
            (place.piece(&fold, command, feed.now(), steering.as_ref()), fold.over)
        };
        out.write_all(piece.as_bytes())?;
        if over {
            return Ok(());
        }
        feed.pause(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use knee_core::event::Event;
    use knee_core::interval::Interval;
    use knee_core::observation::Batch;
    use knee_core::validity::Validity;
    use serde_json::json;

    use super::*;
    use crate::live::fold::Conclusion;
    use crate::live::history::MOMENTS_MAX;
    use crate::live::term::synthetic;

    fn data(piece: &str) -> Value {
        let line = piece.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        serde_json::from_str(line).unwrap()
    }

    fn rows(piece: &str) -> (u64, usize) {
        let moments = &data(piece)["run"]["moments"];
        (moments["first"].as_u64().unwrap(), moments["rows"].as_array().unwrap().len())
    }

    #[test]
    fn a_late_watcher_gets_all_seconds_and_then_only_new_ones() {
        let (mut fold, mut place) = (Fold::default(), Place::default());
        for event in synthetic::events(7) {
            fold.handle(&event, Nanos::ZERO);
        }
        let piece = place.piece(&fold, "run", Nanos::from_secs(7), None);
        assert!(piece.starts_with("event: snapshot\n"), "{piece}");
        assert_eq!(rows(&piece), (0, 7));
        assert_eq!(place.piece(&fold, "run", Nanos::from_secs(7), None), ": nothing new\n\n");
        fold.handle(&Event::Interval(synthetic::interval(7).into()), Nanos::from_secs(8));
        fold.handle(&Event::Interval(synthetic::interval(8).into()), Nanos::from_secs(9));
        let piece = place.piece(&fold, "run", Nanos::from_secs(9), None);
        assert!(piece.starts_with("event: moment\n"), "{piece}");
        assert_eq!(rows(&piece), (7, 2));
    }

    #[test]
    fn a_new_run_and_joined_seconds_begin_with_the_whole_again() {
        let (mut fold, mut place) = (Fold::default(), Place::default());
        let begin = &synthetic::events(1)[0];
        fold.handle(begin, Nanos::ZERO);
        let second = |number| {
            let (from, to) = (Nanos::from_secs(number), Nanos::from_secs(number + 1));
            Event::Interval(Interval { from, to, ..Interval::default() }.into())
        };
        (0..MOMENTS_MAX as u64).for_each(|number| fold.handle(&second(number), Nanos::ZERO));
        assert_eq!(rows(&place.piece(&fold, "run", Nanos::ZERO, None)), (0, MOMENTS_MAX));
        fold.handle(&second(MOMENTS_MAX as u64), Nanos::ZERO);
        assert_eq!(rows(&place.piece(&fold, "run", Nanos::ZERO, None)), (0, MOMENTS_MAX / 2 + 1));
        fold.handle(begin, Nanos::ZERO);
        let piece = place.piece(&fold, "sweep", Nanos::ZERO, None);
        assert!(piece.starts_with("event: snapshot\n") && rows(&piece) == (0, 0), "{piece}");
        assert_eq!(data(&piece)["run"]["number"], 2);
    }

    #[test]
    fn what_observers_saw_comes_at_once_then_every_three_seconds_and_at_the_end() {
        let (mut fold, mut place) = (Fold::default(), Place::default());
        fold.handle(&synthetic::events(1)[0], Nanos::ZERO);
        let mut second = |fold: &mut Fold, at: u64| {
            fold.handle(&Event::Observed { batch: Batch::default().into(), number: at }, Nanos::ZERO);
            fold.handle(&Event::Interval(synthetic::interval(at).into()), Nanos::ZERO);
            data(&place.piece(fold, "run", Nanos::from_secs(at), None)).get("observed").is_some()
        };
        let sent: Vec<bool> = (0..7).map(|at| second(&mut fold, at)).collect();
        assert_eq!(sent, [true, false, false, true, false, false, true]);
        fold.close();
        assert!(data(&place.piece(&fold, "run", Nanos::from_secs(7), None)).get("observed").is_some());
    }

    #[test]
    fn the_last_piece_has_the_answer_of_the_command_and_its_report() {
        let mut place = Place::default();
        let mut fold = Fold::default();
        let (answer, page) = ("It can do 400/s".to_owned(), Some("<!doctype html>".to_owned()));
        fold.conclude(Conclusion { answer, validity: Some(Validity::Suspect), page });
        let piece = data(&place.piece(&fold, "sweep", Nanos::ZERO, None));
        assert_eq!(piece["conclusion"]["answer"], "It can do 400/s");
        assert_eq!((&piece["conclusion"]["validity"], &piece["report"]), (&json!("suspect"), &Value::Null));
        fold.close();
        assert_eq!(data(&place.piece(&fold, "sweep", Nanos::ZERO, None))["report"], "<!doctype html>");
    }

    #[test]
    fn the_last_piece_says_that_the_command_has_ended() {
        let feed = Feed::default();
        for event in synthetic::events(3) {
            feed.take(&event);
        }
        feed.close();
        let mut out = Vec::new();
        send(&mut out, &feed, "run").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("event: ended\n"), "{text}");
    }
}
