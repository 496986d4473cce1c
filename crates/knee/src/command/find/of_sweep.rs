//! A search at the limit of a URL: a short sweep beside observers, and the findings of the first level beyond it.
//!
//! Nothing is started, so nothing is changed. Does not choose the levels; the sweep does.

use knee_core::unit::Nanos;
use knee_findings::Finding;
use knee_report::View;
use knee_report::find::Search;
use knee_report::sweep::stops::Stops;

use super::by_hand::{NOT_STARTED, by_hand};
use super::choice::{self, not_tried};
use super::writer::Writer;
use crate::args::{AmountFlags, FindArgs, LadderFlags, SweepArgs};
use crate::command::failed::{Failed, refused};
use crate::command::sweep::short::{self, Look};
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line};
use crate::settings::number::span_above_zero;
use crate::settings::sweep::is_script;

/// The time of all steps together, unless `-z` sets another one.
const WHOLE: Nanos = Nanos::from_secs(60);
/// A step measures this part of it: enough for short closed loads, a ladder, and the level of the limit.
const STEPS: f64 = 15.0;
/// How far the capacity is narrowed down. The level is what counts here, not its digits.
const PRECISION: &str = "20%";

/// Searches.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn find(args: &FindArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let sweep = sweep_args(args).map_err(refused)?;
    let mut writer = Writer::open(args).map_err(refused)?;
    let Look { title, headline, stops, view, record, exit } = short::look(&sweep, narrate)?;
    let (title, notes) = (format!("{title} {}", stops.remark()), notes(headline, &stops));
    let look = View { findings: stops.found, ..view };
    let proof = not_tried(choice::why_not(&look.findings, NOT_STARTED), by_hand(&look, args));
    let refusal = |finding: &Finding| Err(choice::refusal(finding, NOT_STARTED));
    let remedies = choice::considered(&look.findings, refusal, None, &proof);
    let written = writer.write(&Search { title, look, notes, remedies, proof }, narrate);
    if let Some(record) = record {
        narrate(&format!("record: {}", on_one_line(&record)));
    }
    written?;
    Ok(exit)
}

/// The result of the sweep, and which findings are also there well below the limit.
fn notes(headline: String, stops: &Stops) -> Vec<String> {
    let mut notes = vec![headline];
    let with_note = stops.found.findings.iter().zip(&stops.notes).filter(|(_, note)| !note.is_empty());
    notes.extend(with_note.map(|(finding, note)| format!("{} is {note}", finding.code)));
    notes
}

/// The command line of the sweep.
fn sweep_args(args: &FindArgs) -> Result<SweepArgs, Problem> {
    let AmountFlags { duration, seed, workers, allow_hosts, .. } = args.amount.clone();
    let own = AmountFlags {
        duration: duration.clone(),
        seed: seed.clone(),
        workers: workers.clone(),
        allow_hosts: allow_hosts.clone(),
        ..AmountFlags::default()
    };
    if args.amount != own {
        let what = "`--sweep` chooses the load, so it works with `-z`, `--seed`, `--workers` and `--allow-host` alone";
        return Err(Problem::new(what, "leave the other flags of the load out, or leave out `--sweep`"));
    }
    let whole = duration.as_deref().map_or(Ok(WHOLE), |text| span_above_zero("--duration", text))?;
    let typed = &args.target;
    // A URL without a scheme can end as a script does.
    let target = if is_script(typed) { format!("http://{typed}") } else { typed.clone() };
    let mut sweep = SweepArgs::default();
    sweep.target = Some(target);
    sweep.ladder = LadderFlags {
        step: Some(milliseconds(whole.as_secs_f64() / STEPS)),
        max_time: Some(milliseconds(whole.as_secs_f64())),
        seed,
        workers,
        allow_hosts,
        ..LadderFlags::default()
    };
    sweep.rules.precision = Some(PRECISION.to_owned());
    sweep.observe = args.observe.clone();
    sweep.request = args.request.clone();
    sweep.connection = args.connection.clone();
    sweep.output.quiet = args.output.quiet;
    sweep.output.time_unit = args.output.time_unit;
    Ok(sweep)
}

/// A span as a flag takes it.
fn milliseconds(seconds: f64) -> String {
    format!("{}ms", (seconds * 1e3).round().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(amount: AmountFlags) -> FindArgs {
        let mut args = FindArgs::default();
        "localhost:8080/app.js".clone_into(&mut args.target);
        args.amount = amount;
        args
    }

    #[test]
    fn a_search_at_the_limit_takes_a_minute_in_short_steps_unless_it_is_given_another_time() {
        let short = sweep_args(&args(AmountFlags::default())).unwrap();
        assert_eq!(short.target.as_deref(), Some("http://localhost:8080/app.js"));
        assert_eq!(short.ladder.step.as_deref(), Some("4000ms"));
        assert_eq!(short.ladder.max_time.as_deref(), Some("60000ms"));
        let five = AmountFlags { duration: Some("5m".into()), ..AmountFlags::default() };
        let long = sweep_args(&args(five)).unwrap();
        assert_eq!(long.ladder.step.as_deref(), Some("20000ms"));
    }

    #[test]
    fn a_load_and_a_search_for_the_limit_exclude_each_other() {
        let with_rate = AmountFlags { rate: Some("100".into()), ..AmountFlags::default() };
        let problem = sweep_args(&args(with_rate)).unwrap_err();
        assert!(problem.what.contains("`--sweep` chooses the load"), "{problem:?}");
    }
}
