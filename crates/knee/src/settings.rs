//! Resolves a command line into a plan, prepared requests and settings, or reports its first error.
//!
//! Reads the files that flags name and looks up host names, so that errors are found before any
//! load. Does not open output files (see [`output::Output::open`]), does not
//! connect (see [`target::probe`]) and does not read the environment: that arrives as
//! [`Surroundings`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use knee_core::plan::{Endpoint, Plan};
use knee_engine::http::settings::Settings;
use knee_engine::requests::RequestTemplate;

use crate::args::{LaterFlags, LoadArgs};
use crate::problem::{Problem, reason};

pub mod amount;

pub mod compare;

pub mod connection;

pub mod form;

pub mod network;

pub mod number;

pub mod output;

pub mod request;

pub mod script;

pub mod sweep;

pub mod target;

#[cfg(test)]
mod tests;

/// Input from the machine and the environment, which was not typed.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// CPUs this process may use; 1 or more.
    pub cpus: u16,
    /// Whether stdout is a terminal.
    pub stdout_terminal: bool,
    /// Whether stderr is a terminal.
    pub stderr_terminal: bool,
    /// Whether `NO_COLOR` is set to something.
    pub no_color: bool,
    /// Finds the addresses of a name.
    pub resolve: target::Resolve,
}

impl Surroundings {
    /// Those of this process.
    pub fn read() -> Self {
        use std::io::IsTerminal;
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            cpus: u16::try_from(cpus).unwrap_or(u16::MAX),
            stdout_terminal: std::io::stdout().is_terminal(),
            stderr_terminal: std::io::stderr().is_terminal(),
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            resolve: target::resolve,
        }
    }
}

/// A load that is ready to start.
#[derive(Clone, Debug)]
pub struct Load {
    /// What is sent and when.
    pub plan: Plan,
    /// How connections are made and responses are read.
    pub http: Settings,
    /// What is sent.
    pub requests: Vec<RequestTemplate>,
    /// Seed of everything random: arrivals, and which of several URLs and bodies comes next.
    pub seed: u64,
    /// Where it goes, for titles: the URL without credentials.
    pub title: String,
    /// Where connections will be made, with the addresses found.
    pub targets: Vec<target::Target>,
    /// Hosts that the user allowed by name to be loaded although they are public. A redirect to
    /// another public host must not be followed.
    pub allowed_hosts: Vec<String>,
    /// What is shown and saved.
    pub output: output::Output,
    /// What the user should know before the load begins; for stderr.
    pub notes: Vec<String>,
}

/// Resolves what was typed.
///
/// # Errors
///
/// The first error found; cheap checks come before those that read files or ask name servers.
pub fn resolve(args: &LoadArgs, surroundings: &Surroundings) -> Result<Load, Problem> {
    let flags = &args.flags;
    let mut notes = explain_later(&flags.later)?;
    let output = output::output(&flags.output, surroundings)?;
    let amount = amount::amount(&flags.amount, surroundings.cpus, &mut notes)?;
    let http = connection::settings(&flags.connection, &flags.request)?;
    let urls = request::urls(args.url.as_deref(), flags.request.urls_from_file.as_deref())?;
    let (requests, names) = request::requests(&flags.request, &urls)?;
    let targets = target::targets(&requests, &http, surroundings.resolve)?;

    let plan = Plan {
        scenarios: vec![amount.scenario],
        endpoints: names.into_iter().map(|name| Endpoint { name }).collect(),
        warm_up: amount.warm_up,
        grace: amount.grace,
        request_timeout: http.request_timeout,
        connect_timeout: http.connect_timeout,
        workers: amount.workers,
        interval: amount::INTERVAL,
    };
    target::refuse_public(&targets, &plan, &flags.amount.allow_hosts)?;
    Ok(Load {
        plan,
        http,
        title: request::title(&urls),
        requests,
        seed: amount.seed,
        targets,
        allowed_hosts: flags.amount.allow_hosts.clone(),
        output,
        notes,
    })
}

/// Size limit of a file that a flag names: more is an error, such as `/dev/zero`.
const FILE_MAX: u64 = 1 << 30;

/// The content of a file that `flag` names.
fn read_file(flag: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::new(
            format!("`{}` cannot be read, for `{flag}`: {}", path.display(), reason(&error)),
            "check the path and its permissions",
        )
    };
    let mut content = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_MAX + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > FILE_MAX {
        return Err(Problem::new(
            format!("`{}` is larger than 1 GiB, for `{flag}`", path.display()),
            "give a smaller file",
        ));
    }
    Ok(content)
}

/// Refuses unsupported flags of other tools, and returns notes on those that need no flag here.
fn explain_later(later: &LaterFlags) -> Result<Vec<String>, Problem> {
    let http2 = later.http2 || later.parallel.as_deref().is_some_and(|streams| streams != "1");
    let version = later.http_version.as_deref().filter(|version| *version != "1.1");
    let proxy = later.proxy.is_some()
        || later.proxy_http2
        || later.proxy_http_version.is_some()
        || !later.proxy_header.is_empty();
    let bursts = later.burst_delay.is_some() || later.burst_rate.is_some();
    let regex = later.rand_regex_url || later.max_repeat.is_some() || later.dump_urls.is_some();
    let refused = [
        (http2, "HTTP/2", "leave out `--http2` and `-p`: this version supports HTTP/1.1 only"),
        (
            version.is_some(),
            "another HTTP version",
            "leave out `--http-version`: this version supports HTTP/1.1 only",
        ),
        (proxy, "a proxy", "leave out `-x` and `--proxy-*`"),
        (
            bursts,
            "a load in bursts",
            "use `--stage` to change the rate over time, as in `-q 0 --stage 0s:100,1s:100,0s:0`",
        ),
        (
            regex,
            "a URL from a regular expression",
            "list the URLs in a file and give it with `--urls-from-file`",
        ),
        (
            later.db_url.is_some(),
            "a database of requests",
            "every run is saved: see `knee report --list`; `--record FILE` names the file",
        ),
        (
            later.aws_session.is_some() || later.aws_sigv4.is_some(),
            "an AWS signature",
            "sign requests in a proxy, or leave the flags out",
        ),
        (later.debug, "`--debug`", "use `curl -v` to see one request and its response"),
    ];
    if let Some((_, what, hint)) = refused.into_iter().find(|(given, ..)| *given) {
        return Err(Problem::new(format!("{what} is not supported"), hint));
    }
    let notes = [
        (
            later.latency_correction,
            "`--latency-correction` needs no flag: response time always counts from the scheduled send",
        ),
        (
            later.stats_success_breakdown,
            "`--stats-success-breakdown` needs no flag: outcomes are always counted separately",
        ),
        (later.no_pre_lookup, "`--no-pre-lookup` has no effect: names are looked up once before the load"),
    ];
    Ok(notes.into_iter().filter(|(given, _)| *given).map(|(_, note)| note.to_owned()).collect())
}
