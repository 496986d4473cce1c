//! Shortages of this machine: descriptors, ports, addresses, DNS servers. Each test runs in a child
//! process with its own limits.

use std::env;
use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::thread;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::server::Server;

/// Set in the child process: the URL of the server in its parent.
const CHILD: &str = "KNEE_TEST_CHILD";

/// Runs the test of this name again in a child process, started through `wrap`. The child calls
/// `body` with the URL of the server that `server` starts in the parent.
pub fn in_child(test: &str, wrap: &[&str], server: impl FnOnce() -> Server, body: impl FnOnce(&str)) {
    if let Ok(url) = env::var(CHILD) {
        return body(&url);
    }
    let server = server();
    let Some(output) = again(test, wrap, &server.url("/")) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("1 passed"), "the name of the test is right: {said}");
    server.all_closed();
}

/// `None` if `wrap` is not permitted.
fn again(test: &str, wrap: &[&str], url: &str) -> Option<Output> {
    let program = env::current_exe().unwrap();
    let arguments = ["--exact", test, "--nocapture", "--test-threads=1"];
    let Some((first, rest)) = wrap.split_first() else {
        return Some(Command::new(program).args(arguments).env(CHILD, url).output().unwrap());
    };
    let permitted = Command::new(first).args(rest).arg("true").output();
    match permitted {
        Ok(output) if output.status.success() => {}
        refused => {
            println!("skipped: {wrap:?} is not permitted here: {refused:?}");
            return None;
        }
    }
    let mut command = Command::new(first);
    command.args(rest).arg(program).args(arguments).env(CHILD, url);
    Some(command.output().unwrap())
}

fn open_descriptors() -> u64 {
    // One of them is this directory itself.
    fs::read_dir("/proc/self/fd").unwrap().count() as u64 - 1
}

fn limit_descriptors(limit: u64) {
    // The hard limit too, because a run raises the soft limit to it.
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum: Some(limit) }).unwrap();
}

#[test]
fn without_descriptors_the_generator_is_to_blame_and_the_run_goes_on() {
    in_child(
        "shortages::without_descriptors_the_generator_is_to_blame_and_the_run_goes_on",
        &[],
        || Server::start(|_| Behaviour::Good),
        |url| {
            limit_descriptors(open_descriptors() + 24);
            for drive in [Drive::closed(url, 400, 60), Drive::open(url, 400, 60, 2_000.0)] {
                let run = Drive { workers: 1, ..drive }.run();
                let failed = count(&run, Outcome::TransportError);
                assert!(failed > 0 && count(&run, Outcome::Ok) > 0, "{:?}", run.measured.accounting());
                assert_eq!(faults(&run), [(Fault::DescriptorsExhausted, failed)]);
                assert_eq!(Fault::DescriptorsExhausted.blame(), Blame::Generator);
            }
        },
    );
}

#[test]
fn with_any_number_of_descriptors_a_run_is_made_or_fails_with_an_error() {
    in_child(
        "shortages::with_any_number_of_descriptors_a_run_is_made_or_fails_with_an_error",
        &[],
        || Server::start(|_| Behaviour::Good),
        |url| {
            // In descending order: a hard limit cannot be raised again.
            let used = open_descriptors();
            let mut refused = 0;
            for spare in (0..16).rev() {
                limit_descriptors(used + spare);
                match Drive::closed(url, 50, 4).run_with_intervals() {
                    Ok((run, _)) => assert_eq!(run.measured.accounting().ended(), 50),
                    Err(_) => refused += 1,
                }
            }
            assert!(refused > 0, "without any descriptor there can be no run");
        },
    );
}

