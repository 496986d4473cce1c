//! The end of a run: k6's summary or the one of `handleSummary`, knee's own result, files, and the exit code.
//!
//! Does not measure. k6's summary comes first on stdout, because scripts and users of k6 expect it there; below it
//! follows what k6 does not report. If a script writes stdout with `handleSummary`, knee's part goes to stderr.

use std::path::Path;

use knee_core::clock;
use knee_core::outcome::Outcome;
use knee_core::record::{Ending, Run};
use knee_core::validity::Validity;
use knee_driver::private_file;
use knee_js::handled::{Handled, Piece};
use knee_js::op::Stage;
use knee_js::program::LogLevel;
use knee_k6::duration::SignedDuration;
use knee_k6::metric::BuiltIn;
use knee_k6::observe::metered::Total;
use knee_k6::observe::view::View;
use knee_k6::summary::text::{Style, render as k6_text};
use knee_k6::summary::{Summary, data, export, machine};
use knee_k6::threshold::{Verdict, judge};
use knee_report::text::{self as report, Palette};

use super::course::Course;
use super::job::Job;
use crate::command::failed::{Failed, failed};
use crate::command::load::show_on_page;
use crate::command::{render, why_invalid};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::output::Sink as ResultSink;
use crate::settings::script::Mode;

/// Prints and writes everything, and decides how the program ends.
pub fn end(job: &Job<'_>, course: &Course, narrate: fn(&str)) -> Result<Exit, Failed> {
    let (summary, verdict) = sum_up(job, course);
    if let Some(run) = &course.run {
        show_on_page(run);
    }
    let handled = if job.asked.summary.mode == Mode::Disabled {
        Handled::Nothing
    } else {
        handle(job, course, &summary, narrate)
    };
    print(job, course, &summary, &handled, narrate)?;
    let invalid = course.run.as_ref().zip(job.args.report.output_format);
    if let Some(line) = invalid.and_then(|(run, format)| why_invalid(run, format)) {
        narrate(&line);
    }
    save_export(job, course, &summary, narrate);
    conclude(job, course, &verdict)
}

fn sum_up(job: &Job<'_>, course: &Course) -> (Summary, Verdict) {
    let meter = job.total.meter();
    if let Some(words) = meter.groups().complaint() {
        job.session.program.say(LogLevel::Warn, &words);
    }
    let elapsed = SignedDuration(i64::try_from(course.elapsed.as_nanos()).unwrap_or(i64::MAX));
    let complete = course.fault.is_none() && !course.interrupted;
    if course.run.is_some() && complete && meter.sink(BuiltIn::Iterations.id()).is_none() {
        let words = "No script iterations fully finished, consider making the test duration longer";
        job.session.program.say(LogLevel::Warn, words);
    }
    let (judged, verdict) = judge(&job.guards, |name| meter.find(name).cloned(), elapsed, true);
    let summary = Summary {
        meter,
        judged,
        elapsed,
        trend_stats: job.options.summary_trend_stats.clone(),
        time_unit: job.options.summary_time_unit.clone(),
    };
    (summary, verdict)
}

/// Calls `handleSummary`. An error there is reported and does not fail the run: the usual summary is
/// shown instead.
fn handle(job: &Job<'_>, course: &Course, summary: &Summary, narrate: fn(&str)) -> Handled {
    if !job.session.exports("handleSummary") {
        return Handled::Nothing;
    }
    let around = data::Surroundings {
        stdout_terminal: job.terminal.stdout_terminal,
        stderr_terminal: job.terminal.stderr_terminal,
        no_color: !job.asked.color,
        setup_data: course.data.as_deref().and_then(|json| serde_json::from_str(json).ok()),
    };
    let object = data::object(summary, &around).to_string();
    let timeout = job.options.run.handle_summary_timeout.to_nanos();
    let nobody = View::plain(job.session.program.metrics.clone(), Total::new(summary.meter.catalog(), false));
    match job.stage("handleSummary", Stage::Summary, Some(&object), timeout, &nobody) {
        Ok(json) => json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or(Handled::Nothing),
        Err((problem, _)) => {
            narrate(&problem.to_string());
            Handled::Nothing
        }
    }
}

/// Writes what belongs on stdout and stderr, and the files of `handleSummary`.
fn print(
    job: &Job<'_>,
    course: &Course,
    summary: &Summary,
    handled: &Handled,
    narrate: fn(&str),
) -> Result<(), Failed> {
    let format = job.args.report.output_format;
    let mut stdout: Vec<u8> = Vec::new();
    let mut own = own_part(job, course);
    match handled {
        Handled::Wrong(words) => {
            narrate(&format!("error: failed to handle the end-of-test summary: {}", on_one_line(words)));
        }
        Handled::Pieces(pieces) => {
            for (place, piece) in pieces {
                match place.as_str() {
                    "stdout" if format.is_none() => stdout.extend_from_slice(piece.bytes()),
                    "stdout" => {}
                    "stderr" => narrate(String::from_utf8_lossy(piece.bytes()).trim_end_matches('\n')),
                    path => save(Path::new(path), piece, narrate),
                }
            }
            if format.is_none() {
                if !own.is_empty() && !job.args.report.quiet {
                    narrate(own.trim_end());
                }
                own.clear();
            }
        }
        Handled::Nothing if format.is_none() && job.asked.summary.mode != Mode::Disabled => {
            let color = job.asked.color && job.terminal.stdout_terminal;
            let style = Style { full: job.asked.summary.mode == Mode::Full, color };
            stdout.extend_from_slice(k6_text(summary, style).as_bytes());
        }
        Handled::Nothing => {}
    }
    stdout.extend_from_slice(own.as_bytes());
    ResultSink::Stdout.write(&stdout).map_err(failed)?;
    if let Some(line) = warning_line(job, course, handled) {
        narrate(&line);
    }
    Ok(())
}

