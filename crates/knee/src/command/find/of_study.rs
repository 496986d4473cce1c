//! A search in a study: one variant is started with its stores, observed, loaded, and loaded again with the remedy.
//!
//! The trials of the proof are those of an ordinary study, with fresh processes and the seeded data. They are not
//! observed. Does not save trials beside the study.

use std::path::{Path, PathBuf};

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_driver::search::Search as Services;
use knee_driver::{Event, Loaded, Times};
use knee_engine::control::{Control, Request as Asked};
use knee_findings::Finding;
use knee_fixture::Store;
use knee_report::View;
use knee_report::find::{Proof, Search, Tried};
use knee_report::number::counted;
use knee_study::definition::{Definition, Load, Variant};
use knee_study::proof::{self, Extent, Sample};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Conclusion, Effect, Options, Study};

use super::choice::{self, Choice, Known, not_tried};
use super::writer::Writer;
use crate::args::{AmountFlags, ConnectionFlags, FindArgs, ObserveFlags, RequestFlags};
use crate::command::failed::{Failed, driver_failed, failed, refused};
use crate::command::progress::Progress;
use crate::command::study::source::Declared;
use crate::command::{noise, study as studies};
use crate::exit::Exit;
use crate::other_load::Presence;
use crate::problem::{Problem, on_one_line};
use crate::settings::number::span_above_zero;
use crate::settings::observe;
use crate::signals;

/// Measured time of a look that repeats one request, and its longest warm-up.
const LOOK: Nanos = Nanos::from_secs(15);
const WARM_UP_MAX: Nanos = Nanos::from_secs(5);

/// Time limit of a proof if none is given.
const PROOF_TIME: &str = "10m";

/// Searches.
///
/// # Errors
///
/// What is wrong with the study or with what was typed, or what failed on this machine.
pub fn find(args: &FindArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let asked = Asking::of(args, narrate).map_err(refused)?;
    let mut writer = Writer::open(args).map_err(refused)?;
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let _presence = Presence::of_series(&control, narrate);
    let mut progress =
        Progress::new(narrate, args.output.quiet, "interrupted: the result covers the trials so far");
    let search = asked.search(&control, &mut progress)?;
    progress.explain();
    writer.write(&search, narrate)?;
    Ok(exit_of(&search, &control))
}

/// What is searched.
struct Asking<'a> {
    args: &'a FindArgs,
    folder: PathBuf,
    /// One variant under one workload.
    part: Definition,
    /// Which workload that is and which others there are, if none was chosen; for the notes.
    others: Option<String>,
    observe: ObserveFlags,
    limit: Nanos,
    narrate: fn(&str),
}

impl<'a> Asking<'a> {
    fn of(args: &'a FindArgs, narrate: fn(&str)) -> Result<Self, Problem> {
        let loads = (&args.amount, &args.request, &args.connection);
        if loads != (&AmountFlags::default(), &RequestFlags::default(), &ConnectionFlags::default()) {
            let what = "the flags of a load are for a URL, but the target is a study";
            return Err(Problem::new(what, "the workload sets the load: choose one with `--workload NAME`"));
        }
        let (folder, text, file) = studies::read(Path::new(&args.target))?;
        let exists = |path: &str| folder.join(path).is_file();
        let definition =
            Definition::read(&text, &file, &exists).map_err(|problems| studies::problem_of(&problems))?;
        if let Some(code) = choice::unknown_codes(&definition).first() {
            let what =
                format!("{file}: a switch has a remedy of `{}`, which is no finding", on_one_line(code));
            return Err(Problem::new(what, "docs/reference/findings.md has the codes of all findings"));
        }
        let part = part(&definition, args)?;
        let limit = args.study.proof_time.as_deref().unwrap_or(PROOF_TIME);
        let limit = span_above_zero("--proof-time", limit)?;
        let mut observe = args.observe.clone();
        for target in ["started", "host"] {
            if !observe.targets.iter().any(|one| one == target) {
                observe.targets.push(target.to_owned());
            }
        }
        observe::of_trial(&observe, &[])?;
        let others = others(&definition, args.study.workload.as_deref());
        Ok(Self { args, folder, part, others, observe, limit, narrate })
    }

