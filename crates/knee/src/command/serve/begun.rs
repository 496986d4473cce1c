//! A load that `knee serve` has begun: a `knee` of its own, with where its live page is, what it says and how it ended.
//!
//! It never outlives `knee serve` for long: its stdin ends with this process, whatever ends that, and then it stops as
//! after Ctrl-C. Does not choose what is begun ([`super::start`] does).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use knee_report::html::start::Ended;
use rustix::process::{Pid, Signal, kill_process};

use crate::exit::Exit;
use crate::problem::on_one_line;

/// Longest that a load takes to say where its live page is.
const PAGE_TIME: Duration = Duration::from_secs(20);
/// Longest that it takes to say its first word after that. A load says each second how it goes; one that fails says why.
const FIRST_TIME: Duration = Duration::from_secs(5);
/// Longest from an error to the end.
const END_TIME: Duration = Duration::from_secs(5);
/// How an error begins.
const ERROR: &str = "error: ";
/// Most of the last lines that are kept.
const LINES_MAX: usize = 8;
/// What stands before the URL of the live page.
const PAGE: &str = "page that can stop and steer: ";

/// A load in progress, or one that has ended.
#[derive(Debug)]
pub(super) struct Begun {
    /// Its stdin stays open as long as this is kept.
    child: Child,
    title: String,
    said: Arc<Said>,
}

/// What a load has said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    last: VecDeque<String>,
    live: Option<String>,
    /// Whether nothing more comes.
    over: bool,
}

impl Begun {
    /// Begins `knee` with these words, and a live page at a free port of `at`.
    ///
    /// # Errors
    ///
    /// When the system does not let it start.
    pub(super) fn begin(words: &[OsString], title: &str, at: IpAddr) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(page_words(words, at))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal is for `knee serve`, which hands it on.
            .process_group(0)
            .spawn()?;
        let said = Arc::new(Said::default());
        match child.stderr.take() {
            Some(stderr) => hear(stderr, said.clone())?,
            None => said.end(),
        }
        Ok(Self { child, title: title.to_owned(), said })
    }

    /// What it says, to wait for without holding the load.
    pub(super) fn said(&self) -> Arc<Said> {
        self.said.clone()
    }

    /// The number of its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Where its live page is, once it is known.
    pub(super) fn live(&self) -> Option<String> {
        self.said.lines().live.clone()
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How it ended; `None` while it runs.
    pub(super) fn ended(&mut self) -> Option<Ended> {
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => Some(status),
            Err(_) => None,
        };
        let stopped = Some(i32::from(Exit::Interrupted.code()));
        Some(Ended {
            title: self.title.clone(),
            how: match status.and_then(|status| status.code()) {
                Some(0) => "has ended".to_owned(),
                code if code == stopped => "was stopped".to_owned(),
                Some(code) => format!("has ended with exit code {code}"),
                None => status.map_or_else(|| "has ended".to_owned(), by_signal),
            },
            lines: if status.is_some_and(|status| status.success()) { Vec::new() } else { self.said.last() },
        })
    }

    /// Sends SIGINT, as Ctrl-C in a terminal does. Nothing happens if the load has ended.
    pub(super) fn interrupt(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        // It can have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn by_signal(status: ExitStatus) -> String {
    format!("was ended from outside: {status}")
}

/// The words of the command with those of its page. A command of several words has them after the first one.
fn page_words(words: &[OsString], at: IpAddr) -> Vec<OsString> {
    let address = std::net::SocketAddr::new(at, 0);
    let page = [format!("--web={address}"), "--web-control".to_owned(), "--stop-with-input".to_owned()];
    let name = words.iter().take_while(|word| !word.to_string_lossy().starts_with('-')).count();
    let (name, rest) = words.split_at(name);
    name.iter().cloned().chain(page.map(OsString::from)).chain(rest.iter().cloned()).collect()
}

