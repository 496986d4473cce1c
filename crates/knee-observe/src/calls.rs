//! The outgoing TCP connections of a process: what it asks of other services, and how long it waits for them.
//!
//! The kernel says of each socket what it sent and received, and how long ago (`kernel`, `diag`). [`descriptors`] finds
//! which of them are the process's own, and [`accounts`] adds up what many looks saw. Reads no byte of what is sent: a
//! call is known by the order in which a socket sends and receives.

use std::collections::{BTreeMap, BTreeSet};

use crate::figures::Figures;

mod accounts;

mod descriptors;

#[cfg(all(target_os = "linux", not(knee_portable)))]
mod diag;

#[cfg(all(target_os = "linux", not(knee_portable)))]
mod kernel;

#[cfg(not(all(target_os = "linux", not(knee_portable))))]
#[path = "calls/portable.rs"]
mod kernel;

mod socket;

use accounts::Accounts;
use socket::Socket;

/// With more sockets than this on the machine, a look counts nothing: it would cost too much.
const SOCKETS_MAX: usize = 8_192;

/// What a process and its descendants ask of other services.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    accounts: Accounts,
    /// Which sockets are its own, by their numbers.
    owners: BTreeMap<u32, bool>,
    /// Why nothing can be seen.
    refused: Option<String>,
    /// Whether there were too many sockets at any look.
    is_crowded: bool,
    /// Whether descriptors were left out, or could not be read.
    is_partial: bool,
}

impl Calls {
    /// Begins with the sockets that are there now.
    pub(crate) fn begin(&mut self, pid: u32) {
        self.owners.clear();
        self.accounts.forget_sockets();
        self.refused = descriptors::other_network(pid).or_else(|| descriptors::hidden(pid));
        self.look(pid);
    }

    /// Looks once.
    pub(crate) fn look(&mut self, pid: u32) {
        if self.refused.is_some() {
            return;
        }
        let sockets = match kernel::sockets(SOCKETS_MAX) {
            Ok(Some(sockets)) => sockets,
            Ok(None) => {
                self.is_crowded = true;
                return;
            }
            // One look that failed among many is left out.
            Err(reason) => {
                self.refused = Some(reason).filter(|_| !self.accounts.has_looked());
                return;
            }
        };
        let is_new = |socket: &Socket| socket.inode != 0 && !self.owners.contains_key(&socket.inode);
        if sockets.iter().any(|socket| !socket.listens && is_new(socket)) {
            let own = descriptors::sockets(pid);
            self.is_partial |= own.is_partial;
            for socket in &sockets {
                self.owners.entry(socket.inode).or_insert_with(|| own.inodes.contains(&socket.inode));
            }
        }
        self.accounts.look(&sockets, |inode| inode != 0 && self.owners.get(&inode) == Some(&true));
        let seen: BTreeSet<u32> = sockets.iter().map(|socket| socket.inode).collect();
        self.owners.retain(|inode, _| seen.contains(inode));
    }

    /// Adds the figures until now.
    pub(crate) fn take(&mut self, figures: &mut Figures) {
        if self.refused.is_none() {
            self.accounts.take(figures);
        }
        // A socket that was accepted or inherited while the descriptors were read can be the process's own after all.
        self.owners.retain(|_, is_own| *is_own);
    }

    /// What could not be seen, in words.
    pub(crate) fn without(&self) -> Vec<String> {
        let refused = self.refused.as_ref().map(|reason| format!("outgoing connections: {reason}"));
        let crowded = self.is_crowded.then(|| {
            format!("outgoing connections at some looks: the machine had more than {SOCKETS_MAX} sockets")
        });
        let partial = self.is_partial.then(|| {
            "outgoing connections of some processes: there are too many descriptors, or only their user and root can \
             read them"
                .to_owned()
        });
        refused.into_iter().chain(crowded).chain(partial).collect()
    }
}