    fn search(&self, control: &Control, progress: &mut Progress) -> Result<Search, Failed> {
        let mut study = self.study(self.part.clone(), Some(self.variant().name.clone()))?;
        self.announce();
        let observe = self.observe.clone();
        let source = |folder: &Path| {
            Box::new(Declared { folder: folder.to_owned(), observe, remote: None, feed: None }) as Box<_>
        };
        let mut report = |event: Event<'_>| progress.report(&event);
        let mut services = Services::up(&mut study, &self.folder, source, control, &mut report)
            .map_err(|error| ended(error, control))?;
        let looked = services.look(&study, &self.variant().name, self.times(), &mut report);
        let loaded = match looked {
            Ok(loaded) => loaded,
            Err(error) => {
                // What could not be loaded is the error; what cannot be removed is removed by the next start.
                let _ = services.down();
                return Err(ended(error, control));
            }
        };
        self.record(&loaded);
        let mut search = Search {
            title: self.title(),
            look: View::of(&loaded.run),
            notes: self.notes(&mut services),
            remedies: Vec::new(),
            proof: not_tried("", Vec::new()),
        };
        self.prove(&mut search, &loaded, services, control, progress)?;
        Ok(search)
    }

    /// Tries the remedy of the first finding that knee can apply, and says what became of the others.
    fn prove(
        &self,
        search: &mut Search,
        loaded: &Loaded,
        mut services: Services,
        control: &Control,
        progress: &mut Progress,
    ) -> Result<(), Failed> {
        let stores = services.stores().into_iter();
        let known = |store: Store| Known {
            name: store.name,
            urls: std::iter::once(store.url).chain(store.replica_url).collect(),
        };
        let stores: Vec<Known> = stores.map(known).collect();
        let possible = |finding: &Finding| choice::possible(finding, &self.part, self.variant(), &stores);
        let report = &search.look.findings;
        let chosen = choice::choose(report, &self.part, self.variant(), &stores);
        let proof = match (&chosen, self.extent(&search.look, loaded)) {
            (None, _) => {
                self.down(services);
                let why = report.findings.first().and_then(|first| possible(first).err());
                self.untried(&search.look, why.unwrap_or_default(), None)
            }
            (Some(choice), Err(why)) => {
                self.down(services);
                self.untried(&search.look, why, Some(choice))
            }
            (Some(choice), Ok(extent)) => {
                let (proof, note) =
                    self.trials(&search.look, choice, &extent, services, control, progress)?;
                search.notes.extend(note);
                proof
            }
        };
        let place = chosen.map(|choice| choice.finding);
        search.remedies = choice::considered(&search.look.findings, possible, place, &proof);
        search.proof = proof;
        Ok(())
    }

    /// How long the proof takes; or why there is none, as a clause without a full stop.
    fn extent(&self, look: &View, loaded: &Loaded) -> Result<Extent, String> {
        if self.args.study.no_proof {
            return Err("--no-proof".to_owned());
        }
        let sample = sample(look, loaded).ok_or("the load had no response")?;
        let extent = proof::extent(&self.part, sample, self.limit);
        extent.ok_or_else(|| format!("its trials take longer than {} (--proof-time)", self.limit))
    }

    /// Looks at the service with the remedy, and runs the trials with and without it. What fails on the way is the reason
    /// why nothing is proven, or a note if some trials can be compared.
    fn trials(
        &self,
        look: &View,
        choice: &Choice,
        extent: &Extent,
        mut services: Services,
        control: &Control,
        progress: &mut Progress,
    ) -> Result<(Proof, Option<String>), Failed> {
        let left = |why: String| (self.untried(look, why, Some(choice)), None);
        let (mut study, name) = match self.trials_of(look, choice, extent) {
            Ok(planned) => planned,
            Err((problem, _)) => {
                self.down(services);
                return Ok(left(format!("its trials cannot be planned: {}", problem.what)));
            }
        };
        (self.narrate)(&format!(
            "trying the remedy: {}; {} with and without it, about {}",
            on_one_line(&choice::words(&choice.change)),
            counted(study.remaining() as u64, "trial"),
            extent.takes
        ));
        let mut report = |event: Event<'_>| progress.report(&event);
        let after = match services.look(&study, &name, self.times(), &mut report) {
            Ok(after) => after,
            Err(error) if control.request() != Asked::Run => return Err(ended(error, control)),
            Err(error) => {
                self.down(services);
                return Ok(left(without_load(&error)));
            }
        };
        self.record(&after);
        let source =
            Declared { folder: self.absolute(), observe: ObserveFlags::default(), remote: None, feed: None };
        // The trials before a failure are an answer; without any, the failure is the reason.
        let fault = services.prove(&mut study, Box::new(source), control, &mut report).unwrap_or_else(Some);
        let fault = fault.map(|fault| driver_failed(fault).0);
        if let Some(problem) = &fault {
            (self.narrate)(&problem.to_string());
        }
        let conclusion = study.conclude();
        let is_measured = conclusion.effects.iter().any(|effect| effect.change.is_some());
        if let Some(problem) = fault.as_ref().filter(|_| !is_measured) {
            return Ok(left(format!("its trials failed: {}", problem.what)));
        }
        let run = counted(conclusion.trials.len() as u64, "trial");
        let note = fault.map(|problem| format!("after {run} of the proof: {}", problem.what));
        let (finding, change) = (choice.finding, choice::words(&choice.change));
        let tried = Tried { finding, change, conclusion, after: Some(View::of(&after.run)) };
        Ok((Proof::Tried(Box::new(tried)), note))
    }

