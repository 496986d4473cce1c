//! `knee report --format locust-csv`: a record as the four files of Locust.
//!
//! Reads the record a second time: a run does not contain the totals after each interval.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use knee_core::record::Run;
use knee_core::record::format::{Frame, Reader};
use knee_report::locust::{Follower, table};

use crate::problem::{Problem, on_one_line, reason};
use crate::settings::output::open_result;

/// Writes all four files, or none.
///
/// # Errors
///
/// Without an output, or when the record cannot be read again or a file cannot be written.
pub fn write(record: &Path, run: &Run, output: Option<&Path>) -> Result<(), Problem> {
    let output = output.ok_or_else(|| {
        Problem::new(
            "`--format locust-csv` writes four files and needs `-o`",
            "give a prefix, as in `-o results/run1`, or a folder",
        )
    })?;
    let tables = table::render(&follow(record, run)?.end(run));
    let sinks = tables.iter().map(|(ending, _)| open_result(Some(&name(output, ending))));
    let sinks = sinks.collect::<Result<Vec<_>, _>>()?;
    for (mut sink, (_, text)) in sinks.into_iter().zip(&tables) {
        sink.write(text.as_bytes())?;
    }
    Ok(())
}

fn follow(record: &Path, run: &Run) -> Result<Follower, Problem> {
    let unreadable = |error: String| {
        let name = on_one_line(&record.display().to_string());
        Problem::new(
            format!("`{name}`: {}", on_one_line(&error)),
            "check that no other program writes to this file",
        )
    };
    let file = File::open(record).map_err(|error| unreadable(reason(&error)))?;
    let mut reader = Reader::new(BufReader::new(file)).map_err(|error| unreadable(error.to_string()))?;
    let mut follower = Follower::new(&run.head);
    // Damage was reported when the run was read; what is before it counts.
    while let Ok(Some(frame)) = reader.next_frame() {
        if let Frame::Interval(interval) = frame {
            follower.add_stored(&interval);
        }
    }
    Ok(follower)
}

/// `run1_stats.csv`, or `stats.csv` in a folder.
fn name(output: &Path, ending: &str) -> PathBuf {
    if output.is_dir() {
        return output.join(ending.trim_start_matches('_'));
    }
    let mut name = output.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
