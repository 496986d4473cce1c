//! Names with several addresses, some of which do not work, and names whose address changes. Each test runs in a child
//! process with its own network and its own `/etc/hosts` or name server.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::thread;
use std::time::Duration;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::identity::Greeting;
use crate::server::Server;
use crate::shortages::{OWN_NAMES, in_child};
use crate::slowness::full;

/// Runs a test of this file in a child process. Its `/etc/hosts` is what the shell commands `lines` print.
fn with_hosts(test: &str, lines: &str, body: impl FnOnce()) {
    // Without "multi on", older C libraries return only the first address of a name in the file.
    let script = format!(
        "set -e; ip link set lo up\n\
         hosts=$(mktemp); conf=$(mktemp); ({lines}) > $hosts; echo multi on > $conf\n\
         mount --bind $hosts /etc/hosts; mount --bind $conf /etc/host.conf; rm $hosts $conf\n\
         exec \"$0\" \"$@\""
    );
    let wrap = ["unshare", "--net", "--mount", "sh", "-c", &script];
    in_child(&format!("names::{test}"), &wrap, || Server::start(|_| Behaviour::Good), |_| body());
}

/// The addresses of a name in the order of the C library.
fn addresses(name: &str, port: u16) -> Vec<SocketAddr> {
    (name, port).to_socket_addrs().unwrap().collect()
}

fn good_server(address: SocketAddr) -> Server {
    Server::at(&address.to_string(), |_| Greeting::Plain, |_| Behaviour::Good).unwrap()
}

/// Makes runs against a name whose first address accepts nothing and whose second one is a good server.
fn passes_over_the_first(name: &str) {
    let found = addresses(name, 8_080);
    assert_eq!(found.len(), 2, "{found:?}");
    let (_listener, _queued, _) = match full(found[0]) {
        Ok(full) => full,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let server = good_server(found[1]);
    let url = format!("http://{name}:8080/");
    for drive in [Drive::closed(&url, 20, 3), Drive::open(&url, 20, 5, 50.0)] {
        let run = drive.with(|settings| settings.connect_timeout = Nanos::from_secs(60)).run();
        assert_eq!(count(&run, Outcome::Ok), 20, "{:?}", all(&run).faults);
    }
    server.all_closed();
}

#[test]
fn a_first_address_that_never_accepts_does_not_use_up_the_time_limit() {
    let test = "a_first_address_that_never_accepts_does_not_use_up_the_time_limit";
    let lines = "echo 127.0.0.1 two.test; echo 127.0.0.2 two.test";
    with_hosts(test, lines, || passes_over_the_first("two.test"));
}

#[test]
fn broken_ipv6_does_not_keep_a_run_from_ipv4() {
    let test = "broken_ipv6_does_not_keep_a_run_from_ipv4";
    with_hosts(test, "echo ::1 both.test; echo 127.0.0.1 both.test", || {
        if !addresses("both.test", 8_080)[0].is_ipv6() {
            return println!("skipped: no IPv6 here, or IPv4 is preferred");
        }
        passes_over_the_first("both.test");
    });
}

/// Lines for 1,000 addresses of `many.test`.
const THOUSAND: &str =
    "for a in 1 2 3 4; do for b in $(seq 1 250); do echo 127.1.$a.$b many.test; done; done";

#[test]
fn of_a_thousand_addresses_the_one_that_accepts_is_found_and_used_from_then_on() {
    let test = "of_a_thousand_addresses_the_one_that_accepts_is_found_and_used_from_then_on";
    with_hosts(test, THOUSAND, || {
        let found = addresses("many.test", 8_080);
        assert_eq!(found.len(), 1_000);
        let server = good_server(found[999]);
        let mut drive = Drive::closed("http://many.test:8080/", 60, 3);
        drive.settings.connect_timeout = Nanos::from_secs(60);
        (drive.settings.keep_alive, drive.defaults.keep_alive) = (false, false);
        let run = drive.run();
        assert_eq!(count(&run, Outcome::Ok), 60, "{:?}", all(&run).faults);
        assert_eq!(server.all_closed().connections, 60);
    });
}

#[test]
fn a_thousand_addresses_that_refuse_are_one_refusal() {
    let test = "a_thousand_addresses_that_refuse_are_one_refusal";
    with_hosts(test, THOUSAND, || {
        let run = Drive::closed("http://many.test:8080/", 6, 3)
            .with(|settings| settings.connect_timeout = Nanos::from_secs(60))
            .run();
        assert_eq!(faults(&run), [(Fault::Refused, 6)]);
        assert_eq!(Fault::Refused.blame(), Blame::Server);
        assert_eq!(all(&run).connections, 0);
    });
}

/// Responds to the first question for an address with 127.0.0.1, to all others with 127.0.0.2. Takes its time, so that
/// questions overlap. Ends with the process.
fn changing_name_server() {
    let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
    thread::spawn(move || {
        let mut question = [0; 512];
        let mut last = 0;
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            // Behind the header: the name, then type and class of two bytes each.
            let name = question[12..length].iter().position(|byte| *byte == 0).unwrap();
            let end = 12 + name + 5;
            let is_ipv4 = question[end - 3] == 1;
            let mut reply = question[..end].to_vec();
            (reply[2], reply[3]) = (0x80 | reply[2] & 1, 0x80);
            reply[6..12].copy_from_slice(&[0, u8::from(is_ipv4), 0, 0, 0, 0]);
            if is_ipv4 {
                last = 2_u8.min(last + 1);
                // The name of the question, type A, class IN, to be kept for 0 s, 4 bytes.
                reply.extend_from_slice(&[0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, last]);
            }
            thread::sleep(Duration::from_millis(20));
            let _ = socket.send_to(&reply, from);
        }
    });
}

#[test]
fn a_name_whose_address_changes_keeps_its_first_address_for_the_whole_run() {
    in_child(
        "names::a_name_whose_address_changes_keeps_its_first_address_for_the_whole_run",
        &["unshare", "--net", "--mount", "sh", "-c", OWN_NAMES],
        || Server::start(|_| Behaviour::Good),
        |_| {
            changing_name_server();
            let servers =
                ["127.0.0.1:8080", "127.0.0.2:8080"].map(|address| good_server(address.parse().unwrap()));
            let mut drive = Drive { workers: 4, ..Drive::closed("http://changes.test:8080/", 80, 8) };
            drive.settings.connect_timeout = Nanos::from_secs(60);
            (drive.settings.keep_alive, drive.defaults.keep_alive) = (false, false);
            let run = drive.run();
            assert_eq!(count(&run, Outcome::Ok), 80, "{:?}", all(&run).faults);
            let connections = servers.map(|server| server.all_closed().connections);
            assert!(
                connections == [80, 0] || connections == [0, 80],
                "one address of the two: {connections:?}"
            );
        },
    );
}
