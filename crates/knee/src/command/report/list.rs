//! `knee report --list`: a table of saved runs, and of the trials of a study, sweep or comparison.
//!
//! Reads every record that it shows, so it shows the newest ones only. An unreadable record has a row that says so.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use jiff::civil::DateTime;
use knee_core::record::Run;
use knee_core::record::run::read;
use knee_report::history::{aligned, load, moment};
use knee_report::kept::{FILE_BYTES_MAX, Summary};
use knee_report::{View, number};

use crate::problem::{Problem, on_one_line, reason};
use crate::store::{self, Store};

/// Most rows of a table.
const ROWS_MAX: usize = 50;

/// How a row names its record.
#[derive(Clone, Copy)]
enum Naming {
    /// `last`, `last~1`, and so on.
    Back,
    /// The name of the file.
    File,
}

/// The saved runs, newest first, and the existing series of trials.
///
/// # Errors
///
/// When a folder cannot be read.
pub fn runs(store: &Store) -> Result<String, Problem> {
    let mut text = table(store, Naming::Back)?;
    let series = store.series()?;
    if !series.is_empty() {
        let mut rows = vec![["TRIALS OF".to_owned(), "SAVED".to_owned()]];
        for one in series.iter().take(ROWS_MAX) {
            rows.push([name(one.folder()), number::count(one.list()?.len() as u64)]);
        }
        text.push('\n');
        text += &aligned(&rows);
        text += &more(series.len());
        text += "`knee report --list NAME` lists the trials.\n";
    }
    Ok(text)
}

/// The trials of one series, newest first.
///
/// # Errors
///
/// When there is no such series, or its folder cannot be read.
pub fn trials(store: &Store, wanted: &str) -> Result<String, Problem> {
    let series = store.series()?.into_iter().find(|series| name(series.folder()) == on_one_line(wanted));
    let series = series.ok_or_else(|| {
        Problem::new(
            format!("there are no saved trials of `{wanted}`"),
            "`knee report --list` lists the studies, sweeps and comparisons with saved trials",
        )
    })?;
    table(&series, Naming::File)
}

fn table(store: &Store, naming: Naming) -> Result<String, Problem> {
    let records = store.list()?;
    if records.is_empty() {
        return Ok(format!("no saved runs in {}\n", on_one_line(&store.folder().display().to_string())));
    }
    let head = ["RUN", "TIME (UTC)", "LOAD", "GOODPUT", "P99", "VALIDITY", "TARGET"];
    let mut rows = vec![head.map(str::to_owned)];
    for (back, path) in records.iter().take(ROWS_MAX).enumerate() {
        let called = match (naming, back) {
            (Naming::File, _) => name(path),
            (Naming::Back, 0) => "last".to_owned(),
            (Naming::Back, _) => format!("last~{back}"),
        };
        rows.push(row(called, path));
    }
    let folder = on_one_line(&store.folder().display().to_string());
    Ok(format!("{}{}in {folder}\n", aligned(&rows), more(records.len())))
}

/// A note on the rows that a table omits.
fn more(count: usize) -> String {
    match count.saturating_sub(ROWS_MAX) {
        0 => String::new(),
        older => format!("… and {} older\n", number::count(older as u64)),
    }
}

fn row(called: String, path: &Path) -> [String; 7] {
    if store::is_result(path) {
        return of_result(called, path);
    }
    let reading = File::open(path)
        .map_err(|error| reason(&error))
        .and_then(|file| read(BufReader::new(file)).map_err(|error| error.to_string()));
    let dash = || "–".to_owned();
    match reading {
        Ok(reading) => of_run(called, &reading.run),
        Err(error) => {
            let what = format!("{}: {}", name(path), on_one_line(&error));
            [called, dash(), dash(), dash(), dash(), "unreadable".to_owned(), what]
        }
    }
}

/// A sweep, a study, a comparison, a calibration or a search.
fn of_result(called: String, path: &Path) -> [String; 7] {
    let dash = || "–".to_owned();
    let time = time_of_name(path).unwrap_or_else(dash);
    match summary(path) {
        Ok(summary) => {
            let validity = summary.validity.map_or_else(dash, |validity| validity.name().to_owned());
            let kind = summary.kind.name().to_owned();
            [called, time, kind, dash(), dash(), validity, on_one_line(&summary.title)]
        }
        Err(error) => {
            let what = format!("{}: {}", name(path), on_one_line(&error));
            [called, time, dash(), dash(), dash(), "unreadable".to_owned(), what]
        }
    }
}

fn summary(path: &Path) -> Result<Summary, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| reason(&error))?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    Summary::unpack(&bytes).map_err(|error| error.to_string())
}

/// The time in the name of a result: `20261121T101530.123Z-sweep-a.result`.
fn time_of_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let time = DateTime::strptime("%Y%m%dT%H%M%S%.fZ", stem.split_once('-')?.0).ok()?;
    Some(time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

fn of_run(called: String, run: &Run) -> [String; 7] {
    let view = View::of(run);
    let dash = || "–".to_owned();
    [
        called,
        moment(run.head.started),
        load(&run.head.plan),
        view.rate.achieved.map_or_else(dash, |rate| format!("{}/s", number::rate(rate))),
        view.total.response.percentile("p99").nanos().map_or_else(dash, |nanos| number::time(nanos, None)),
        run.validity.validity.name().to_owned(),
        on_one_line(&run.head.title),
    ]
}

fn name(path: &Path) -> String {
    on_one_line(&path.file_name().unwrap_or_default().to_string_lossy())
}
