//! The end of a script's run whose controller is gone: thresholds, `teardown`, summary and exit code, as that one would
//! have had them.
//!
//! Everything is in the job. `setup` has run, and does not run again. What was typed for the result (`--summary-export`,
//! formats) is not in the job. A script that cannot be loaded here leaves the run as it is: with its controller, if it has
//! one, or to one that takes it over later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use knee_engine::control::Control;
use knee_fleet::name::RunId;
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
use crate::fleet::run::{About, Done, Follows, Listener, LoadOf, NoRun, Place, resume};
use crate::problem::Problem;
use crate::settings::Surroundings as Terminal;
use crate::settings::fleet::FleetChoice;
use crate::signals::{self, Count};

/// A run that can be taken over.
pub struct Taking<'t> {
    /// What NATS keeps of it.
    pub saved: Saved,
    /// What its controller said of it.
    pub about: &'t About,
    /// Whether it has a controller that gives signs of life.
    pub conducted: bool,
}

/// How a takeover ended.
pub enum TakenOver {
    /// With the end of the script.
    Ended(Exit),
    /// With a merged record: the script could not be loaded.
    Merged(Box<Done>),
}

/// Takes over the run of a script, and ends it. Signs of life go out while the script is loaded; but a run whose controller
/// lives is not touched before it is.
///
/// # Errors
///
/// What is wrong with the job of a run that has a controller, what ended the script, or what failed on this machine.
pub fn take_over(
    job: &ScriptJob,
    choice: &FleetChoice,
    taking: Taking<'_>,
    narrate: fn(&str),
) -> Result<TakenOver, Failed> {
    let (control, count) = (Control::new(), Count::default());
    let signals = signals::watch_script(control.clone(), count.clone());
    let _signals = signals.map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let Taking { saved, about, conducted } = taking;
    let run = saved.run.clone();
    let follow = |follows| -> Result<Done, NoRun> {
        let place = Place::of_another(about, narrate)?;
        resume(choice, saved, follows, place, &control, narrate)
    };
    let (sender, listeners) = channel();
    if conducted {
        let mut loaded = false;
        let ended = with_script(job, &count, narrate, |script| {
            loaded = true;
            script.end_of_fleet(job, &control, narrate, |listener| {
                // The receiver is in use from here on.
                let _ = sender.send(listener);
                follow(Follows::Script(listeners))
            })
        });
        return match ended {
            Err(failed) if !loaded => Err(stays(&run, failed)),
            ended => ended.map(TakenOver::Ended),
        };
    }
    thread::scope(|scope| {
        let mut following = Some(scope.spawn(move || follow(Follows::Script(listeners))));
        let ended = with_script(job, &count, narrate, |script| {
            script.end_of_fleet(job, &control, narrate, |listener| {
                // Who does not listen any more has failed, and says why.
                let _ = sender.send(listener);
                following.take().map_or_else(|| Err(broken().into()), joined)
            })
        });
        match (ended, following) {
            (Err((problem, _)), Some(following)) => {
                if !following.is_finished() {
                    not_taken(&problem.what, narrate);
                }
                // Without a listener, the run is left to another controller.
                drop(sender);
                Ok(TakenOver::Merged(Box::new(joined(following)?)))
            }
            (ended, _) => ended.map(TakenOver::Ended),
        }
    })
}

/// The error of a takeover that left a run alone, because its controller lives.
pub fn stays(run: &RunId, (problem, exit): Failed) -> Failed {
    let what =
        format!("the run `{run}` stays with its controller, which gives signs of life: {}", problem.what);
    (Problem::new(what, "let that one end it, or take it over where its script can be loaded"), exit)
}

/// Says that the record is merged all the same.
pub fn not_taken(why: &str, narrate: fn(&str)) {
    let why = crate::problem::on_one_line(why);
    narrate(&format!(
        "warning: the script is not taken over: {why}; its thresholds are not judged, and its `teardown()` does not run"
    ));
}

fn broken() -> Failed {
    failed(Problem::new("the thread that talks to the agents failed", ""))
}

fn joined(following: thread::ScopedJoinHandle<'_, Result<Done, NoRun>>) -> Result<Done, NoRun> {
    following.join().unwrap_or_else(|_| Err(broken().into()))
}

/// Loads the script of a job.
fn with_script<T>(
    job: &ScriptJob,
    count: &Count,
    narrate: fn(&str),
    work: impl FnOnce(&Job<'_>) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let (args, terminal) = (job.args(), Terminal::read());
    let asked = asked_for(job, &args, terminal.no_color)?;
    let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
    let session = load_bundle(&args, &asked, &lines, job.bundle.clone())?;
    let options = options(&asked, &session)?;
    refuse_other(&options, job).map_err(refused)?;
    let script = Job::new(&args, &asked, &session, &options, terminal, &lines)?;
    work(&Job { signals: count.clone(), ..script })
}

impl Job<'_> {
    /// Follows the load to its end, and does what comes then.
    fn end_of_fleet(
        &self,
        job: &ScriptJob,
        control: &Control,
        narrate: fn(&str),
        follow: impl FnOnce(Listener) -> Result<Done, NoRun>,
    ) -> Result<Exit, Failed> {
        let view = self.view(None);
        let Before { metrics, span } = &job.before;
        self.total.absorb(metrics, &self.session.program.metrics);
        let aborted = Arc::new(AtomicBool::new(false));
        let set_up = Arc::new(AtomicU64::new(span.as_nanos()));
        let taken = match follow(self.listener(control.clone(), aborted.clone(), set_up)) {
            Ok(done) => Ok((done, aborted.load(Ordering::Relaxed))),
            Err(NoRun { failed, load: LoadOf::Own }) => Err(failed),
            // The load is another controller's, or goes on: who ends it runs `teardown`.
            Err(NoRun { failed, .. }) => return Err(failed),
        };
        let course = Course { data: job.data.as_deref().map(Into::into), ..Course::default() };
        let course = self.closed(course, taken, &job.before, &view, narrate);
        ending::end(self, &course, narrate)
    }
}
