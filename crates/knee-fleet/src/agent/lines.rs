//! What a script wrote on the screen of its agent, on the way to the controller.
//!
//! Few and short: a thousand agents can each write a line per iteration, and what people read is the beginning. All lines
//! stay in the log of the agent. Does not read that log.

use knee_core::unit::Nanos;

use crate::wire::EventKind;

/// Lines that are sent at a time, and the least time between two of those.
const AT_A_TIME: usize = 20;
const PAUSE: Nanos = Nanos::from_secs(1);
/// Lines of a run that are sent.
const MOST: usize = 1_000;
/// Characters of a line that are sent.
const LENGTH: usize = 1_000;

/// The lines that are still to be sent.
#[derive(Debug, Default)]
pub(super) struct Lines {
    waiting: Vec<String>,
    /// How many were taken on in all.
    taken: usize,
    left_out: u64,
    sent: Option<Nanos>,
}

impl Lines {
    /// Takes on what was written, of which `more` are only counted. So is what is more than can be sent within a second or
    /// for the run.
    pub(super) fn add(&mut self, lines: Vec<String>, more: u64) {
        self.left_out += more;
        for line in lines {
            if self.waiting.len() >= AT_A_TIME || self.taken >= MOST {
                self.left_out += 1;
                continue;
            }
            self.taken += 1;
            self.waiting.push(match line.char_indices().nth(LENGTH) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line,
            });
        }
    }

    /// What is to be announced, if anything is due; `last`: nothing comes any more.
    pub(super) fn take(&mut self, now: Nanos, last: bool) -> Option<EventKind> {
        // That lines are left out alone is no reason to say something, until the end.
        let is_due = !self.waiting.is_empty() && self.sent.is_none_or(|sent| now.since(sent) >= PAUSE);
        if !(is_due || last && (self.left_out > 0 || !self.waiting.is_empty())) {
            return None;
        }
        self.sent = Some(now);
        let lines = std::mem::take(&mut self.waiting);
        Some(EventKind::Wrote { lines, left_out: std::mem::take(&mut self.left_out) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|number| format!("line {number}")).collect()
    }

    fn counts(announced: Option<EventKind>) -> (usize, u64) {
        match announced {
            Some(EventKind::Wrote { lines, left_out }) => (lines.len(), left_out),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_few_lines_go_out_at_once_and_further_ones_a_second_later() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(Nanos::ZERO, true), None, "nothing was written");
        lines.add(numbered(0..2), 0);
        assert_eq!(counts(lines.take(Nanos::from_secs(1), false)), (2, 0));
        lines.add(numbered(2..3), 0);
        assert_eq!(lines.take(Nanos::from_millis(1_900), false), None);
        assert_eq!(counts(lines.take(Nanos::from_secs(2), false)), (1, 0));
    }

    #[test]
    fn a_script_that_writes_without_end_costs_a_thousand_lines_and_a_count() {
        let mut lines = Lines::default();
        let (mut sent, mut left_out) = (0, 0);
        for second in 0..100 {
            lines.add(numbered(0..60), 40);
            if let Some(EventKind::Wrote { lines, left_out: more }) =
                lines.take(Nanos::from_secs(second), false)
            {
                (sent, left_out) = (sent + lines.len(), left_out + more);
            }
        }
        let (last, more) = counts(lines.take(Nanos::from_secs(100), true));
        assert_eq!((sent + last, left_out + more), (MOST, 9_000));
        lines.add(vec!["é".repeat(5_000)], 0);
        assert_eq!(counts(lines.take(Nanos::from_secs(200), true)), (0, 1));
    }

    #[test]
    fn a_long_line_is_cut() {
        let mut lines = Lines::default();
        lines.add(vec!["é".repeat(5_000)], 0);
        let Some(EventKind::Wrote { lines, .. }) = lines.take(Nanos::ZERO, false) else { panic!() };
        assert_eq!(lines[0].chars().count(), LENGTH + 1);
    }
}
