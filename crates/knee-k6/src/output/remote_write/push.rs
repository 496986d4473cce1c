//! Sends series to an endpoint, at each interval, on a thread of its own.
//!
//! Never waits for the endpoint while the load runs: if two messages wait, the next one is left out and counted. Its
//! figures are not lost, because the following message has the sums of the whole run.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use knee_core::clock::{MonotonicClock, wall};
use knee_core::unit::Nanos;
use knee_engine::secret::in_text;
use prost::Message as _;

use super::super::batch::Batch;
use super::config::Config;
use super::message::WriteRequest;
use super::series::SeriesSet;
use crate::metric::Registry;

/// Time limit of one push, as in k6.
const PUSH_MAX: Duration = Duration::from_secs(5);
/// Messages that can wait for the endpoint.
const WAITING_MAX: usize = 2;

/// Tells the user something while the load runs.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Collects samples and pushes them.
pub struct Pusher {
    series: SeriesSet,
    stale: bool,
    clock: MonotonicClock,
    interval: Nanos,
    next: Nanos,
    messages: SyncSender<WriteRequest>,
    left_out: u64,
    thread: JoinHandle<Sent>,
}

/// What became of the messages.
#[derive(Default)]
struct Sent {
    whole: u64,
    failed: u64,
    first_error: Option<String>,
}

impl Pusher {
    /// Begins to push.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(config: &Config, metrics: Arc<Registry>, say: Say) -> io::Result<Self> {
        let (messages, inbox) = sync_channel(WAITING_MAX);
        let target = config.clone();
        let thread = thread::Builder::new()
            .name("remote write".to_owned())
            .spawn(move || push(&target, &inbox, &say))?;
        let clock = MonotonicClock::start();
        let interval = Nanos::from_secs_f64(config.interval.as_secs_f64());
        Ok(Self {
            series: SeriesSet::new(metrics, config.stats.clone(), config.native),
            stale: config.stale,
            next: clock.now().saturating_add(interval),
            clock,
            interval,
            messages,
            left_out: 0,
            thread,
        })
    }

    /// Takes samples.
    pub fn add(&mut self, batch: &Batch) {
        self.series.add(batch);
        self.tick();
    }

    /// Pushes if it is time.
    pub fn tick(&mut self) {
        let now = self.clock.now();
        if now < self.next {
            return;
        }
        while self.next <= now {
            self.next = self.next.saturating_add(self.interval);
        }
        let Some(message) = self.series.message() else { return };
        if let Err(TrySendError::Full(_)) = self.messages.try_send(message) {
            self.left_out += 1;
        }
    }

    /// Pushes what is left, and waits until it is sent or its time is over. Returns a warning for the user, if there is
    /// one.
    pub fn finish(mut self) -> Option<String> {
        let last = self.series.message();
        let at = i64::try_from(wall().as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        let stale = self.stale.then(|| self.series.stale(at)).flatten();
        for message in last.into_iter().chain(stale) {
            // The receiver is gone only if its thread has panicked.
            let _ = self.messages.send(message);
        }
        drop(self.messages);
        let sent = self.thread.join().unwrap_or_default();
        warning(&sent, self.left_out, self.series.lost())
    }
}

fn warning(sent: &Sent, left_out: u64, lost: u64) -> Option<String> {
    let mut parts = Vec::new();
    if sent.failed > 0 {
        let all = sent.failed + sent.whole;
        let error = sent.first_error.as_deref().unwrap_or_default();
        parts.push(format!(
            "{} of {all} pushes to Prometheus failed, the first one with: {error}",
            sent.failed
        ));
    }
    if left_out > 0 {
        parts.push(format!(
            "{left_out} pushes to Prometheus were left out, because the endpoint was too slow"
        ));
    }
    if lost > 0 {
        parts.push(format!(
            "{lost} samples were not sent to Prometheus, because they have too many different tags"
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Sends messages until there are no more.
fn push(config: &Config, inbox: &Receiver<WriteRequest>, say: &Say) -> Sent {
    let agent = agent(config);
    let mut sent = Sent::default();
    while let Ok(message) = inbox.recv() {
        match post(&agent, config, &message) {
            Ok(()) => sent.whole += 1,
            Err(error) => {
                if sent.failed == 0 {
                    say(&format!(
                        "cannot send series to {}: {error}; the load goes on, and the next push has the same sums",
                        in_text(&config.url)
                    ));
                }
                sent.failed += 1;
                sent.first_error.get_or_insert(error);
            }
        }
    }
    sent
}

fn agent(config: &Config) -> ureq::Agent {
    let tls = ureq::tls::TlsConfig::builder()
        .root_certs(ureq::tls::RootCerts::PlatformVerifier)
        .disable_verification(config.insecure)
        .build();
    ureq::Agent::config_builder()
        .timeout_global(Some(PUSH_MAX))
        .http_status_as_error(false)
        .max_redirects(0)
        .tls_config(tls)
        .build()
        .into()
}

fn post(agent: &ureq::Agent, config: &Config, message: &WriteRequest) -> Result<(), String> {
    let packed = snap::raw::Encoder::new().compress_vec(&message.encode_to_vec());
    let body = packed.map_err(|error| error.to_string())?;
    let mut request = agent
        .post(&config.url)
        .header("user-agent", "knee-prometheus-rw-output")
        .header("content-encoding", "snappy")
        .header("content-type", "application/x-protobuf")
        .header("x-prometheus-remote-write-version", "0.1.0");
    for (name, value) in &config.headers {
        request = request.header(name, value);
    }
    let response = request.send(&body[..]).map_err(|error| error.to_string())?;
    match response.status().as_u16() {
        200..300 => Ok(()),
        status => Err(format!("the endpoint answered with status {status}")),
    }
}
