//! Lines of a script and about it: their destinations and form.
//!
//! They have k6's form: on a terminal for people, elsewhere for programs that search them. During the load a thread of
//! its own writes them, because a reader that stops reading must not hold up a virtual user. Does not decide what is
//! logged.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use knee_core::clock::{self, MonotonicClock};
use knee_driver::private_file;
use knee_engine::control::Control;
use knee_js::program::{LogLevel, LogLine, Narrator};
use knee_report::json;
use knee_report::number::counted;

use crate::problem::{Problem, printable, reason};
use crate::settings::script::{Log, LogForm, LogTarget};

mod queue;

use queue::{Pushed, Queue};

/// How long the end of the load waits for a reader that takes no line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where lines go.
pub struct Lines {
    to: Place,
    /// Where lines of `console` go, if elsewhere.
    console: Option<Place>,
    form: LogForm,
    verbose: bool,
    begun: MonotonicClock,
    /// Lines for the terminal, while a screen is on it.
    held: Mutex<Option<Held>>,
    /// During the load: the lines that wait for their thread.
    queue: RwLock<Option<(Arc<Queue<Whose>>, Control)>>,
    /// Says when that thread has written everything.
    written: Mutex<Option<Receiver<()>>>,
}

/// Who said a line.
#[derive(Clone, Copy)]
enum Whose {
    /// knee, about the script.
    Program,
    /// The script's console.
    Console,
}

/// Lines that wait for the terminal.
#[derive(Default)]
struct Held {
    lines: VecDeque<String>,
    /// Their bytes.
    bytes: usize,
    /// Number of dropped lines, which were the oldest.
    lost: u64,
}

/// Most lines that wait for the terminal, and most bytes of them; beyond that, the oldest are dropped.
const HELD_MAX: usize = 1_000;
const HELD_BYTES_MAX: usize = 8 << 20;

impl Held {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > HELD_MAX || self.bytes > HELD_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
            self.lost += 1;
        }
    }
}

enum Place {
    Stderr(fn(&str)),
    Stdout,
    Nowhere,
    File(Mutex<File>),
}

impl Place {
    fn is_terminal(&self) -> bool {
        match self {
            Self::Stderr(_) => std::io::stderr().is_terminal(),
            Self::Stdout => std::io::stdout().is_terminal(),
            Self::Nowhere | Self::File(_) => false,
        }
    }
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
        Ok(Arc::new(Self {
            to,
            console,
            form: log.form,
            verbose: log.verbose,
            begun: MonotonicClock::start(),
            held: Mutex::default(),
            queue: RwLock::default(),
            written: Mutex::default(),
        }))
    }

    /// Where lines about the script go.
    pub fn narrator(self: &Arc<Self>) -> Narrator {
        let lines = self.clone();
        Arc::new(move |line| lines.write(Whose::Program, line))
    }

    /// Where lines of the script go.
    pub fn console(self: &Arc<Self>) -> Narrator {
        let lines = self.clone();
        Arc::new(move |line| lines.write(Whose::Console, line))
    }

    /// From now on nothing is written to the terminal, because a screen uses it.
    pub fn hold(&self) {
        *self.held() = Some(Held::default());
    }

    /// The screen is gone: passes the waiting lines to `narrate`.
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

    /// From now on a thread writes the lines, and a user that says one does not wait for it. If one is dropped, the
    /// record of the run says so.
    pub fn detach(self: &Arc<Self>, control: &Control) {
        let queue = Arc::new(Queue::new());
        let (done, written) = channel();
        let (lines, own) = (self.clone(), queue.clone());
        let write = move || {
            while let Some((whose, text)) = own.next() {
                lines.put(whose, &text);
            }
            // Without a receiver the load has ended, and this thread was too late.
            let _ = done.send(());
        };
        // Without a thread lines are written as before.
        if thread::Builder::new().name("log".to_owned()).spawn(write).is_ok() {
            *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
            *self.queue.write().unwrap_or_else(PoisonError::into_inner) = Some((queue, control.clone()));
        }
    }

    /// Waits until everything is written, or its reader takes nothing for a second; then lines are written at once
    /// again.
    pub fn attach(&self, narrate: fn(&str)) {
        let queue = self.queue.write().unwrap_or_else(PoisonError::into_inner).take();
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some((queue, _)), Some(written)) = (queue, written) else { return };
        queue.close();
        let mut taken = queue.taken();
        while written.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let now = queue.taken();
            if now == std::mem::replace(&mut taken, now) {
                break;
            }
        }
        let lost = queue.give_up();
        if lost > 0 {
            let were = if lost == 1 { "was" } else { "were" };
            let lines = counted(lost, "line");
            narrate(&format!("note: {lines} of the script {were} dropped: the reader was too slow"));
        }
    }

    const fn place(&self, whose: Whose) -> &Place {
        match (whose, &self.console) {
            (Whose::Console, Some(console)) => console,
            _ => &self.to,
        }
    }

    fn write(&self, whose: Whose, line: &LogLine<'_>) {
        if line.level == LogLevel::Debug && !self.verbose {
            return;
        }
        let place = self.place(whose);
        let seconds = place.is_terminal().then(|| self.begun.now().0 / 1_000_000_000);
        let text = shown(self.form, line, seconds);
        if matches!(place, Place::Stderr(_) | Place::Stdout)
            && let Some(held) = &mut *self.held()
        {
            held.push(printable(&text));
            return;
        }
        match &*self.queue.read().unwrap_or_else(PoisonError::into_inner) {
            Some((queue, control)) => {
                if queue.push(whose, text) == Pushed::FirstLost {
                    control.note("lines of the script are dropped: their reader is too slow");
                }
            }
            None => self.put(whose, &text),
        }
    }

    /// Writes a line. One that cannot be written is lost without a message; the run does not depend on it.
    fn put(&self, whose: Whose, text: &str) {
        match self.place(whose) {
            Place::Stderr(narrate) => narrate(&printable(text)),
            Place::Stdout => drop(writeln!(std::io::stdout(), "{}", printable(text))),
            Place::Nowhere => {}
            Place::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                drop(writeln!(file, "{text}"));
            }
        }
    }
}

