//! The end of a script's run whose controller is gone: thresholds, `teardown`, summary and exit code, as that one would
//! have had them.
//!
//! Everything is in the job. `setup` has run, and does not run again. What was typed for the result (`--summary-export`,
//! formats) is not in the job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use knee_engine::control::Control;
use knee_fleet::nats::controller::Saved;

use super::course::Course;
use super::ending;
use super::job::Job;
use super::log::Lines;
use super::part::{asked_for, refuse_other};
use super::source::{load_bundle, options};
use crate::command::failed::{Failed, failed, refused};
use crate::exit::Exit;
use crate::fleet::job::{Before, ScriptJob};
use crate::fleet::run::{LoadOf, NoRun, Place, resume};
use crate::problem::Problem;
use crate::settings::Surroundings as Terminal;
use crate::settings::fleet::FleetChoice;
use crate::signals;

/// Takes over the run of a script, and ends it. After an error, what is still in `taking` was not taken over.
///
/// # Errors
///
/// What is wrong with the job, what ended the script, or what failed on this machine.
pub fn take_over(
    job: &ScriptJob,
    choice: &FleetChoice,
    taking: &mut Option<(Saved, Place)>,
    narrate: fn(&str),
) -> Result<Exit, Failed> {
    let (args, terminal) = (job.args(), Terminal::read());
    let asked = asked_for(job, &args, terminal.no_color)?;
    let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
    let session = load_bundle(&args, &asked, &lines, job.bundle.clone())?;
    let options = options(&asked, &session)?;
    refuse_other(&options, job).map_err(refused)?;
    let script = Job::new(&args, &asked, &session, &options, terminal, &lines)?;
    let course = script.rest_of_fleet(job, choice, taking, narrate)?;
    ending::end(&script, &course, narrate)
}

impl Job<'_> {
    /// Follows the load to its end, and runs `teardown`.
    fn rest_of_fleet(
        &self,
        job: &ScriptJob,
        choice: &FleetChoice,
        taking: &mut Option<(Saved, Place)>,
        narrate: fn(&str),
    ) -> Result<Course, Failed> {
        let (control, view) = (Control::new(), self.view(None));
        let signals = signals::watch_script(control.clone(), self.signals.clone());
        let signals = signals.map_err(|error| failed(Problem::new(error.to_string(), "")))?;
        let Before { metrics, span } = &job.before;
        self.total.absorb(metrics, &self.session.program.metrics);
        let aborted = Arc::new(AtomicBool::new(false));
        let set_up = Arc::new(AtomicU64::new(span.as_nanos()));
        let listener = self.listener(control.clone(), aborted.clone(), set_up);
        let Some((saved, place)) = taking.take() else {
            return Err(failed(Problem::new("the run was taken over already", "")));
        };
        let taken = match resume(choice, saved, Some(listener), place, &control, narrate) {
            Ok(done) => Ok((done, aborted.load(Ordering::Relaxed))),
            Err(NoRun { failed, load: LoadOf::Own }) => Err(failed),
            // The load is another controller's, or goes on: who ends it runs `teardown`.
            Err(NoRun { failed, .. }) => return Err(failed),
        };
        let course =
            Course { signals: Some(signals), data: job.data.as_deref().map(Into::into), ..Course::default() };
        Ok(self.closed(course, taken, &job.before, &view, narrate))
    }
}
