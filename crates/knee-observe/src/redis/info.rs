//! Understands the texts of `INFO` and `CLIENT LIST`, and the entries of `SLOWLOG`.
//!
//! Pure. A field that is missing leaves its figure out: versions differ, and so do forks.

use std::collections::BTreeSet;
use std::fmt;

use knee_core::observation::{FigureUnit, SeriesKind};
use redis::Value;

use crate::figures::{Bytes, Count, Counter, Figures, Gauge, Seconds};
use crate::text::label;

/// Fields that are figures as they stand: field, name, unit, kind.
const FIELDS: &[(&str, &str, FigureUnit, SeriesKind)] = &[
    ("total_commands_processed", "redis.commands", Count, Counter),
    ("total_connections_received", "redis.connections", Count, Counter),
    ("rejected_connections", "redis.connections.rejected", Count, Counter),
    ("connected_clients", "redis.clients", Count, Gauge),
    ("blocked_clients", "redis.clients.blocked", Count, Gauge),
    ("maxclients", "redis.clients.max", Count, Gauge),
    ("total_net_input_bytes", "redis.input_bytes", Bytes, Counter),
    ("total_net_output_bytes", "redis.output_bytes", Bytes, Counter),
    ("total_reads_processed", "redis.reads", Count, Counter),
    ("keyspace_hits", "redis.keyspace.hits", Count, Counter),
    ("keyspace_misses", "redis.keyspace.misses", Count, Counter),
    ("rdb_changes_since_last_save", "redis.changes", Count, Counter),
    ("expired_keys", "redis.keys.expired", Count, Counter),
    ("evicted_keys", "redis.keys.evicted", Count, Counter),
    ("used_cpu_user", "redis.cpu.user", Seconds, Counter),
    ("used_cpu_sys", "redis.cpu.system", Seconds, Counter),
    ("used_cpu_user_main_thread", "redis.cpu.main.user", Seconds, Counter),
    ("used_cpu_sys_main_thread", "redis.cpu.main.system", Seconds, Counter),
    ("used_memory", "redis.memory.used", Bytes, Gauge),
    ("used_memory_rss", "redis.memory.resident", Bytes, Gauge),
    ("aof_delayed_fsync", "redis.aof.delayed_syncs", Count, Counter),
    ("connected_slaves", "redis.replicas", Count, Gauge),
    ("number_of_cached_scripts", "redis.scripts", Count, Gauge),
    ("pubsub_channels", "redis.pubsub.channels", Count, Gauge),
];

/// Fields that are texts.
const SETTINGS: [(&str, &str); 5] = [
    ("maxmemory_policy", "maxmemory_policy"),
    ("io_threads_active", "io_threads"),
    ("role", "role"),
    ("redis_mode", "redis_mode"),
    ("aof_enabled", "aof_enabled"),
];

/// The words with which the observer's own commands begin, as it sends them.
const ASKED: [[&str; 2]; 5] =
    [["INFO", "all"], ["INFO", "clients"], ["CLIENT", "LIST"], ["SLOWLOG", "GET"], ["LATENCY", "LATEST"]];

/// Most labels of one name.
const LABELS_MAX: usize = 300;

/// The version of the server.
pub(super) fn version(text: &str) -> Option<String> {
    if let Some(version) = field(text, "valkey_version") {
        return Some(format!("Valkey {}", label(version)));
    }
    field(text, "redis_version").map(|version| format!("Redis {}", label(version)))
}

/// How many clients there are, and how many of them wait in a blocking command.
pub(super) fn clients(text: &str) -> Option<(f64, f64)> {
    Some((number(text, "connected_clients")?, number(text, "blocked_clients")?))
}

/// A client, as a line of `CLIENT LIST` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) id: u64,
    /// Its last command, in lower case.
    pub(super) command: String,
    /// Whether it waits in this command.
    pub(super) is_blocked: bool,
    /// Whether more commands have come from it, which are not read yet.
    pub(super) has_more: bool,
}

