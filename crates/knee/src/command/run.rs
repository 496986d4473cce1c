//! `knee run script.js`: run a k6 script, show it live, keep the record, print the result.
//!
//! The order matters: the script is loaded and its options are judged before the first request, and
//! whatever was measured is kept before anything is printed. The script comes from [`source`], the run is
//! [`course`]'s, and what is printed is [`ending`]'s.

use std::sync::Arc;

use knee_engine::http::request::Defaults;
use knee_engine::http::tls;
use knee_engine::run::HttpConfig;
use knee_js::program::HttpDefaults;
use knee_js::session::Session;
use knee_js::state::Tally;
use knee_k6::http::pace::Pace;
use knee_k6::metric::Key;
use knee_k6::observe::metered::Total;
use knee_k6::observe::tags::SystemTags;
use knee_k6::options::{HttpOptions, Options, describe};
use knee_k6::threshold::{self, Guarded};

use super::failed::{Failed, refused};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::problem::{Problem, printable};
use crate::settings::script::{Asked, Mode, asked};
use crate::settings::{Surroundings as Terminal, network};
use crate::signals::Count;

mod course;
mod ending;
mod log;
mod source;
pub(super) mod steps;
mod watch;
pub(super) mod whole;

use log::Lines;
use source::{load, options, unsupported};

/// Does it.
///
/// # Errors
///
/// What is wrong with the script or its options, or what failed on this machine.
pub fn run(args: &RunArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let terminal = Terminal::read();
    let env = |name: &str| std::env::var(name).ok();
    let asked = asked(args, &env, terminal.no_color).map_err(refused)?;
    asked.notes.iter().for_each(|note| narrate(&format!("note: {}", printable(note))));
    let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
    let session = load(args, &asked, &lines)?;
    session.program.notes().iter().for_each(|note| narrate(&format!("note: {}", printable(note))));
    let options = options(&asked, &session)?;
    let warnings = options.warnings.iter().cloned().chain(unsupported(&options));
    warnings.for_each(|warning| narrate(&format!("warning: {}", printable(&warning))));
    let job = Job::new(args, &asked, &session, &options, terminal, &lines)?;
    if !args.report.quiet {
        job.introduce(narrate);
    }
    job.run(narrate)
}

/// A script with its options, ready to run.
struct Job<'a> {
    args: &'a RunArgs,
    asked: &'a Asked,
    session: &'a Session,
    options: &'a Options,
    terminal: Terminal,
    lines: &'a Lines,
    http: HttpDefaults,
    way: HttpConfig,
    guards: Arc<[Guarded]>,
    total: Total,
    tally: Arc<Tally>,
    signals: Count,
    system_tags: SystemTags,
    exported: Arc<str>,
    /// Whether what the script loads is on this machine; mostly only the script knows.
    co_located: Option<bool>,
}

impl<'a> Job<'a> {
    fn new(
        args: &'a RunArgs,
        asked: &'a Asked,
        session: &'a Session,
        options: &'a Options,
        terminal: Terminal,
        lines: &'a Lines,
    ) -> Result<Self, Failed> {
        let guards = guards(asked, session, options)?;
        let metrics = &session.program.metrics;
        Ok(Self {
            args,
            asked,
            session,
            options,
            terminal,
            lines,
            http: http(&options.http),
            way: way(&options.http).map_err(refused)?,
            guards,
            total: Total::new(&metrics.catalog(), asked.summary.mode == Mode::Full),
            tally: Arc::default(),
            signals: Count::default(),
            system_tags: SystemTags::of(&options.system_tags),
            exported: options.exported.to_string().into(),
            co_located: None,
        })
    }

    /// What is about to run, in k6's words.
    fn introduce(&self, narrate: fn(&str)) {
        let scenarios = &self.options.scenarios;
        narrate(&format!("   script: {}", printable(&self.args.script)));
        narrate(&format!("scenarios: {}", describe::headline(scenarios)));
        for line in describe::lines(scenarios) {
            narrate(&format!("         * {}", printable(&line)));
        }
    }

    fn run(&self, narrate: fn(&str)) -> Result<Exit, Failed> {
        let course = self.course(narrate)?;
        ending::end(self, &course, narrate)
    }
}

/// The thresholds, parsed, with the metrics that they ask for.
fn guards(asked: &Asked, session: &Session, options: &Options) -> Result<Arc<[Guarded]>, Failed> {
    if !asked.thresholds {
        return Ok(Arc::new([]));
    }
    let metrics = &session.program.metrics;
    let catalog = metrics.catalog();
    let known = |name: &str| {
        let metric = catalog.metric(catalog.find(name)?);
        Some((metric.kind, metric.contains))
    };
    let guards = threshold::compile(&options.thresholds, known).map_err(|error| {
        refused(Problem::new(error.to_string(), "see `thresholds` in the script's options"))
    })?;
    // All names were found to be keys above.
    guards.iter().filter_map(|guard| Key::parse(&guard.name).ok()).for_each(|key| metrics.keep_apart(&key));
    Ok(guards.into())
}

fn http(options: &HttpOptions) -> HttpDefaults {
    let own = HttpDefaults::default();
    HttpDefaults {
        redirects: options.max_redirects,
        discard_bodies: options.discard_response_bodies,
        throw: options.throw,
        batch: options.batch as usize,
        batch_per_host: options.batch_per_host as usize,
        keep_cookies: options.no_cookies_reset,
        fresh_connections: options.no_vu_connection_reuse,
        user_agent: options.user_agent.clone().unwrap_or(own.user_agent),
        pace: options.rps.map(|rate| Arc::new(Pace::per_second(rate))),
    }
}

/// How requests travel. TLS is made ready whatever the script asks for: it says so only later.
fn way(options: &HttpOptions) -> Result<HttpConfig, Problem> {
    let settings = network::settings(options)?;
    let config = tls::configure(&settings.tls).map_err(|error| Problem::new(error.to_string(), ""))?;
    Ok(HttpConfig { settings: Arc::new(settings), defaults: Defaults::default(), tls: Some(config) })
}

fn pairs<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<(String, String)> {
    entries.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}
