//! The newest todos in memory, encoded: a list is answered without a question to PostgreSQL.
//!
//! Invariant: a list that begins after a write of this process was answered shows that write. Writes of others are
//! seen when their notification arrives; while nobody listens for them, nothing is kept. Reads no database itself.
//!
//! A new todo is put in its place. Any other change, and whatever came out of order, empties the cache: a state that
//! is never wrong.

use std::cmp::Ordering;

use bytes::{Bytes, BytesMut};
use jiff::civil::DateTime;
use parking_lot::Mutex;

use crate::todo::Todo;

/// New todos that may arrive while a list is being read; beyond, reading begins anew.
const MOST_PENDING: usize = 10_000;

/// A todo as text, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    at: DateTime,
    id: i32,
    text: Bytes,
}

impl Item {
    /// A todo and its text.
    pub fn new(todo: &Todo, text: Bytes) -> Self {
        Self { at: todo.created_at, id: todo.id, text }
    }

    /// The newest first, as PostgreSQL is asked to order them.
    fn order(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at).then(other.id.cmp(&self.id))
    }
}

/// The state of the table, as far as this process knows. What was read in one is of no use in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(u64);

/// The list in memory.
#[derive(Debug)]
pub struct Cache {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    epoch: u64,
    /// Whether changes by others would be noticed.
    is_watched: bool,
    /// Whether a write of this process may yet be done that was given up.
    is_in_doubt: bool,
    items: Option<Vec<Item>>,
    body: Option<Bytes>,
    /// What was made since somebody began to read the list.
    pending: Option<Vec<Item>>,
}

impl Cache {
    /// An empty one that keeps so many todos, and that nobody watches over yet.
    pub fn new(limit: Option<u32>) -> Self {
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        Self { limit, state: Mutex::default() }
    }

    /// The list as an array of JSON, if it is known.
    pub fn body(&self) -> Option<Bytes> {
        let mut state = self.state.lock();
        let State { items: Some(items), body, .. } = &mut *state else { return None };
        Some(body.get_or_insert_with(|| joined(items)).clone())
    }

    /// Where things stand. To be asked for before a write is begun.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.state.lock().epoch)
    }

    /// Somebody is going to read the list from PostgreSQL, to keep it.
    pub fn begin(&self) -> Epoch {
        let mut state = self.state.lock();
        state.pending = Some(Vec::new());
        Epoch(state.epoch)
    }

    /// What was read. It is kept if nothing but new todos came in between.
    pub fn keep(&self, begun: Epoch, read: Vec<Item>) {
        let mut state = self.state.lock();
        let Some(pending) = state.pending.take() else { return };
        if begun != Epoch(state.epoch) || !state.is_watched {
            return;
        }
        let mut items = read;
        for item in pending {
            put(&mut items, item, self.limit);
        }
        state.items = Some(items);
        state.body = None;
    }

    /// New todos were written; `begun` is from before. With `pushed_out` each took the place of the oldest one.
    pub fn made(&self, begun: Epoch, made: impl IntoIterator<Item = Item>, pushed_out: bool) {
        let mut state = self.state.lock();
        let holds_the_oldest = state.items.as_ref().is_some_and(|items| items.len() < self.limit);
        // Somebody changed or deleted a todo meanwhile, and it may have been one of these.
        let is_late = begun != Epoch(state.epoch);
        if is_late || (pushed_out && (holds_the_oldest || state.pending.is_some())) {
            state.forget();
            return;
        }
        for item in made {
            if let Some(pending) = &mut state.pending {
                pending.push(item.clone());
            }
            if let Some(items) = &mut state.items {
                put(items, item, self.limit);
                state.body = None;
            }
        }
        if state.pending.as_ref().is_some_and(|pending| pending.len() > MOST_PENDING) {
            state.forget();
        }
    }

    /// A todo was changed or deleted, or somebody else changed something.
    pub fn forget(&self) {
        self.state.lock().forget();
    }

    /// Somebody was told of a change. One of our own is known already, unless a write is in doubt.
    pub fn told(&self, is_own: bool) {
        let mut state = self.state.lock();
        if !is_own || state.is_in_doubt {
            state.forget();
        }
    }

    /// A write failed, and may yet be done: until the connection that tells of changes is a new one, even our own
    /// changes are news.
    pub fn doubt(&self) {
        let mut state = self.state.lock();
        state.is_in_doubt = true;
        state.forget();
    }

    /// Whether changes by others are noticed from now on.
    pub fn watch(&self, is_watched: bool) {
        let mut state = self.state.lock();
        state.is_watched = is_watched;
        state.is_in_doubt = false;
        state.forget();
    }
}

impl State {
    fn forget(&mut self) {
        self.epoch += 1;
        (self.items, self.body, self.pending) = (None, None, None);
    }
}

fn put(items: &mut Vec<Item>, item: Item, limit: usize) {
    // What is there already was read from PostgreSQL after it was written.
    if let Err(place) = items.binary_search_by(|other| other.order(&item))
        && place < limit
    {
        items.insert(place, item);
        items.truncate(limit);
    }
}

