//! Clients of Redis: every function against a real server, as recorded from k6, and servers that break the rules.
//!
//! What needs no server, such as options, is compared with k6 by `cargo xtask compat`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use knee_js::program::Limits;

use super::harness::{Outcome, run_against, run_text_against};
use super::server::Server;

/// How often a server is asked whether it is there.
const LOOKS: u32 = 2_000;
/// The pause after each time.
const PAUSE: Duration = Duration::from_millis(5);

/// A Redis that ends with its test.
pub struct Redis {
    process: Child,
    /// Its port.
    pub port: u16,
}

impl Redis {
    pub fn start(settings: &[&str]) -> Self {
        Self::start_as(&[], settings)
    }

    /// The same with words before the others.
    fn start_as(first: &[&str], settings: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = Command::new("redis-server")
            .args(first)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(settings)
            .stdout(Stdio::null())
            .spawn();
        let hint = "install redis-server: apt-get install redis-server (or: brew install redis)";
        let process = started.unwrap_or_else(|error| panic!("{error}; {hint}"));
        let redis = Self { process, port };
        for _ in 0..LOOKS {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return redis;
            }
            thread::sleep(PAUSE);
        }
        panic!("redis-server does not answer");
    }

    /// Asks until the answer has this word.
    fn await_answer(&self, question: &[u8], word: &str) {
        for _ in 0..LOOKS {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            stream.write_all(question).unwrap();
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap();
            if String::from_utf8_lossy(&bytes[..count]).contains(word) {
                return;
            }
            thread::sleep(PAUSE);
        }
        panic!("redis-server does not say {word}");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It can have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Three servers that are a cluster.
struct Cluster {
    servers: Vec<Redis>,
    /// Where they keep who they are.
    _folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = |name: &str| {
            let place = folder.path().join(name);
            std::fs::create_dir(&place).unwrap();
            // The usual port of the others would be 10,000 higher, which can be none.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let (place, port) = (place.display().to_string(), port.to_string());
            Redis::start(&["--cluster-enabled", "yes", "--dir", &place, "--cluster-port", &port])
        };
        let servers: Vec<Redis> = ["one", "two", "three"].map(server).into_iter().collect();
        let addresses = servers.iter().map(|server| format!("127.0.0.1:{}", server.port));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create", "--cluster-yes"])
            .args(addresses)
            .output()
            .unwrap();
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        let cluster = Self { servers, _folder: folder };
        cluster
            .servers
            .iter()
            .for_each(|server| server.await_answer(b"CLUSTER INFO\r\n", "cluster_state:ok"));
        cluster
    }

    fn ports(&self) -> String {
        self.servers.iter().map(|server| server.port.to_string()).collect::<Vec<_>>().join(",")
    }
}