    /// The study of the variant with and without the remedy, and the name of the variant with it.
    fn trials_of(&self, look: &View, choice: &Choice, extent: &Extent) -> Result<(Study, String), Failed> {
        let finding = &look.findings.findings[choice.finding];
        let name = choice::short_name(finding, Some(&choice.change));
        let changed = proof::changed(self.variant(), name, &choice::words(&choice.change), &choice.change);
        let name = changed.name.clone();
        Ok((self.study(proof::definition(&self.part, changed, extent), None)?, name))
    }

    /// Ends what was started. What cannot be removed is said, and is no reason to lose the answer.
    fn down(&self, services: Services) {
        if let Err(error) = services.down() {
            (self.narrate)(&driver_failed(error).0.to_string());
        }
    }

    /// A proof that is left to the user.
    fn untried(&self, look: &View, why: impl Into<String>, choice: Option<&Choice>) -> Proof {
        let place = choice.map_or(0, |choice| choice.finding);
        let finding = look.findings.findings.get(place);
        let finding = finding.filter(|finding| choice.is_some() || !finding.is_hint());
        let lines = finding.map(|finding| {
            let mut lines =
                choice::study_toml(finding, &self.variant().name, choice.map(|choice| &choice.change));
            let folder = shlex::try_quote(&self.args.target).unwrap_or_default();
            lines.extend([String::new(), format!("knee study {folder}")]);
            lines
        });
        not_tried(why, lines.unwrap_or_default())
    }

    /// The study of these variants; with `aa` a variant and its twin, of which nothing is compared.
    fn study(&self, definition: Definition, aa: Option<String>) -> Result<Study, Failed> {
        let share_cpus = self.args.study.share_cpus;
        let noise = if aa.is_none() { noise::of_this_machine(self.narrate) } else { None };
        let options = Options { aa, share_cpus, observed: true, ..Options::default() };
        Study::new(definition, options, noise).map_err(|refusal| driver_failed(refusal.into()))
    }

    fn variant(&self) -> &Variant {
        &self.part.variants[0]
    }

    /// The times of a look.
    fn times(&self) -> Times {
        let design = &self.part.design;
        let is_script = matches!(self.part.workloads[0].load, Load::Script { .. });
        let settle = if is_script { design.warm_up } else { design.warm_up.min(WARM_UP_MAX) };
        Times { settle, measure: if is_script { design.measure } else { LOOK }, seed: design.seed }
    }

    fn title(&self) -> String {
        format!("{}: {} under {}", self.args.target, self.variant().name, self.part.workloads[0].name)
    }

    fn absolute(&self) -> PathBuf {
        std::fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone())
    }

    fn announce(&self) {
        let times = self.times();
        let load = times.settle.saturating_add(times.measure);
        let proof = if self.args.study.no_proof {
            String::new()
        } else {
            format!(
                "; then, if knee can apply the remedy, at most {} of trials (--no-proof leaves them out)",
                self.limit
            )
        };
        (self.narrate)(&format!("looking at {} for {load}{proof}", on_one_line(&self.title())));
    }

    fn record(&self, loaded: &Loaded) {
        if let Some(record) = &loaded.record {
            (self.narrate)(&format!("record: {}", on_one_line(record)));
        }
    }

    /// What is missing here, and what was not looked at.
    fn notes(&self, services: &mut Services) -> Vec<String> {
        let stores = services.stores();
        let lacks = stores.iter().flat_map(|store| &store.unavailable);
        let lacks = lacks.map(|lack| format!("{}: {}", lack.what, lack.reason));
        self.others.iter().cloned().chain(lacks).collect()
    }
}

/// The part of a study that is asked for.
fn part(definition: &Definition, args: &FindArgs) -> Result<Definition, Problem> {
    let first = definition.workloads.first().map(|workload| workload.name.as_str());
    let workload = args.study.workload.as_deref().or(first).unwrap_or_default();
    let variant = args.study.variant.as_deref().unwrap_or(&definition.design.baseline);
    let unknown = |kind: &str, name: &str, known: Vec<&str>| {
        let hint = format!("choose one of: {}", on_one_line(&known.join(", ")));
        Problem::new(format!("the study has no {kind} `{}`", on_one_line(name)), hint)
    };
    if definition.variant(variant).is_none() {
        let known = definition.variants.iter().map(|variant| variant.name.as_str()).collect();
        return Err(unknown("variant", variant, known));
    }
    proof::part(definition, variant, workload).ok_or_else(|| {
        let known = definition.workloads.iter().map(|workload| workload.name.as_str()).collect();
        unknown("workload", workload, known)
    })
}

