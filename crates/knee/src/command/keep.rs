//! Saves the result of a command that makes several runs, where `knee report last` finds it, and shows it on the live
//! page.
//!
//! Runs have records instead. Does not print results.

use knee_core::clock;
use knee_report::kept::KeptResult;

use crate::live::fold::Conclusion;
use crate::live::page;
use crate::problem::on_one_line;
use crate::store::{self, Store};

/// Saves a result, and shows it on the live page. One that cannot be saved is a warning: it was printed.
pub fn keep(kept: &KeptResult, narrate: fn(&str)) {
    page::conclude(|| Conclusion {
        answer: kept.summary.answer.clone(),
        validity: kept.summary.validity,
        page: kept.printed.page.clone(),
    });
    let Some(store) = Store::of_process() else {
        narrate("warning: this result is not saved: neither KNEE_HOME nor HOME is set");
        return;
    };
    let name = store::series_name().unwrap_or(kept.summary.kind.name());
    if let Err(problem) = store.keep(clock::wall(), name, &kept.pack()) {
        narrate(&format!("warning: this result is not saved: {}", on_one_line(&problem.what)));
    }
}