fn open(path: &Path) -> Result<Place, Problem> {
    let opened = private_file::options().append(true).create(true).open(path);
    opened.map(|file| Place::File(Mutex::new(file))).map_err(|error| {
        Problem::new(
            format!("`{}` cannot be written: {}", path.display(), reason(&error)),
            "check the folder, its permissions and the space left",
        )
    })
}

/// As k6's logger writes it. `seconds` since the start are for a terminal; elsewhere the time of day is.
fn shown(form: LogForm, line: &LogLine<'_>, seconds: Option<u64>) -> String {
    let LogLine { level, message, fields } = line;
    let (short, long) = match level {
        LogLevel::Debug => ("DEBU", "debug"),
        LogLevel::Info => ("INFO", "info"),
        LogLevel::Warn => ("WARN", "warning"),
        LogLevel::Error => ("ERRO", "error"),
    };
    let pair = |(name, value): &(&str, &str)| format!(" {name}={}", quoted(value));
    let rest: String = fields.iter().map(pair).collect();
    match (form, seconds) {
        (LogForm::Raw, _) => (*message).to_owned(),
        (LogForm::Json, _) => {
            let mut line = serde_json::json!({ "level": long, "msg": message, "time": now() });
            fields.iter().for_each(|(name, value)| line[*name] = (*value).into());
            json::line(&line)
        }
        (LogForm::Text, None) => format!("time={:?} level={long} msg={}{rest}", now(), quoted(message)),
        // As wide as k6 makes it, so that fields stand below each other.
        (LogForm::Text, Some(seconds)) if !rest.is_empty() => {
            format!("{short}[{seconds:04}] {message:<44} {rest}")
        }
        (LogForm::Text, Some(seconds)) => format!("{short}[{seconds:04}] {message}"),
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
    if line.chars().all(plain) && !line.is_empty() {
        return line.to_owned();
    }
    let mut text = String::from("\"");
    line.chars().for_each(|letter| escape(letter, &mut text));
    text.push('"');
    text
}

/// Escapes as Go does (`strconv.Quote`), whose form programs that read k6's lines expect.
fn escape(letter: char, text: &mut String) {
    const NAMED: [(char, &str); 9] = [
        ('"', "\\\""),
        ('\\', "\\\\"),
        ('\x07', "\\a"),
        ('\x08', "\\b"),
        ('\x0c', "\\f"),
        ('\n', "\\n"),
        ('\r', "\\r"),
        ('\t', "\\t"),
        ('\x0b', "\\v"),
    ];
    if let Some((_, name)) = NAMED.iter().find(|(named, _)| *named == letter) {
        return text.push_str(name);
    }
    let code = u32::from(letter);
    let shown = letter == '\'' || letter == ' ' || letter.escape_debug().len() == 1;
    // Writing into a string cannot fail.
    let _ = match code {
        _ if shown => write!(text, "{letter}"),
        0..0x80 => write!(text, "\\x{code:02x}"),
        0x80..0x1_0000 => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &[(&str, &str)] = &[("source", "console")];

    fn warning(
        form: LogForm,
        fields: &[(&'static str, &str)],
        seconds: Option<u64>,
        message: &str,
    ) -> String {
        shown(form, &LogLine { level: LogLevel::Warn, message, fields }, seconds)
    }

    /// A line of the script.
    fn said(message: &str) -> LogLine<'_> {
        LogLine { level: LogLevel::Info, message, fields: CONSOLE }
    }

    #[test]
    fn off_a_terminal_a_line_of_the_script_has_k6s_form() {
        let line = |text| warning(LogForm::Text, CONSOLE, None, text);
        let rest = |line: String| line.split_once(' ').unwrap().1.to_owned();
        assert!(line("a").starts_with("time=\"20"), "{}", line("a"));
        assert_eq!(rest(line("a")), "level=warning msg=a source=console");
        assert_eq!(rest(line("a \"b\"\n")), "level=warning msg=\"a \\\"b\\\"\\n\" source=console");
        assert_eq!(rest(line("")), "level=warning msg=\"\" source=console");
        assert_eq!(warning(LogForm::Raw, CONSOLE, None, "as it is"), "as it is");
        let json = warning(LogForm::Json, CONSOLE, None, "a");
        assert!(json.starts_with(r#"{"level":"warning","msg":"a","source":"console","time":"20"#), "{json}");
    }

    #[test]
    fn a_line_of_json_stays_json_whatever_the_script_says() {
        let said = "a\u{2028}b\u{1b}[2J\u{e0041}\u{7f}";
        let line = warning(LogForm::Json, CONSOLE, None, said);
        assert_eq!(printable(&line), line);
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["msg"], said);
    }

    #[test]
    fn a_request_that_failed_has_its_error_beside_the_message() {
        let line = warning(LogForm::Text, &[("error", "Get \"http://h\": EOF")], None, "Request Failed");
        assert!(
            line.ends_with(r#" level=warning msg="Request Failed" error="Get \"http://h\": EOF""#),
            "{line}"
        );
        assert!(warning(LogForm::Text, &[], None, "a b").ends_with(r#" level=warning msg="a b""#));
    }

    #[test]
    fn on_a_terminal_a_line_has_the_seconds_since_the_start_and_its_source_in_a_column() {
        let line = |text| warning(LogForm::Text, CONSOLE, Some(7), text);
        assert_eq!(line("ab"), format!("WARN[0007] ab{}source=console", " ".repeat(44)));
        assert_eq!(warning(LogForm::Text, &[], Some(7), "ab"), "WARN[0007] ab");
    }

    #[test]
    fn what_cannot_be_printed_is_escaped_as_go_does() {
        let cases = [
            ("\x00\x1b\x7f", r#""\x00\x1b\x7f""#),
            ("\x07\x08\x0b\x0c\r\t", r#""\a\b\v\f\r\t""#),
            ("it's ü 世 \u{1f600}", "\"it's ü 世 \u{1f600}\""),
            ("\u{200b}\u{e000}\u{e0001}", r#""\u200b\ue000\U000e0001""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn lines_wait_while_a_screen_is_up_and_the_latest_are_kept() {
        static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let hear = |line: &str| HEARD.lock().unwrap().push(line.to_owned());
        let lines = Lines::open(&Log { form: LogForm::Raw, ..Log::default() }, hear).unwrap();
        lines.hold();
        (0..HELD_MAX + 2).for_each(|number| lines.console()(&said(&number.to_string())));
        assert!(HEARD.lock().unwrap().is_empty());
        lines.release(hear);
        lines.console()(&said("after"));
        let heard = HEARD.lock().unwrap();
        assert_eq!(heard.len(), HELD_MAX + 2);
        assert_eq!(heard[..2], ["note: 2 earlier lines of the script were dropped", "2"]);
        assert_eq!(heard.last().unwrap(), "after");
    }

    #[test]
    fn lines_of_the_load_are_all_written_by_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("console");
        let log = Log { console: Some(file.clone()), form: LogForm::Raw, ..Log::default() };
        let lines = Lines::open(&log, |_| ()).unwrap();
        lines.detach(&Control::new());
        (0..10_000).for_each(|number| lines.console()(&said(&number.to_string())));
        lines.attach(|note| panic!("{note}"));
        lines.console()(&said("after"));
        let text = std::fs::read_to_string(file).unwrap();
        let all: Vec<&str> = text.lines().collect();
        assert_eq!((all.len(), all[9_999], all[10_000]), (10_001, "9999", "after"));
    }

    #[test]
    fn what_the_script_debugs_is_heard_only_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for (name, verbose) in [("quiet", false), ("verbose", true)] {
            let log = Log { console: Some(file(name)), verbose, form: LogForm::Raw, ..Log::default() };
            let lines = Lines::open(&log, |_| ()).unwrap();
            lines.console()(&LogLine { level: LogLevel::Debug, ..said("debugged") });
            lines.console()(&said("said"));
        }
        assert_eq!(std::fs::read_to_string(file("quiet")).unwrap(), "said\n");
        assert_eq!(std::fs::read_to_string(file("verbose")).unwrap(), "debugged\nsaid\n");
    }
}
