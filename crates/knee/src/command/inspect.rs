//! `knee inspect`: the options of a script or of an archive as JSON, with k6's names.
//!
//! Sends no request. Shows what the script says, and with `--execution-requirements` what a run makes of it.

use knee_k6::duration::SignedDuration;
use knee_k6::options::describe::{max_duration, max_vus};
use serde_json::json;

use super::failed::{Failed, failed, refused};
use super::run::{of_script, prepare};
use crate::args::InspectArgs;
use crate::exit::Exit;
use crate::settings::output::open_result;

/// Runs the command.
///
/// # Errors
///
/// What is wrong with the script or its options, or that stdout is closed.
pub fn inspect(args: &InspectArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let prepared = prepare(&args.run(), narrate)?;
    let options = if args.execution_requirements {
        let scenarios = &prepared.options.scenarios;
        let mut options = prepared.options.inspected;
        let duration = SignedDuration(i64::try_from(max_duration(scenarios).0).unwrap_or(i64::MAX));
        options["totalDuration"] = json!(duration.to_string());
        options["maxVUs"] = json!(max_vus(scenarios));
        options
    } else {
        of_script(&prepared.session)?
    };
    let mut sink = open_result(None).map_err(refused)?;
    sink.write(format!("{options:#}\n").as_bytes()).map_err(failed)?;
    Ok(Exit::Ok)
}
