//! Hands over every sample of a run while it runs, as k6 does: JSON lines, CSV, points of InfluxDB, or sums for
//! Prometheus or OpenTelemetry.
//!
//! Workers hand samples over in batches, or in columns for outputs that add up, and never wait: when the writer is too
//! slow, they are dropped, counted and reported. Does not compute figures; the summary does.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::metric::Registry;
use crate::observe::system_tags::SystemTags;

pub mod batch;
pub mod columns;
mod csv;
mod endpoint;
mod influxdb;
pub mod interval;
mod json;
mod number;
mod opentelemetry;
mod remote_write;
mod sums;
pub mod time;
mod variables;

#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;

use batch::Batch;
use columns::Columns;
use endpoint::Push;
pub use time::TimeForm;
pub use variables::Lookup;

/// Most batches and sets of columns that can wait for the writer.
const PARCELS_MAX: usize = 256;
/// Samples per batch; a batch is sent earlier if its time is up.
pub const BATCH: usize = 1_024;
/// Bytes of lines that are handed over at once.
const BUFFER: usize = 64 << 10;
/// Interval at which files are flushed.
const PACE: Duration = Duration::from_millis(200);

/// The destination and format of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Lines.
    Lines {
        /// Their form.
        form: Form,
        /// The file; stdout if there is none. Packed if its name ends in `.gz`.
        file: Option<PathBuf>,
    },
    /// Sums, to an endpoint of Prometheus.
    RemoteWrite(remote_write::Config),
    /// Points, to a server of InfluxDB.
    InfluxDb(influxdb::Config),
    /// Sums, to an endpoint of OpenTelemetry.
    OpenTelemetry(opentelemetry::Config),
}

/// Why an output is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is none of this name.
    #[error("there is no output `{0}`")]
    Unknown(String),
    /// One of its settings is wrong; the text names it.
    #[error("{0}")]
    Setting(String),
}

/// A form of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object per line.
    Json,
    /// Comma-separated values.
    Csv(TimeForm),
}

impl Target {
    /// Whether it takes the figures of intervals: it sends something, and need not have single samples.
    pub const fn takes_intervals(&self) -> bool {
        matches!(self, Self::RemoteWrite(_) | Self::OpenTelemetry(_) | Self::InfluxDb(_))
    }

    /// Reads `json=FILE`, `csv=FILE`, one of the forms alone, `experimental-prometheus-rw`, `influxdb=URL/DATABASE`, or
    /// `opentelemetry`.
    ///
    /// # Errors
    /// There is no such output, or one of its settings is wrong.
    pub fn parse(text: &str, env: Lookup<'_>) -> Result<Self, TargetError> {
        let (kind, argument) = text.split_once('=').unwrap_or((text, ""));
        let file = |variable: &str, otherwise: &str| {
            let named = [argument.to_owned(), env(variable).unwrap_or_default(), otherwise.to_owned()];
            named.into_iter().find(|name| !name.is_empty()).filter(|name| name != "-").map(PathBuf::from)
        };
        let target = match kind {
            "json" => Ok(Self::Lines { form: Form::Json, file: file("K6_JSON_FILENAME", "") }),
            "csv" => TimeForm::parse(&env("K6_CSV_TIME_FORMAT").unwrap_or_default())
                .map(|form| Self::Lines { form: Form::Csv(form), file: file("K6_CSV_FILENAME", "file.csv") }),
            "experimental-prometheus-rw" => remote_write::Config::from_env(env).map(Self::RemoteWrite),
            "influxdb" => influxdb::Config::read(argument, env).map(Self::InfluxDb),
            "opentelemetry" | "experimental-opentelemetry" => {
                opentelemetry::Config::from_env(env).map(Self::OpenTelemetry)
            }
            _ => return Err(TargetError::Unknown(kind.to_owned())),
        };
        target.map_err(TargetError::Setting)
    }
}

/// Settings of the writer.
pub struct Settings {
    /// The destinations of samples.
    pub targets: Vec<Target>,
    /// The metrics, which can still grow.
    pub metrics: Arc<Registry>,
    /// Sources of the thresholds, by metric.
    pub thresholds: BTreeMap<String, Vec<String>>,
    /// Which tags samples get by themselves.
    pub system_tags: SystemTags,
    /// Tells the user what an endpoint refuses.
    pub say: endpoint::Say,
}

/// Samples on their way to the writer.
#[derive(Debug)]
enum Parcel {
    /// For all outputs.
    All(Batch),
    /// For outputs of single samples.
    Singles(Batch),
    /// For outputs of sums.
    Columns(Columns),
    /// For all outputs that need no single samples.
    Interval(Columns),
}

