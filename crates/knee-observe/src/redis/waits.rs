//! Behind which blocking commands others wait on the same connection, counted at each look.
//!
//! Pure. A counter divided by the number of looks is the share of the time, as far as chance allows. Counts looks, not
//! clients. A client whose system holds back what it sends behind a question (Nagle's algorithm) shows nothing that
//! waits: of that, the server can only say whether a client that blocks sends other commands as well.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::unit::Nanos;

use super::info::Client;
use crate::figures::{Count, Counter, Figures, figure};

/// The counters: looks; those of them at which a command waited behind the one that is the label; and those at which a
/// client waited in the command that is the label, and is known to send others on the same connection.
const SAMPLES: &str = "redis.clients.samples";
const BEHIND: &str = "redis.clients.samples.behind";
const MIXED: &str = "redis.clients.samples.mixed";

/// Most commands that have a counter.
const COMMANDS_MAX: usize = 64;

/// Most clients that are known as blocking ones.
const BLOCKING_MAX: usize = 256;

/// Most lists of clients that are asked for while none is blocked, to see what else those send that were.
const LISTS_MAX: u32 = 50;

/// Commands with which a connection begins or that keep it open, for any use.
const OF_CONNECTION: [&str; 6] = ["hello", "auth", "select", "ping", "readonly", "client"];

/// What all looks have seen.
#[derive(Debug, Default)]
pub(super) struct Waits {
    samples: f64,
    behind: Commands,
    mixed: Commands,
    /// Clients that were blocked at a look, by their number, with the command that did it.
    blocking: BTreeMap<u64, Blocking>,
    /// Lists of clients at looks at which none was blocked.
    lists: u32,
}

/// A client that was blocked at a look.
#[derive(Debug)]
struct Blocking {
    command: String,
    /// Whether another command was its last one at another look.
    sends_others: bool,
}

/// Looks by commands.
#[derive(Debug, Default)]
struct Commands {
    looks: BTreeMap<String, f64>,
    /// Commands that are counted since the last reading.
    new: Vec<String>,
}

impl Waits {
    /// Counts a look at which others waited behind these commands.
    pub(super) fn count(&mut self, behind: BTreeSet<String>) {
        self.samples += 1.0;
        self.behind.count(behind);
    }

    /// Forgets which clients there were: a server that has started again gives their numbers to others.
    pub(super) fn forget_clients(&mut self) {
        self.blocking.clear();
    }

    /// Whether a list of the clients is needed although none is blocked: it shows what those send that were.
    pub(super) fn is_list_needed(&self) -> bool {
        self.lists < LISTS_MAX && self.blocking.values().any(|client| !client.sends_others)
    }

    /// Counts, of a look that is counted, the commands in which clients wait that send others as well.
    pub(super) fn see(&mut self, clients: &[Client]) {
        self.lists += u32::from(clients.iter().all(|client| !client.is_blocked));
        let mut mixed = BTreeSet::new();
        for client in clients {
            let has_room = self.blocking.len() < BLOCKING_MAX;
            match self.blocking.get_mut(&client.id) {
                Some(known) if client.is_blocked && known.sends_others => {
                    mixed.insert(client.command.clone());
                }
                Some(known) if !client.is_blocked && client.command != known.command => {
                    known.sends_others |= !is_of_connection(&client.command);
                }
                None if client.is_blocked && has_room => {
                    let new = Blocking { command: client.command.clone(), sends_others: false };
                    self.blocking.insert(client.id, new);
                }
                _ => {}
            }
        }
        self.mixed.count(mixed);
    }

    /// Puts the counters. Those that are new begin at zero, at the reading before.
    pub(super) fn put(&mut self, before: Option<Nanos>, figures: &mut Figures) {
        figures.counter(SAMPLES, Count, self.samples);
        self.behind.put(BEHIND, before, figures);
        self.mixed.put(MIXED, before, figures);
    }
}

impl Commands {
    fn count(&mut self, commands: BTreeSet<String>) {
        for command in commands {
            if let Some(count) = self.looks.get_mut(&command) {
                *count += 1.0;
                continue;
            }
            if self.looks.len() < COMMANDS_MAX {
                self.new.push(command.clone());
                self.looks.insert(command, 1.0);
            }
        }
    }

