//! Resolves a command line into a plan, prepared requests and settings, or reports its first error.
//!
//! Reads the files that flags name and looks up host names, so that errors are found before any
//! load. Does not open output files (see [`output::Output::open`]), does not
//! connect (see [`target::probe`]) and does not read the environment: that arrives as
//! [`Surroundings`].

use knee_core::plan::{Endpoint, Plan};
use knee_core::record::AgentOf;
use knee_core::share::Share;
use knee_engine::http::settings::{HttpVersion, Settings};
use knee_engine::requests::RequestTemplate;
use knee_engine::steering::Ceiling;

use crate::args::{LaterFlags, LoadArgs};
use crate::problem::Problem;

pub mod amount;

mod cipher;

pub mod compare;

pub mod connection;

pub mod declared;

mod file;

pub mod fleet;

pub mod form;

pub mod network;

pub mod number;

pub mod observe;

pub mod output;

pub mod proxy;

pub mod request;

pub mod script;

mod surroundings;

pub mod sweep;

pub mod target;

pub mod web;

pub use surroundings::Surroundings;

#[cfg(test)]
mod tests;

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
    /// The part of the load that this machine does; all of it if `None`.
    pub share: Option<Share>,
    /// The agent of a fleet that makes this part.
    pub agent: Option<AgentOf>,
    /// The machines that make this load; this one if `None`.
    pub fleet: Option<fleet::FleetChoice>,
    /// Where it goes, for titles: the URL without credentials.
    pub title: String,
    /// Where connections will be made, with the addresses found.
    pub targets: Vec<target::Target>,
    /// Hosts that the user allowed by name to be loaded although they are public. A redirect to
    /// another public host must not be followed.
    pub allowed_hosts: Vec<String>,
    /// What is watched beside the load.
    pub observe: Vec<knee_observe::Target>,
    /// What is shown and saved.
    pub output: output::Output,
    /// What the user should know before the load begins; for stderr.
    pub notes: Vec<String>,
}

impl Load {
    /// Seed of the choice of URLs and bodies: each part of a load makes its own.
    pub fn seed_of_choice(&self) -> u64 {
        self.seed.wrapping_add(self.share.as_ref().map_or(0, |share| share.place() as u64) << 32)
    }
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
    let mut http = connection::settings(&flags.connection, &flags.request)?;
    http.streams = amount.streams;
    if amount.streams > 1 && http.version != HttpVersion::Two {
        return Err(Problem::new(
            "`-p` needs `--http2`",
            "with HTTP/1.1 a connection has one request at a time: use `-c` for more connections",
        ));
    }
    let urls = request::urls(args.url.as_deref(), flags.request.urls_from_file.as_deref())?;
    let (requests, names) = request::requests(&flags.request, &urls)?;
    let allowed_hosts = flags.amount.allow_hosts.clone();
    let observe = observe::targets(&flags.observe)?;
    let ceiling = web::ceiling(&flags.web)?;
    let parts = Parts { amount, http, urls, requests, names, allowed_hosts, ceiling, observe, output, notes };
    let fleet = fleet::choice(&args.fleet)?;
    Ok(Load { fleet, ..parts.load(surroundings.resolve)? })
}

/// The parts of a load, each resolved by itself.
struct Parts {
    amount: amount::Amount,
    http: Settings,
    urls: Vec<request::WeightedUrl>,
    requests: Vec<RequestTemplate>,
    /// Names of the endpoints.
    names: Vec<String>,
    allowed_hosts: Vec<String>,
    /// Up to what the live page can raise the rate.
    ceiling: Option<Ceiling>,
    observe: Vec<knee_observe::Target>,
    output: output::Output,
    notes: Vec<String>,
}

impl Parts {
    /// Looks up the hosts, and refuses a public host under more than a little load.
    fn load(self, resolve: target::Resolve) -> Result<Load, Problem> {
        let Self { amount, http, urls, requests, names, allowed_hosts, ceiling, observe, output, notes } =
            self;
        let targets = target::targets(&requests, &http, resolve)?;
        let servers = target::servers(&requests, &http, resolve);
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
        web::refuse_without_rate(&plan, ceiling)?;
        let highest = web::at_most(&plan, ceiling);
        target::refuse_public(servers.as_ref().unwrap_or(&targets), &highest, &allowed_hosts)?;
        let title = request::title(&urls);
        let (seed, share) = (amount.seed, amount.share);
        let (agent, fleet) = (None, None);
        Ok(Load {
            plan,
            http,
            requests,
            seed,
            share,
            agent,
            fleet,
            title,
            targets,
            allowed_hosts,
            observe,
            output,
            notes,
        })
    }
}

/// Refuses unsupported flags of other tools, and returns notes on those that need no flag here.
fn explain_later(later: &LaterFlags) -> Result<Vec<String>, Problem> {
    let proxy = later.proxy_http2 || later.proxy_http_version.is_some() || !later.proxy_header.is_empty();
    let bursts = later.burst_delay.is_some() || later.burst_rate.is_some();
    let regex = later.rand_regex_url || later.max_repeat.is_some() || later.dump_urls.is_some();
    let refused = [
        (proxy, "HTTP/2 to a proxy, or a header for one", "leave out `--proxy-*`; `-x` alone uses a proxy"),
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
            "`--latency-correction` has no effect: response time always counts from the scheduled send",
        ),
        (
            later.stats_success_breakdown,
            "`--stats-success-breakdown` has no effect: outcomes are always counted separately",
        ),
        (later.no_pre_lookup, "`--no-pre-lookup` has no effect: names are looked up once before the load"),
    ];
    Ok(notes.into_iter().filter(|(given, _)| *given).map(|(_, note)| note.to_owned()).collect())
}
