//! Runs one case under one program, in a folder and an environment of its own.
//!
//! Knows the two command lines, and nothing of what the case is about.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::case::Case;
use super::console::Writer;
use super::outcome::Outcome;
use super::server::{Request, Server};
use super::{console, outcome, samples, wire};

/// A case that takes longer is broken.
const TIME_MAX: Duration = Duration::from_secs(60);

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The longest text of a file or of standard output that is kept as it is.
const LINES_MAX: usize = 200;

/// The file with the authority whose certificates are to be trusted.
const AUTHORITY: &str = "authority.pem";

/// One of the two programs.
#[derive(Clone, Debug)]
pub enum Program {
    /// The one that is followed.
    K6(PathBuf),
    /// The one that follows.
    Knee(PathBuf),
}

impl Program {
    /// Whose lines are on stderr.
    const fn writer(&self) -> Writer {
        match self {
            Self::K6(_) => Writer::K6,
            Self::Knee(_) => Writer::Knee,
        }
    }

    /// The command line up to the script's own words.
    fn command(&self) -> Command {
        match self {
            Self::K6(path) => {
                let mut command = Command::new(path);
                command.args(["run", "--quiet", "--no-usage-report", "--no-color"]);
                command.args(["--address", ""]);
                command
            }
            Self::Knee(path) => {
                let mut command = Command::new(path);
                command.args(["run", "--quiet", "--no-color"]);
                command
            }
        }
    }
}

/// Where a case is run: a server, and a folder for what the program writes.
pub struct Place {
    server: Server,
    scratch: TempDir,
    /// A request as it is compared.
    line: fn(&Request) -> String,
}

impl Place {
    /// A fresh one.
    pub fn new() -> Result<Self> {
        Self::with(Server::start()?, wire::line)
    }

    /// One whose server stands for all hosts, which lines of requests therefore name.
    pub fn for_all_hosts() -> Result<Self> {
        let place = Self::with(Server::catching_all()?, |request| {
            format!("{} {}", request.header("host").unwrap_or_default(), wire::line(request))
        })?;
        let address = place.server.base.trim_start_matches("http://");
        fs::write(place.config(), json!({ "hosts": { "*": address } }).to_string())?;
        Ok(place)
    }

    fn with(server: Server, line: fn(&Request) -> String) -> Result<Self> {
        let scratch = TempDir::new()?;
        fs::write(scratch.path().join(AUTHORITY), &server.secure.authority)?;
        Ok(Self { server, scratch, line })
    }

    /// A configuration file of both programs, in which all hosts are the server.
    pub fn config(&self) -> PathBuf {
        self.scratch.path().join("config.json")
    }

    /// What comes of `case` under `program`.
    pub fn run(&self, program: &Program, case: &Case) -> Result<Outcome> {
        let home = self.scratch.path();
        let (out, summary) = (home.join("out"), home.join("summary.json"));
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_file(&summary);
        fs::create_dir(&out)?;
        self.server.take();
        let ran = finish(self.command(program, case, &out, &summary)?.spawn(), &case.interrupt)
            .with_context(|| format!("{} under {program:?}", case.name))?;
        let mut outcome = Outcome::default();
        outcome.add("exit", vec![ran.code.to_string()]);
        let requests = self.server.take();
        let seen = requests.iter().map(|request| self.plain(&(self.line)(request), case)).collect();
        outcome.add("requests", case.order.apply(seen));
        let said = console::lines(program.writer(), &self.plain(&ran.stderr, case));
        outcome.add("console", case.lines.apply(said));
        if let Ok(text) = fs::read_to_string(&summary) {
            let summary: Value = serde_json::from_str(&self.plain(&text, case))
                .with_context(|| format!("the summary of {} is no JSON", case.name))?;
            outcome.add_summary(case, &summary);
        }
        if case.stdout {
            outcome.add("stdout", masked(self.lines(without_own(&ran.stdout), case)));
        }
        let written = |name: &String| {
            let text = fs::read_to_string(out.join(name)).unwrap_or_else(|_| "(no file)".to_owned());
            self.plain(&text, case)
        };
        for name in &case.files {
            outcome.add(&format!("file {name}"), self.lines(&written(name), case));
        }
        for name in &case.samples {
            outcome.add(&format!("samples {name}"), samples::lines(&written(name)));
        }
        Ok(outcome)
    }

