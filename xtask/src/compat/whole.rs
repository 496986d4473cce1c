//! `cargo xtask compat --scripts`: whole scripts by reference, under both programs.
//!
//! Each script runs four iterations with two virtual users; all hosts that it asks are one server of this program. What
//! k6 itself does not repeat is not compared. Does not run scenarios, which have times and users of their own, and does
//! not keep anything of the scripts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ignore::WalkBuilder;

use super::case::{Case, Order};
use super::difference::{self, Difference};
use super::outcome::Outcome;
use super::run::{Place, Program};

mod script;

use script::masked;

/// Arguments that bound a script.
const BOUNDS: [&str; 4] = ["--iterations", "4", "--vus", "2"];

/// What came of one script.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Differs(Vec<Difference>),
    /// Both programs refuse it.
    Refused,
    LeftOut(String),
}

/// Runs all scripts and prints what came of each; fails if one differs.
pub fn run(paths: &[PathBuf], k6: PathBuf, knee: PathBuf) -> Result<()> {
    let cases = cases(paths)?;
    ensure!(!cases.is_empty(), "no scripts of k6 with a default function are there");
    let (k6, knee) = (Program::K6(k6), Program::Knee(knee));
    let verdicts = super::each_at(&cases.iter().collect::<Vec<_>>(), Place::for_all_hosts, |place, case| {
        Ok(verdict(place, &k6, &knee, case))
    })?;
    for (case, verdict) in cases.iter().zip(&verdicts) {
        tell(&case.name, verdict);
    }
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
    let (same, left_out) =
        (count(|one| *one == Verdict::Same), count(|one| matches!(one, Verdict::LeftOut(_))));
    let (refused, differ) =
        (count(|one| *one == Verdict::Refused), count(|one| matches!(one, Verdict::Differs(_))));
    let all = cases.len();
    println!(
        "compat: {all} scripts, {same} the same, {refused} refused by both, {differ} differ, {left_out} left out"
    );
    if differ > 0 {
        bail!("{differ} scripts behave in another way than under k6");
    }
    Ok(())
}

fn tell(name: &str, verdict: &Verdict) {
    match verdict {
        Verdict::Same => println!("same      {name}"),
        Verdict::Refused => println!("refused   {name}"),
        Verdict::LeftOut(why) => println!("left out  {name}: {why}"),
        Verdict::Differs(differences) => {
            println!("differs   {name}");
            for difference in differences {
                print!("{difference}");
            }
        }
    }
}

/// The scripts below `paths`, each as a case.
fn cases(paths: &[PathBuf]) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for path in paths {
        let path = path.canonicalize().with_context(|| format!("no {}", path.display()))?;
        for entry in WalkBuilder::new(&path).standard_filters(false).sort_by_file_path(Path::cmp).build() {
            let entry = entry?;
            let file = entry.path();
            let is_script = file.extension().is_some_and(|ending| ending == "js" || ending == "ts");
            if !is_script || !file.is_file() {
                continue;
            }
            let text = fs::read_to_string(file).unwrap_or_default();
            // A file that was asked for by its name is taken as it is.
            if file == path || script::is_entry(&text) {
                let name = file.strip_prefix(&path).ok().filter(|name| !name.as_os_str().is_empty());
                let name = name.unwrap_or(file).display().to_string();
                cases.push(case(name, file, &text));
            }
        }
    }
    Ok(cases)
}

fn case(name: String, path: &Path, text: &str) -> Case {
    let mut arguments: Vec<String> = BOUNDS.map(str::to_owned).to_vec();
    arguments.push("--insecure-skip-tls-verify".to_owned());
    for (name, value) in script::variables(text) {
        arguments.extend(["-e".to_owned(), format!("{name}={value}")]);
    }
    Case {
        name,
        path: path.to_owned(),
        arguments,
        // k6 would look for extensions in the network.
        environment: vec![("K6_AUTO_EXTENSION_RESOLUTION".to_owned(), "false".to_owned())],
        order: Order::Any,
        lines: Order::Any,
        ..Case::default()
    }
}

