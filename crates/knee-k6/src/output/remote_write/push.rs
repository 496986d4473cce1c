//! Sends series to an endpoint at each interval, as compressed messages of the protocol.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use knee_core::clock::wall;
use prost::Message as _;

use super::super::batch::Batch;
use super::super::columns::Columns;
use super::super::endpoint::{Push, Say, agent, outcome};
use super::super::sums::{Pace, Sender};
use super::config::Config;
use super::message::WriteRequest;
use super::series::SeriesSet;
use crate::metric::Registry;

/// Time limit of one push, as in k6.
const PUSH_MAX: Duration = Duration::from_secs(5);

/// Collects samples and pushes them.
pub struct Pusher {
    series: SeriesSet,
    stale: bool,
    pace: Pace,
    sender: Sender<WriteRequest>,
}

impl Pusher {
    /// Begins to push.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(config: &Config, metrics: Arc<Registry>, say: Say) -> io::Result<Self> {
        let target = config.clone();
        let connect = move || {
            let agent = agent(PUSH_MAX, target.insecure, ureq::Proxy::try_from_env());
            move |message: &WriteRequest| post(&agent, &target, message)
        };
        Ok(Self {
            series: SeriesSet::new(metrics, config.stats.clone(), config.native),
            stale: config.stale,
            pace: Pace::start(config.interval),
            sender: Sender::start("Prometheus", config.url.clone(), say, connect)?,
        })
    }
}

impl Push for Pusher {
    fn add(&mut self, batch: &Batch) {
        self.series.add(batch);
        self.tick();
    }

    fn add_columns(&mut self, columns: &Columns) {
        self.series.add_columns(columns);
        self.tick();
    }

    fn tick(&mut self) {
        if !self.pace.is_over() {
            return;
        }
        if self.sender.has_missed() {
            self.series.repeat(now());
        }
        if let Some(message) = self.series.message() {
            self.sender.offer(message);
        }
    }

    fn finish(mut self: Box<Self>) -> Option<String> {
        let at = now();
        // What still waits can be refused.
        self.series.repeat(at);
        let last = self.series.message();
        let stale = self.stale.then(|| self.series.stale(at)).flatten();
        self.sender.finish(last.into_iter().chain(stale), self.series.lost())
    }
}

/// The time in milliseconds.
fn now() -> i64 {
    i64::try_from(wall().as_nanos() / 1_000_000).unwrap_or(i64::MAX)
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
    outcome(request.send(&body[..]))
}
