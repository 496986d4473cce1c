//! The observer's own work at a Redis server, which the server counts with that of all clients.
//!
//! Pure. Counts what surely was counted: the few commands of a new connection and the frames of answers are not left
//! out. Counters of single commands stay as they are, because those of the observer have names of their own.

use redis::{Cmd, Value};

use crate::figures::Figures;

/// The counters from which the own work is subtracted: commands, bytes that the server received, bytes that it sent, and
/// reads, one for each command, because the observer waits for each answer.
const COUNTERS: [&str; 4] = ["redis.commands", "redis.input_bytes", "redis.output_bytes", "redis.reads"];

/// What the observer has done since the counters of the server began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    /// In the order of [`COUNTERS`].
    done: [f64; 4],
    /// What the server had counted at the last reading, of all clients, and what was left of it.
    counted: [f64; 4],
    left: [f64; 4],
}

impl Own {
    /// Adds a command that had an answer of at least so many bytes.
    pub(super) fn add(&mut self, command: &Cmd, answer: usize) {
        let work = [1.0, command.get_packed_command().len() as f64, answer as f64, 1.0];
        for (done, work) in self.done.iter_mut().zip(work) {
            *done += work;
        }
    }

    /// Subtracts what was done `before` the server was asked for these figures.
    pub(super) fn leave_out(&mut self, before: Self, figures: &mut Figures) {
        for (place, name) in COUNTERS.into_iter().enumerate() {
            for figure in figures.now.iter_mut().filter(|figure| figure.name == name) {
                let counted = figure.value;
                if counted < self.counted[place] {
                    // The server was restarted or its statistics were reset: nothing of what was done is in them.
                    (self.done[place], self.left[place]) = (0.0, counted);
                } else {
                    // Of a server that does not count everything, the rest would fall, which looks like a restart.
                    self.left[place] = (counted - before.done[place]).max(self.left[place]);
                }
                self.counted[place] = counted;
                figure.value = self.left[place];
            }
        }
    }
}

/// The bytes of an answer, without its frames.
pub(super) fn size(answer: &Value) -> usize {
    match answer {
        Value::BulkString(bytes) => bytes.len(),
        Value::SimpleString(text) => text.len(),
        Value::Array(parts) => parts.iter().map(size).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Bytes, Count};

    /// A reading of a server that has counted this.
    fn read(own: &mut Own, commands: f64, sent: f64) -> [Option<f64>; 2] {
        let mut info = redis::cmd("INFO");
        info.arg("all");
        let before = *own;
        own.add(&info, 4_000);
        let mut figures = Figures::default();
        figures.counter("redis.commands", Count, commands);
        figures.counter("redis.output_bytes", Bytes, sent);
        own.leave_out(before, &mut figures);
        [figures.value("redis.commands", ""), figures.value("redis.output_bytes", "")]
    }

    #[test]
    fn an_idle_server_that_is_looked_at_counts_nothing_and_other_work_is_counted() {
        let mut own = Own::default();
        assert_eq!(read(&mut own, 100.0, 10_000.0), [Some(100.0), Some(10_000.0)]);
        let look = redis::cmd("INFO");
        (0..10).for_each(|_| own.add(&look, 500));
        // The reading before, and ten looks; each answer has a frame.
        assert_eq!(read(&mut own, 111.0, 19_110.0), [Some(100.0), Some(10_110.0)]);
        assert_eq!(read(&mut own, 119.0, 25_000.0), [Some(107.0), Some(12_000.0)], "and seven others");
    }

    #[test]
    fn after_a_reset_what_was_done_before_is_not_subtracted() {
        let mut own = Own::default();
        read(&mut own, 100.0, 10_000.0);
        let look = redis::cmd("INFO");
        (0..50).for_each(|_| own.add(&look, 500));
        assert_eq!(read(&mut own, 7.0, 600.0), [Some(7.0), Some(600.0)]);
        assert_eq!(read(&mut own, 20.0, 5_000.0)[0], Some(20.0));
    }

    #[test]
    fn a_server_that_does_not_count_what_it_is_asked_does_not_seem_to_restart() {
        let mut own = Own::default();
        read(&mut own, 100.0, 10_000.0);
        assert_eq!(read(&mut own, 100.0, 10_000.0), [Some(100.0), Some(10_000.0)]);
        assert_eq!(read(&mut own, 105.0, 90_000.0), [Some(103.0), Some(82_000.0)]);
    }

    #[test]
    fn an_answer_counts_with_all_texts_in_it() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let words = Value::Array(vec![bulk("SET"), bulk("key"), Value::Int(7)]);
        assert_eq!(size(&Value::Array(vec![words, Value::SimpleString("four".to_owned()), Value::Nil])), 10);
    }

    #[test]
    fn a_command_counts_with_its_bytes_on_the_wire() {
        let mut own = Own::default();
        own.add(&redis::cmd("PING"), 0);
        assert_eq!(own.done.map(f64::to_bits), [1.0_f64, 14.0, 0.0, 1.0].map(f64::to_bits));
    }
}
