//! The function in which a process spends most of its CPU time, or the file, if a profile of the process was taken.
//!
//! Says where the time goes, and not that there is too little of it: it adds to findings and makes none.

use knee_core::observation::SourceKind;

use crate::definition::Draft;
use crate::evidence::Evidence;
use crate::figure::percent;
use crate::watched::Watched;

/// Fewer samples say little about shares.
const SAMPLES_MIN: f64 = 100.0;

/// Most characters of the name of a function in a sentence.
const NAME_MAX: usize = 80;

/// Small functions together, code whose file is not known, and what the name of a file without symbols ends with.
const OTHERS: &str = "(other)";
const NOWHERE: &str = "unknown";
const NAMELESS: &str = "+unknown";

/// Where a process spends most of its CPU time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hottest {
    /// The hottest function and its share; before it the file whose functions have no names, if they have more.
    places: Vec<(f64, String)>,
    /// Whether time in the kernel was not sampled.
    only_user: bool,
}

impl Hottest {
    /// That of a process; `None` without a profile of it, or with too few samples.
    pub(crate) fn of(evidence: &Evidence<'_>, process: &Watched<'_>) -> Option<Self> {
        let wanted = pid(&process.source.name)?;
        let profiles = evidence.sources(SourceKind::Profile);
        let profile = profiles.iter().find(|profile| pid(&profile.source.name) == Some(wanted))?;
        let functions = profile.rises("profile.samples");
        let all: f64 = functions.iter().map(|(_, rise)| rise.amount).sum();
        let known = functions.iter().filter(|(function, rise)| {
            ![OTHERS, NOWHERE].contains(function) && rise.amount > 0.0 && all >= SAMPLES_MIN
        });
        let mut places = Vec::new();
        for (function, rise) in known {
            let share = rise.amount / all;
            match function.strip_suffix(NAMELESS) {
                Some(file) if places.is_empty() => {
                    places.push((share, format!("functions of {} without a name", short(file))));
                }
                Some(_) => {}
                None => {
                    places.push((share, short(function)));
                    break;
                }
            }
        }
        let only_user = profile.source.without.iter().any(|what| what.starts_with("time in the kernel"));
        (!places.is_empty()).then_some(Self { places, only_user })
    }

    /// What a sentence about the process ends with.
    pub(crate) fn clause(&self) -> String {
        let of = if self.only_user { "its CPU time outside the kernel" } else { "its CPU time" };
        let parts = self.places.iter().enumerate().map(|(number, (share, place))| match number {
            0 => format!("; {} of {of} is in {place}", percent(*share)),
            _ => format!(", {} in {place}", percent(*share)),
        });
        parts.collect::<Vec<_>>().concat()
    }
}

/// Adds the hottest function of the process to the sentence of what a rule found about it. It is no signal: where the time
/// goes does not show that there is too little of it.
pub(crate) fn add_hottest(evidence: &Evidence<'_>, process: &Watched<'_>, draft: &mut Draft) {
    if let Some(hottest) = Hottest::of(evidence, process) {
        draft.statement.push_str(&hottest.clause());
    }
}

/// The number of a process in the name of its source: `shop (pid 7)`, `profile of shop (pid 7)`. The name of the program can
/// contain anything, and its number is the last thing.
fn pid(name: &str) -> Option<&str> {
    name.rsplit_once("pid ").map(|(_, pid)| pid.trim_end_matches(')'))
}

/// The name of a function, cut.
fn short(function: &str) -> String {
    match function.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}…", &function[..end]),
        None => function.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use knee_core::observation::SourceKind;

    use crate::Confidence;
    use crate::testing::Scene;

    /// A process that fills its four CPUs, and its profile: samples per second by function.
    fn profiled(waits: f64, functions: &[(&str, f64)]) -> Scene {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.busy_host(host, 0.97);
        scene.counter(host, "host.pressure.cpu.some", "", waits);
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", 3.0);
        scene.counter(process, "process.cpu.system", "", 0.8);
        let profile = scene.source(SourceKind::Profile, "profile of shop (pid 7)");
        for (function, per_second) in functions {
            scene.counter(profile, "profile.samples", function, *per_second);
        }
        scene
    }

    const FUNCTIONS: [(&str, f64); 4] = [
        ("shop+unknown", 150.0),
        ("serde_json::ser::to_vec", 130.0),
        ("memcpy (libc.so.6)", 70.0),
        ("(other)", 30.0),
    ];

    #[test]
    fn a_full_process_with_a_profile_is_found_with_its_hottest_function() {
        let finding = profiled(0.6, &FUNCTIONS).found("cpu_full").unwrap();
        let says = "shop (pid 7) uses 95 % of the 4 CPUs that it can use; 39 % of its CPU time is in functions of shop \
                    without a name, 34 % in serde_json::ser::to_vec";
        assert_eq!(finding.statement, says);
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
    }

    #[test]
    fn a_library_without_symbols_that_takes_most_of_the_time_is_named_before_a_small_function() {
        let functions = [("libz.so.1+unknown", 263.0), ("(other)", 25.0), ("unlock (kernel)", 12.0)];
        let statement = profiled(0.6, &functions).found("cpu_full").unwrap().statement;
        let end =
            "; 88 % of its CPU time is in functions of libz.so.1 without a name, 4.0 % in unlock (kernel)";
        assert!(statement.ends_with(end), "{statement}");
        let statement = profiled(0.6, &[("shop+unknown", 300.0)]).found("cpu_full").unwrap().statement;
        let end = "; 100 % of its CPU time is in functions of shop without a name";
        assert!(statement.ends_with(end), "{statement}");
    }

    #[test]
    fn a_hot_function_makes_no_finding_of_a_hint() {
        let finding = profiled(0.05, &FUNCTIONS).found("cpu_full").unwrap();
        assert!(finding.statement.ends_with(", 34 % in serde_json::ser::to_vec"), "{}", finding.statement);
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Hint, 1));
    }

    #[test]
    fn a_profile_of_another_process_or_of_few_samples_is_not_used() {
        let mut other = profiled(0.6, &FUNCTIONS);
        other.observations.sources[2].name = "profile of shop (pid 77)".to_owned();
        let without = "shop (pid 7) uses 95 % of the 4 CPUs that it can use";
        assert_eq!(other.found("cpu_full").unwrap().statement, without);
        let few = profiled(0.6, &[("render", 3.0)]);
        assert_eq!(few.found("cpu_full").unwrap().statement, without);
        let idle = profiled(0.6, &[]);
        assert_eq!(idle.found("cpu_full").unwrap().statement, without);
    }

    #[test]
    fn a_profile_without_the_kernel_says_so_and_long_names_are_cut() {
        let long = "a".repeat(200);
        let mut scene = profiled(0.6, &[(long.as_str(), 300.0)]);
        scene.observations.sources[2].without = vec!["time in the kernel: refused".to_owned()];
        let statement = scene.found("cpu_full").unwrap().statement;
        let end = format!("100 % of its CPU time outside the kernel is in {}…", "a".repeat(80));
        assert!(statement.ends_with(&end), "{statement}");
    }
}