/// Items as an array of JSON.
pub fn joined(items: &[Item]) -> Bytes {
    let size: usize = items.iter().map(|item| item.text.len() + 1).sum();
    let mut body = BytesMut::with_capacity(size + 2);
    body.extend_from_slice(b"[");
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            body.extend_from_slice(b",");
        }
        body.extend_from_slice(&item.text);
    }
    body.extend_from_slice(b"]");
    body.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(id: i32, second: i8) -> Item {
        let at = DateTime::constant(2020, 7, 1, 0, 0, second, 0);
        Item { at, id, text: Bytes::from(id.to_string()) }
    }

    fn shown(cache: &Cache) -> Option<String> {
        cache.body().map(|body| String::from_utf8(body.to_vec()).unwrap())
    }

    fn filled(limit: u32, items: Vec<Item>) -> Cache {
        let cache = Cache::new(Some(limit));
        cache.watch(true);
        let begun = cache.begin();
        cache.keep(begun, items);
        cache
    }

    #[test]
    fn a_new_todo_comes_first_and_pushes_out_the_last() {
        let cache = filled(2, vec![item(2, 2), item(1, 1)]);
        assert_eq!(shown(&cache).unwrap(), "[2,1]");
        cache.made(cache.epoch(), [item(3, 3)], false);
        assert_eq!(shown(&cache).unwrap(), "[3,2]");
        cache.made(cache.epoch(), [item(9, 0)], false);
        assert_eq!(shown(&cache).unwrap(), "[3,2]", "one that began long ago is not among the newest");
    }

    #[test]
    fn what_is_written_while_the_list_is_read_is_not_lost_and_not_there_twice() {
        let cache = Cache::new(None);
        cache.watch(true);
        let begun = cache.begin();
        cache.made(cache.epoch(), [item(2, 2), item(3, 3)], false);
        cache.keep(begun, vec![item(2, 2), item(1, 1)]);
        assert_eq!(shown(&cache).unwrap(), "[3,2,1]");
    }

    #[test]
    fn a_list_that_was_read_before_a_change_is_not_kept() {
        let cache = Cache::new(None);
        cache.watch(true);
        let begun = cache.begin();
        cache.forget();
        cache.keep(begun, vec![item(1, 1)]);
        assert_eq!(shown(&cache), None);
    }

    #[test]
    fn a_todo_that_was_perhaps_deleted_before_it_was_told_does_not_come_back() {
        let cache = filled(5, vec![item(1, 1)]);
        let before = cache.epoch();
        cache.forget();
        let begun = cache.begin();
        cache.keep(begun, vec![item(1, 1)]);
        cache.made(before, [item(2, 2)], false);
        assert_eq!(shown(&cache), None);
    }

    #[test]
    fn nothing_is_kept_while_nobody_watches() {
        let cache = filled(5, vec![item(1, 1)]);
        cache.watch(false);
        let begun = cache.begin();
        cache.keep(begun, vec![item(1, 1)]);
        assert_eq!(shown(&cache), None);
    }

    #[test]
    fn our_own_changes_are_no_news_unless_a_write_is_in_doubt() {
        let cache = filled(5, vec![item(1, 1)]);
        cache.told(true);
        assert_eq!(shown(&cache).unwrap(), "[1]");
        cache.told(false);
        assert_eq!(shown(&cache), None, "a change by somebody else");
        cache.doubt();
        let begun = cache.begin();
        cache.keep(begun, vec![item(1, 1)]);
        cache.told(true);
        assert_eq!(shown(&cache), None, "it may be the write that was given up");
    }

    #[test]
    fn when_the_oldest_goes_a_list_that_shows_it_is_forgotten() {
        let whole = filled(5, vec![item(1, 1)]);
        whole.made(whole.epoch(), [item(2, 2)], true);
        assert_eq!(shown(&whole), None);
        let newest = filled(1, vec![item(5, 5)]);
        newest.made(newest.epoch(), [item(6, 6)], true);
        assert_eq!(shown(&newest).unwrap(), "[6]");
    }

    proptest! {
        /// Whatever happens in whatever order, what is shown is what the table has.
        #[test]
        fn the_cache_never_differs_from_the_table(
            events in prop::collection::vec((0..4_u8, 0..30_i8), 0..40),
            limit in 1..6_u32,
        ) {
            let cache = filled(limit, Vec::new());
            let mut table: Vec<Item> = Vec::new();
            let mut reading = None;
            for (number, (kind, second)) in events.into_iter().enumerate() {
                match kind {
                    0 => {
                        let new = item(i32::try_from(number).unwrap(), second);
                        let begun = cache.epoch();
                        table.push(new.clone());
                        cache.made(begun, [new], false);
                    }
                    1 if !table.is_empty() => {
                        table.swap_remove(number % table.len());
                        cache.forget();
                    }
                    2 => reading = Some((cache.begin(), newest(&table, limit))),
                    _ => if let Some((begun, read)) = reading.take() {
                        cache.keep(begun, read);
                    },
                }
                if let Some(body) = cache.body() {
                    prop_assert_eq!(body, joined(&newest(&table, limit)));
                }
            }
        }
    }

    fn newest(table: &[Item], limit: u32) -> Vec<Item> {
        let mut sorted = table.to_vec();
        sorted.sort_by(Item::order);
        sorted.truncate(limit as usize);
        sorted
    }
}
