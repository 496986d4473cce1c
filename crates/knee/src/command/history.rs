//! `knee history`: what is saved, and the trends of runs that can be compared.
//!
//! Does not read files (the catalog does) and does not find changes (`knee_study` does).

use std::path::PathBuf;

use knee_core::record::Run;
use knee_core::validity::Validity;
use knee_report::history::{self, Entry, History};
use knee_report::html;

use crate::args::{HistoryArgs, HistoryFormat};
use crate::catalog::Catalog;
use crate::exit::Exit;
use crate::problem::{Problem, on_one_line};
use crate::settings::number::whole;
use crate::settings::output::open_result;
use crate::store::Store;

/// Rows of text if no limit is given.
const ROWS: usize = 50;

/// Runs the command.
///
/// # Errors
///
/// When nothing of this name is saved, or the folder cannot be read.
pub fn history(args: &HistoryArgs, narrate: fn(&str)) -> Result<Exit, Problem> {
    let limit = args.limit.as_deref().map(|text| whole("--limit", text, 1..=1_000_000)).transpose()?;
    let catalog = Catalog::of(&store()?, narrate)?;
    catalog.notes().iter().for_each(|note| narrate(note));
    let history = chosen(catalog, args, limit.map(|limit| limit as usize))?;
    let text = match args.format {
        HistoryFormat::Text => history::text(&history),
        HistoryFormat::Html => html::history(&history),
        HistoryFormat::Json => history::json(&history),
    };
    open_result(args.output.as_deref())?.write(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn chosen(catalog: Catalog, args: &HistoryArgs, limit: Option<usize>) -> Result<History, Problem> {
    let mut entries = catalog.entries;
    if let Some(name) = &args.name {
        entries.retain(|entry| entry.is_meant_by(name));
        if entries.is_empty() {
            let what = format!("nothing is saved whose name or target contains `{}`", on_one_line(name));
            return Err(Problem::new(what, "`knee history` lists all that is saved"));
        }
    }
    let wanted = args.trend || args.format == HistoryFormat::Html;
    let trends = wanted.then(|| history::trends(&entries));
    let rows = limit.unwrap_or(if args.format == HistoryFormat::Text { ROWS } else { usize::MAX });
    let older = entries.len().saturating_sub(rows);
    entries.truncate(rows);
    Ok(History { entries, older, trends, skipped: catalog.skipped })
}

/// The store of this process.
fn store() -> Result<Store, Problem> {
    Store::of_process().ok_or_else(|| {
        Problem::new("no folder for saved runs: neither KNEE_HOME nor HOME is set", "set HOME or KNEE_HOME")
    })
}

/// The newest saved run of this name that can be compared with `run`: it has the same plan, target and machine, began
/// before it, and is not invalid.
///
/// # Errors
///
/// When there is none; says what is there instead.
pub(super) fn baseline(name: &str, run: &Run, narrate: fn(&str)) -> Result<PathBuf, Problem> {
    let store = store()?;
    let catalog = Catalog::of(&store, narrate)?;
    catalog.notes().iter().for_each(|note| narrate(note));
    let of = Entry::of_run("", "", run);
    let named: Vec<&Entry> = catalog
        .entries
        .iter()
        .filter(|entry| entry.likeness.is_some() && (entry.name == name || entry.record == name))
        .collect();
    let earlier: Vec<&&Entry> = named.iter().filter(|entry| entry.at < of.at).collect();
    let alike: Vec<&&&Entry> = earlier.iter().filter(|entry| entry.likeness == of.likeness).collect();
    let usable = alike.iter().find(|entry| entry.validity != Some(Validity::Invalid));
    if let Some(entry) = usable {
        return store.find(&entry.record);
    }
    let shown = on_one_line(name);
    let what = match () {
        () if named.is_empty() => format!("no saved run is called `{shown}`, for `--baseline`"),
        () if earlier.is_empty() => {
            format!("no run called `{shown}` began before this one, for `--baseline`")
        }
        () if alike.is_empty() => format!(
            "no earlier run called `{shown}` has the plan, the target and the machine of this one, for `--baseline`"
        ),
        () => format!("every earlier run called `{shown}` like this one is invalid, for `--baseline`"),
    };
    Err(Problem::new(what, "`knee history` lists what is saved; `knee compare A B` compares any two runs"))
}
