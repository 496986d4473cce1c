//! Observers beside a load: started before it, and what cannot be read is said at once.
//!
//! Does not read sources (`knee_observe` does) and does not stop a load.

use knee_core::observation::Observer;
use knee_core::unit::Nanos;
use knee_observe::{Observers, Target};

use super::failed::{Failed, failed};
use crate::problem::{Problem, on_one_line};
use crate::settings::amount;

/// Starts observers of a run of this length, as far as its plan bounds it; `None` without targets.
///
/// # Errors
///
/// If the system gives no thread.
pub fn start(
    targets: &[Target],
    planned: Option<Nanos>,
    narrate: fn(&str),
) -> Result<Option<Box<dyn Observer>>, Failed> {
    if targets.is_empty() {
        return Ok(None);
    }
    let observers = Observers::start(targets, amount::INTERVAL, planned)
        .map_err(|error| failed(Problem::new(format!("observers cannot start: {error}"), "")))?
        .with_proposals(knee_findings::proposals);
    for (name, reason) in observers.refused() {
        narrate(&format!("warning: {} is not observed: {}", on_one_line(&name), on_one_line(&reason)));
    }
    Ok(Some(Box::new(observers)))
}
