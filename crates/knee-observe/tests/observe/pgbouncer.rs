//! A PgBouncer of the test's own, over TLS.
//!
//! Needs the program `pgbouncer`: `--features pgbouncer-tests`. Has no database behind it: the observer asks the admin
//! console alone.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use crate::tls::{Authority, refusal, wait};
use crate::world::{Beside, is_read, last};

/// A server, which ends with the test. Its files are in the folder of the authority.
struct PgBouncer {
    program: Child,
    port: u16,
}

impl PgBouncer {
    /// Starts one with an account that can ask, and with these settings.
    fn start(authority: &Authority, settings: &str) -> Self {
        let folder = authority.folder.path();
        // It does not run as root, so that another user must be able to read what it needs.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (users, configuration) = (authority.file("users"), authority.file(&format!("{port}.ini")));
        fs::write(&users, "\"watcher\" \"hunter2\"\n").unwrap();
        let text = format!(
            "[databases]\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = scram-sha-256\nauth_file = {users}\nstats_users = watcher\n{settings}"
        );
        fs::write(&configuration, text).unwrap();
        let mut command = Command::new("pgbouncer");
        if rustix::process::geteuid().is_root() {
            command.args(["-u", "nobody"]);
        }
        let program = command.arg("-q").arg(configuration).stderr(Stdio::null()).spawn();
        let server = Self { program: program.unwrap_or_else(|error| panic!("pgbouncer: {error}")), port };
        wait("a PgBouncer", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    /// Its address, with a password and with parameters, if there are any.
    fn url(&self, password: &str, parameters: &str) -> String {
        let mark = if parameters.is_empty() { "" } else { "?" };
        format!("pgbouncer://watcher:{password}@127.0.0.1:{}{mark}{parameters}", self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
#[cfg_attr(not(feature = "pgbouncer-tests"), ignore = "needs PgBouncer: --features pgbouncer-tests")]
fn a_pooler_is_read_over_tls_if_its_certificate_is_trusted_and_refused_with_the_reason_if_not() {
    let (authority, other) = (Authority::new(), Authority::new());
    authority.issue("127.0.0.1");
    let server = PgBouncer::start(
        &authority,
        &format!(
            "client_tls_sslmode = require\nclient_tls_cert_file = {}\nclient_tls_key_file = {}\n",
            authority.file("127.0.0.1.pem"),
            authority.file("127.0.0.1.key"),
        ),
    );
    let (ca, wrong) = (authority.file("ca.pem"), other.file("ca.pem"));
    // It accepts no session without TLS, so that those that are read are encrypted.
    for parameters in ["", "sslmode=require", &format!("sslmode=verify-full&sslrootcert={ca}")] {
        let mut beside = Beside::start(&[&server.url("hunter2", parameters)]);
        let seen = beside.until("a reading", |seen| last(seen, "pgbouncer.pool_size", "pgbouncer").is_some());
        assert!(is_read(&seen) && seen.sources[0].version.is_some(), "{:?}", seen.sources);
    }
    for (password, parameters, part) in [
        ("hunter2", "sslmode=disable".to_owned(), "if it accepts only TLS, write sslmode=require"),
        ("hunter2", format!("sslmode=verify-full&sslrootcert={wrong}"), "as sslrootcert"),
        ("hunter2", "sslmode=verify-full".to_owned(), "as sslrootcert"),
        ("hunter3", "sslmode=require".to_owned(), ""),
    ] {
        let reason = refusal(&server.url(password, &parameters));
        assert!(reason.contains(part) && !reason.contains("hunter"), "{parameters}: {reason}");
    }
}

#[test]
#[cfg_attr(not(feature = "pgbouncer-tests"), ignore = "needs PgBouncer: --features pgbouncer-tests")]
fn a_pooler_without_tls_is_read_and_refused_with_the_reason_if_tls_is_required() {
    let authority = Authority::new();
    let server = PgBouncer::start(&authority, "");
    let mut beside = Beside::start(&[&server.url("hunter2", "")]);
    beside.until("a reading", |seen| last(seen, "pgbouncer.pool_size", "pgbouncer").is_some());
    let reason = refusal(&server.url("hunter2", "sslmode=require"));
    assert!(reason.starts_with("it does not speak TLS: "), "{reason}");
}
