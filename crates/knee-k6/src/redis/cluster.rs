//! A cluster: which slot a command belongs to, which servers have it, and where a server sends a client on.
//!
//! Does not send.

use super::given::Address;
use super::reply::Reply;

/// Number of slots.
pub const SLOTS: u16 = 16_384;

/// Most bytes of the name of a host.
const HOST_MAX: usize = 255;

/// Commands without a key, which any server can have.
const KEYLESS: [&str; 48] = [
    "acl",
    "asking",
    "auth",
    "bgrewriteaof",
    "bgsave",
    "client",
    "cluster",
    "config",
    "debug",
    "discard",
    "echo",
    "exec",
    "failover",
    "function",
    "hello",
    "latency",
    "lolwut",
    "module",
    "monitor",
    "multi",
    "pfselftest",
    "ping",
    "psubscribe",
    "psync",
    "publish",
    "pubsub",
    "punsubscribe",
    "quit",
    "readonly",
    "readwrite",
    "replconf",
    "replicaof",
    "role",
    "save",
    "script",
    "select",
    "shutdown",
    "slaveof",
    "slowlog",
    "subscribe",
    "swapdb",
    "sync",
    "unsubscribe",
    "unwatch",
    "wait",
    "time",
    "randomkey",
    "info",
];

/// Commands that change nothing, which replicas can answer.
const READING: [&str; 31] = [
    "bitcount",
    "bitpos",
    "dbsize",
    "exists",
    "expiretime",
    "get",
    "getbit",
    "getrange",
    "hexists",
    "hget",
    "hgetall",
    "hkeys",
    "hlen",
    "hmget",
    "hvals",
    "keys",
    "lindex",
    "llen",
    "lrange",
    "mget",
    "pttl",
    "randomkey",
    "scard",
    "sismember",
    "smembers",
    "srandmember",
    "strlen",
    "ttl",
    "type",
    "zrange",
    "zscore",
];

/// The servers of a range of slots, the one that takes changes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first slot.
    pub from: u16,
    /// The last one.
    pub to: u16,
    /// The servers.
    pub servers: Vec<Address>,
}

/// Where a server sends a client on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Whether this holds for one command alone, which must be announced.
    pub is_once: bool,
    /// The slot that has moved.
    pub slot: u16,
    /// The other server.
    pub to: Address,
}

/// The slot of a command by its first key; `None` if any server can have it.
pub fn slot_of(words: &[Vec<u8>]) -> Option<u16> {
    let word = |at: usize| words.get(at).map(Vec::as_slice).unwrap_or_default();
    let name = word(0).to_ascii_lowercase();
    let at = match &name[..] {
        b"eval" | b"evalsha" | b"eval_ro" | b"evalsha_ro" if word(2) == b"0" => return None,
        b"eval" | b"evalsha" | b"eval_ro" | b"evalsha_ro" => 3,
        b"memory" if word(1).eq_ignore_ascii_case(b"usage") => 2,
        name if KEYLESS.iter().any(|keyless| keyless.as_bytes() == name) => return None,
        _ => 1,
    };
    Some(word(at)).filter(|key| !key.is_empty()).map(slot_of_key)
}

/// Whether a command changes nothing.
pub fn is_reading(words: &[Vec<u8>]) -> bool {
    let name = words.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    READING.iter().any(|reading| reading.as_bytes() == name)
}

/// The slot of a key. If a part of the key is in braces, that part alone counts.
fn slot_of_key(key: &[u8]) -> u16 {
    let tag = || {
        let begin = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key[begin..].iter().position(|byte| *byte == b'}')?;
        Some(&key[begin..begin + length]).filter(|tag| !tag.is_empty())
    };
    let mut sum = 0_u16;
    for byte in tag().unwrap_or(key) {
        sum ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            sum = if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 };
        }
    }
    sum % SLOTS
}

/// The ranges in the answer of `asked` to `CLUSTER SLOTS`; `None` if it is no such answer.
///
/// A server that does not know its own name has the one under which it was asked. So has one that says it is on the
/// loopback, unless it was asked there.
pub fn ranges(reply: Reply, asked: &Address) -> Option<Vec<Range>> {
    let Reply::List(ranges) = reply else { return None };
    ranges.into_iter().map(|range| range_of(range, asked)).collect()
}

