//! A script with its options, ready to run.
//!
//! Does not run it.

use std::sync::Arc;

use knee_engine::http::request::Defaults;
use knee_engine::http::settings::HttpVersion;
use knee_engine::http::tls;
use knee_engine::run::HttpConfig;
use knee_js::program::HttpDefaults;
use knee_js::session::Session;
use knee_js::state::Tally;
use knee_k6::http::pace::Pace;
use knee_k6::metric::Key;
use knee_k6::observe::metered::Total;
use knee_k6::observe::system_tags::{SystemTag, SystemTags};
use knee_k6::options::{HttpOptions, Options, describe};
use knee_k6::threshold::{self, Guarded};

use super::log::Lines;
use crate::args::RunArgs;
use crate::command::failed::{Failed, refused};
use crate::command::pushes::Feed;
use crate::problem::{Problem, on_one_line};
use crate::settings::script::{Asked, Mode};
use crate::settings::{Surroundings as Terminal, network};
use crate::signals::Count;

/// A script with its options, ready to run.
pub struct Job<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) asked: &'a Asked,
    pub(super) session: &'a Session,
    pub(super) options: &'a Options,
    pub(super) terminal: Terminal,
    pub(super) lines: &'a Arc<Lines>,
    pub(super) http: HttpDefaults,
    pub(super) way: HttpConfig,
    pub(super) guards: Arc<[Guarded]>,
    pub(super) total: Total,
    pub(super) tally: Arc<Tally>,
    pub(super) signals: Count,
    pub(super) system_tags: SystemTags,
    pub(super) exported: Arc<str>,
    /// Whether the script's target is on this machine; usually only the script knows.
    pub(super) co_located: Option<bool>,
    /// What the figures of a step or a trial go to, if anything. Outputs of samples are in `asked`.
    pub(super) feed: Option<Feed>,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        args: &'a RunArgs,
        asked: &'a Asked,
        session: &'a Session,
        options: &'a Options,
        terminal: Terminal,
        lines: &'a Arc<Lines>,
    ) -> Result<Self, Failed> {
        let metrics = &session.program.metrics;
        let system_tags = SystemTags::of(&options.system_tags);
        if !system_tags.has(SystemTag::ExpectedResponse) {
            metrics.leave_out_expected();
        }
        let guards = guards(asked, session, options)?;
        Ok(Self {
            args,
            asked,
            session,
            options,
            way: way(&options.http, &terminal).map_err(refused)?,
            http: http(&options.http, &terminal),
            terminal,
            lines,
            guards,
            total: Total::new(&metrics.catalog(), asked.summary.mode == Mode::Full),
            tally: Arc::default(),
            signals: Count::default(),
            system_tags,
            exported: options.exported.to_string().into(),
            co_located: None,
            feed: None,
        })
    }

    /// What is about to run, in k6's words.
    pub(super) fn introduce(&self, narrate: fn(&str)) {
        let scenarios = &self.options.scenarios;
        narrate(&format!("   script: {}", on_one_line(&self.args.script)));
        narrate(&format!("scenarios: {}", describe::headline(scenarios)));
        for line in describe::lines(scenarios) {
            narrate(&format!("         * {}", on_one_line(&line)));
        }
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

fn http(options: &HttpOptions, surroundings: &Terminal) -> HttpDefaults {
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
        pace: options.rps.map(|rate| Arc::new(Pace::per_second(f64::from(rate)))),
        ceiling: None,
        proxies: surroundings.proxies.clone(),
    }
}

/// How requests are sent. TLS is always prepared, because the script names its URLs only later.
fn way(options: &HttpOptions, surroundings: &Terminal) -> Result<HttpConfig, Problem> {
    let mut settings = network::settings(options)?;
    if !surroundings.without_http2 {
        settings.version = HttpVersion::Negotiated;
    }
    let config = tls::configure(&settings.tls, settings.version);
    let config = config.map_err(|error| Problem::new(error.to_string(), ""))?;
    let settings = Arc::new(settings);
    Ok(HttpConfig { settings, defaults: Defaults::default(), tls: Some(config), http2: None })
}

pub fn pairs<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<(String, String)> {
    entries.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}
