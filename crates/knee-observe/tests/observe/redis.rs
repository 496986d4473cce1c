//! Redis: commands, slow commands, users that must not ask everything, a server that freezes.

use knee_core::observation::SourceState;
use rustix::process::Signal;

use crate::world::{Beside, World, is_lost, is_read, last, signal, words};

const SERVER: &str = "[redis.cache]\nsettings = { slowlog-log-slower-than = 0, maxmemory = \"64mb\" }\n";

/// Sends a command.
pub fn run(url: &str, words: &[&str]) {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command.exec(&mut connection).unwrap();
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_server_is_read_with_its_commands_and_slow_commands() {
    let world = World::up(SERVER);
    let url = world.store().url;
    let mut beside = Beside::start(&[&url]);
    for _ in 0..5 {
        run(&url, &["SET", "session:hunter2", "secret"]);
        run(&url, &["GET", "session:hunter2"]);
    }
    let seen = beside.until("the commands", |seen| {
        last(seen, "redis.command.calls", "get") == Some(5.0)
            && seen
                .texts
                .iter()
                .any(|text| text.name == "redis.slow" && text.text.contains(" SET (2 arguments)"))
    });
    assert!(seen.sources[0].version.is_some());
    assert_eq!(last(&seen, "redis.keys", "db0"), Some(1.0));
    assert_eq!(last(&seen, "redis.memory.max", ""), Some(f64::from(64 << 20)));
    assert!(last(&seen, "redis.command.time", "set").unwrap() > 0.0);
    let all = words(&seen);
    assert!(!all.contains("hunter2") && !all.contains("secret"), "{all}");
    assert!(is_read(&beside.stop()));
}

/// Waits for an element of a list in a thread, and sends another command behind it or none.
fn pop(url: &str, list: &'static str, behind: bool) -> std::thread::JoinHandle<()> {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    std::thread::spawn(move || {
        let mut commands = redis::pipe();
        commands.cmd("BLPOP").arg(list).arg(20);
        if behind {
            commands.cmd("PING");
        }
        commands.exec(&mut connection).unwrap();
    })
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn commands_that_wait_behind_a_blocking_one_on_their_connection_are_seen() {
    const BEHIND: &str = "redis.clients.blocked.behind";
    let world = World::up(SERVER);
    let url = world.store().url;
    let mut beside = Beside::start(&[&url]);
    let alone = pop(&url, "alone", false);
    let seen = beside
        .until("a client that waits alone", |seen| last(seen, "redis.clients.blocked", "") == Some(1.0));
    assert_eq!(last(&seen, BEHIND, ""), Some(0.0));
    let shared = pop(&url, "shared", true);
    beside.until("a command that waits behind another one", |seen| last(seen, BEHIND, "") == Some(1.0));
    for list in ["alone", "shared"] {
        run(&url, &["RPUSH", list, "one"]);
    }
    alone.join().unwrap();
    shared.join().unwrap();
    beside.until("that none waits", |seen| {
        let is_none = |name| last(seen, name, "") == Some(0.0);
        is_none(BEHIND) && is_none("redis.clients.blocked")
    });
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn of_a_user_that_must_not_ask_everything_it_is_reported_what_is_missing() {
    let world = World::up(SERVER);
    let url = world.store().url;
    run(&url, &["ACL", "SETUSER", "watcher", "on", ">hunter2", "+info", "+ping"]);
    run(&url, &["ACL", "SETUSER", "blind", "on", ">hunter2", "+ping"]);
    let (_, place) = url.split_once('@').unwrap();
    let mut beside = Beside::start(&[&format!("redis://watcher:hunter2@{place}")]);
    let seen = beside.until("a reading", |seen| last(seen, "redis.clients", "").is_some());
    let without = &seen.sources[0].without;
    assert!(without.len() == 2 && without[0].starts_with("SLOWLOG: "), "{without:?}");
    for (user, password) in [("blind", "hunter2"), ("watcher", "wrong-word")] {
        let seen = Beside::start(&[&format!("redis://{user}:{password}@{place}")]).stop();
        let SourceState::Refused { reason } = &seen.sources[0].state else { panic!("{:?}", seen.sources) };
        assert!(!reason.is_empty() && !reason.contains(password), "{reason}");
    }
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_server_that_freezes_is_lost_and_read_again() {
    let world = World::up(SERVER);
    let store = world.store();
    let mut beside = Beside::start(&[&store.url]);
    beside.until("a reading", |seen| last(seen, "redis.clients", "").is_some());
    signal(store.pids[0], Signal::STOP);
    let seen = beside.until("the loss", is_lost);
    assert!(last(&seen, "redis.clients", "").is_some());
    signal(store.pids[0], Signal::CONT);
    let seen = beside.until("a reading", is_read);
    assert!(seen.sources[0].without[0].starts_with("not read from "), "{:?}", seen.sources);
}