fn range_of(range: Reply, asked: &Address) -> Option<Range> {
    let Reply::List(range) = range else { return None };
    let [Reply::Number(from), Reply::Number(to), servers @ ..] = &range[..] else { return None };
    let slot = |number: &i64| u16::try_from(*number).ok().filter(|slot| *slot < SLOTS);
    let servers = servers.iter().map(|server| {
        let Reply::List(server) = server else { return None };
        let [host, Reply::Number(port), ..] = &server[..] else { return None };
        let host = match host {
            Reply::Text(host) if host.len() > HOST_MAX => return None,
            Reply::Text(host) => String::from_utf8_lossy(host).into_owned(),
            _ => String::new(),
        };
        let is_own = host.is_empty() || (is_loopback(&host) && !is_loopback(&asked.host));
        let host = if is_own { asked.host.clone() } else { host };
        Some(Address { host, port: u16::try_from(*port).ok()? })
    });
    Some(Range { from: slot(from)?, to: slot(to)?, servers: servers.collect::<Option<_>>()? })
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Where the error of a server sends the client on; `None` for another error. A server without a name is on the host of
/// `asked`.
pub fn redirect(words: &str, asked: &Address) -> Option<Redirect> {
    let mut parts = words.split(' ');
    let is_once = match parts.next()? {
        "MOVED" => false,
        "ASK" => true,
        _ => return None,
    };
    let slot = parts.next()?.parse().ok().filter(|slot| *slot < SLOTS)?;
    let (host, port) = parts.next()?.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    if host.len() > HOST_MAX {
        return None;
    }
    let host = if host.is_empty() { &asked.host } else { host };
    Some(Redirect { is_once, slot, to: Address { host: host.to_owned(), port: port.parse().ok()? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }

    fn address(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    #[test]
    fn a_key_has_the_slot_that_the_specification_gives_it() {
        // As `CLUSTER KEYSLOT` says.
        for (key, slot) in [("123456789", 12_739), ("foo", 12_182), ("{foo}.a", 12_182), ("a", 15_495)] {
            assert_eq!(slot_of_key(key.as_bytes()), slot, "{key}");
        }
        assert_eq!(slot_of_key(b"a{}b{foo}"), slot_of_key(b"a{}b{foo}"));
        assert_ne!(slot_of_key(b"a{}b"), slot_of_key(b""));
    }

    #[test]
    fn a_command_goes_where_its_first_key_is() {
        assert_eq!(slot_of(&words("GET foo")), Some(12_182));
        assert_eq!(slot_of(&words("eval script 1 foo")), Some(12_182));
        assert_eq!(slot_of(&words("memory usage foo")), Some(12_182));
        for keyless in ["PING", "eval script 0", "cluster slots", "randomkey", "get "] {
            assert_eq!(slot_of(&words(keyless)), None, "{keyless}");
        }
        assert!(is_reading(&words("GET a")) && !is_reading(&words("set a 1")));
    }

    #[test]
    fn a_server_is_reached_under_the_name_under_which_its_cluster_is() {
        let server = |host: Reply| Reply::List(vec![host, Reply::Number(7001), Reply::Text("id".into())]);
        let reply = |host: &str| {
            let servers = [Reply::Text(host.into()), Reply::Nothing].map(server);
            let range = [Reply::Number(0), Reply::Number(16_383)].into_iter().chain(servers);
            Reply::List(vec![Reply::List(range.collect())])
        };
        for (said, asked, host) in [
            ("10.0.0.1", "shop", "10.0.0.1"),
            ("127.0.0.1", "shop", "shop"),
            ("127.0.0.1", "localhost", "127.0.0.1"),
            ("", "shop", "shop"),
        ] {
            let servers = vec![address(host, 7001), address(asked, 7001)];
            let expected = Range { from: 0, to: 16_383, servers };
            assert_eq!(ranges(reply(said), &address(asked, 1)), Some(vec![expected]));
        }
        assert_eq!(ranges(Reply::Number(1), &address("h", 1)), None);
        assert_eq!(ranges(Reply::List(vec![Reply::List(Vec::new())]), &address("h", 1)), None);
    }

    #[test]
    fn a_server_sends_a_client_on() {
        let asked = address("h", 1);
        let to = |words: &str| redirect(words, &asked).map(|found| (found.is_once, found.slot, found.to));
        assert_eq!(to("MOVED 3999 127.0.0.1:6381"), Some((false, 3999, address("127.0.0.1", 6381))));
        assert_eq!(to("ASK 1 ::1:6381"), Some((true, 1, address("::1", 6381))));
        assert_eq!(to("MOVED 1 :6381"), Some((false, 1, address("h", 6381))));
        for wrong in ["ERR x", "MOVED", "MOVED 99999 h:1", "MOVED 1 h", "MOVED 1 h:x"] {
            assert_eq!(to(wrong), None, "{wrong}");
        }
    }
}
