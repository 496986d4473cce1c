//! Samples on their way from a worker to the writer.
//!
//! Samples of one moment share its time and its tags, and moments of a batch share lists of tags: a request has nine
//! samples, and most requests of a run have the same tags. Does not write.

use std::sync::{Arc, OnceLock};

use knee_core::unit::Nanos;

use crate::metric::MetricId;

/// Names and values of tags, or of metadata.
#[derive(Debug, Default)]
pub struct TagList {
    pairs: Box<[(String, String)]>,
    /// The same as an output writes it, from its first use on.
    written: OnceLock<Box<[u8]>>,
}

impl TagList {
    /// A list of these pairs, which are written in this order.
    pub fn new(pairs: impl Into<Box<[(String, String)]>>) -> Self {
        Self { pairs: pairs.into(), written: OnceLock::new() }
    }

    /// Name and value of each.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The list as bytes, made by `write` when it is written first. To be called with one function alone.
    pub(super) fn written(&self, write: impl FnOnce(&[(String, String)]) -> Vec<u8>) -> &[u8] {
        self.written.get_or_init(|| write(&self.pairs).into())
    }
}

/// The place of a list of tags in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListId(u32);

impl ListId {
    /// The list at this place.
    pub(super) const fn at(place: usize) -> Self {
        Self(place as u32)
    }

    /// Its place.
    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// One moment: the samples that have its time and its tags.
#[derive(Debug)]
struct Moment {
    /// Since the Unix epoch.
    at: Nanos,
    tags: ListId,
    metadata: Option<Arc<TagList>>,
    /// Where its samples end.
    end: usize,
}

/// Samples in the order in which they were taken.
#[derive(Debug, Default)]
pub struct Batch {
    moments: Vec<Moment>,
    lists: Vec<Arc<TagList>>,
    samples: Vec<(MetricId, f64)>,
}

/// The samples of one moment, as a batch holds them.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Time since the Unix epoch.
    pub at: Nanos,
    /// Their tags, sorted by name.
    pub tags: &'a TagList,
    /// Metadata, which no filter asks for, in any order.
    pub metadata: Option<&'a TagList>,
    /// The metric of each, and its value; milliseconds and bytes where the metric has a unit.
    pub values: &'a [(MetricId, f64)],
}

impl Batch {
    /// An empty batch with room for so many samples.
    pub fn with_capacity(samples: usize) -> Self {
        Self { moments: Vec::new(), lists: Vec::new(), samples: Vec::with_capacity(samples) }
    }

    /// Adds a list of tags, to be named by [`Batch::push`].
    pub fn list(&mut self, tags: Arc<TagList>) -> ListId {
        self.lists.push(tags);
        ListId::at(self.lists.len() - 1)
    }

    /// Adds samples of one moment. `tags` must be of this batch.
    pub fn push(
        &mut self,
        at: Nanos,
        tags: ListId,
        metadata: Option<Arc<TagList>>,
        samples: impl IntoIterator<Item = (MetricId, f64)>,
    ) {
        self.samples.extend(samples);
        self.moments.push(Moment { at, tags, metadata, end: self.samples.len() });
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The samples, moment by moment.
    pub fn moments(&self) -> impl Iterator<Item = Samples<'_>> {
        let mut from = 0;
        self.moments.iter().map(move |moment| {
            let values = &self.samples[from..moment.end];
            from = moment.end;
            let tags = &self.lists[moment.tags.place()];
            let metadata = moment.metadata.as_deref();
            Samples { at: moment.at, tags, metadata, values }
        })
    }
}