    fn command(&self, program: &Program, case: &Case, out: &Path, summary: &Path) -> Result<Command> {
        let mut command = program.command();
        command.arg("--summary-export").arg(summary);
        if !case.arguments.iter().any(|word| word == "--log-format") {
            command.args(["--log-format", "json"]);
        }
        command.args(case.arguments.iter().map(|word| self.filled(word, case)));
        if case.stdin {
            command.arg("-").stdin(fs::File::open(&case.path)?);
        } else {
            command.arg(&case.path).stdin(Stdio::null());
        }
        command.current_dir(out).env_clear();
        command.env("HOME", self.scratch.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("BASE", &self.server.base).env("SSL_CERT_FILE", self.scratch.path().join(AUTHORITY));
        command.envs(self.server.secure.variables.iter().map(|(name, value)| (name, value)));
        command.envs(case.environment.iter().map(|(name, value)| (name, self.filled(value, case))));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// A word of a case's head with its placeholders replaced.
    fn filled(&self, word: &str, case: &Case) -> String {
        self.names(case).into_iter().fold(word.to_owned(), |word, (name, value)| word.replace(name, &value))
    }

    /// A text with what differs from run to run replaced by placeholders.
    fn plain(&self, text: &str, case: &Case) -> String {
        let is_address = |value: &str| value.starts_with("https://") || value.starts_with("127.0.0.1:");
        let doors = self.server.secure.variables.iter().filter(|(_, value)| is_address(value));
        let text = doors.fold(text.to_owned(), |text, (name, base)| {
            let host = base.trim_start_matches("https://");
            text.replace(base, &format!("{{{name}}}")).replace(host, &format!("{{{name} host}}"))
        });
        self.names(case).into_iter().fold(text, |text, (name, value)| text.replace(&value, name))
    }

    /// Placeholders and what they stand for; longer values first where one is in another.
    fn names(&self, case: &Case) -> [(&'static str, String); 5] {
        let folder = case.path.parent().unwrap_or(Path::new("")).display().to_string();
        let host = self.server.base.trim_start_matches("http://").to_owned();
        let out = self.scratch.path().join("out").display().to_string();
        let (base, proxy) = (self.server.base.clone(), self.server.proxy.clone());
        [("{base}", base), ("{host}", host), ("{dir}", folder), ("{out}", out), ("{proxy}", proxy)]
    }

    fn lines(&self, text: &str, case: &Case) -> Vec<String> {
        let text = self.plain(text, case);
        text.lines().take(LINES_MAX).map(|line| line.trim_end().to_owned()).collect()
    }
}

/// What stands on stdout in k6's place: knee's own result, which begins with its name and version, comes below it.
fn without_own(stdout: &str) -> &str {
    let own = stdout.match_indices("knee ").find(|(place, _)| {
        let begins = *place == 0 || stdout[..*place].ends_with('\n');
        begins && stdout[place + "knee ".len()..].starts_with(|c: char| c.is_ascii_digit())
    });
    own.map_or(stdout, |(place, _)| &stdout[..place]).trim_end()
}

/// Lines of k6's summary without times and rates, and without the spaces that follow from those; any other
/// lines as they are.
fn masked(lines: Vec<String>) -> Vec<String> {
    let mut timed = false;
    let mask = |line: String| {
        let Some((name, _)) = line.split_once("..: ") else { return line };
        let name = name.trim().trim_end_matches('.').to_owned();
        // The line of a filter stands below that of its metric.
        if !name.starts_with('{') {
            timed = outcome::is_timed(&name);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.split_last() {
            _ if timed => format!("{name}: masked"),
            Some((last, kept)) if last.ends_with("/s") => kept.join(" ") + " #/s",
            _ => words.join(" "),
        }
    };
    lines.into_iter().map(mask).collect()
}

/// What a program left behind.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Waits for the end of a program; one that takes too long is ended. Interrupts it when it has said the words that
/// ask for that.
fn finish(child: std::io::Result<Child>, interrupt: &[String]) -> Result<Ran> {
    let mut child = child.context("cannot be started")?;
    let id = Pid::from_raw(i32::try_from(child.id())?);
    let stdout = read(child.stdout.take(), id, Vec::new());
    let stderr = read(child.stderr.take(), id, interrupt.to_vec());
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > TIME_MAX {
            child.kill()?;
            child.wait()?;
            bail!("did not end within {} s", TIME_MAX.as_secs());
        }
        thread::sleep(LOOK);
    };
    let text = |reader: thread::JoinHandle<String>| reader.join().map_err(|_| anyhow!("a reader ended"));
    Ok(Ran { code: status.code().unwrap_or(-1), stdout: text(stdout)?, stderr: text(stderr)? })
}

/// Reads to the end; sends SIGINT for each of the words when it comes by, in their order.
fn read(
    mut pipe: Option<impl Read + Send + 'static>,
    id: Pid,
    interrupt: Vec<String>,
) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut words = interrupt.into_iter().peekable();
        let mut seen = 0;
        let mut piece = [0; 4096];
        // What came before an error is all there is.
        while let Some(count) = pipe.as_mut().and_then(|pipe| pipe.read(&mut piece).ok()).filter(|n| *n > 0) {
            bytes.extend_from_slice(&piece[..count]);
            while let Some(word) = words.peek() {
                let found = bytes[seen..].windows(word.len()).position(|part| part == word.as_bytes());
                let Some(place) = found else { break };
                seen += place + word.len();
                words.next();
                // A program that is gone has its exit code already.
                let _ = kill(id, Signal::SIGINT);
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_knee_itself_is_not_compared() {
        assert_eq!(without_own("k6 says\n\nknee 0.1.0  x.js\nclosed\n"), "k6 says");
        assert_eq!(without_own("knee 0.1.0  x.js\nclosed\n"), "");
        assert_eq!(without_own("my knee 0.1\n"), "my knee 0.1");
    }

    #[test]
    fn a_summary_is_compared_without_its_times_and_rates() {
        let lines = [
            ("    http_req_duration....: avg=127.1µs min=1s", "http_req_duration: masked"),
            ("      { a:b }............: avg=127.1µs min=1s", "{ a:b }: masked"),
            ("    my_count.............: 2   14.3/s", "my_count.............: 2 #/s"),
            ("      { a:b }............: 1   7.1/s", "{ a:b }............: 1 #/s"),
            ("    my_trend.............: avg=1   min=2", "my_trend.............: avg=1 min=2"),
            ("    ✓ is 200", "    ✓ is 200"),
        ];
        let (given, expected): (Vec<_>, Vec<_>) =
            lines.iter().map(|(one, two)| (one.to_string(), *two)).unzip();
        assert_eq!(masked(given), expected);
    }
}
