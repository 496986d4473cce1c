//! `knee audit FILE…`: reads what other tools printed, and says what in it cannot be true.
//!
//! Opens the files and prints the result; `knee-audit` reads and checks. Sends no load.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use knee_audit::report::{Documents, Report, text};
use knee_audit::{Known, ReadError, audit as audit_one};
use knee_report::json;

use crate::args::{AuditArgs, AuditFormat};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line, printable, reason};
use crate::settings::output::open_result;

/// Runs the command.
///
/// # Errors
///
/// If a file cannot be read, or its format is not known.
pub fn audit(args: &AuditArgs, _narrate: fn(&str)) -> Result<Exit, Problem> {
    let known = Known { connections: args.connections };
    let reports = args.files.iter().map(|path| read(path, &known)).collect::<Result<Vec<_>, _>>()?;
    let result = match args.format {
        AuditFormat::Text => printable(&text(&reports)),
        AuditFormat::Json => json::pretty(&Documents::new(&reports)),
        AuditFormat::Quiet => String::new(),
    };
    open_result(args.output.as_deref())?.write(result.as_bytes())?;
    Ok(if reports.iter().all(|one| one.consistent) { Exit::Ok } else { Exit::Invalid })
}

/// Reads and checks one output.
fn read(path: &Path, known: &Known) -> Result<Report, Problem> {
    let name = on_one_line(&path.display().to_string());
    if path.as_os_str() == "-" {
        return check("stdin", stdin().lock(), known);
    }
    let unreadable = |error: &std::io::Error| {
        Problem::new(format!("`{name}`: {}", reason(error)), "check the name and its permissions")
    };
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Problem::new(format!("`{name}` is a folder"), "give the files in it"));
    }
    check(&name, file, known)
}

fn check(name: &str, input: impl Read, known: &Known) -> Result<Report, Problem> {
    audit_one(name, input, known).map_err(|error| unreadable(name, &error))
}

/// Why an output cannot be read. `name` is harmless.
pub(super) fn unreadable(name: &str, error: &ReadError) -> Problem {
    let what = match error {
        ReadError::Io(error) => reason(error),
        error => error.to_string(),
    };
    Problem::new(format!("`{name}`: {}", on_one_line(&what)), error.hint())
}
