//! Every sample of a run, written while it goes on as k6 writes it: JSON lines or CSV.
//!
//! Workers hand samples over in batches and never wait: when the writer cannot follow, batches are
//! lost, counted, and told about. Does not compute figures; the summary does.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use knee_core::unit::Nanos;

use crate::metric::{MetricId, Registry};
use crate::observe::tags::SystemTags;

mod csv;
mod json;

#[cfg(test)]
mod tests;

/// So many batches may wait for the writer.
const BATCHES_MAX: usize = 256;
/// So many samples make a batch, unless time is up before.
pub const BATCH: usize = 1_024;
/// Files are brought up to date so often.
const PACE: Duration = Duration::from_millis(200);

/// The environment, asked by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where samples go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The form.
    pub form: Form,
    /// The file; stdout if there is none. Packed if its name ends in `.gz`.
    pub file: Option<PathBuf>,
}

/// A form of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON object a line.
    Json,
    /// Comma-separated values.
    Csv(TimeForm),
}

/// How CSV writes times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds since the Unix epoch.
    #[default]
    Unix,
    /// Milliseconds since then.
    UnixMilli,
    /// Microseconds since then.
    UnixMicro,
    /// Nanoseconds since then.
    UnixNano,
    /// Date and time, to the second.
    Rfc3339,
    /// Date and time, to the nanosecond.
    Rfc3339Nano,
}

impl Target {
    /// Reads `json=FILE`, `csv=FILE` or one of the forms alone.
    pub fn parse(text: &str, env: Lookup<'_>) -> Result<Self, String> {
        let (kind, file) = text.split_once('=').unwrap_or((text, ""));
        let file = |variable: &str, otherwise: &str| {
            let named = [file.to_owned(), env(variable).unwrap_or_default(), otherwise.to_owned()];
            named.into_iter().find(|name| !name.is_empty()).filter(|name| name != "-").map(PathBuf::from)
        };
        match kind {
            "json" => Ok(Self { form: Form::Json, file: file("K6_JSON_FILENAME", "") }),
            "csv" => {
                let form = Form::Csv(time_form(&env("K6_CSV_TIME_FORMAT").unwrap_or_default())?);
                Ok(Self { form, file: file("K6_CSV_FILENAME", "file.csv") })
            }
            _ => Err(format!("there is no output `{kind}`")),
        }
    }
}

fn time_form(name: &str) -> Result<TimeForm, String> {
    match name {
        "" | "unix" => Ok(TimeForm::Unix),
        "unix_milli" => Ok(TimeForm::UnixMilli),
        "unix_micro" => Ok(TimeForm::UnixMicro),
        "unix_nano" => Ok(TimeForm::UnixNano),
        "rfc3339" => Ok(TimeForm::Rfc3339),
        "rfc3339_nano" => Ok(TimeForm::Rfc3339Nano),
        other => Err(format!("`{other}` is not a value of `K6_CSV_TIME_FORMAT`")),
    }
}

/// One sample with all its tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its metric.
    pub metric: MetricId,
    /// Its value; milliseconds and bytes where the metric has a unit.
    pub value: f64,
    /// When it was taken, since the Unix epoch.
    pub at: Nanos,
    /// Its tags, sorted by name. Samples of one request share them.
    pub tags: Arc<[(String, String)]>,
    /// What is told besides tags, in any order.
    pub metadata: Arc<[(String, String)]>,
}

/// What the writer has to know besides samples.
pub struct Settings {
    /// Where samples go.
    pub targets: Vec<Target>,
    /// The metrics, which may still grow.
    pub metrics: Arc<Registry>,
    /// Sources of the thresholds, by metric.
    pub thresholds: BTreeMap<String, Vec<String>>,
    /// Which tags samples get by themselves.
    pub system_tags: SystemTags,
}

/// The way to the writer. Clones lead to the same one.
#[derive(Clone, Debug)]
pub struct Outlet {
    batches: SyncSender<Vec<Sample>>,
    lost: Arc<AtomicU64>,
}

impl Outlet {
    /// Hands a batch over, or counts it as lost when the writer cannot follow.
    pub fn send(&self, batch: Vec<Sample>) {
        if let Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) =
            self.batches.try_send(batch)
        {
            self.lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
    }
}

/// The thread that writes.
pub struct Writer {
    thread: JoinHandle<io::Result<()>>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Opens all files and begins to write; what they held is gone.
    pub fn start(settings: Settings) -> io::Result<(Self, Outlet)> {
        let sheets = settings
            .targets
            .iter()
            .map(|target| Sheet::open(target, &settings))
            .collect::<Result<Vec<_>, _>>()?;
        let (batches, inbox) = sync_channel(BATCHES_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let thread =
            std::thread::Builder::new().name("samples".to_owned()).spawn(move || write(sheets, &inbox))?;
        Ok((Self { thread, lost: lost.clone() }, Outlet { batches, lost }))
    }

    /// Waits until everything is written, for which all outlets must be gone. Returns what the user
    /// should be told.
    pub fn finish(self) -> Option<String> {
        let written = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer has panicked")));
        if let Err(error) = written {
            return Some(format!("samples could not be written, the file is incomplete: {error}"));
        }
        let lost = self.lost.load(Ordering::Relaxed);
        (lost > 0).then(|| {
            format!("{lost} samples are missing in the output: the disk or the packing could not follow the load; the summary has all of them")
        })
    }
}

fn write(mut sheets: Vec<Sheet>, inbox: &Receiver<Vec<Sample>>) -> io::Result<()> {
    loop {
        match inbox.recv_timeout(PACE) {
            Ok(batch) => {
                for sheet in &mut sheets {
                    sheet.write(&batch)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => sheets.iter_mut().try_for_each(Sheet::flush)?,
            Err(RecvTimeoutError::Disconnected) => return sheets.into_iter().try_for_each(Sheet::close),
        }
    }
}

/// A place for lines.
enum Paper {
    Plain(BufWriter<File>),
    Packed(Box<GzEncoder<BufWriter<File>>>),
    Stdout(io::Stdout),
}

impl Paper {
    fn open(file: Option<&Path>) -> io::Result<Self> {
        let Some(path) = file else { return Ok(Self::Stdout(io::stdout())) };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        let writer = BufWriter::new(File::create(path).map_err(named)?);
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
    /// Lines on their way; kept for its room.
    buffer: Vec<u8>,
}

enum Lines {
    Json(json::Lines),
    Csv(csv::Lines),
}

impl Sheet {
    fn open(target: &Target, settings: &Settings) -> io::Result<Self> {
        let mut sheet = Self {
            paper: Paper::open(target.file.as_deref())?,
            form: match target.form {
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

    fn write(&mut self, batch: &[Sample]) -> io::Result<()> {
        self.buffer.clear();
        for sample in batch {
            match &mut self.form {
                Lines::Json(lines) => lines.add(&mut self.buffer, sample),
                Lines::Csv(lines) => lines.add(&mut self.buffer, sample),
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

/// Date and time of a moment since the Unix epoch, as RFC 3339 writes it, in UTC: with as many digits
/// of a second as it needs, or with none.
fn rfc3339(at: Nanos, with_part: bool) -> String {
    let nanos = at.as_nanos();
    let (seconds, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let mut text = format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        clock / 3_600,
        clock / 60 % 60,
        clock % 60
    );
    if with_part && part > 0 {
        text.push('.');
        text.push_str(format!("{part:09}").trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// Year, month and day of a number of days since 1970-01-01, by counting from the first of March, so
/// that the leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    if month < 10 { (year, month + 3, day_of_month) } else { (year + 1, month - 9, day_of_month) }
}