/// Why the result is not valid, in one line, for runs whose script prints the result itself.
fn warning_line(job: &Job<'_>, course: &Course, handled: &Handled) -> Option<String> {
    let asked = &job.args.report;
    let silent = asked.output_format.is_none() && asked.quiet && matches!(handled, Handled::Pieces(_));
    let run = course.run.as_ref().filter(|run| silent && has_requests(run))?;
    report::reason_line(&knee_report::View::of(run))
}

/// knee's own result: in the requested format, or the part that k6's summary lacks.
fn own_part(job: &Job<'_>, course: &Course) -> String {
    let Some(run) =
        course.run.as_ref().filter(|run| has_requests(run) || job.args.report.output_format.is_some())
    else {
        return String::new();
    };
    let color = job.asked.color && job.terminal.stdout_terminal;
    if let Some(format) = job.args.report.output_format {
        return render(run, format, color, None);
    }
    let palette = if color { Palette::Ansi } else { Palette::None };
    let style = report::Style { palette, ..report::Style::default() };
    report::beside_k6(&knee_report::View::of(run), &style) + "\n"
}

/// Whether there is anything that k6's summary does not say: a request. A dropped iteration is none.
fn has_requests(run: &Run) -> bool {
    let accounting = run.measured.accounting();
    let dropped = if run.validity.diagnostics.load.drops { accounting.count(Outcome::Unsent) } else { 0 };
    accounting.planned > dropped
}

fn save(path: &Path, piece: &Piece, narrate: fn(&str)) {
    if let Err(error) = private_file::write(path, piece.bytes()) {
        let path = on_one_line(&path.display().to_string());
        narrate(&format!("error: `{path}` cannot be written, for handleSummary(): {}", reason(&error)));
    }
}

/// `--summary-export`. A file that cannot be written is reported and does not fail the run, as in k6.
fn save_export(job: &Job<'_>, course: &Course, summary: &Summary, narrate: fn(&str)) {
    let Some(path) = job.asked.summary.export.as_deref().filter(|_| job.asked.summary.mode != Mode::Disabled)
    else {
        return;
    };
    let object = if job.asked.summary.machine {
        let source = std::fs::read_to_string(&job.args.script).unwrap_or_default();
        let now = i128::from(clock::wall().as_nanos());
        let now = jiff::Timestamp::from_nanosecond(now).unwrap_or_default().to_string();
        let version = concat!("knee ", env!("CARGO_PKG_VERSION"));
        machine::object(summary, &machine::Surroundings { script: &source, generated_at: &now, version })
    } else {
        let data = course.data.as_deref().and_then(|json| serde_json::from_str(json).ok());
        export::object(summary, data)
    };
    let mut text = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, form);
    // Writing a value into memory cannot fail.
    let _ = serde::Serialize::serialize(&object, &mut writer);
    save(path, &Piece::Bytes(text), narrate);
}

/// The findings that decide the exit code, apart from faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "these are four independent findings")]
struct Facts {
    invalid: bool,
    interrupted: bool,
    marked_failed: bool,
    crossed: bool,
}

/// The first that applies: an invalid result where a valid one is required, an interruption, the script's own word,
/// thresholds.
fn exit_of(facts: Facts) -> Exit {
    match facts {
        Facts { invalid: true, .. } => Exit::Invalid,
        Facts { interrupted: true, .. } => Exit::Interrupted,
        Facts { marked_failed: true, .. } => Exit::MarkedFailed,
        Facts { crossed: true, .. } => Exit::Threshold,
        _ => Exit::Ok,
    }
}

fn conclude(job: &Job<'_>, course: &Course, verdict: &Verdict) -> Result<Exit, Failed> {
    if let Some((problem, exit)) = &course.fault {
        return Err((problem.clone(), *exit));
    }
    if let Some(problem) = &course.incomplete {
        return Err((problem.clone(), Exit::Failure));
    }
    let ending = course.run.as_ref().map(|run| &run.ending);
    // Without a request nothing was measured that could be invalid; the script can still judge itself.
    let invalid = course
        .run
        .as_ref()
        .is_some_and(|run| run.validity.validity == Validity::Invalid && has_requests(run));
    let facts = Facts {
        invalid: invalid && job.args.report.require_valid,
        interrupted: course.interrupted
            || (ending.is_some_and(|ending| *ending != Ending::Completed) && !course.aborted),
        marked_failed: job.tally.has_failed(),
        crossed: !verdict.crossed.is_empty(),
    };
    let exit = exit_of(facts);
    let words = if facts.crossed && course.aborted {
        let crossed = verdict.crossed.join(", ");
        format!(
            "thresholds on metrics '{crossed}' were crossed; at least one has abortOnFail enabled, stopping test prematurely"
        )
    } else if facts.marked_failed {
        "test run was marked as failed".to_owned()
    } else if facts.crossed {
        verdict.to_string()
    } else {
        return Ok(exit);
    };
    // Names of metrics are of the script, and have no lines.
    Err((Problem::new(on_one_line(&words), ""), exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_says_of_itself_counts_more_than_its_thresholds() {
        let none = Facts::default();
        for (facts, exit) in [
            (none, Exit::Ok),
            (Facts { crossed: true, ..none }, Exit::Threshold),
            (Facts { crossed: true, marked_failed: true, ..none }, Exit::MarkedFailed),
            (Facts { crossed: true, interrupted: true, ..none }, Exit::Interrupted),
            (Facts { crossed: true, invalid: true, marked_failed: true, interrupted: true }, Exit::Invalid),
        ] {
            assert_eq!(exit_of(facts), exit, "{facts:?}");
        }
    }
}