#[cfg(all(test, target_os = "linux", not(knee_portable)))]
#[allow(clippy::unwrap_used, reason = "a helper of a test fails the test")]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use knee_core::clock::MonotonicClock;
    use knee_core::unit::Nanos;

    use super::*;

    /// Longer than two ticks of any kernel.
    const A_WHILE: Duration = Duration::from_millis(40);

    fn figure(calls: &mut Calls, name: &str, label: &str) -> f64 {
        let mut figures = Figures::default();
        calls.take(&mut figures);
        figures.value(name, label).unwrap_or(0.0)
    }

    #[test]
    fn a_user_sees_that_a_process_waits_for_the_answer_of_another_service() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap();
        let label = endpoint.to_string();
        let mut calls = Calls::default();
        calls.begin(own);
        let mut client = TcpStream::connect(endpoint).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..3 {
            client.write_all(b"a question").unwrap();
            let mut question = [0; 10];
            server.read_exact(&mut question).unwrap();
            std::thread::sleep(A_WHILE);
            calls.look(own);
            server.write_all(b"the answer to it").unwrap();
            let mut answer = [0; 16];
            client.read_exact(&mut answer).unwrap();
            std::thread::sleep(A_WHILE);
            calls.look(own);
        }
        assert_eq!(calls.without(), Vec::<String>::new());
        let mut of = |name: &str| figure(&mut calls, &format!("process.calls.{name}"), &label);
        assert_eq!(of("waiting") as u64, 3, "at every second look");
        assert_eq!([of("sent_bytes") as u64, of("received_bytes") as u64], [30, 48]);
        assert_eq!([of("sent_segments") as u64, of("received_segments") as u64], [3, 3]);
        assert_eq!([of("opened") as u64, of("connections") as u64], [1, 1]);
        assert_eq!([of("spans") as u64, of("spans_alike") as u64], [2, 1], "the second is like the first");
        assert_eq!(of("unsettled") as u64, 0);
    }

    /// Answers each question of a connection after a while.
    fn answer_slowly(mut server: TcpStream) {
        let mut question = [0; 10];
        while server.read_exact(&mut question).is_ok() {
            std::thread::sleep(Duration::from_millis(10));
            if server.write_all(b"the answer to it").is_err() {
                return;
            }
        }
    }

    /// Asks five times, one after another, and pauses; 25 times. The share of the time that it waits.
    fn ask_in_series(client: &mut TcpStream) -> f64 {
        let clock = MonotonicClock::start();
        let (began, mut waits) = (clock.now(), Nanos::ZERO);
        for _ in 0..25 {
            let asked = clock.now();
            for _ in 0..5 {
                client.write_all(b"a question").unwrap();
                let mut answer = [0; 16];
                client.read_exact(&mut answer).unwrap();
            }
            waits = waits.saturating_add(clock.now().since(asked));
            std::thread::sleep(Duration::from_millis(30));
        }
        waits.as_secs_f64() / clock.now().since(began).as_secs_f64()
    }

    /// What looks say of a client that asks in series.
    #[derive(Debug)]
    struct Seen {
        /// The share of the time that it waits, and the shares of the looks that see a wait, or cannot say.
        truth: f64,
        waiting: f64,
        unsettled: f64,
        under_way: f64,
    }

    impl Seen {
        fn is_right(&self) -> bool {
            self.unsettled < 0.15
                && (self.waiting - self.truth).abs() < 0.15
                && (0.9..1.1).contains(&self.under_way)
        }
    }

    /// Looks at a client that asks in series.
    fn look_at_series() -> Seen {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap();
        let mut calls = Calls::default();
        calls.begin(own);
        let mut client = TcpStream::connect(endpoint).unwrap();
        client.set_nodelay(true).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nodelay(true).unwrap();
        std::thread::spawn(move || answer_slowly(server));
        let asking = std::thread::spawn(move || ask_in_series(&mut client));
        let mut looks = 0_u64;
        while !asking.is_finished() {
            calls.look(own);
            looks += 1;
            // Uneven, so that looks do not fall into step.
            std::thread::sleep(Duration::from_millis(3 + looks * 7 % 11));
        }
        let truth = asking.join().unwrap();
        let label = endpoint.to_string();
        let mut of = |name: &str| figure(&mut calls, &format!("process.calls.{name}"), &label);
        Seen {
            truth,
            waiting: of("waiting") / looks as f64,
            unsettled: of("unsettled") / looks as f64,
            under_way: (of("pending_sent") - of("pending_received")) / of("pending"),
        }
    }

    #[test]
    fn the_share_of_looks_that_see_a_wait_is_the_share_of_the_time_also_if_calls_follow_each_other_at_once() {
        // Where the machine is busy with something else, looks are late, and one round is no sample of the time.
        let mut rounds = Vec::new();
        while rounds.len() < 5 {
            let seen = look_at_series();
            if seen.is_right() {
                return;
            }
            rounds.push(seen);
        }
        panic!("{rounds:?}");
    }

    #[test]
    fn sockets_of_another_process_and_those_that_were_accepted_are_no_calls() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap();
        let _client = TcpStream::connect(endpoint).unwrap();
        let (_server, far) = listener.accept().unwrap();
        let mut calls = Calls::default();
        calls.begin(std::process::id());
        assert_eq!(figure(&mut calls, "process.calls.connections", &far.to_string()) as u64, 0, "accepted");
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let mut others = Calls::default();
        others.begin(child.id());
        assert_eq!(figure(&mut others, "process.calls.connections", &endpoint.to_string()) as u64, 0, "ours");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
