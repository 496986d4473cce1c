//! `knee find`: one load of a URL or of a study's variant, or a short sweep of a URL, all findings, and the proof of a
//! remedy that knee can apply.
//!
//! `knee_findings` finds, `knee_driver` starts and runs, `knee_study` concludes. Does not write to anything that knee did
//! not start.

use std::path::Path;

use super::failed::{Failed, refused};
use crate::args::{FindArgs, SearchFlags};
use crate::exit::Exit;
use crate::problem::Problem;

mod by_hand;

mod choice;

mod of_study;

mod of_sweep;

mod of_url;

mod writer;

/// Runs the command.
///
/// # Errors
///
/// What is wrong with what was typed ([`Exit::Configuration`]), or what failed on this machine.
pub fn find(args: &FindArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    match (is_study(&args.target).map_err(refused)?, args.sweep) {
        (true, false) => of_study::find(args, narrate),
        (true, true) => Err(refused(Problem::new(
            "`--sweep` is for a URL, but the target is a study",
            "the workload sets the load: choose one with `--workload NAME`",
        ))),
        (false, _) => of_a_url(args, narrate),
    }
}

fn of_a_url(args: &FindArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    if args.study != SearchFlags::default() {
        let what = "`--variant`, `--workload`, `--no-proof`, `--proof-time` and `--share-cpus` are for studies, but \
                    the target is a URL";
        return Err(refused(Problem::new(what, "leave the flag out, or give the folder of a study")));
    }
    if args.sweep { of_sweep::find(args, narrate) } else { of_url::find(args, narrate) }
}

/// Whether the target is the folder or the file of a study, and not a URL.
fn is_study(target: &str) -> Result<bool, Problem> {
    if Path::new(target).exists() {
        return Ok(true);
    }
    let is_file = Path::new(target).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let is_path = !target.contains("://") && (target.starts_with(['.', '/']) || is_file);
    if is_path {
        let hint = "give the folder of a study, or a URL such as http://127.0.0.1:8080/";
        return Err(Problem::new(format!("there is no file or folder `{target}`"), hint));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_study_and_what_is_no_path_is_a_url() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(is_study(&folder.path().display().to_string()), Ok(true));
        for url in ["http://127.0.0.1:1/tasks", "localhost:8080", "example.org"] {
            assert_eq!(is_study(url), Ok(false), "{url}");
        }
        for path in ["./gone", "/gone/folder", "gone/study.toml"] {
            assert!(is_study(path).unwrap_err().what.contains(path), "{path}");
        }
    }
}
