//! The page `stub_status` of a real nginx.
//!
//! Needs the program `nginx`: `--features nginx-tests`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::tls::wait;
use crate::world::{Beside, is_lost, is_read, last};

/// An nginx of the test's own, which ends with the test.
struct Nginx {
    program: Child,
    port: u16,
    _folder: TempDir,
}

impl Nginx {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr error; events {{}}\n\
             http {{ access_log off; client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .;\n\
             uwsgi_temp_path .; scgi_temp_path .;\n\
             server {{ listen 127.0.0.1:{port}; location /status {{ stub_status; }}\n\
             location / {{ return 200 fine; }} }} }}\n"
        );
        fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
        let program = Command::new("nginx").arg("-p").arg(folder.path()).args(["-c", "nginx.conf"]).spawn();
        let program = program.unwrap_or_else(|error| panic!("nginx: {error}"));
        let nginx = Self { program, port, _folder: folder };
        wait("an nginx", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        nginx
    }

    fn request(&self) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("fine"), "{answer}");
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
#[cfg_attr(not(feature = "nginx-tests"), ignore = "needs nginx: --features nginx-tests")]
fn an_nginx_is_read_with_its_connections_and_requests_until_it_ends() {
    let mut nginx = Nginx::start();
    let mut beside = Beside::start(&[&format!("nginx:http://127.0.0.1:{}/status", nginx.port)]);
    let before = beside.until("a reading", |seen| last(seen, "nginx.requests", "").is_some());
    let requests = last(&before, "nginx.requests", "").unwrap();
    for _ in 0..10 {
        nginx.request();
    }
    let seen =
        beside.until("ten requests", |seen| last(seen, "nginx.requests", "").unwrap() >= requests + 10.0);
    assert!(is_read(&seen));
    assert!(last(&seen, "nginx.accepts", "").unwrap() >= 11.0, "ten and that of the observer");
    assert_eq!(last(&seen, "nginx.accepts", ""), last(&seen, "nginx.handled", ""));
    assert!(last(&seen, "nginx.connections", "writing").unwrap() >= 1.0, "the page that is read is one");
    nginx.program.kill().unwrap();
    beside.until("the end of the server", is_lost);
}

#[test]
#[cfg_attr(not(feature = "nginx-tests"), ignore = "needs nginx: --features nginx-tests")]
fn a_page_of_an_nginx_that_is_not_its_status_is_refused() {
    let nginx = Nginx::start();
    let seen = Beside::start(&[&format!("nginx:http://127.0.0.1:{}/", nginx.port)]).stop();
    assert!(format!("{:?}", seen.sources).contains("the page is not that of stub_status"), "{seen:?}");
}
