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

/// Stands for a profile of each process that a study or a comparison started. It is not among [`STARTED`]: profiles cost CPU
/// time.
const PROFILE: &str = "profile";

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
    let starts_nothing = |text: &str, hint: &str| {
        Err(Problem::new(format!("`--observe {text}`: this command starts nothing"), hint))
    };
    if names_started(flags) {
        return starts_nothing(
            STARTED,
            "name what is to be observed, as in `--observe pid:4242` or `--observe postgres://host/database`",
        );
    }
    if flags.targets.iter().any(|text| text == PROFILE) {
        return starts_nothing(PROFILE, "name the process, as in `--observe profile:4242`");
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
    let ObserveFlags { targets: texts } = named(flags, started);
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

/// The flags with the names of what was started in place of `started` and `profile`.
pub fn named(flags: &ObserveFlags, started: &[String]) -> ObserveFlags {
    let texts = flags.targets.iter().flat_map(|text| match text.as_str() {
        STARTED => with_databases(started),
        PROFILE => pids(started).map(|pid| format!("profile:{pid}")).collect(),
        _ => vec![text.clone()],
    });
    ObserveFlags { targets: texts.collect() }
}

/// What was started, and the SQLite files that its processes have open.
fn with_databases(started: &[String]) -> Vec<String> {
    let files = pids(started).flat_map(knee_observe::open_databases);
    let files = files.filter_map(|path| Some(format!("sqlite:{}", path.to_str()?)));
    started.iter().cloned().chain(files).collect()
}

/// The processes among what was started.
fn pids(started: &[String]) -> impl Iterator<Item = u32> {
    started.iter().filter_map(|text| text.strip_prefix("pid:")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(targets: &[&str]) -> ObserveFlags {
        ObserveFlags { targets: targets.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[test]
    fn a_profile_of_what_was_started_is_taken_only_if_it_is_asked_for() {
        let started = ["pid:4194304".to_owned(), "redis://127.0.0.1:6379".to_owned()];
        let profile = Target::Profile(4_194_304);
        assert_eq!(of_trial(&flags(&["profile"]), &started).unwrap(), std::slice::from_ref(&profile));
        let all = of_trial(&flags(&["started", "host"]), &started).unwrap();
        assert!(!all.contains(&profile) && all.contains(&Target::Process(4_194_304)), "{all:?}");
        assert!(of_trial(&flags(&["profile"]), &[]).unwrap().is_empty());
    }

    #[test]
    fn a_command_that_starts_nothing_needs_the_number_of_the_process_to_profile() {
        assert_eq!(targets(&flags(&["profile:7"])).unwrap(), [Target::Profile(7)]);
        let problem = targets(&flags(&["profile"])).unwrap_err();
        assert!(problem.to_string().contains("profile:4242"), "{problem}");
    }
}
