//! A board that runs for one test, and a browser for it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::Instant;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

const PROGRAM: &str = env!("CARGO_BIN_EXE_lorem-news");

/// A folder with the seed data; filled once and copied.
pub fn seeded() -> TempDir {
    static FILLED: OnceLock<TempDir> = OnceLock::new();
    let filled = FILLED.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        fill(folder.path(), &["--posts", "200"]);
        folder
    });
    let folder = TempDir::new().unwrap();
    std::fs::copy(file_in(filled.path()), file_in(folder.path())).unwrap();
    folder
}

/// Runs `lorem-news seed`.
pub fn fill(folder: &Path, more: &[&str]) {
    let status = Command::new(PROGRAM)
        .args(["seed", "--data"])
        .arg(folder)
        .args(more)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

/// The database file of a folder.
pub fn file_in(folder: &Path) -> PathBuf {
    folder.join("lorem.sqlite3")
}

/// A running board.
pub struct Board {
    pub child: Child,
    /// Keeps the pipe open, so that the program can always write to it.
    _output: BufReader<ChildStdout>,
    pub url: String,
    pub folder: TempDir,
}

impl Board {
    /// Serves seed data with the benchmark routes, and more flags.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_in(seeded(), &[&["--benchmarking", "on"], flags].concat())
    }

    /// Serves a folder.
    pub fn start_in(folder: TempDir, flags: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path())
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("the address is printed").to_owned();
        Self { child, _output: output, url, folder }
    }

    /// A connection of the test's own.
    pub fn database(&self) -> Connection {
        Connection::open(file_in(self.folder.path())).unwrap()
    }

    /// One number from the database.
    pub fn number(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// A counter of the process that answers.
    pub fn counter(&self, name: &str) -> u64 {
        let text = Browser::new(self).get("/metrics").body;
        let line = text.lines().find(|line| line.starts_with(&format!("{name}{{"))).unwrap();
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    }

    /// Asks again until a counter has reached `n`.
    pub fn wait_for(&self, name: &str, n: u64) {
        wait(name, || self.counter(name) >= n);
    }

    /// POST to a benchmark route.
    pub fn benchmark(&self, route: &str) -> Answer {
        Browser::new(self).post(&format!("/benchmarking/{route}"), &[])
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again until something is so.
pub fn wait(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "{what}: waited for {PATIENCE:?}");
        std::thread::yield_now();
    }
}

/// Sends a signal by name to one process.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub location: String,
    pub cookies: Vec<String>,
    pub body: String,
}

/// Keeps cookies, follows nothing.
pub struct Browser {
    agent: ureq::Agent,
    url: String,
    cookies: Vec<(String, String)>,
}

impl Browser {
    pub fn new(board: &Board) -> Self {
        Self::at(&board.url)
    }

    pub fn at(url: &str) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build()
            .new_agent();
        Self { agent, url: url.to_owned(), cookies: Vec::new() }
    }

    pub fn get(&mut self, path: &str) -> Answer {
        let request = self.agent.get(format!("{}{path}", self.url)).header("cookie", self.cookie_header());
        let response = request.call().unwrap();
        self.take(response)
    }

    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.try_post(path, fields).unwrap()
    }

    /// As [`Self::post`], for a server that may be gone.
    pub fn try_post(&mut self, path: &str, fields: &[(&str, &str)]) -> Result<Answer, ureq::Error> {
        let request = self.agent.post(format!("{}{path}", self.url)).header("cookie", self.cookie_header());
        let mut response = request.send_form(fields.iter().copied())?;
        // The body is part of the answer: one that is cut off is none.
        let body = response.body_mut().read_to_string()?;
        Ok(self.answer(&response, body))
    }

    /// Posts a form with the token of the page that shows it.
    pub fn submit(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = token_of(&self.get(page).body);
        self.post(path, &[&[("token", token.as_str())], fields].concat())
    }

    /// Signs up a user of this name.
    pub fn sign_up(&mut self, name: &str) {
        let answer = self.submit(
            "/sign_up",
            "/sign_up",
            &[("screen_name", name), ("password", "a good password"), ("about", "")],
        );
        assert_eq!(answer.status, 303, "{}", answer.body);
    }

    /// Writes a post and returns where it is.
    pub fn write_post(&mut self, title: &str, text: &str) -> String {
        let answer = self.submit("/posts/new", "/posts", &[("title", title), ("description", text)]);
        assert_eq!(answer.status, 303, "{}", answer.body);
        answer.location
    }

    pub fn cookie_header(&self) -> String {
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    /// Comes back with the cookies of another time.
    pub fn set_cookies(&mut self, header: &str) {
        self.cookies = header
            .split("; ")
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
    }

    fn take(&mut self, mut response: ureq::http::Response<ureq::Body>) -> Answer {
        let body = response.body_mut().read_to_string().unwrap();
        self.answer(&response, body)
    }

    fn answer(&mut self, response: &ureq::http::Response<ureq::Body>, body: String) -> Answer {
        let header = |name: &str| {
            response
                .headers()
                .get_all(name)
                .iter()
                .map(|v| v.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let cookies = header("set-cookie");
        for cookie in &cookies {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.retain(|(kept, _)| kept != name);
            if !value.is_empty() {
                self.cookies.push((name.into(), value.into()));
            }
        }
        let location = header("location").pop().unwrap_or_default();
        Answer { status: response.status().as_u16(), location, cookies, body }
    }
}

/// The token of the last form of a page.
pub fn token_of(page: &str) -> String {
    let (_, rest) = page.rsplit_once("name=\"token\" value=\"").expect("a form with a token");
    rest.split('"').next().unwrap().to_owned()
}