impl Parcel {
    /// Number of samples.
    fn len(&self) -> u64 {
        match self {
            Self::All(batch) | Self::Singles(batch) => batch.len() as u64,
            Self::Columns(columns) | Self::Interval(columns) => columns.len(),
        }
    }
}

/// Sends samples to the writer. Clones send to the same writer.
#[derive(Clone, Debug)]
pub struct Outlet {
    parcels: SyncSender<Parcel>,
    lost: Arc<AtomicU64>,
    /// Whether any output takes single samples, and any takes sums.
    takes: (bool, bool),
}

impl Outlet {
    /// Hands samples to all outputs, or counts them as lost when the writer is too slow.
    pub fn send(&self, batch: Batch) {
        self.offer(Parcel::All(batch));
    }

    /// Hands samples to outputs of single samples, likewise. Outputs of sums must get them by [`Outlet::send_columns`].
    pub fn send_singles(&self, batch: Batch) {
        self.offer(Parcel::Singles(batch));
    }

    /// Hands samples to outputs of sums, likewise.
    pub fn send_columns(&self, columns: Columns) {
        self.offer(Parcel::Columns(columns));
    }

    /// Hands over the figures of an interval of a load that has no single samples, likewise.
    pub fn send_interval(&self, columns: Columns) {
        self.offer(Parcel::Interval(columns));
    }

    /// Whether any output takes single samples.
    pub const fn takes_singles(&self) -> bool {
        self.takes.0
    }

    /// Whether any output takes sums.
    pub const fn takes_columns(&self) -> bool {
        self.takes.1
    }

    fn offer(&self, parcel: Parcel) {
        if parcel.len() == 0 {
            return;
        }
        if let Err(TrySendError::Full(parcel) | TrySendError::Disconnected(parcel)) =
            self.parcels.try_send(parcel)
        {
            self.lost.fetch_add(parcel.len(), Ordering::Relaxed);
        }
    }
}

/// The thread that writes.
pub struct Writer {
    thread: JoinHandle<io::Result<Vec<String>>>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Opens and empties all files, and begins to write.
    pub fn start(settings: &Settings) -> io::Result<(Self, Outlet)> {
        let sinks = settings
            .targets
            .iter()
            .map(|target| Sink::open(target, settings))
            .collect::<Result<Vec<_>, _>>()?;
        let (parcels, inbox) = sync_channel(PARCELS_MAX);
        let is_of_sums = |sink: &Sink| matches!(sink, Sink::Sums(_));
        let takes = (!sinks.iter().all(is_of_sums), sinks.iter().any(is_of_sums));
        let lost = Arc::new(AtomicU64::new(0));
        let thread =
            std::thread::Builder::new().name("samples".to_owned()).spawn(move || write(sinks, &inbox))?;
        Ok((Self { thread, lost: lost.clone() }, Outlet { parcels, lost, takes }))
    }

    /// Waits until everything is written; all outlets must be dropped before. Returns a warning for the
    /// user, if there is one.
    pub fn finish(self) -> Option<String> {
        let written = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer has panicked")));
        let mut warnings = match written {
            Ok(warnings) => warnings,
            Err(error) => return Some(format!("cannot write samples, the file is incomplete: {error}")),
        };
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            warnings.push(format!("{lost} samples are missing from the output: the disk, the compression or another output was too slow; the summary counts all of them"));
        }
        (!warnings.is_empty()).then(|| warnings.join("; "))
    }
}

/// Writes until all outlets are gone; returns warnings.
fn write(mut sinks: Vec<Sink>, inbox: &Receiver<Parcel>) -> io::Result<Vec<String>> {
    loop {
        match inbox.recv_timeout(PACE) {
            Ok(parcel) => sinks.iter_mut().try_for_each(|sink| sink.write(&parcel))?,
            Err(RecvTimeoutError::Timeout) => sinks.iter_mut().try_for_each(Sink::flush)?,
            Err(RecvTimeoutError::Disconnected) => {
                let closed: io::Result<Vec<_>> = sinks.into_iter().map(Sink::close).collect();
                return Ok(closed?.into_iter().flatten().collect());
            }
        }
    }
}

/// Where samples go.
enum Sink {
    Lines(Sheet),
    Points(Box<dyn Push>),
    Sums(Box<dyn Push>),
}

