//! Test fixture: a running board and a browser, for one test each.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::Instant;

/// Timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(60);

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
    std::fs::copy(database_path(filled.path()), database_path(folder.path())).unwrap();
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
pub fn database_path(folder: &Path) -> PathBuf {
    folder.join("lorem.sqlite3")
}

/// A running board.
pub struct Board {
    pub child: Child,
    /// Keeps the pipe open, so that the program can write to it.
    _output: BufReader<ChildStdout>,
    pub url: String,
    pub folder: TempDir,
}

impl Board {
    /// Serves seed data with the benchmark routes and further flags.
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

    /// Opens a connection to the database.
    pub fn database(&self) -> Connection {
        Connection::open(database_path(self.folder.path())).unwrap()
    }

    /// Number that a query returns.
    pub fn number(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// A counter of the process that responds.
    pub fn counter(&self, name: &str) -> u64 {
        let text = Browser::new(self).get("/metrics").body;
        let line = text.lines().find(|line| line.starts_with(&format!("{name}{{"))).unwrap();
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    }

    /// Polls until a counter has reached `n`.
    pub fn wait_for(&self, name: &str, n: u64) {
        wait(name, || self.counter(name) >= n);
    }

    /// POST to a benchmark route.
    pub fn benchmark(&self, route: &str) -> Response {
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

/// Polls until a condition holds.
pub fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < end, "{what}: waited for {TIMEOUT:?}");
        std::thread::yield_now();
    }
}

/// Sends a signal by name to one process.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A response, read to its end.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub location: String,
    pub cookies: Vec<String>,
    pub body: String,
}

/// A client that keeps cookies and does not follow redirects.
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

    pub fn get(&mut self, path: &str) -> Response {
        let request = self.agent.get(format!("{}{path}", self.url)).header("cookie", self.cookie_header());
        let response = request.call().unwrap();
        self.take(response)
    }

    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.try_post(path, fields).unwrap()
    }

    /// As [`Self::post`], for a server that may have ended.
    pub fn try_post(&mut self, path: &str, fields: &[(&str, &str)]) -> Result<Response, ureq::Error> {
        let request = self.agent.post(format!("{}{path}", self.url)).header("cookie", self.cookie_header());
        let mut response = request.send_form(fields.iter().copied())?;
        // A response with an incomplete body is an error.
        let body = response.body_mut().read_to_string()?;
        Ok(self.response(&response, body))
    }

    /// Posts a form with the token of the page that shows it.
    pub fn submit(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Response {
        let token = token_of(&self.get(page).body);
        self.post(path, &[&[("token", token.as_str())], fields].concat())
    }

    /// Signs up a user of this name.
    pub fn sign_up(&mut self, name: &str) {
        let response = self.submit(
            "/sign_up",
            "/sign_up",
            &[("screen_name", name), ("password", "a good password"), ("about", "")],
        );
        assert_eq!(response.status, 303, "{}", response.body);
    }

    /// Writes a post and returns its path.
    pub fn write_post(&mut self, title: &str, text: &str) -> String {
        let response = self.submit("/posts/new", "/posts", &[("title", title), ("description", text)]);
        assert_eq!(response.status, 303, "{}", response.body);
        response.location
    }

    pub fn cookie_header(&self) -> String {
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    /// Replaces the cookies.
    pub fn set_cookies(&mut self, header: &str) {
        self.cookies = header
            .split("; ")
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
    }

    fn take(&mut self, mut response: ureq::http::Response<ureq::Body>) -> Response {
        let body = response.body_mut().read_to_string().unwrap();
        self.response(&response, body)
    }

    fn response(&mut self, response: &ureq::http::Response<ureq::Body>, body: String) -> Response {
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
        Response { status: response.status().as_u16(), location, cookies, body }
    }
}

/// The token of the last form of a page.
pub fn token_of(page: &str) -> String {
    let (_, rest) = page.rsplit_once("name=\"token\" value=\"").expect("a form with a token");
    rest.split('"').next().unwrap().to_owned()
}