/// The clients of an answer of `CLIENT LIST`.
pub(super) fn listed(list: &str) -> Vec<Client> {
    let client = |line: &str| {
        let unread = of_client(line, "qbuf").and_then(|bytes| bytes.parse::<u64>().ok());
        Some(Client {
            id: of_client(line, "id")?.parse().ok()?,
            command: label(of_client(line, "cmd").unwrap_or("unknown")).to_ascii_lowercase(),
            is_blocked: of_client(line, "flags").is_some_and(|flags| flags.contains('b')),
            has_more: unread.is_some_and(|bytes| bytes > 0),
        })
    };
    list.lines().filter_map(client).collect()
}

/// The commands that block clients from which more commands have come, which wait.
pub(super) fn held_up(clients: &[Client]) -> BTreeSet<String> {
    let held_up = clients.iter().filter(|client| client.is_blocked && client.has_more);
    held_up.map(|client| client.command.clone()).collect()
}

/// A value of `id=3 addr=127.0.0.1:52555 flags=b qbuf=0`.
fn of_client<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

/// Adds the figures of an answer of `INFO`.
pub(super) fn put(text: &str, figures: &mut Figures) {
    for (name, figure, unit, kind) in FIELDS {
        figures.put(figure, "", *unit, *kind, number(text, name));
    }
    figures.gauge("redis.memory.max", Bytes, number(text, "maxmemory").filter(|most| *most > 0.0));
    figures.gauge("redis.fork_time", Seconds, number(text, "latest_fork_usec").map(|micros| micros / 1e6));
    let saving = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"].map(|name| number(text, name));
    figures.gauge("redis.saving", Count, saving.into_iter().flatten().reduce(f64::max));
    for (name, of) in SETTINGS {
        if let Some(value) = field(text, name) {
            figures.text("setting", of, label(value));
        }
    }
    put_commands(text, figures);
    for (database, pairs) in family(text, "db") {
        if database.bytes().all(|byte| byte.is_ascii_digit()) {
            let database = format!("db{database}");
            figures.put("redis.keys", &database, Count, Gauge, of_pairs(pairs, "keys"));
            figures.put("redis.keys.expiring", &database, Count, Gauge, of_pairs(pairs, "expires"));
        }
    }
    put_replicas(text, figures);
}

fn put_commands(text: &str, figures: &mut Figures) {
    for (command, pairs) in family(text, "cmdstat_") {
        let command = &label(command);
        for (key, name) in [
            ("calls", "redis.command.calls"),
            ("rejected_calls", "redis.command.rejected"),
            ("failed_calls", "redis.command.failed"),
        ] {
            figures.put(name, command, Count, Counter, of_pairs(pairs, key));
        }
        let time = of_pairs(pairs, "usec").map(|micros| micros / 1e6);
        figures.put("redis.command.time", command, Seconds, Counter, time);
    }
    for (command, pairs) in family(text, "latency_percentiles_usec_") {
        let command = &label(command);
        for (key, name) in [
            ("p50", "redis.command.time.p50"),
            ("p99", "redis.command.time.p99"),
            ("p99.9", "redis.command.time.p99_9"),
        ] {
            let time = of_pairs(pairs, key).map(|micros| micros / 1e6);
            figures.put(name, command, Seconds, Gauge, time);
        }
    }
    for (error, pairs) in family(text, "errorstat_") {
        figures.put("redis.errors", &label(error), Count, Counter, of_pairs(pairs, "count"));
    }
}

/// On a primary: `slave0:ip=127.0.0.1,port=6380,state=online,offset=100,lag=0`.
fn put_replicas(text: &str, figures: &mut Figures) {
    let Some(offset) = number(text, "master_repl_offset") else { return };
    for (_, pairs) in family(text, "slave").filter(|(_, pairs)| pairs.contains("offset=")) {
        let (host, port) = (pair(pairs, "ip").unwrap_or_default(), pair(pairs, "port").unwrap_or_default());
        let behind = of_pairs(pairs, "offset").map(|replica| (offset - replica).max(0.0));
        figures.put("redis.replica.behind", &label(&format!("{host}:{port}")), Bytes, Gauge, behind);
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn number(text: &str, name: &str) -> Option<f64> {
    field(text, name)?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The fields whose names begin with `prefix`: the rest of the name, and the pairs.
fn family<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let split = move |line: &'a str| {
        let (name, pairs) = line.strip_prefix(prefix)?.split_once(':')?;
        pairs.contains('=').then_some((name, pairs.trim()))
    };
    text.lines().filter_map(split).take(LABELS_MAX)
}

/// A value of `calls=1,usec=2`.
fn pair<'a>(pairs: &'a str, key: &str) -> Option<&'a str> {
    pairs
        .split(',')
        .find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key))
        .map(|(_, value)| value)
}

