//! List cache: the newest todos in memory, encoded, so that a list needs no query.
//!
//! Invariant: a list requested after a write of this process was acknowledged shows that write. Writes of other processes
//! show when their notification arrives; while no connection listens for them, nothing is cached. Does not read the database.
//!
//! A new todo is inserted in order. Any other change, and any that arrives out of order, clears the cache, which is always safe.

use std::cmp::Ordering;

use bytes::{Bytes, BytesMut};
use jiff::civil::DateTime;
use parking_lot::Mutex;

use crate::encode::{Encoded, Format, protobuf};
use crate::todo::Todo;

/// Maximum number of todos that can be created while the list is loaded; beyond it, the load starts again.
const MAX_PENDING: usize = 10_000;

/// An encoded todo with its sort key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    at: DateTime,
    id: i32,
    encoded: Encoded,
}

impl Item {
    /// A todo and its encodings.
    pub fn new(todo: &Todo, encoded: Encoded) -> Self {
        Self { at: todo.created_at, id: todo.id, encoded }
    }

    /// Newest first, as in the query.
    fn order(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at).then(other.id.cmp(&self.id))
    }
}

/// A state of the table as this process knows it. Data read in one epoch is invalid in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(u64);

/// The list cache.
#[derive(Debug)]
pub struct Cache {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    epoch: u64,
    /// Whether a connection listens for changes by other processes.
    is_listening: bool,
    /// Whether PostgreSQL may still execute a failed write of this process.
    has_uncertain_write: bool,
    items: Option<Vec<Item>>,
    bodies: Bodies,
    /// Todos created since the current load of the list started.
    pending: Option<Vec<Item>>,
}

/// The list as it was sent last, in each format.
#[derive(Debug, Default)]
struct Bodies {
    json: Option<Bytes>,
    protobuf: Option<Bytes>,
}

impl Cache {
    /// An empty cache for at most `limit` todos. It stores nothing until [`Self::set_listening`].
    pub fn new(limit: Option<u32>) -> Self {
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        Self { limit, state: Mutex::default() }
    }

    /// The list, if it is cached.
    pub fn body(&self, format: Format) -> Option<Bytes> {
        let mut state = self.state.lock();
        let State { items: Some(items), bodies, .. } = &mut *state else { return None };
        let body = match format {
            Format::Json => &mut bodies.json,
            Format::Protobuf => &mut bodies.protobuf,
        };
        Some(body.get_or_insert_with(|| list_body(items, format)).clone())
    }

    /// The current epoch. Call it before a write.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.state.lock().epoch)
    }

    /// Starts to load the list from PostgreSQL.
    pub fn begin_fill(&self) -> Epoch {
        let mut state = self.state.lock();
        state.pending = Some(Vec::new());
        Epoch(state.epoch)
    }

    /// Stores a loaded list, unless anything but new todos changed since [`Self::begin_fill`].
    pub fn fill(&self, epoch: Epoch, read: Vec<Item>) {
        let mut state = self.state.lock();
        let Some(pending) = state.pending.take() else { return };
        if epoch != Epoch(state.epoch) || !state.is_listening {
            return;
        }
        let mut items = read;
        for item in pending {
            insert_sorted(&mut items, item, self.limit);
        }
        state.items = Some(items);
        state.bodies = Bodies::default();
    }

    /// Adds todos created by a write that started in `epoch`. With `deleted_oldest`, each replaced the oldest todo.
    pub fn add_created(&self, epoch: Epoch, created: impl IntoIterator<Item = Item>, deleted_oldest: bool) {
        let mut state = self.state.lock();
        let shows_oldest = state.items.as_ref().is_some_and(|items| items.len() < self.limit);
        // Another write changed or deleted a todo meanwhile, maybe one of these.
        let is_late = epoch != Epoch(state.epoch);
        if is_late || (deleted_oldest && (shows_oldest || state.pending.is_some())) {
            state.clear();
            return;
        }
        for item in created {
            if let Some(pending) = &mut state.pending {
                pending.push(item.clone());
            }
            if let Some(items) = &mut state.items {
                insert_sorted(items, item, self.limit);
                state.bodies = Bodies::default();
            }
        }
        if state.pending.as_ref().is_some_and(|pending| pending.len() > MAX_PENDING) {
            state.clear();
        }
    }

    /// Clears the cache after any other change.
    pub fn clear(&self) {
        self.state.lock().clear();
    }

    /// Handles a notification. The cache already has changes by this process, unless a failed write is uncertain.
    pub fn notified(&self, is_own: bool) {
        let mut state = self.state.lock();
        if !is_own || state.has_uncertain_write {
            state.clear();
        }
    }

    /// Records that a write failed which PostgreSQL may still execute: notifications of this process clear the cache too, until the
    /// listening connection is replaced.
    pub fn mark_uncertain(&self) {
        let mut state = self.state.lock();
        state.has_uncertain_write = true;
        state.clear();
    }

    /// Sets whether a connection listens for changes by other processes.
    pub fn set_listening(&self, is_listening: bool) {
        let mut state = self.state.lock();
        state.is_listening = is_listening;
        state.has_uncertain_write = false;
        state.clear();
    }
}

impl State {
    fn clear(&mut self) {
        self.epoch += 1;
        (self.items, self.bodies, self.pending) = (None, Bodies::default(), None);
    }
}

