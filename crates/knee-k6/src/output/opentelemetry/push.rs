//! Sends all series at each interval.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use knee_core::clock::wall;

use super::super::batch::Batch;
use super::super::columns::Columns;
use super::super::endpoint::{Push, Say};
use super::super::sums::{Pace, Sender};
use super::config::{Config, Endpoint};
use super::message::ExportRequest;
use super::series::SeriesSet;
use super::{grpc, http};
use crate::metric::Registry;

/// Time limit of one push, as in k6.
const PUSH_MAX: Duration = Duration::from_secs(10);

/// Collects samples and pushes them.
pub struct Pusher {
    series: SeriesSet,
    pace: Pace,
    sender: Sender<ExportRequest>,
}

impl Pusher {
    /// Begins to push.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(config: &Config, metrics: Arc<Registry>, say: Say) -> io::Result<Self> {
        let target = config.clone();
        let sender = Sender::start("OpenTelemetry", config.endpoint.name(), say, move || exporter(&target))?;
        Ok(Self {
            series: SeriesSet::new(metrics, config, wall().as_nanos()),
            pace: Pace::start(config.interval),
            sender,
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
        if self.pace.is_over()
            && let Some(message) = self.series.message(wall().as_nanos())
        {
            self.sender.offer(message);
        }
    }

    fn finish(self: Box<Self>) -> Option<String> {
        let last = self.series.message(wall().as_nanos());
        let warning = self.sender.finish(last, self.series.lost());
        let unnamed = self.series.unnamed();
        let more = (unnamed > 0).then(|| {
            format!(
                "{unnamed} samples were not sent to OpenTelemetry, which permits names that begin with a letter only"
            )
        });
        let parts: Vec<_> = warning.into_iter().chain(more).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// What sends a message.
type Export = Box<dyn FnMut(&ExportRequest) -> Result<(), String>>;

fn exporter(config: &Config) -> Export {
    match &config.endpoint {
        Endpoint::Http(url) => {
            let client = http::Client::new(config, url, PUSH_MAX);
            Box::new(move |message| client.send(message))
        }
        Endpoint::Grpc { address, plain } => {
            let client = grpc::Client::new(config, address, *plain, PUSH_MAX);
            Box::new(move |message| client.as_ref().map_err(Clone::clone)?.send(message))
        }
    }
}
