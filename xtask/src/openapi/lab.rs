//! The labs that have a document, and how each is brought up to be asked.
//!
//! Every lab takes its settings from variables that begin with its name, says `listening on URL` first, and serves its
//! document at `/openapi.json`; what differs is a row of [`LABS`].

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::store::Store;
use crate::process::{self, Running};

/// A lab.
#[derive(Debug)]
pub struct Lab {
    /// Its package, and its program.
    pub name: &'static str,
    /// Whether it needs Redis beside PostgreSQL.
    pub redis: bool,
    /// Arguments of `seed`.
    pub seed: &'static [&'static str],
    /// Arguments of `serve`.
    pub serve: &'static [&'static str],
    /// How callers are known.
    pub caller: Caller,
    /// Paths that are not asked, as what they do would end the rest, or does not end itself.
    pub without: &'static [&'static str],
    /// Checks of schemathesis that do not hold, for a reason.
    pub unchecked: &'static [&'static str],
}

/// How a lab knows its callers.
#[derive(Debug)]
pub enum Caller {
    /// It does not ask.
    Anybody,
    /// By a header.
    Header(&'static str),
    /// By a cookie, for a POST of JSON to this path.
    Cookie(&'static str, &'static str),
}

/// Those with a document.
pub const LABS: &[Lab] = &[
    Lab {
        name: "todos",
        redis: false,
        seed: &["--rows", "50"],
        serve: &[],
        caller: Caller::Anybody,
        without: &["/todos/changes"],
        unchecked: &[],
    },
    Lab {
        name: "trenova",
        redis: true,
        seed: &["--tenants", "2", "--workers", "20"],
        serve: &["--rate-limit", "off"],
        caller: Caller::Cookie(
            "/api/v1/auth/login",
            r#"{"emailAddress":"user1@org1.example","password":"password"}"#,
        ),
        // A user who signs out has no rights in later requests.
        without: &["/api/v1/auth/logout"],
        // Every request has the cookie, also where the fuzzer means to leave it out; and a text without control characters
        // is more than the document can say.
        unchecked: &["negative_data_rejection", "positive_data_acceptance"],
    },
    Lab {
        name: "runlater",
        redis: false,
        seed: &["--tasks", "20", "--key", "pk_live_schema.sk_live_schema"],
        serve: &["--rate-limit-minute", "0", "--rate-limit-hour", "0"],
        caller: Caller::Header("Authorization: Bearer pk_live_schema.sk_live_schema"),
        without: &["/api/v1/events"],
        // Whether a time is taken depends on the clock, of which a schema knows nothing.
        unchecked: &["positive_data_acceptance"],
    },
    Lab {
        name: "tickets",
        redis: true,
        seed: &["--tickets", "2", "--stock", "100000", "--units-per-ticket", "1000"],
        serve: &[],
        caller: Caller::Anybody,
        without: &[],
        // Lines of one ticket count together, and a key belongs to one order: a schema knows nothing of either. An
        // order that was cancelled can still be looked at.
        unchecked: &["positive_data_acceptance", "use_after_free"],
    },
];

impl Lab {
    /// Why it cannot be tried here, as the environment says.
    pub fn left_out(&self) -> Option<&'static str> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
        if is_set("KNEE_WITHOUT_POSTGRES") {
            return Some("the environment says that this machine does not have PostgreSQL");
        }
        (self.redis && is_set("KNEE_WITHOUT_REDIS"))
            .then_some("the environment says that this machine does not have Redis")
    }
}

impl Caller {
    /// What a caller sends with each request.
    fn headers(&self, url: &str) -> Result<Vec<String>> {
        Ok(match self {
            Self::Anybody => Vec::new(),
            Self::Header(header) => vec![(*header).to_owned()],
            Self::Cookie(path, body) => vec![format!("Cookie: {}", sign_in(url, path, body)?)],
        })
    }
}

/// Signs in and returns the cookie.
fn sign_in(url: &str, path: &str, body: &str) -> Result<String> {
    let address = url.strip_prefix("http://").context("a service listens on plain HTTP")?;
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    cookie(&answer).with_context(|| format!("{path} gave no cookie: {answer}"))
}

/// The name and value of the first cookie of an answer.
fn cookie(answer: &str) -> Option<String> {
    let head = answer.split("\r\n\r\n").next()?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))?;
    Some(value.split(';').next()?.trim().to_owned())
}

/// A lab that answers.
pub struct Standing {
    /// Where.
    pub url: String,
    /// Headers that callers must send.
    pub headers: Vec<String>,
    // In the order in which they must end: the service, then what it uses.
    _process: Running,
    /// Kept so that the service can always write to it.
    _output: BufReader<ChildStdout>,
    _stores: Vec<Store>,
}

impl Standing {
    /// Fills stores of its own for a lab and starts its program on them.
    pub fn up(program: &Path, lab: &Lab) -> Result<Self> {
        let postgres = Store::postgres()?;
        let redis = lab.redis.then(Store::redis).transpose()?;
        let command = |verb: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            let prefix = lab.name.to_uppercase();
            command.arg(verb).args(arguments).env(format!("{prefix}_POSTGRES"), &postgres.url);
            command.env(format!("{prefix}_LISTEN"), "127.0.0.1:0");
            command.env(format!("{prefix}_LOG_LEVEL"), "error");
            if let Some(redis) = &redis {
                command.env(format!("{prefix}_REDIS"), &redis.url);
            }
            command.stdin(Stdio::null());
            command
        };
        seed(&mut command("seed", lab.seed))?;
        let mut process = process::spawn(command("serve", lab.serve).stdout(Stdio::piped()))?;
        let output = process.child().stdout.take().context("the pipe is missing")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let url =
            line.trim().strip_prefix("listening on ").context("the service did not come up")?.to_owned();
        let headers = lab.caller.headers(&url)?;
        let stores = [Some(postgres), redis].into_iter().flatten().collect();
        Ok(Self { url, headers, _process: process, _output: output, _stores: stores })
    }
}

/// Fills the stores; PostgreSQL can still be starting when its port is already open.
fn seed(command: &mut Command) -> Result<()> {
    let mut said = String::new();
    for _ in 0..50 {
        let output = command.output().context("cannot run the lab")?;
        if output.status.success() {
            return Ok(());
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !said.contains("starting up") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the stores cannot be filled: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_read_from_the_head_of_an_answer() {
        let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=a1b2; Path=/; HttpOnly\r\n\r\nset-cookie: no=1";
        assert_eq!(cookie(answer).as_deref(), Some("sid=a1b2"));
        assert_eq!(cookie("HTTP/1.1 401 Unauthorized\r\n\r\nset-cookie: no=1"), None);
    }
}
