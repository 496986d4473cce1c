//! What is watched beside a load.
//!
//! Does not connect to anything. Which SQLite files a service has open is read from `/proc`.

use knee_observe::Target;

use crate::args::ObserveFlags;
use crate::problem::Problem;

/// Most sources that are watched beside one load.
const TARGETS_MAX: usize = 32;

/// Stands for everything that a study or a comparison started.
const STARTED: &str = "started";

/// Whether everything that is started is watched.
pub fn names_started(flags: &ObserveFlags) -> bool {
    flags.targets.iter().any(|text| text == STARTED)
}

/// Resolves the flags of a command that starts nothing.
///
/// # Errors
///
/// When a target cannot be read, or there are too many.
pub fn targets(flags: &ObserveFlags) -> Result<Vec<Target>, Problem> {
    if names_started(flags) {
        return Err(Problem::new(
            format!("`--observe {STARTED}`: this command starts nothing"),
            "name what is to be observed, as in `--observe pid:4242` or `--observe postgres://host/database`",
        ));
    }
    of_trial(flags, &[])
}

/// Resolves the flags of a command that started these sources. The SQLite files that a started process has open are among
/// what is started.
///
/// # Errors
///
/// As [`targets`].
pub fn of_trial(flags: &ObserveFlags, started: &[String]) -> Result<Vec<Target>, Problem> {
    let texts = flags
        .targets
        .iter()
        .flat_map(|text| if text == STARTED { with_databases(started) } else { vec![text.clone()] });
    let texts: Vec<String> = texts.collect();
    if texts.len() > TARGETS_MAX {
        return Err(Problem::new(
            format!("`--observe` names {} sources", texts.len()),
            format!("observe at most {TARGETS_MAX} sources"),
        ));
    }
    let target = |text: &String| {
        Target::parse(text).map_err(|error| Problem::new(format!("`--observe`: {error}"), error.hint()))
    };
    let mut targets = Vec::new();
    for text in &texts {
        let target = target(text)?;
        // What was started can be named by a flag, too.
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// What was started, and the SQLite files that its processes have open.
fn with_databases(started: &[String]) -> Vec<String> {
    let pids = started.iter().filter_map(|text| text.strip_prefix("pid:")?.parse().ok());
    let files = pids.flat_map(knee_observe::open_databases);
    let files = files.filter_map(|path| Some(format!("sqlite:{}", path.to_str()?)));
    started.iter().cloned().chain(files).collect()
}