fn insert_sorted(items: &mut Vec<Item>, item: Item, limit: usize) {
    // An item that exists was loaded after it was written.
    if let Err(index) = items.binary_search_by(|other| other.order(&item))
        && index < limit
    {
        items.insert(index, item);
        items.truncate(limit);
    }
}

/// Items as the body of a list.
pub fn list_body(items: &[Item], format: Format) -> Bytes {
    match format {
        Format::Json => json_array(items),
        Format::Protobuf => protobuf::join(items.iter().map(|item| &item.encoded.protobuf)),
    }
}

fn json_array(items: &[Item]) -> Bytes {
    let size: usize = items.iter().map(|item| item.encoded.json.len() + 1).sum();
    let mut body = BytesMut::with_capacity(size + 2);
    body.extend_from_slice(b"[");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            body.extend_from_slice(b",");
        }
        body.extend_from_slice(&item.encoded.json);
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
        Item {
            at,
            id,
            encoded: Encoded { json: Bytes::from(id.to_string()), protobuf: vec![id as u8].into() },
        }
    }

    fn list_text(cache: &Cache) -> Option<String> {
        cache.body(Format::Json).map(|body| String::from_utf8(body.to_vec()).unwrap())
    }

    fn filled(limit: u32, items: Vec<Item>) -> Cache {
        let cache = Cache::new(Some(limit));
        cache.set_listening(true);
        let epoch = cache.begin_fill();
        cache.fill(epoch, items);
        cache
    }

    #[test]
    fn a_new_todo_comes_first_and_drops_the_last() {
        let cache = filled(2, vec![item(2, 2), item(1, 1)]);
        assert_eq!(list_text(&cache).unwrap(), "[2,1]");
        cache.add_created(cache.epoch(), [item(3, 3)], false);
        assert_eq!(list_text(&cache).unwrap(), "[3,2]");
        cache.add_created(cache.epoch(), [item(9, 0)], false);
        assert_eq!(list_text(&cache).unwrap(), "[3,2]", "one that began long ago is not among the newest");
    }

    #[test]
    fn a_todo_written_while_the_list_is_loaded_appears_exactly_once() {
        let cache = Cache::new(None);
        cache.set_listening(true);
        let epoch = cache.begin_fill();
        cache.add_created(cache.epoch(), [item(2, 2), item(3, 3)], false);
        cache.fill(epoch, vec![item(2, 2), item(1, 1)]);
        assert_eq!(list_text(&cache).unwrap(), "[3,2,1]");
    }

    #[test]
    fn a_list_read_before_a_change_is_not_cached() {
        let cache = Cache::new(None);
        cache.set_listening(true);
        let epoch = cache.begin_fill();
        cache.clear();
        cache.fill(epoch, vec![item(1, 1)]);
        assert_eq!(list_text(&cache), None);
    }

    #[test]
    fn a_late_result_of_a_create_does_not_restore_a_deleted_todo() {
        let cache = filled(5, vec![item(1, 1)]);
        let before = cache.epoch();
        cache.clear();
        let epoch = cache.begin_fill();
        cache.fill(epoch, vec![item(1, 1)]);
        cache.add_created(before, [item(2, 2)], false);
        assert_eq!(list_text(&cache), None);
    }

    #[test]
    fn nothing_is_cached_without_a_listening_connection() {
        let cache = filled(5, vec![item(1, 1)]);
        cache.set_listening(false);
        let epoch = cache.begin_fill();
        cache.fill(epoch, vec![item(1, 1)]);
        assert_eq!(list_text(&cache), None);
    }

    #[test]
    fn own_notifications_are_ignored_unless_a_write_is_uncertain() {
        let cache = filled(5, vec![item(1, 1)]);
        cache.notified(true);
        assert_eq!(list_text(&cache).unwrap(), "[1]");
        cache.notified(false);
        assert_eq!(list_text(&cache), None, "a change by somebody else");
        cache.mark_uncertain();
        let epoch = cache.begin_fill();
        cache.fill(epoch, vec![item(1, 1)]);
        cache.notified(true);
        assert_eq!(list_text(&cache), None, "it may be the write that was given up");
    }

    #[test]
    fn deleting_the_oldest_todo_clears_a_list_that_shows_it() {
        let whole = filled(5, vec![item(1, 1)]);
        whole.add_created(whole.epoch(), [item(2, 2)], true);
        assert_eq!(list_text(&whole), None);
        let newest = filled(1, vec![item(5, 5)]);
        newest.add_created(newest.epoch(), [item(6, 6)], true);
        assert_eq!(list_text(&newest).unwrap(), "[6]");
    }

    proptest! {
        /// Random events in random order: a cached list always equals the table.
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
                        let epoch = cache.epoch();
                        table.push(new.clone());
                        cache.add_created(epoch, [new], false);
                    }
                    1 if !table.is_empty() => {
                        table.swap_remove(number % table.len());
                        cache.clear();
                    }
                    2 => reading = Some((cache.begin_fill(), newest(&table, limit))),
                    _ => if let Some((epoch, read)) = reading.take() {
                        cache.fill(epoch, read);
                    },
                }
                for format in [Format::Json, Format::Protobuf] {
                    if let Some(body) = cache.body(format) {
                        prop_assert_eq!(body, list_body(&newest(&table, limit), format));
                    }
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