/// The workload of a search for which none was `chosen`, and the others; `None` if there are none.
fn others(definition: &Definition, chosen: Option<&str>) -> Option<String> {
    let (first, others) = definition.workloads.split_first().filter(|_| chosen.is_none())?;
    let names: Vec<&str> = others.iter().map(|workload| workload.name.as_str()).collect();
    let kind = match names[..] {
        [] => return None,
        [_] => "the other",
        _ => "the others",
    };
    Some(format!(
        "looked at workload `{}`, the first of {}; {kind}: {} (`--workload NAME`)",
        first.name,
        definition.workloads.len(),
        names.join(", ")
    ))
}

/// What the look says about the extent of a proof; `None` if nothing was answered.
fn sample(look: &View, loaded: &Loaded) -> Option<Sample> {
    let rate = look.rate.achieved.filter(|rate| *rate > 0.0)?;
    Some(Sample { rate, load: loaded.run.head.measured_from.saturating_add(loaded.run.window()) })
}

/// Why there is no load with the remedy, as a clause without a full stop.
fn without_load(error: &knee_driver::Error) -> String {
    let was_applied = match error {
        // The service was up, and ended under its load.
        knee_driver::Error::Fixture(error) => {
            matches!(error, knee_fixture::Error::Died { at_start: false, .. })
        }
        _ => true,
    };
    let what = if was_applied { "the load with the remedy failed" } else { "the remedy cannot be applied" };
    format!("{what}: {error}")
}

/// The error of a search, or the end that the user asked for.
fn ended(error: knee_driver::Error, control: &Control) -> Failed {
    if control.request() == Asked::Run {
        return driver_failed(error);
    }
    (Problem::new("the search was interrupted before its end", ""), Exit::Interrupted)
}

/// Exit code of a search: whether there is a valid answer, and whether the remedy makes it slower.
fn exit_of(search: &Search, control: &Control) -> Exit {
    let of_proof = |conclusion: &Conclusion| {
        let totals = conclusion.totals;
        let worse = conclusion.effects.iter().any(Effect::is_regression);
        let better = conclusion.effects.iter().any(|effect| effect.verdict == Verdict::Better);
        match () {
            () if totals.valid + totals.suspect == 0 => Exit::Invalid,
            () if worse && !better => Exit::Slower,
            () => Exit::Ok,
        }
    };
    match &search.proof {
        _ if control.request() != Asked::Run => Exit::Interrupted,
        _ if search.look.validity.validity == Validity::Invalid => Exit::Invalid,
        Proof::Tried(tried) => of_proof(&tried.conclusion),
        Proof::NotTried { .. } => Exit::Ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(workloads: &[&str]) -> Definition {
        let tables = workloads.iter().map(|name| format!("[workloads.{name}]\npath = \"/\"\n"));
        let text = format!(
            "title = \"t\"\n[service.main]\ncommand = [\"s\", \"{{port}}\"]\n\
             [variants.stock]\n[variants.batch]\n[design]\nkind = \"ladder\"\n{}",
            tables.collect::<String>()
        );
        Definition::read(&text, "study.toml", &|_| true).unwrap()
    }

    #[test]
    fn a_remedy_that_the_database_refuses_and_a_service_that_fails_with_it_are_different_reasons() {
        let refused = knee_fixture::Error::Store {
            who: "PostgreSQL `db`".into(),
            doing: "run the statement `CREATE INDEX`".into(),
            reason: "the disk is full".into(),
        };
        let refused = without_load(&knee_driver::Error::Fixture(refused));
        assert!(
            refused.starts_with("the remedy cannot be applied: ") && refused.contains("full"),
            "{refused}"
        );
        let fails = knee_driver::Error::NoSuccess { what: "`list`".into(), status: 500, count: 9 };
        assert!(
            without_load(&fails).starts_with("the load with the remedy failed: every response of `list`")
        );
    }

    #[test]
    fn the_workloads_that_were_not_looked_at_are_named_if_none_was_chosen() {
        let three = study(&["board", "form", "list"]);
        let note = "looked at workload `board`, the first of 3; the others: form, list (`--workload NAME`)";
        assert_eq!(others(&three, None).as_deref(), Some(note));
        assert_eq!(others(&three, Some("board")), None);
        let note = "looked at workload `board`, the first of 2; the other: form (`--workload NAME`)";
        assert_eq!(others(&study(&["board", "form"]), None).as_deref(), Some(note));
        assert_eq!(others(&study(&["board"]), None), None);
    }
}