impl Sink {
    fn open(target: &Target, settings: &Settings) -> io::Result<Self> {
        let (metrics, say) = (settings.metrics.clone(), settings.say.clone());
        Ok(match target {
            Target::Lines { form, file } => Self::Lines(Sheet::open(*form, file.as_deref(), settings)?),
            Target::RemoteWrite(config) => {
                Self::Sums(Box::new(remote_write::Pusher::start(config, metrics, say)?))
            }
            Target::InfluxDb(config) => {
                Self::Points(Box::new(influxdb::Pusher::start(config, metrics, say)?))
            }
            Target::OpenTelemetry(config) => {
                Self::Sums(Box::new(opentelemetry::Pusher::start(config, metrics, say)?))
            }
        })
    }

    fn write(&mut self, parcel: &Parcel) -> io::Result<()> {
        match (self, parcel) {
            (Self::Lines(sheet), Parcel::All(batch) | Parcel::Singles(batch)) => return sheet.write(batch),
            (Self::Points(pusher), Parcel::All(batch) | Parcel::Singles(batch))
            | (Self::Sums(pusher), Parcel::All(batch)) => pusher.add(batch),
            (Self::Sums(pusher), Parcel::Columns(columns) | Parcel::Interval(columns))
            | (Self::Points(pusher), Parcel::Interval(columns)) => pusher.add_columns(columns),
            (Self::Sums(_), Parcel::Singles(_))
            | (Self::Lines(_) | Self::Points(_), Parcel::Columns(_))
            | (Self::Lines(_), Parcel::Interval(_)) => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Lines(sheet) => return sheet.flush(),
            Self::Points(pusher) | Self::Sums(pusher) => pusher.tick(),
        }
        Ok(())
    }

    /// Ends it; a warning for the user, if there is one.
    fn close(self) -> io::Result<Option<String>> {
        match self {
            Self::Lines(sheet) => sheet.close().map(|()| None),
            Self::Points(pusher) | Self::Sums(pusher) => Ok(pusher.finish()),
        }
    }
}

/// A destination for lines.
enum Paper {
    Plain(BufWriter<File>),
    Packed(Box<GzEncoder<BufWriter<File>>>),
    Stdout(io::Stdout),
}

impl Paper {
    fn open(file: Option<&Path>) -> io::Result<Self> {
        let Some(path) = file else { return Ok(Self::Stdout(io::stdout())) };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        let mut options = OpenOptions::new();
        // URLs and tags of samples can be confidential.
        options.write(true).create(true).truncate(true).mode(0o600);
        let writer = BufWriter::new(options.open(path).map_err(named)?);
        let packed = path.extension().is_some_and(|ending| ending == "gz");
        if packed {
            Ok(Self::Packed(Box::new(GzEncoder::new(writer, Compression::fast()))))
        } else {
            Ok(Self::Plain(writer))
        }
    }

    fn out(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(writer) => writer,
            Self::Packed(writer) => writer,
            Self::Stdout(writer) => writer,
        }
    }

    fn close(self) -> io::Result<()> {
        match self {
            Self::Plain(mut writer) => writer.flush(),
            Self::Packed(writer) => writer.finish()?.flush(),
            Self::Stdout(mut writer) => writer.flush(),
        }
    }
}

/// One target at work.
struct Sheet {
    paper: Paper,
    form: Lines,
    /// Buffer for lines; kept for reuse.
    buffer: Vec<u8>,
}

enum Lines {
    Json(json::Lines),
    Csv(csv::Lines),
}

impl Sheet {
    fn open(form: Form, file: Option<&Path>, settings: &Settings) -> io::Result<Self> {
        let mut sheet = Self {
            paper: Paper::open(file)?,
            form: match form {
                Form::Json => {
                    Lines::Json(json::Lines::new(settings.metrics.clone(), settings.thresholds.clone()))
                }
                Form::Csv(form) => {
                    Lines::Csv(csv::Lines::new(settings.metrics.clone(), settings.system_tags, form))
                }
            },
            buffer: Vec::new(),
        };
        if let Lines::Csv(lines) = &sheet.form {
            lines.header(&mut sheet.buffer);
            sheet.paper.out().write_all(&sheet.buffer)?;
        }
        Ok(sheet)
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.buffer.clear();
        for samples in batch.moments() {
            match &mut self.form {
                Lines::Json(lines) => lines.add(&mut self.buffer, &samples),
                Lines::Csv(lines) => lines.add(&mut self.buffer, &samples),
            }
            // What is still in the processor's cache is cheaper to hand over.
            if self.buffer.len() >= BUFFER {
                self.paper.out().write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        self.paper.out().write_all(&self.buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.paper.out().flush()
    }

    fn close(self) -> io::Result<()> {
        self.paper.close()
    }
}
