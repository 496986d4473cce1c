//! Redis: commands, slow commands, what clients wait for, users that must not ask everything, a server that freezes.

use std::time::Duration;

use knee_core::observation::{Observations, SourceState};
use rustix::process::Signal;

use crate::world::{Beside, World, is_lost, is_read, last, signal, words};

const SERVER: &str = "[redis.cache]\nsettings = { slowlog-log-slower-than = 0, maxmemory = \"64mb\" }\n";

/// Looks at clients, and those of them at which a command waited behind a blocking one.
const SAMPLES: &str = "redis.clients.samples";
const BEHIND: &str = "redis.clients.samples.behind";
/// Those at which a client waited in a blocking command that sends others as well.
const MIXED: &str = "redis.clients.samples.mixed";

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
    assert!(!all.contains(" us INFO (") && !all.contains(" us SLOWLOG ("), "of the observer: {all}");
    assert!(is_read(&beside.stop()));
}

/// Whether there were ten looks more than in an earlier state.
fn ten_looks_after(earlier: &Observations) -> impl Fn(&Observations) -> bool + use<> {
    let looks = |seen: &Observations| last(seen, SAMPLES, "").unwrap_or(0.0);
    let before = looks(earlier);
    move |seen: &Observations| looks(seen) >= before + 10.0
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
fn commands_that_wait_behind_a_blocking_one_on_their_connection_are_seen_at_each_look() {
    let world = World::up(SERVER);
    let url = world.store().url;
    let mut beside = Beside::start(&[&url]);
    let alone = pop(&url, "alone", false);
    let is_blocked = |seen: &Observations, clients| last(seen, "redis.clients.blocked", "") == Some(clients);
    let seen = beside.until("a client that waits alone", |seen| is_blocked(seen, 1.0));
    let seen = beside.until("ten looks at it", ten_looks_after(&seen));
    assert_eq!(last(&seen, BEHIND, "blpop"), None, "a worker on a connection of its own");
    let shared = pop(&url, "shared", true);
    let seen = beside.until("a command that waits behind another one, in ten looks", |seen| {
        last(seen, BEHIND, "blpop").is_some_and(|looks| looks >= 10.0)
    });
    let first = seen.series(0, BEHIND, "blpop").unwrap().points[0].1;
    assert_eq!(first.to_bits(), 0f64.to_bits(), "none was missed");
    for list in ["alone", "shared"] {
        run(&url, &["RPUSH", list, "one"]);
    }
    alone.join().unwrap();
    shared.join().unwrap();
    let seen = beside.until("that none waits", |seen| is_blocked(seen, 0.0));
    let until_then = last(&seen, BEHIND, "blpop");
    let seen = beside.until("ten looks more", ten_looks_after(&seen));
    assert_eq!(last(&seen, BEHIND, "blpop"), until_then);
    assert!(seen.sources[0].without.is_empty(), "{:?}", seen.sources);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_client_that_blocks_and_sends_other_commands_on_one_connection_is_known() {
    let world = World::up(SERVER);
    let url = world.store().url;
    let mut beside = Beside::start(&[&url]);
    let mut shared = redis::Client::open(url.as_str()).unwrap().get_connection().unwrap();
    let popped = std::thread::spawn(move || {
        for list in ["first", "second"] {
            redis::cmd("BLPOP").arg(list).arg(20).exec(&mut shared).unwrap();
            redis::cmd("GET").arg("other").exec(&mut shared).unwrap();
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    let is_blocked = |seen: &Observations| last(seen, "redis.clients.blocked", "") == Some(1.0);
    let seen = beside.until("a client that waits", is_blocked);
    let seen = beside.until("ten looks at it", ten_looks_after(&seen));
    assert_eq!(last(&seen, MIXED, "blpop"), None, "it has sent nothing else");
    run(&url, &["RPUSH", "first", "one"]);
    let seen = beside.until("a client that waits and sends others", |seen| {
        last(seen, MIXED, "blpop").is_some_and(|looks| looks >= 3.0)
    });
    assert_eq!(last(&seen, BEHIND, "blpop"), None, "nothing waits");
    run(&url, &["RPUSH", "second", "one"]);
    popped.join().unwrap();
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn of_a_server_with_many_clients_it_is_reported_that_they_are_not_listed() {
    let world = World::up(SERVER);
    let url = world.store().url;
    let client = redis::Client::open(url.as_str()).unwrap();
    let crowd: Vec<_> = (0..201).map(|_| client.get_connection().unwrap()).collect();
    let mut beside = Beside::start(&[&url]);
    let alone = pop(&url, "alone", false);
    let seen = beside.until("the note", |seen| !seen.sources[0].without.is_empty());
    assert!(seen.sources[0].without[0].contains("more than 200 clients"), "{:?}", seen.sources);
    assert_eq!(last(&seen, SAMPLES, ""), Some(0.0), "such looks do not count");
    drop(crowd);
    run(&url, &["RPUSH", "alone", "one"]);
    alone.join().unwrap();
    beside.until("looks that count", ten_looks_after(&seen));
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_server_without_load_has_no_commands_although_it_is_looked_at() {
    let world = World::up(SERVER);
    let mut beside = Beside::start(&[&world.store().url]);
    let seen = beside.until("a reading", |seen| last(seen, SAMPLES, "").is_some());
    let seen = beside.until("ten looks", ten_looks_after(&seen));
    let rise = |name| {
        let points = &seen.series(0, name, "").unwrap().points;
        points[points.len() - 1].1 - points[0].1
    };
    assert!(rise("redis.commands").abs() <= 2.0, "{}", rise("redis.commands"));
    assert!(rise("redis.reads").abs() <= 2.0, "{}", rise("redis.reads"));
    assert!(rise("redis.input_bytes").abs() <= 100.0, "{}", rise("redis.input_bytes"));
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_server_that_pauses_for_most_of_a_second_is_not_lost() {
    let world = World::up(SERVER);
    let store = world.store();
    let mut beside = Beside::start(&[&store.url]);
    let seen = beside.until("ten looks", |seen| last(seen, SAMPLES, "").is_some_and(|looks| looks >= 10.0));
    signal(store.pids[0], Signal::STOP);
    // Longer than half a second, and far from the limit also on a busy machine.
    std::thread::sleep(Duration::from_millis(700));
    signal(store.pids[0], Signal::CONT);
    let seen = beside.until("ten looks more", ten_looks_after(&seen));
    assert!(is_read(&seen) && seen.sources[0].without.is_empty(), "{:?}", seen.sources);
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
fn of_a_user_that_must_not_list_clients_it_is_reported_when_one_is_blocked() {
    let world = World::up(SERVER);
    let url = world.store().url;
    run(&url, &["ACL", "SETUSER", "watcher", "on", ">hunter2", "+info", "+ping"]);
    let (_, place) = url.split_once('@').unwrap();
    let mut beside = Beside::start(&[&format!("redis://watcher:hunter2@{place}")]);
    let is_noted =
        |seen: &Observations| seen.sources[0].without.iter().any(|words| words.starts_with("CLIENT LIST: "));
    let seen = beside.until("a look", |seen| last(seen, SAMPLES, "").is_some_and(|looks| looks >= 1.0));
    assert!(!is_noted(&seen), "without a blocked client, none needs to be listed: {:?}", seen.sources);
    let alone = pop(&url, "alone", false);
    let seen = beside.until("the note", is_noted);
    let looks = last(&seen, SAMPLES, "");
    run(&url, &["RPUSH", "alone", "one"]);
    alone.join().unwrap();
    let seen = beside.until("that none waits", |seen| last(seen, "redis.clients.blocked", "") == Some(0.0));
    assert!(is_read(&seen) && last(&seen, SAMPLES, "") == looks, "such looks do not count");
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
