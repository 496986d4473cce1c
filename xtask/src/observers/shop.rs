//! The shop of `labs/findings` without a defect, as `knee study --up` brings it up.
//!
//! Knows the lines that `--up` prints, and nothing else of knee.

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

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}
