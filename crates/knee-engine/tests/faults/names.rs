//! Names with several addresses, some of which do not work. Each test runs in a child process with its own network and
//! its own `/etc/hosts`.

use std::net::{SocketAddr, ToSocketAddrs};

use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count};
use crate::identity::Greeting;
use crate::server::Server;
use crate::shortages::in_child;
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