/// The lines of a script of `tests/redis`, which are as recorded from k6.
fn assert_said_as_under_k6(name: &str, environment: &[(&str, &str)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/redis");
    let script = folder.join(format!("{name}.js"));
    let outcome = run_against(&Server::start(), &script, Limits::default(), environment);
    let recorded = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
    let (warning, lines) = outcome.lines.split_first().unwrap();
    assert!(warning.starts_with("k6/experimental/redis has been deprecated"), "{warning}");
    assert_eq!(lines, recorded.lines().collect::<Vec<_>>());
    assert!(outcome.iterations > 0.0, "{:?}", outcome.refused);
}

/// What a script says whose client asks `server`, which gives each connection the same bytes for each command.
fn seen_of(replies: &'static [u8], parameters: &str, call: &str) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    if replies == b"close" || stream.write_all(replies).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let source = format!(
        "import {{ Client }} from 'k6/x/redis';
         const client = new Client('redis://{address}?max_retries=-1&{parameters}');
         export default async () => {{
           try {{
             console.log('got', JSON.stringify(await client.{call}));
           }} catch (error) {{
             console.log('refused', String(error));
           }}
         }}"
    );
    run_text_against(&Server::start(), &source, Limits::default())
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn every_function_answers_as_it_does_under_k6() {
    let redis = Redis::start(&[]);
    assert_said_as_under_k6("commands", &[("REDIS", &format!("redis://127.0.0.1:{}", redis.port))]);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn commands_to_a_cluster_go_where_their_keys_are_and_where_they_have_moved() {
    let (cluster, plain) = (Cluster::start(), Redis::start(&[]));
    let plain = format!("redis://127.0.0.1:{}", plain.port);
    assert_said_as_under_k6("cluster", &[("PORTS", &cluster.ports()), ("PLAIN", &plain)]);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_client_finds_its_server_by_asking_a_sentinel() {
    let redis = Redis::start(&["--requirepass", "secret"]);
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("sentinel.conf");
    let text = format!("sentinel monitor shop 127.0.0.1 {} 1\nsentinel auth-pass shop secret\n", redis.port);
    std::fs::write(&settings, text).unwrap();
    let sentinel = Redis::start_as(&[settings.to_str().unwrap(), "--sentinel"], &[]);
    assert_said_as_under_k6("sentinel", &[("SENTINEL", &sentinel.port.to_string())]);
}

#[test]
fn a_script_opens_no_unix_socket_as_under_k6() {
    let source = "import { Client } from 'k6/x/redis';
         const client = new Client('unix:///tmp/redis.sock');
         export default () => client.get('a').catch((error) => console.log(String(error)));";
    let outcome = run_text_against(&Server::start(), source, Limits::default());
    assert_eq!(outcome.lines, ["address /tmp/redis.sock: missing port in address"]);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_client_says_who_it_is_and_which_database_it_wants() {
    let redis = Redis::start(&["--requirepass", "secret"]);
    let source = format!(
        "import {{ Client }} from 'k6/x/redis';
         const at = (user, rest) => new Client('redis://' + user + '127.0.0.1:{}' + rest);
         const clients = {{ none: at('', ''), wrong: at(':no@', ''), right: at(':secret@', '/3?client_name=load') }};
         export default async () => {{
           for (const [name, client] of Object.entries(clients)) {{
             try {{
               console.log(name, await client.set('a', 1), await client.sendCommand('CLIENT', 'GETNAME'));
             }} catch (error) {{
               console.log(name, String(error));
             }}
           }}
           console.log(await clients.right.sendCommand('MOVE', 'a', 0));
         }}",
        redis.port
    );
    let outcome = run_text_against(&Server::start(), &source, Limits::default());
    let lines = [
        "none NOAUTH Authentication required.",
        "wrong WRONGPASS invalid username-password pair or user is disabled.",
        "right OK load",
        "1",
    ];
    assert_eq!(outcome.lines, lines);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn more_commands_at_once_than_a_client_has_connections_wait_for_one() {
    let redis = Redis::start(&[]);
    let source = format!(
        "import {{ Client }} from 'k6/x/redis';
         const client = new Client({{ socket: {{ host: '127.0.0.1', port: {}, poolSize: 2 }} }});
         export default async () => {{
           await Promise.all(Array.from({{ length: 200 }}, () => client.incr('n')));
           console.log(await client.get('n'));
           const list = await client.sendCommand('CLIENT', 'LIST');
           console.log(list.trim().split('\\n').length);
         }}",
        redis.port
    );
    assert_eq!(run_text_against(&Server::start(), &source, Limits::default()).lines, ["200", "2"]);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_command_never_gets_the_answer_of_an_earlier_one() {
    let redis = Redis::start(&[]);
    let source = format!(
        "import {{ Client }} from 'k6/x/redis';
         const client = new Client('redis://127.0.0.1:{}');
         export default async () => {{
           await client.set('k1', 'one');
           await client.set('k2', 'two');
           // Two answers to one command.
           await client.sendCommand('SUBSCRIBE', 'a', 'b');
           console.log(await client.get('k1'), await client.get('k2'), await client.get('k1'));
         }}",
        redis.port
    );
    assert_eq!(run_text_against(&Server::start(), &source, Limits::default()).lines, ["one two one"]);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn connections_that_the_server_closed_meanwhile_are_no_tries_of_a_command() {
    let redis = Redis::start(&[]);
    let source = format!(
        "import {{ Client }} from 'k6/x/redis';
         const url = 'redis://127.0.0.1:{}';
         const client = new Client(url + '?pool_size=12&max_retries=-1');
         const other = new Client(url);
         export default async () => {{
           await Promise.all(Array.from({{ length: 12 }}, () => client.incr('n')));
           await other.sendCommand('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
           // A question and its answer later, the ends have arrived.
           await other.get('n');
           console.log(await client.get('n'));
         }}",
        redis.port
    );
    assert_eq!(run_text_against(&Server::start(), &source, Limits::default()).lines, ["12"]);
}

#[test]
fn what_is_no_reply_is_an_error_of_the_command() {
    for (replies, words) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], "redis: invalid reply: \"HTTP/1.1 400 Bad Request\""),
        (b"*1\r\n$-7\r\n", "redis: invalid reply: \"$-7\""),
        (b"close", "EOF"),
    ] {
        let outcome = seen_of(replies, "dial_timeout=5s", "get('a')");
        assert_eq!(outcome.lines, [format!("refused {words}")]);
        assert!(outcome.iterations > 0.0);
    }
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_longer_than_the_options_say() {
    let outcome = seen_of(b"", "read_timeout=50ms", "get('a')");
    let [line] = &outcome.lines[..] else { panic!("{:?}", outcome.lines) };
    assert!(line.starts_with("refused read tcp 127.0.0.1:") && line.ends_with(": i/o timeout"), "{line}");
}

#[test]
fn a_reply_of_another_kind_is_an_error() {
    let outcome = seen_of(b"+OK\r\n", "", "incr('a')");
    assert_eq!(outcome.lines, ["refused redis: unexpected reply: a text"]);
}

#[test]
fn a_reply_that_no_memory_has_room_for_ends_the_iteration_of_its_vu() {
    let outcome = seen_of(b"$99999999999999\r\n", "", "get('a')");
    assert!(outcome.lines.iter().any(|line| line.contains("out of memory")), "{:?}", outcome.lines);
}

#[test]
fn commands_that_nothing_waits_for_are_awaited_before_the_iteration_ends() {
    let source = "import { Client } from 'k6/x/redis';
         const client = new Client('redis://127.0.0.1:1?max_retries=-1');
         export default () => { client.get('a').catch((error) => console.log(String(error))); };";
    let outcome = run_text_against(&Server::start(), source, Limits::default());
    assert_eq!(outcome.lines, ["dial tcp 127.0.0.1:1: connect: connection refused"]);
}
