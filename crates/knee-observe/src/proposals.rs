//! Asks the servers of a run about indexes that they do not have, each in a thread of its own, within a bounded time.
//!
//! Does not know how a server is asked; see [`crate::postgres`]. Does not choose indexes.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::observation::Proposal;
use knee_core::unit::Nanos;

use crate::postgres::{self, Learned};
use crate::sampler::Unreadable;
use crate::target::Target;
use crate::text::message;

/// How long the end of a run waits for the answers: two seconds to connect, and some plans.
const WITHIN: Nanos = Nanos::from_secs(5);

/// What the servers answered, by the place of their target. Threads that are late end by themselves.
pub(crate) fn ask(
    targets: &[Target],
    proposals: &[Proposal],
    clock: MonotonicClock,
) -> BTreeMap<u32, Learned> {
    let until = clock.now().saturating_add(WITHIN);
    let (sender, answers) = channel();
    let mut learned = BTreeMap::new();
    for (index, target) in (0_u32..).zip(targets) {
        let of_target = proposals.iter().filter(|proposal| proposal.source == index as usize);
        let asked: Vec<Proposal> = of_target.cloned().collect();
        let Target::Postgres(url) = target else { continue };
        if asked.is_empty() {
            continue;
        }
        let (url, secrets, sender) = (url.clone(), target.secrets(), sender.clone());
        let ask = move || {
            let answered = postgres::ask(&url, &asked, clock, until);
            let mut answer = answered.unwrap_or_else(|Unreadable(reason)| unanswered(&reason));
            answer.without.iter_mut().for_each(|words| *words = message(words, &secrets));
            // After the time is over, no receiver is left.
            let _ = sender.send((index, answer));
        };
        let late = match thread::Builder::new().name(format!("knee-observe-{index}")).spawn(ask) {
            Ok(_) => "no answer within 5 s".to_owned(),
            Err(error) => error.to_string(),
        };
        learned.insert(index, unanswered(&late));
    }
    drop(sender);
    // Ends when every thread has answered.
    while let Ok((index, answer)) = answers.recv_timeout(Duration::from(until.since(clock.now()))) {
        learned.insert(index, answer);
    }
    learned
}

/// What is known of a server that did not answer.
fn unanswered(reason: &str) -> Learned {
    Learned { without: vec![format!("plans with proposed indexes: {reason}")], ..Learned::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_gone_is_named_without_its_password_and_one_without_proposals_is_not_asked() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let gone = Target::parse(&format!("postgres://u:hunter2@127.0.0.1:{port}/shop")).unwrap();
        let targets = [Target::Host, gone.clone(), gone];
        let proposal = |source: usize| Proposal {
            source,
            statement: "7".to_owned(),
            index: "CREATE INDEX ON \"items\" (\"owner\")".to_owned(),
        };
        let learned = ask(&targets, &[proposal(0), proposal(2)], MonotonicClock::start());
        assert_eq!(learned.keys().collect::<Vec<_>>(), [&2_u32]);
        let Learned { planned, without } = &learned[&2];
        assert!(planned.is_empty());
        assert!(without[0].starts_with("plans with proposed indexes: "), "{without:?}");
        assert!(!without[0].contains("hunter2"), "{without:?}");
    }
}
