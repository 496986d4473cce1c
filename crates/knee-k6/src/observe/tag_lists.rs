//! Lists of tags that a worker has used before.
//!
//! Most samples of a run have the tags of earlier ones, so their texts are made once. Does not decide which tags a
//! sample has.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::tag_key::TagKey;
use super::tags::{AllTags, KINDS};
use crate::output::batch::{ListId, TagList};

/// Most lists that are kept; scripts that put ids into tags or names fill it repeatedly.
const LISTS_MAX: usize = 1_024;

/// Lists of each kind of sample that are found without a look into the table.
const RECENT: usize = 8;

/// The lists of one worker.
#[derive(Debug, Default)]
pub struct TagLists {
    known: FxHashMap<Box<[u8]>, Known>,
    /// The last ones, by their hint.
    recent: [[Recent; RECENT]; KINDS],
    /// What is looked up; kept for reuse.
    key: TagKey,
    /// Number of the batch, or of the set of columns, that is filled.
    batch: u64,
}

/// A list that was used lately, by its key.
#[derive(Debug, Default)]
struct Recent {
    key: Vec<u8>,
    batch: u64,
    id: ListId,
}

/// A list, and its place in the last batch that has it.
#[derive(Debug)]
struct Known {
    list: Arc<TagList>,
    batch: u64,
    id: ListId,
}

impl TagLists {
    /// The place of a list of `tags`, sorted by name, in what is filled. `add` puts a list there that it does not have yet.
    pub fn place(&mut self, tags: &dyn AllTags, add: impl FnOnce(Arc<TagList>) -> ListId) -> ListId {
        let (kind, hint) = tags.hint();
        let place = (kind, hint % RECENT);
        let Recent { key, batch, id } = std::mem::take(&mut self.recent[place.0][place.1]);
        self.key.begin(key);
        tags.identify(&mut self.key);
        let (key, is_same) = self.key.end();
        let id = if is_same && batch == self.batch { id } else { self.find(&key, tags, add) };
        self.recent[place.0][place.1] = Recent { key, batch: self.batch, id };
        id
    }

    /// The place of the list with this key.
    fn find(&mut self, key: &[u8], tags: &dyn AllTags, add: impl FnOnce(Arc<TagList>) -> ListId) -> ListId {
        if let Some(known) = self.known.get_mut(key) {
            if known.batch != self.batch {
                (known.batch, known.id) = (self.batch, add(known.list.clone()));
            }
            return known.id;
        }
        let list = Arc::new(TagList::new(tags.sorted()));
        let id = add(list.clone());
        if self.known.len() >= LISTS_MAX {
            self.known.clear();
        }
        self.known.insert(key.into(), Known { list, batch: self.batch, id });
        id
    }

    /// The batch has gone; another one is filled.
    pub fn begin_batch(&mut self) {
        self.batch += 1;
    }
}

#[cfg(test)]
mod tests {
    use knee_core::unit::Nanos;

    use super::super::Context;
    use super::super::system_tags::SystemTags;
    use super::super::tags::Plain;
    use super::*;
    use crate::output::batch::Batch;

    fn place(lists: &mut TagLists, batch: &mut Batch, tags: &[(&str, &str)]) -> ListId {
        let tags: Vec<_> =
            tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let context = Context { scenario: "", group: "", tags: &tags, metadata: &[], at: Nanos::ZERO };
        let tags = Plain { context: &context, system: SystemTags::of([""]) };
        lists.place(&tags, |list| batch.list(list))
    }

    /// The tags of every moment of a batch.
    fn shown(batch: &Batch) -> Vec<Vec<(String, String)>> {
        batch.moments().map(|samples| samples.tags.pairs().to_vec()).collect()
    }

    #[test]
    fn equal_tags_are_one_list_of_a_batch_and_texts_that_only_look_alike_are_not() {
        let (mut lists, mut batch) = (TagLists::default(), Batch::default());
        let first = place(&mut lists, &mut batch, &[("a", "bc")]);
        assert_eq!(place(&mut lists, &mut batch, &[("a", "bc")]), first);
        assert_ne!(place(&mut lists, &mut batch, &[("ab", "c")]), first);
    }

    #[test]
    fn each_batch_has_its_own_lists_and_samples_keep_their_tags_however_many_there_are() {
        let mut lists = TagLists::default();
        for _ in 0..3 {
            let mut batch = Batch::default();
            for number in (0..LISTS_MAX + 10).chain(0..2) {
                let id = place(&mut lists, &mut batch, &[("n", &number.to_string())]);
                batch.push(Nanos::ZERO, id, None, []);
            }
            let numbers: Vec<String> =
                (0..LISTS_MAX + 10).chain(0..2).map(|number| number.to_string()).collect();
            let found: Vec<String> = shown(&batch).into_iter().map(|tags| tags[0].1.clone()).collect();
            assert_eq!(found, numbers);
            lists.begin_batch();
        }
    }
}