fn of_pairs(pairs: &str, key: &str) -> Option<f64> {
    pair(pairs, key)?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A slow command, without its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slow {
    pub(super) id: i64,
    micros: i64,
    command: String,
    arguments: usize,
    /// Whether the observer has sent it.
    pub(super) is_own: bool,
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { micros, command, arguments, .. } = self;
        let s = if *arguments == 1 { "" } else { "s" };
        write!(f, "{micros} us {command} ({arguments} argument{s})")
    }
}

/// An event of `LATENCY LATEST`. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) latest: f64,
    pub(super) most: f64,
}

/// An entry of `LATENCY LATEST`: event, time, latest and highest duration in milliseconds, and more.
pub(super) fn event(entry: &Value) -> Option<Event> {
    let Value::Array(parts) = entry else { return None };
    let [name, _, Value::Int(latest), Value::Int(most), ..] = parts.as_slice() else { return None };
    Some(Event { name: label(&text_of(name)?), latest: *latest as f64 / 1e3, most: *most as f64 / 1e3 })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

/// An entry of `SLOWLOG GET`: id, time, duration in microseconds, command with arguments, and more.
pub(super) fn slow(entry: &Value) -> Option<Slow> {
    let Value::Array(parts) = entry else { return None };
    let [Value::Int(id), _, Value::Int(micros), Value::Array(words), ..] = parts.as_slice() else {
        return None;
    };
    // A name can be up to 128 bytes long in the log, and anything can stand there.
    let command = label(&text_of(words.first()?)?).to_ascii_uppercase();
    let begins = |asked: &[&str; 2]| {
        asked.iter().zip(words).all(|(word, sent)| text_of(sent).as_deref() == Some(*word))
    };
    let is_own = words.len() >= 2 && ASKED.iter().any(begins);
    Some(Slow { id: *id, micros: *micros, command, arguments: words.len() - 1, is_own })
}

#[cfg(test)]
mod tests {
    use knee_core::observation::OBSERVING_COMMANDS;

    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\r\n# Clients\r\n\
        connected_clients:3\r\nmaxclients:10000\r\nblocked_clients:1\r\n# Memory\r\nused_memory:1048576\r\n\
        used_memory_rss:2097152\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\n\
        rdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:1\r\n# Stats\r\ntotal_commands_processed:12\r\n\
        total_reads_processed:9\r\n\
        keyspace_hits:5\r\nlatest_fork_usec:2500\r\n# Replication\r\nrole:master\r\nconnected_slaves:1\r\n\
        slave0:ip=::1,port=6380,state=online,offset=90,lag=0\r\nmaster_repl_offset:100\r\n# CPU\r\n\
        used_cpu_user:1.250000\r\nused_cpu_user_main_thread:1.125\r\n# Commandstats\r\n\
        cmdstat_get:calls=10,usec=500,usec_per_call=50.00,rejected_calls=1,failed_calls=2\r\n\
        cmdstat_config|get:calls=1,usec=7,usec_per_call=7.00,rejected_calls=0,failed_calls=0\r\n# Errorstats\r\n\
        errorstat_WRONGTYPE:count=2\r\n# Latencystats\r\nlatency_percentiles_usec_get:p50=1.003,p99=50.1,p99.9=60\r\n\
        # Keyspace\r\ndb0:keys=42,expires=7,avg_ttl=0\r\n";

    #[test]
    fn figures_have_their_units() {
        let mut figures = Figures::default();
        put(INFO, &mut figures);
        for (name, of, value) in [
            ("redis.clients", "", Some(3.0)),
            ("redis.reads", "", Some(9.0)),
            ("redis.memory.max", "", None),
            ("redis.fork_time", "", Some(0.0025)),
            ("redis.saving", "", Some(1.0)),
            ("redis.cpu.main.user", "", Some(1.125)),
            ("redis.command.calls", "get", Some(10.0)),
            ("redis.command.time", "get", Some(0.0005)),
            ("redis.command.failed", "get", Some(2.0)),
            ("redis.command.calls", "config|get", Some(1.0)),
            ("redis.command.time.p99", "get", Some(50.1 / 1e6)),
            ("redis.errors", "WRONGTYPE", Some(2.0)),
            ("redis.keys", "db0", Some(42.0)),
            ("redis.keys.expiring", "db0", Some(7.0)),
            ("redis.replica.behind", "::1:6380", Some(10.0)),
            ("redis.aof.delayed_syncs", "", None),
        ] {
            assert_eq!(figures.value(name, of), value, "{name} {of}");
        }
        assert_eq!(version(INFO).as_deref(), Some("Redis 7.0.15"));
        assert!(figures.texts.contains(&("setting", "role".into(), "master".into())));
    }

    #[test]
    fn commands_behind_which_others_wait_are_found_and_those_of_clients_that_only_block_are_not() {
        let list = "id=3 addr=127.0.0.1:50002 fd=8 name=qbuf=9 age=5 idle=0 flags=b db=0 qbuf=28 qbuf-free=20446 cmd=blpop\n\
            id=4 addr=127.0.0.1:50004 fd=9 name= age=5 idle=0 flags=b db=0 qbuf=0 qbuf-free=20474 cmd=blpop\n\
            id=5 addr=127.0.0.1:50006 fd=10 name=b age=5 idle=0 flags=N db=0 qbuf=26 qbuf-free=20448 cmd=client|list\n";
        assert_eq!(held_up(&listed(list)), BTreeSet::from(["blpop".to_owned()]));
        assert_eq!(held_up(&listed(&list.replace("qbuf=28", "qbuf=0"))), BTreeSet::new());
        assert_eq!(held_up(&listed("")), BTreeSet::new());
        assert_eq!(listed(list).iter().map(|client| client.id).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(clients(INFO), Some((3.0, 1.0)));
    }

    #[test]
    fn of_a_slow_command_only_its_name_is_kept() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let words = Value::Array(vec![bulk("set"), bulk("session:secret"), bulk("hunter2")]);
        let entry = Value::Array(vec![
            Value::Int(7),
            Value::Int(1_700_000_000),
            Value::Int(15_000),
            words,
            bulk("ip"),
        ]);
        let found = slow(&entry).unwrap();
        assert_eq!((found.id, found.to_string().as_str()), (7, "15000 us SET (2 arguments)"));
        assert_eq!(slow(&Value::Nil), None);
        assert_eq!(slow(&Value::Array(vec![Value::Int(1)])), None);
    }

    #[test]
    fn a_slow_command_of_the_observer_is_recognized_and_those_of_others_are_not_taken_for_it() {
        let is_own = |words: &[&str]| {
            let words = words.iter().map(|word| Value::BulkString(word.as_bytes().to_vec())).collect();
            let entry = vec![Value::Int(7), Value::Int(0), Value::Int(60), Value::Array(words)];
            slow(&Value::Array(entry)).unwrap().is_own
        };
        assert!(is_own(&["INFO", "clients"]) && is_own(&["SLOWLOG", "GET", "32"]));
        assert!(!is_own(&["INFO"]) && !is_own(&["info"]) && !is_own(&["CLIENT", "KILL"]));
    }

    #[test]
    fn findings_leave_out_what_the_observer_asks_for() {
        for [command, word] in ASKED.map(|words| words.map(str::to_ascii_lowercase)) {
            let name = if command == "info" { command } else { format!("{command}|{word}") };
            assert!(OBSERVING_COMMANDS.contains(&name.as_str()), "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[ -~\n]{0,300}") {
            let mut figures = Figures::default();
            put(&text, &mut figures);
            let _ = (version(&text), clients(&text), listed(&text));
        }
    }
}