/// Reads what a load says to its end, so that it never waits for a reader.
fn hear(stderr: ChildStderr, said: Arc<Said>) -> io::Result<()> {
    let read = move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            said.add(line);
        }
        said.end();
    };
    thread::Builder::new().name("load".to_owned()).spawn(read).map(drop)
}

impl Said {
    /// Waits for the URL of the live page, and for a word that shows whether the load goes on or failed at once.
    ///
    /// # Errors
    ///
    /// Its last lines if it has no page in time, or failed.
    pub(super) fn page(&self) -> Result<String, String> {
        let lines = self.wait(PAGE_TIME, |lines| lines.live.is_some() || lines.over);
        let Some(live) = lines.live.clone() else {
            drop(lines);
            return Err(self.last().join(" "));
        };
        drop(lines);
        let lines = self.wait(FIRST_TIME, |lines| lines.over || !lines.last.is_empty());
        let failed = lines.last.iter().any(|line| line.starts_with(ERROR));
        drop(lines);
        if failed {
            drop(self.wait(END_TIME, |lines| lines.over));
            return Err(self.last().join(" "));
        }
        Ok(live)
    }

    /// The last lines, the oldest first.
    fn last(&self) -> Vec<String> {
        self.lines().last.iter().map(|line| on_one_line(line)).collect()
    }

    fn add(&self, line: String) {
        let mut lines = self.lines();
        if let Some(url) = line.strip_prefix(PAGE) {
            lines.live = Some(url.to_owned());
        } else if !line.is_empty() && !line.starts_with("page: ") {
            if lines.last.len() == LINES_MAX {
                lines.last.pop_front();
            }
            lines.last.push_back(line);
        }
        self.changed.notify_all();
    }

    fn end(&self) {
        self.lines().over = true;
        self.changed.notify_all();
    }

    /// Waits until `holds`, for `limit` at most.
    fn wait(&self, limit: Duration, holds: impl Fn(&Lines) -> bool) -> MutexGuard<'_, Lines> {
        let waited = self.changed.wait_timeout_while(self.lines(), limit, |lines| !holds(lines));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        // A line is added in one step.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_flags_of_the_page_stand_after_the_name_of_the_command() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let page = "--web=127.0.0.1:0 --web-control --stop-with-input";
        for (asked, expected) in [
            ("run --vus=2 -- a.js", format!("run {page} --vus=2 -- a.js")),
            ("--rate=5 -- http://a/", format!("{page} --rate=5 -- http://a/")),
        ] {
            assert_eq!(page_words(&words(asked), Ipv4Addr::LOCALHOST.into()), words(&expected));
        }
    }

    #[test]
    fn a_load_that_says_no_page_and_ends_is_known_by_its_last_lines() {
        let said = Said::default();
        for line in 0..20 {
            said.add(format!("line {line}\u{1b}[2J"));
        }
        said.end();
        let last = said.page().unwrap_err();
        assert!(last.contains("line 19") && !last.contains("line 11") && !last.contains('\u{1b}'), "{last}");
    }

    #[test]
    fn a_load_that_fails_after_its_page_is_known_by_its_error_and_one_that_goes_on_by_its_first_word() {
        for (word, begins) in [("error: the script has a mistake", false), ("   script: a.js", true)] {
            let said = Said::default();
            said.add(format!("{PAGE}http://127.0.0.1:1/?token=a#control=b"));
            said.add(word.to_owned());
            said.end();
            assert_eq!(said.page().is_ok(), begins, "{word}");
        }
    }

    #[test]
    fn lines_before_the_page_do_not_prolong_the_wait_and_are_not_its_url() {
        let said = Said::default();
        said.add("warning: something".to_owned());
        said.add(format!("{PAGE}http://127.0.0.1:1/?token=a#control=b"));
        said.end();
        assert_eq!(said.page().as_deref(), Ok("http://127.0.0.1:1/?token=a#control=b"));
    }
}
