//! Samples on their way to outputs of sums, from a worker or from the histograms of an interval: a column of values for
//! each metric and list of tags.
//!
//! A value that repeats the one before it is counted, not kept again: phases of requests on open connections are zero, and
//! most counters grow by one. The order of samples of different columns is lost, which sums do not need. Does not add
//! up: which sums there are depends on the output.

use std::sync::Arc;

use knee_core::unit::Nanos;

use super::batch::{ListId, TagList};
use crate::metric::MetricId;

/// A value, and how often it came in a row.
type Run = (f64, u64);

/// Samples by metric and tags.
#[derive(Debug, Default)]
pub struct Columns {
    blocks: Vec<Block>,
    samples: u64,
    /// Values that take memory: one of each row of equal ones.
    runs: usize,
}

/// The columns with one list of tags.
#[derive(Debug)]
pub struct Block {
    /// The tags, sorted by name.
    pub tags: Arc<TagList>,
    /// The columns, in the order in which their metrics came first.
    pub columns: Vec<Column>,
}

/// The samples of one metric.
#[derive(Debug)]
pub struct Column {
    /// The metric.
    pub metric: MetricId,
    /// The time of its last sample, since the Unix epoch.
    pub latest: Nanos,
    earlier: Vec<Run>,
    last: Run,
}

impl Column {
    /// Each value and how often it came in a row, in the order in which they came.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        self.earlier.iter().copied().chain([self.last])
    }

    /// Number of samples: at least one.
    pub fn samples(&self) -> u64 {
        self.runs().map(|(_, count)| count).sum()
    }

    /// Takes a value so many times; whether it is another one than the last.
    fn add(&mut self, at: Nanos, (value, count): Run) -> bool {
        self.latest = self.latest.max(at);
        let is_new = value.to_bits() != self.last.0.to_bits();
        if is_new {
            self.earlier.push(self.last);
            self.last = (value, count);
        } else {
            self.last.1 += count;
        }
        is_new
    }
}

impl Columns {
    /// Adds a list of tags, to be named by [`Columns::push`].
    pub fn list(&mut self, tags: Arc<TagList>) -> ListId {
        self.blocks.push(Block { tags, columns: Vec::new() });
        ListId::at(self.blocks.len() - 1)
    }

    /// Adds samples of one moment. `tags` must be of these columns.
    pub fn push(&mut self, at: Nanos, tags: ListId, samples: &[(MetricId, f64)]) {
        // The samples of an event have the same metrics as those of the last one, in the same order.
        let mut next = 0;
        for (metric, value) in samples {
            next = self.add(at, tags, (*metric, next), (*value, 1)) + 1;
        }
    }

    /// Adds a value that stands for so many samples; nothing for none.
    pub fn push_many(&mut self, at: Nanos, tags: ListId, metric: MetricId, run: Run) {
        if run.1 > 0 {
            self.add(at, tags, (metric, 0), run);
        }
    }

    /// Adds a value to the column of a metric, which is likely at this place. Returns where it is.
    fn add(&mut self, at: Nanos, tags: ListId, (metric, likely): (MetricId, usize), run: Run) -> usize {
        self.samples += run.1;
        let columns = &mut self.blocks[tags.place()].columns;
        let is_here = columns.get(likely).is_some_and(|column| column.metric == metric);
        let found = if is_here { Some(likely) } else { columns.iter().position(|one| one.metric == metric) };
        let Some(place) = found else {
            columns.push(Column { metric, latest: at, earlier: Vec::new(), last: run });
            self.runs += 1;
            return columns.len() - 1;
        };
        self.runs += usize::from(columns[place].add(at, run));
        place
    }

    /// Number of samples.
    pub const fn len(&self) -> u64 {
        self.samples
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Number of values that take memory.
    pub const fn runs(&self) -> usize {
        self.runs
    }

    /// The columns, by their lists of tags. Two lists can have the same tags.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::BuiltIn;

    #[test]
    fn values_of_a_metric_and_a_list_of_tags_are_a_column_and_repeated_ones_are_counted() {
        let mut columns = Columns::default();
        let [one, other] = ["a", "b"]
            .map(|value| columns.list(Arc::new(TagList::new(vec![("name".to_owned(), value.to_owned())]))));
        let [reqs, waiting] = [BuiltIn::HttpReqs, BuiltIn::HttpReqWaiting].map(BuiltIn::id);
        for (at, wait) in [(1, 5.0), (2, 5.0), (4, 7.0), (3, 5.0)] {
            columns.push(Nanos(at), one, &[(reqs, 1.0), (waiting, wait)]);
        }
        columns.push(Nanos(9), other, &[(waiting, 0.0), (reqs, 1.0)]);
        columns.push(Nanos(9), other, &[(reqs, 1.0)]);
        let shown = |block: &Block| {
            let column = |one: &Column| (one.metric, one.latest, one.runs().collect::<Vec<_>>());
            block.columns.iter().map(column).collect::<Vec<_>>()
        };
        let expected =
            vec![(reqs, Nanos(4), vec![(1.0, 4)]), (waiting, Nanos(4), vec![(5.0, 2), (7.0, 1), (5.0, 1)])];
        assert_eq!(shown(&columns.blocks()[0]), expected);
        let expected = vec![(waiting, Nanos(9), vec![(0.0, 1)]), (reqs, Nanos(9), vec![(1.0, 2)])];
        assert_eq!(shown(&columns.blocks()[1]), expected);
        assert_eq!((columns.len(), columns.runs()), (11, 6));
        assert_eq!(columns.blocks()[0].columns[1].samples(), 4);
    }
}
