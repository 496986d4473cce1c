//! A server that others wrote: nginx, with HTTP/2 and without.
//!
//! Needs the program `nginx`: `--features nginx-tests`.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use knee_core::outcome::Outcome;
use knee_core::record::Run;
use knee_core::validity::diagnostics::Http2Offer;
use knee_engine::http::settings::HttpVersion;

use crate::drive::{Drive, REQUESTS, count, faults};
use crate::identity;
use crate::server::WATCHDOG;

/// An nginx of its own, which ends with the test.
struct Nginx {
    program: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Nginx {
    /// Serves a text over TLS; `flags` follow the address in its configuration.
    fn start(name: &str, flags: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("knee-nginx-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let address = free_address();
        let (certificate, key) = identity::server();
        fs::write(folder.join("cert.pem"), certificate).unwrap();
        fs::write(folder.join("key.pem"), key).unwrap();
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr error; events {{}}\n\
             http {{ log_format version $server_protocol; access_log log version; client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .;\n\
             uwsgi_temp_path .; scgi_temp_path .;\n\
             server {{ listen {address} ssl {flags}; ssl_certificate cert.pem; ssl_certificate_key key.pem;\n\
             location / {{ return 200 fine; }} }} }}\n"
        );
        fs::write(folder.join("nginx.conf"), configuration).unwrap();
        let program = Command::new("nginx").arg("-p").arg(&folder).args(["-c", "nginx.conf"]).spawn();
        let nginx = Self { program: program.expect("nginx is installed"), folder, address };
        let pause = Duration::from_millis(10);
        let mut tries = WATCHDOG.as_millis() / pause.as_millis();
        while TcpStream::connect(address).is_err() {
            tries = tries.checked_sub(1).expect("nginx starts");
            thread::sleep(pause);
        }
        nginx
    }

    /// Its log, once that has so many lines: nginx writes a line after it sent the response.
    fn log(&self, lines: usize) -> String {
        let pause = Duration::from_millis(10);
        let mut tries = WATCHDOG.as_millis() / pause.as_millis();
        loop {
            let log = fs::read_to_string(self.folder.join("log")).unwrap();
            if log.lines().count() >= lines {
                return log;
            }
            tries = tries.checked_sub(1).unwrap_or_else(|| panic!("never {lines} lines: {log}"));
            thread::sleep(pause);
        }
    }

    fn run(&self) -> Run {
        let mut drive = Drive::closed(&format!("https://{}/", self.address), REQUESTS, 3).trusting();
        drive.http2 = Some(Http2Offer::TakenByK6);
        let run = drive.run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
        run
    }
}

/// An address below those that systems give to outgoing connections, of which other tests open many.
fn free_address() -> SocketAddr {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let place = || std::process::id().wrapping_mul(97).wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed));
    let mut ports = (0..15_000).map(|_| 15_000 + (place() % 15_000) as u16);
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    ([127, 0, 0, 1], free.expect("a port is free")).into()
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
#[cfg_attr(not(feature = "nginx-tests"), ignore = "needs nginx: --features nginx-tests")]
fn nginx_answers_over_the_version_that_was_agreed_and_counts_the_same() {
    for (name, flags, version, expected) in [
        ("agreed", "http2", HttpVersion::Negotiated, "HTTP/2.0"),
        ("alone", "http2", HttpVersion::Two, "HTTP/2.0"),
        ("not_there", "", HttpVersion::Negotiated, "HTTP/1.1"),
    ] {
        let nginx = Nginx::start(name, flags);
        let drive = Drive::closed(&format!("https://{}/", nginx.address), REQUESTS, 3).trusting();
        let run = drive.with(|settings| settings.version = version).run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{:?}", faults(&run));
        let log = nginx.log(REQUESTS as usize);
        assert_eq!(log.lines().filter(|line| *line == expected).count() as u64, REQUESTS, "{name}: {log}");
        assert_eq!(log.lines().count() as u64, REQUESTS);
    }
}

fn is_noted(run: &Run) -> bool {
    run.validity.notes.iter().any(|note| note.ends_with("[http2]"))
}

#[test]
#[cfg_attr(not(feature = "nginx-tests"), ignore = "needs nginx: --features nginx-tests")]
fn nginx_with_http_2_is_noted() {
    let run = Nginx::start("http2", "http2").run();
    assert!(is_noted(&run), "{:?}", run.validity.notes);
}

#[test]
#[cfg_attr(not(feature = "nginx-tests"), ignore = "needs nginx: --features nginx-tests")]
fn nginx_without_http_2_is_not_noted() {
    let run = Nginx::start("http1", "").run();
    assert!(!is_noted(&run), "{:?}", run.validity.notes);
}
