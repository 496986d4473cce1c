//! The shop of `labs/findings` without a defect, as `knee study --up` brings it up.
//!
//! Knows the lines that `--up` prints, and nothing else of knee.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::process::{self, Running, SERVER_CPU};

/// A shop that runs with its stores on the CPU of servers. All of it ends with this value.
pub struct Shop {
    running: Running,
    /// Names and addresses as `--up` prints them.
    places: Vec<(String, String)>,
}

impl Shop {
    /// Brings it up with this build of knee.
    pub fn up(root: &Path, knee: &Path) -> Result<Self> {
        let mut command = Command::new(knee);
        command.args(["study", "labs/findings", "--up", "healthy"]).current_dir(root);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = process::spawn_on(SERVER_CPU, &mut command)?;
        let stderr = running.child().stderr.take().context("its messages are piped")?;
        let places = places(stderr)?;
        Ok(Self { running, places })
    }

    /// The process whose descendants are the shop and its stores.
    pub fn pid(&self) -> u32 {
        self.running.id()
    }

    /// The sessions of PostgreSQL, each of which has a process.
    pub fn backends(&self) -> BTreeSet<u32> {
        descendants(self.pid()).into_iter().filter(|pid| is_backend(*pid)).collect()
    }

    /// The address of the service.
    pub fn service(&self) -> &str {
        self.places.iter().find(|(_, url)| url.starts_with("http://")).map_or("", |(_, url)| url)
    }

    /// Everything that observers can watch.
    pub fn sources(&self) -> Vec<String> {
        let stores = self.places.iter().filter(|(_, url)| !url.starts_with("http://"));
        let mut sources: Vec<String> = stores.map(|(_, url)| url.clone()).collect();
        sources.push("host".to_owned());
        let service = descendants(self.pid()).into_iter().find(|pid| name(*pid) == "findings");
        sources.extend(service.map(|pid| format!("pid:{pid}")));
        sources.extend(service.and_then(views).map(|path| format!("sqlite:{path}")));
        sources
    }
}

/// Whether a session has answered all that its client asked, and the client has read it.
pub fn is_idle(session: u32) -> bool {
    let title = title(session);
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    title.trim_end().ends_with(" idle")
        && client_port(&title).is_some_and(|port| has_read_all(&sockets, port))
}

/// Reads until everything is up. Later lines are read and dropped, so that the program never waits.
fn places(stderr: ChildStderr) -> Result<Vec<(String, String)>> {
    let mut lines = BufReader::new(stderr).lines();
    let (mut places, mut seen) = (Vec::new(), String::new());
    loop {
        let Some(line) = lines.next() else { bail!("the shop is not up: {seen}") };
        let line = line?;
        if line.contains("Ctrl-C") {
            break;
        }
        if let Some((name, url)) = line.split_once(" is at ") {
            places.push((name.to_owned(), url.to_owned()));
        }
        seen = line;
    }
    thread::spawn(move || lines.for_each(drop));
    Ok(places)
}

fn descendants(pid: u32) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| list.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|pid| pid.parse().ok())
        .collect();
    let below: Vec<u32> = children.iter().flat_map(|child| descendants(*child)).collect();
    children.into_iter().chain(below).collect()
}

/// The SQLite file that the service has open.
fn views(pid: u32) -> Option<String> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut paths =
        files.filter_map(|file| std::fs::read_link(file.path()).ok()?.into_os_string().into_string().ok());
    paths.find(|path| path.ends_with(".sqlite3"))
}

/// Whether a process serves a client of PostgreSQL: its title names the client's address, such as `127.0.0.1(34198)`.
fn is_backend(pid: u32) -> bool {
    let title = title(pid);
    title.starts_with("postgres: ") && title.contains("127.0.0.1(")
}

/// The port of the client of a backend.
fn client_port(title: &str) -> Option<u16> {
    title.split_once("127.0.0.1(")?.1.split_once(')')?.0.parse().ok()
}

/// Whether the socket of this machine with this local port has read all that has arrived, by `/proc/net/tcp`.
fn has_read_all(sockets: &str, port: u16) -> bool {
    let local = format!("0100007F:{port:04X}");
    let mut lines = sockets.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    lines.any(|words| {
        words.get(1) == Some(&local.as_str())
            && words.get(4).is_some_and(|queues| queues.ends_with(":00000000"))
    })
}

fn title(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_read_all_when_nothing_waits_in_its_socket() {
        let title = "postgres: knee knee 127.0.0.1(34198) idle";
        assert_eq!(client_port(title), Some(34_198));
        let line = |waiting: &str| {
            format!(
                "   1: 0100007F:8596 0100007F:5D13 01 00000000:{waiting} 00:00000000 00000000     0        0 1"
            )
        };
        assert!(has_read_all(&line("00000000"), 34_198));
        assert!(!has_read_all(&line("0000002A"), 34_198) && !has_read_all(&line("00000000"), 34_199));
    }
}
