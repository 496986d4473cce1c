//! The server that all tools load: nginx with one worker, which counts the requests.
//!
//! The count is what costs are divided by, so that no tool is asked about itself.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::process::{self, Running, SERVER_CPU};

const CONFIGURATION: &str = r#"
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {dir}/pid;
error_log {dir}/error.log;
events { worker_connections 19000; multi_accept on; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  server {
    listen 127.0.0.1:{plain} backlog=16000;
    listen 127.0.0.1:{tls} ssl backlog=16000;
    ssl_certificate {dir}/certificate.pem;
    ssl_certificate_key {dir}/key.pem;
    ssl_protocols TLSv1.3;
    location = /status { stub_status; }
    location / { default_type application/json; return 200 '{"status":"ok","items":[]}'; }
  }
}
"#;

/// A running nginx.
pub struct Nginx {
    /// Held for its end.
    _process: Running,
    _directory: TempDir,
    plain: u16,
    tls: u16,
}

impl Nginx {
    /// Starts one on the CPU that belongs to servers.
    pub fn start() -> Result<Self> {
        let program =
            find("nginx").context("nginx is not there: install it (Debian: apt-get install nginx-light)")?;
        let directory = TempDir::new()?;
        let place = directory.path();
        let (plain, tls) = (free_port()?, free_port()?);
        write_certificate(place)?;
        let text = CONFIGURATION
            .replace("{dir}", &place.to_string_lossy())
            .replace("{plain}", &plain.to_string())
            .replace("{tls}", &tls.to_string());
        let file = place.join("nginx.conf");
        fs::write(&file, text)?;
        let mut command = Command::new(program);
        command.arg("-c").arg(file).arg("-p").arg(place);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = process::spawn_on(SERVER_CPU, &mut command)?;
        let nginx = Self { _process: process, _directory: directory, plain, tls };
        for _ in 0..100 {
            if nginx.served().is_ok() {
                return Ok(nginx);
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("nginx does not answer")
    }

    /// Where it answers, with or without TLS.
    pub fn url(&self, tls: bool) -> String {
        if tls {
            format!("https://127.0.0.1:{}/p", self.tls)
        } else {
            format!("http://127.0.0.1:{}/p", self.plain)
        }
    }

    /// How many requests it has served; asking is one more.
    fn served(&self) -> Result<u64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.plain))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        count_in(&text).context("nginx says nothing of requests")
    }

    /// Does `work` and says how many requests were served meanwhile.
    pub fn counted<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
        let before = self.served()?;
        let done = work()?;
        Ok((done, self.served()?.saturating_sub(before + 1)))
    }
}

/// The third number of the line below `server accepts handled requests`.
fn count_in(status: &str) -> Option<u64> {
    let mut lines = status.lines().skip_while(|line| !line.starts_with("server accepts"));
    lines.nth(1)?.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// A program on PATH, or where servers are kept.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    places.map(|place| place.join(program)).find(|file| file.is_file())
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A self-signed certificate for the loopback address.
fn write_certificate(place: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    fs::write(place.join("certificate.pem"), made.cert.pem())?;
    fs::write(place.join("key.pem"), made.signing_key.serialize_pem())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_status_page() {
        let page = "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 16 16 4711 \nReading: 0\n";
        assert_eq!(count_in(page), Some(4_711));
        assert_eq!(count_in("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
