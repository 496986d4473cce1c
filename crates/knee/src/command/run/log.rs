//! Lines of a script and about it: where they go, and how they look.
//!
//! On a terminal and in a pipe they are short; in a file they look as k6 writes them, with a time. Does
//! not decide what is said.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use knee_core::clock;
use knee_js::program::{LogLevel, Narrator};

use crate::problem::{Problem, printable, reason};
use crate::settings::script::{Log, LogForm, LogTarget};

/// Where lines go.
pub struct Lines {
    to: Place,
    /// Where lines of `console` go, if elsewhere.
    console: Option<Place>,
    form: LogForm,
    verbose: bool,
    /// Lines for the terminal, while a screen is on it.
    held: Mutex<Option<Held>>,
}

/// Lines that wait for the terminal.
#[derive(Default)]
struct Held {
    lines: VecDeque<String>,
    /// How many there was no room for: the oldest.
    lost: u64,
}

/// So many lines wait for the terminal; of more, the oldest are forgotten.
const HELD_MAX: usize = 1_000;

enum Place {
    Stderr(fn(&str)),
    Stdout,
    Nowhere,
    File(Mutex<File>),
}

impl Lines {
    /// Opens the files that lines go to.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn open(log: &Log, narrate: fn(&str)) -> Result<Arc<Self>, Problem> {
        let to = match &log.to {
            LogTarget::Stderr => Place::Stderr(narrate),
            LogTarget::Stdout => Place::Stdout,
            LogTarget::None => Place::Nowhere,
            LogTarget::File(path) => open(path)?,
        };
        let console = log.console.as_deref().map(open).transpose()?;
        Ok(Arc::new(Self { to, console, form: log.form, verbose: log.verbose, held: Mutex::default() }))
    }

    /// Where lines about the script go.
    pub fn narrator(self: &Arc<Self>) -> Narrator {
        let lines = self.clone();
        Arc::new(move |level, line| lines.write(&lines.to, level, line))
    }

    /// Where lines of the script go.
    pub fn console(self: &Arc<Self>) -> Narrator {
        let lines = self.clone();
        Arc::new(move |level, line| lines.write(lines.console.as_ref().unwrap_or(&lines.to), level, line))
    }

    /// From now on nothing is written to the terminal: a screen is on it.
    pub fn hold(&self) {
        *self.held() = Some(Held::default());
    }

    /// The screen is gone: passes what waited to `narrate`.
    pub fn release(&self, narrate: fn(&str)) {
        let Some(held) = self.held().take() else { return };
        if held.lost > 0 {
            narrate(&format!("note: {} earlier lines of the script were dropped", held.lost));
        }
        held.lines.iter().for_each(|line| narrate(line));
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        // Every change of it is a single step.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, place: &Place, level: LogLevel, line: &str) {
        if level == LogLevel::Debug && !self.verbose {
            return;
        }
        let in_file = matches!(place, Place::File(_));
        let text = shown(self.form, in_file, level, line);
        if matches!(place, Place::Stderr(_) | Place::Stdout)
            && let Some(held) = &mut *self.held()
        {
            held.lines.push_back(printable(&text));
            if held.lines.len() > HELD_MAX {
                held.lines.pop_front();
                held.lost += 1;
            }
            return;
        }
        // A line that cannot be written is lost without a message; the run does not depend on it.
        match place {
            Place::Stderr(narrate) => narrate(&printable(&text)),
            Place::Stdout => drop(writeln!(std::io::stdout(), "{}", printable(&text))),
            Place::Nowhere => {}
            Place::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                drop(writeln!(file, "{text}"));
            }
        }
    }
}

fn open(path: &Path) -> Result<Place, Problem> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(|file| Place::File(Mutex::new(file))).map_err(|error| {
        Problem::new(
            format!("`{}` cannot be written: {}", path.display(), reason(&error)),
            "check the folder, its permissions and the space left",
        )
    })
}

fn shown(form: LogForm, in_file: bool, level: LogLevel, line: &str) -> String {
    let (short, long) = match level {
        LogLevel::Debug => ("DEBU", "debug"),
        LogLevel::Info => ("INFO", "info"),
        LogLevel::Warn => ("WARN", "warning"),
        LogLevel::Error => ("ERRO", "error"),
    };
    match form {
        LogForm::Raw => line.to_owned(),
        LogForm::Json => serde_json::json!({ "level": long, "msg": line, "time": now() }).to_string(),
        LogForm::Text if in_file => format!("time={:?} level={long} msg={}", now(), quoted(line)),
        LogForm::Text => format!("{short} {line}"),
    }
}

/// To the second, as RFC 3339 writes it.
fn now() -> String {
    let seconds = clock::wall().as_nanos() / 1_000_000_000;
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.unwrap_or_default().to_string()
}

/// In quotes unless it is one plain word.
fn quoted(line: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/@^+".contains(c);
    if !line.is_empty() && line.chars().all(plain) { line.to_owned() } else { format!("{line:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_a_file_looks_as_k6_writes_it() {
        let line = |text| shown(LogForm::Text, true, LogLevel::Warn, text);
        let rest = |line: String| line.split_once(' ').unwrap().1.to_owned();
        assert!(line("a").starts_with("time=\"20"), "{}", line("a"));
        assert_eq!(rest(line("a")), "level=warning msg=a");
        assert_eq!(rest(line("a \"b\"\n")), "level=warning msg=\"a \\\"b\\\"\\n\"");
        assert_eq!(shown(LogForm::Raw, true, LogLevel::Info, "as it is"), "as it is");
        assert_eq!(shown(LogForm::Text, false, LogLevel::Info, "short"), "INFO short");
    }

    #[test]
    fn lines_wait_while_a_screen_is_up_and_the_latest_are_kept() {
        static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let hear = |line: &str| HEARD.lock().unwrap().push(line.to_owned());
        let lines = Lines::open(&Log { form: LogForm::Raw, ..Log::default() }, hear).unwrap();
        lines.hold();
        (0..HELD_MAX + 2).for_each(|number| lines.console()(LogLevel::Info, &number.to_string()));
        assert!(HEARD.lock().unwrap().is_empty());
        lines.release(hear);
        lines.console()(LogLevel::Info, "after");
        let heard = HEARD.lock().unwrap();
        assert_eq!(heard.len(), HELD_MAX + 2);
        assert_eq!(heard[..2], ["note: 2 earlier lines of the script were dropped", "2"]);
        assert_eq!(heard.last().unwrap(), "after");
    }

    #[test]
    fn what_the_script_debugs_is_heard_only_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for (name, verbose) in [("quiet", false), ("verbose", true)] {
            let log = Log { console: Some(file(name)), verbose, form: LogForm::Raw, ..Log::default() };
            let lines = Lines::open(&log, |_| ()).unwrap();
            lines.console()(LogLevel::Debug, "debugged");
            lines.console()(LogLevel::Info, "said");
        }
        assert_eq!(std::fs::read_to_string(file("quiet")).unwrap(), "said\n");
        assert_eq!(std::fs::read_to_string(file("verbose")).unwrap(), "debugged\nsaid\n");
    }
}