#[test]
fn without_ports_the_generator_is_to_blame() {
    let setup = "ip link set lo up && echo 20001 20006 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$0\" \"$@\"";
    in_child(
        "shortages::without_ports_the_generator_is_to_blame",
        &["unshare", "--net", "sh", "-c", setup],
        || Server::start(|_| Behaviour::Good),
        |_| {
            let server =
                Server::at("127.0.0.1:8080", |_| crate::identity::Greeting::Plain, |_| Behaviour::Good);
            let server = server.unwrap();
            let run = Drive::closed(&server.url("/"), 200, 40).run();
            let failed = count(&run, Outcome::TransportError);
            assert!(failed > 0 && count(&run, Outcome::Ok) > 0, "{:?}", run.measured.accounting());
            assert_eq!(faults(&run), [(Fault::PortsExhausted, failed)], "{:?}", all(&run).faults);
            assert_eq!(Fault::PortsExhausted.blame(), Blame::Generator);
        },
    );
}

#[test]
fn an_unreachable_address_is_not_a_lack_of_ports() {
    let setup = "ip link set lo up && echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6 && exec \"$0\" \"$@\"";
    in_child(
        "shortages::an_unreachable_address_is_not_a_lack_of_ports",
        &["unshare", "--net", "sh", "-c", setup],
        || Server::start(|_| Behaviour::Good),
        |_| {
            for url in ["http://[::1]:8080/", "http://192.0.2.1:8080/", "http://[2001:db8::1]:8080/"] {
                let run = Drive::closed(url, 6, 3).run();
                assert_eq!(faults(&run), [(Fault::Unreachable, 6)], "{url}: {:?}", all(&run).faults);
                assert_eq!(Fault::Unreachable.blame(), Blame::Network);
            }
        },
    );
}

/// Responds to every query with this code, or never. Ends with the process.
fn dns_server(code: Option<u8>) {
    let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            let Some(code) = code else { continue };
            // The query itself, marked as a response with this code and no records.
            question[2] = 0x80 | question[2] & 1;
            question[3] = 0x80 | code;
            let _ = socket.send_to(&question[..length], from);
        }
    });
}

/// The shell text that gives a child process its own network, in which 127.0.0.1 is the name server.
pub const OWN_NAMES: &str = "ip link set lo up && \
    printf 'nameserver 127.0.0.1\\noptions timeout:30 attempts:1\\n' > /tmp/knee-test-resolv.$$ && \
    mount --bind /tmp/knee-test-resolv.$$ /etc/resolv.conf && rm /tmp/knee-test-resolv.$$ && exec \"$0\" \"$@\"";

#[test]
fn a_dns_server_that_does_not_respond_is_a_dns_timeout() {
    in_child(
        "shortages::a_dns_server_that_does_not_respond_is_a_dns_timeout",
        &["unshare", "--net", "--mount", "sh", "-c", OWN_NAMES],
        || Server::start(|_| Behaviour::Good),
        |_| {
            dns_server(None);
            let run = Drive::closed("http://somewhere.example/", 6, 3)
                .with(|settings| settings.connect_timeout = Nanos::from_millis(200))
                .run();
            assert_eq!(faults(&run), [(Fault::DnsTimeout, 6)], "{:?}", all(&run).faults);
            assert_eq!(count(&run, Outcome::Timeout), 6, "their times are lower bounds");
            assert_eq!(Fault::DnsTimeout.blame(), Blame::Network);
        },
    );
}

#[test]
fn a_dns_server_without_the_name_or_in_error_makes_it_not_found() {
    // Name error, server failure, refused.
    for code in [3, 2, 5] {
        if env::var(CHILD).is_ok_and(|_| env::var("KNEE_TEST_CODE") != Ok(code.to_string())) {
            continue;
        }
        let setup = OWN_NAMES.replace("exec", &format!("export KNEE_TEST_CODE={code} && exec"));
        in_child(
            "shortages::a_dns_server_without_the_name_or_in_error_makes_it_not_found",
            &["unshare", "--net", "--mount", "sh", "-c", &setup],
            || Server::start(|_| Behaviour::Good),
            |_| {
                dns_server(Some(code));
                let run = Drive::closed("http://somewhere.example/", 3, 3)
                    .with(|settings| settings.connect_timeout = Nanos::from_secs(60))
                    .run();
                assert_eq!(faults(&run), [(Fault::DnsNotFound, 3)], "{code}: {:?}", all(&run).faults);
            },
        );
    }
}