    fn put(&mut self, name: &str, before: Option<Nanos>, figures: &mut Figures) {
        let zeros = self.new.drain(..).map(|command| figure(name, &command, Count, Counter, 0.0));
        let zeros: Vec<_> = zeros.collect();
        if let Some(before) = before.filter(|_| !zeros.is_empty()) {
            figures.earlier.push((before, zeros));
        }
        for (command, count) in &self.looks {
            figures.put(name, command, Count, Counter, *count);
        }
    }
}

fn is_of_connection(command: &str) -> bool {
    let first = command.split('|').next().unwrap_or_default();
    OF_CONNECTION.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_counted_and_a_command_behind_which_others_wait_begins_at_zero() {
        let of = |command: &str| BTreeSet::from([command.to_owned()]);
        let mut waits = Waits::default();
        waits.count(BTreeSet::new());
        let mut first = Figures::default();
        waits.put(None, &mut first);
        assert_eq!(first.value(SAMPLES, ""), Some(1.0));
        assert_eq!((first.value(BEHIND, "blpop"), first.earlier.len()), (None, 0));
        for command in ["blpop", "blpop", "xread"] {
            waits.count(of(command));
        }
        let mut second = Figures::default();
        let before = Nanos::from_secs(1);
        waits.put(Some(before), &mut second);
        assert_eq!(second.value(SAMPLES, ""), Some(4.0));
        assert_eq!(second.value(BEHIND, "blpop"), Some(2.0));
        assert_eq!(second.value(BEHIND, "xread"), Some(1.0));
        let zeros = ["blpop", "xread"].map(|command| figure(BEHIND, command, Count, Counter, 0.0));
        assert_eq!(second.earlier, [(before, Vec::from(zeros))]);
        let mut third = Figures::default();
        waits.put(Some(before), &mut third);
        assert!(third.earlier.is_empty(), "only once");
    }

    #[test]
    fn commands_without_end_are_bounded() {
        let mut waits = Waits::default();
        for number in 0..1_000 {
            waits.count(BTreeSet::from([format!("module.command{number}")]));
        }
        assert_eq!(waits.behind.looks.len(), COMMANDS_MAX);
    }

    fn client(id: u64, command: &str, is_blocked: bool) -> Client {
        Client { id, command: command.to_owned(), is_blocked, has_more: false }
    }

    fn mixed(waits: &mut Waits) -> Option<f64> {
        let mut figures = Figures::default();
        waits.put(None, &mut figures);
        figures.value(MIXED, "blpop")
    }

    #[test]
    fn a_client_that_blocks_on_the_connection_of_other_commands_is_known_although_nothing_of_it_waits_here() {
        let mut waits = Waits::default();
        assert!(!waits.is_list_needed());
        waits.see(&[client(3, "blpop", true), client(4, "rpush", false)]);
        assert!(waits.is_list_needed(), "what else it sends is not known");
        waits.see(&[client(3, "smembers", false)]);
        assert!(!waits.is_list_needed());
        assert_eq!(mixed(&mut waits), None);
        for _ in 0..3 {
            waits.see(&[client(3, "blpop", true)]);
        }
        waits.see(&[client(3, "get", false)]);
        assert_eq!(mixed(&mut waits), Some(3.0));
    }

    #[test]
    fn a_client_that_has_the_number_of_one_before_a_restart_is_another_one() {
        let mut waits = Waits::default();
        waits.see(&[client(3, "blpop", true)]);
        waits.forget_clients();
        assert!(!waits.is_list_needed());
        waits.see(&[client(3, "get", false), client(4, "blpop", true)]);
        waits.see(&[client(3, "blpop", true)]);
        waits.see(&[client(3, "blpop", true)]);
        assert_eq!(mixed(&mut waits), None);
    }

    #[test]
    fn a_worker_on_a_connection_of_its_own_mixes_nothing_and_is_soon_asked_for_no_more() {
        let mut waits = Waits::default();
        for _ in 0..100 {
            waits.see(&[client(3, "blpop", true)]);
            if waits.is_list_needed() {
                waits.see(&[client(3, "blpop", false), client(4, "smembers", false)]);
                waits.see(&[client(3, "client|setinfo", false)]);
            }
        }
        assert_eq!(mixed(&mut waits), None);
        assert!(!waits.is_list_needed());
        for id in 0..1_000 {
            waits.see(&[client(id, "blpop", true)]);
        }
        assert_eq!(waits.blocking.len(), BLOCKING_MAX);
    }
}