fn verdict(place: &Place, k6: &Program, knee: &Program, case: &Case) -> Verdict {
    if let Some(why) = script::unsuitable(&fs::read_to_string(&case.path).unwrap_or_default()) {
        return Verdict::LeftOut(why.to_owned());
    }
    let mut case = case.clone();
    case.arguments.extend(["--config".to_owned(), place.config().display().to_string()]);
    let run = |program| place.run(program, &case).map(masked);
    let mut of_k6 = Vec::new();
    // A difference must be there twice: what a script leaves to chance can be the same in two runs of k6.
    for _ in 0..2 {
        for _ in 0..2 {
            match run(k6) {
                Ok(outcome) => of_k6.push(outcome),
                Err(error) => return Verdict::LeftOut(format!("k6: {error:#}")),
            }
        }
        let of_knee = match run(knee) {
            Ok(outcome) => outcome,
            Err(error) => {
                let knee = vec![format!("{error:#}")];
                return Verdict::Differs(vec![Difference {
                    part: "run".to_owned(),
                    knee,
                    ..Difference::default()
                }]);
            }
        };
        let verdict = judge(&of_k6, &of_knee);
        if !matches!(verdict, Verdict::Differs(_)) || of_k6.len() > 2 {
            return verdict;
        }
    }
    Verdict::Same
}

/// Whether a program did not even begin the script.
fn is_refused(outcome: &Outcome) -> bool {
    let failed = outcome.0.get("exit").is_none_or(|lines| lines != &["0"]);
    failed && !outcome.0.contains_key("metrics") && !outcome.0.contains_key("requests")
}

/// Compares one run of knee with several of k6.
fn judge(of_k6: &[Outcome], of_knee: &Outcome) -> Verdict {
    let Some((first, others)) = of_k6.split_first() else { return Verdict::LeftOut("k6 was not run".into()) };
    if others.iter().any(|other| is_refused(other) != is_refused(first)) {
        return Verdict::LeftOut("k6 itself does not always run it".into());
    }
    if is_refused(first) && is_refused(of_knee) {
        return Verdict::Refused;
    }
    let (mut expected, mut seen) = (first.clone(), of_knee.clone());
    for part in varying(first, others) {
        // The names of metrics stay even where their values are a matter of chance.
        for outcome in [&mut expected, &mut seen] {
            if part == "metrics" {
                outcome.0.entry(part.clone()).and_modify(|lines| lines.iter_mut().for_each(only_name));
            } else {
                outcome.0.remove(&part);
            }
        }
    }
    let found = difference::between(&expected, &seen);
    if found.is_empty() { Verdict::Same } else { Verdict::Differs(found) }
}

fn only_name(line: &mut String) {
    line.truncate(line.find(' ').unwrap_or(line.len()));
}

/// The parts in which runs of k6 differ.
fn varying(first: &Outcome, others: &[Outcome]) -> Vec<String> {
    let mut parts: Vec<String> = others
        .iter()
        .flat_map(|other| difference::between(first, other))
        .map(|difference| difference.part)
        .collect();
    parts.sort();
    parts.dedup();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(parts: &[(&str, &[&str])]) -> Outcome {
        let mut outcome = Outcome::default();
        for (part, lines) in parts {
            outcome.add(part, lines.iter().map(|line| (*line).to_owned()).collect());
        }
        outcome
    }

    #[test]
    fn what_k6_repeats_is_compared_and_what_it_does_not_is_not() {
        let run = |random: &str, count: &str| {
            outcome(&[
                ("exit", &["0"]),
                ("console", &[random]),
                ("metrics", &[&format!("mine count={count}")]),
            ])
        };
        let k6 = [run("a", "1"), run("b", "1")];
        assert_eq!(judge(&k6, &run("c", "1")), Verdict::Same);
        let Verdict::Differs(found) = judge(&k6, &run("c", "2")) else { panic!("no difference") };
        assert_eq!((found.len(), found[0].part.as_str()), (1, "metrics"));
        let k6 = [run("a", "1"), run("b", "2")];
        assert_eq!(judge(&k6, &run("c", "3")), Verdict::Same);
        let other = outcome(&[("exit", &["0"]), ("metrics", &["other count=1"])]);
        assert!(matches!(judge(&k6, &other), Verdict::Differs(_)), "names of metrics are always compared");
    }

    #[test]
    fn a_script_that_both_refuse_is_no_difference_and_one_that_knee_alone_refuses_is() {
        let refused = |code: &str| outcome(&[("exit", &[code])]);
        let ran = outcome(&[("exit", &["0"]), ("metrics", &["iterations count=4"])]);
        assert_eq!(judge(&[refused("107"), refused("107")], &refused("104")), Verdict::Refused);
        assert!(matches!(judge(&[ran.clone(), ran.clone()], &refused("107")), Verdict::Differs(_)));
        assert!(matches!(judge(&[refused("107"), refused("107")], &ran), Verdict::Differs(_)));
        assert!(matches!(judge(&[ran.clone(), refused("255")], &ran), Verdict::LeftOut(_)));
    }
}
