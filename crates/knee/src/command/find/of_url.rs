//! A search behind a URL: one load beside observers. Nothing is started, so nothing is changed.

use knee_findings::Finding;
use knee_report::View;
use knee_report::find::Search;

use super::by_hand::{NOT_STARTED, by_hand};
use super::choice::{self, not_tried};
use super::writer::Writer;
use crate::args::{AmountFlags, FindArgs, LoadArgs, LoadFlags, OutputFlags};
use crate::command::INCOMPLETE;
use crate::command::failed::{Failed, failed, refused};
use crate::command::journal::Record;
use crate::command::load::{self, Taken};
use crate::exit::Exit;
use crate::problem::on_one_line;
use crate::settings::output::Progress;

/// The load, unless flags set another one.
const CONNECTIONS: &str = "20";
const DURATION: &str = "15s";
const WARM_UP: &str = "2s";

/// Searches.
///
/// # Errors
///
/// What is wrong with what was typed, or what failed on this machine.
pub fn find(args: &FindArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let mut writer = Writer::open(args).map_err(refused)?;
    let mut load = load::checked(&load_args(args), narrate)?;
    if args.output.quiet {
        load.output.progress = Progress::None;
    }
    let Taken { run, record } = load::take_once(&load, narrate)?;
    let view = View::of(&run);
    let proof = not_tried(choice::why_not(&view.findings, NOT_STARTED), by_hand(&view, args));
    let refused = |finding: &Finding| Err(choice::refusal(finding, NOT_STARTED));
    let remedies = choice::considered(&view.findings, refused, None, &proof);
    let search = Search { title: load.title.clone(), look: view, notes: Vec::new(), remedies, proof };
    let written = writer.write(&search, narrate);
    if let Some(Record { path, .. }) = &record {
        narrate(&format!("record: {}", on_one_line(&path.display().to_string())));
    }
    written?;
    if let Some(problem) = record.and_then(|record| record.problem(INCOMPLETE)) {
        return Err(failed(problem));
    }
    Ok(load::exit_of(&run.ending, run.validity.validity))
}

/// The command line of the load.
fn load_args(args: &FindArgs) -> LoadArgs {
    let output = OutputFlags {
        time_unit: args.output.time_unit,
        no_color: args.output.no_color,
        // The file of the result is opened here.
        ..OutputFlags::default()
    };
    let flags = LoadFlags {
        amount: amount(&args.amount),
        request: args.request.clone(),
        connection: args.connection.clone(),
        observe: args.observe.clone(),
        output,
        ..LoadFlags::default()
    };
    LoadArgs { url: Some(args.target.clone()), flags, ..LoadArgs::default() }
}

/// What was typed, and enough load for the rules where nothing was.
fn amount(typed: &AmountFlags) -> AmountFlags {
    let mut amount = typed.clone();
    if amount.requests.is_none() && amount.duration.is_none() && amount.stages.is_empty() {
        amount.duration = Some(DURATION.to_owned());
        amount.warm_up.get_or_insert_with(|| WARM_UP.to_owned());
    }
    if amount.rate.is_none() && amount.stages.is_empty() {
        amount.connections.get_or_insert_with(|| CONNECTIONS.to_owned());
    }
    amount
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_loaded_for_a_while_by_a_few_connections_unless_a_flag_says_otherwise() {
        let all = amount(&AmountFlags::default());
        assert_eq!(all.duration.as_deref(), Some(DURATION));
        assert_eq!((all.connections.as_deref(), all.warm_up.as_deref()), (Some("20"), Some("2s")));
        let rate = amount(&AmountFlags { rate: Some("100".into()), ..AmountFlags::default() });
        assert_eq!((rate.duration.as_deref(), rate.connections), (Some(DURATION), None));
        let few = amount(&AmountFlags { requests: Some("10".into()), ..AmountFlags::default() });
        assert_eq!((few.duration, few.warm_up), (None, None));
        let stages = AmountFlags { stages: vec!["10s:5".into()], ..AmountFlags::default() };
        assert_eq!(amount(&stages), stages);
    }
}
