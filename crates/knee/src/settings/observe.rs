//! What is watched beside a load.
//!
//! Does not connect to anything.

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

/// Resolves the flags of a command that started these sources.
///
/// # Errors
///
/// As [`targets`].
pub fn of_trial(flags: &ObserveFlags, started: &[String]) -> Result<Vec<Target>, Problem> {
    let texts = flags
        .targets
        .iter()
        .flat_map(|text| if text == STARTED { started.iter().collect::<Vec<_>>() } else { vec![text] });
    let texts: Vec<&String> = texts.collect();
    if texts.len() > TARGETS_MAX {
        return Err(Problem::new(
            format!("`--observe` names {} sources", texts.len()),
            format!("observe at most {TARGETS_MAX} sources"),
        ));
    }
    let target = |text: &&String| {
        Target::parse(text).map_err(|error| Problem::new(format!("`--observe`: {error}"), error.hint()))
    };
    texts.iter().map(target).collect()
}
