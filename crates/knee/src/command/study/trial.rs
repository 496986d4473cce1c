//! One trial: the service as the arm wants it, loaded as the workload says, and what was measured.
//!
//! Does not decide what comes next, and does not interpret what was measured.

use std::path::PathBuf;

use knee_core::record::{Ending, Run};
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::host;
use knee_rig::{Rig, Running};
use knee_study::definition::{Arm, Arrivals, Load, Request, Workload};
use knee_study::study::{Measured, Study, Told, Trial};

use super::arm::{others, overrides};
use super::figures::{Spent, measured};
use super::processes::{Use, used};
use super::{Failed, broken, failed, place, refused};
use crate::args::{self, Invocation, RunArgs, RunReportFlags, RunScriptFlags};
use crate::command::{load, run};
use crate::problem::{Problem, printable};
use crate::settings::output::Progress;
use crate::settings::{self, Surroundings, target};

/// What stands while trials run.
pub struct Bench {
    rig: Rig,
    control: Control,
    /// The arm whose service runs, with where it answers.
    running: Option<(String, String, Running)>,
}

/// A run, and the name of its record.
type Taken = (Run, Option<PathBuf>);

impl Bench {
    /// A rig on which nothing runs yet.
    pub const fn new(rig: Rig, control: Control) -> Self {
        Self { rig, control, running: None }
    }

    /// Runs a trial.
    ///
    /// # Errors
    ///
    /// What failed on this machine, or what the study asks for and cannot be had. What the service does
    /// wrong is told, not failed.
    pub fn take(&mut self, study: &Study, trial: &Trial) -> Result<Told, Failed> {
        let missing = |what: &str| failed(Problem::new(format!("the study has no {what} of this trial"), ""));
        let arm = study.arm_of(trial).cloned().ok_or_else(|| missing("arm"))?;
        let workload = study.workload_of(trial).cloned().ok_or_else(|| missing("workload"))?;
        let (running, fresh) = match self.service(study, trial, &arm, &workload.service) {
            Ok(found) => found,
            Err(error) => return told(&error),
        };
        let pids: Vec<u32> = running.pid.into_iter().collect();
        let stores = self.rig.stores();
        let place = place::of(&workload.service, &running, &stores);
        let stores: Vec<u32> = stores.into_iter().flat_map(|store| store.pids).collect();
        let look = || [used(&pids), used(&stores)];
        let before: [Option<Use>; 2] = look();
        let times =
            Times { settle: study.settle(fresh), measure: study.measure(trial), seed: trial.arrival_seed };
        let own = host::cpu_time();
        let (run, record) = self.load(&workload, &running, times)?;
        let generator = Some(host::cpu_time().since(own));
        let spent = Spent { generator, ..Spent::between(before, look()) };
        if let Err(error) = self.rig.check() {
            self.running = None;
            return told(&error);
        }
        if matches!(run.ending, Ending::Interrupted | Ending::Aborted) {
            return Err(failed(Problem::new("the trial was interrupted", "")));
        }
        let record = record.map(|path| printable(&path.display().to_string()));
        Ok(Told::Measured(Measured { place, ..measured(&run, spent, record) }))
    }

    /// The service as the trial wants it, and whether its process is fresh.
    fn service(
        &mut self,
        study: &Study,
        trial: &Trial,
        arm: &Arm,
        name: &str,
    ) -> Result<(Running, bool), knee_rig::Error> {
        if trial.reset {
            self.running = None;
            self.rig.reset(name)?;
        }
        let known = self.running.take().filter(|(of, service, _)| *of == arm.name && service == name);
        let (running, fresh) = if let Some((_, _, running)) = known.filter(|_| !trial.restart) {
            (running, false)
        } else {
            let definition = study.definition();
            for other in others(definition, arm, name) {
                self.rig.start(&other, &overrides(definition, arm, &other))?;
            }
            (self.rig.start(name, &overrides(definition, arm, name))?, true)
        };
        self.running = Some((arm.name.clone(), name.to_owned(), running.clone()));
        Ok((running, fresh))
    }

    fn load(&self, workload: &Workload, running: &Running, times: Times) -> Result<Taken, Failed> {
        match &workload.load {
            Load::Request(request) => send(request, &running.url, times, &self.control),
            Load::Script { path, env } => {
                let script = self.rig.study().join(path).display().to_string();
                let mut args = RunArgs::of(&script);
                let base = [format!("BASE_URL={}", running.url)];
                let given = env.iter().map(|(name, value)| format!("{name}={value}"));
                args.script_flags = RunScriptFlags {
                    env: base.into_iter().chain(given).collect(),
                    ..RunScriptFlags::default()
                };
                args.report = RunReportFlags { quiet: true, ..RunReportFlags::default() };
                run::whole::measure(&args, times.settle, &self.control, |_| {})
            }
        }
    }

    /// Takes everything down.
    ///
    /// # Errors
    ///
    /// What could not be removed.
    pub fn down(self) -> Result<(), knee_rig::Error> {
        self.rig.down()
    }
}

/// How long a trial loads, and with which arrivals.
#[derive(Clone, Copy)]
struct Times {
    settle: Nanos,
    measure: Nanos,
    seed: u64,
}

/// What a service did that ends its trial; other errors are failures of the tool or of the study.
fn told(error: &knee_rig::Error) -> Result<Told, Failed> {
    let reason = error.to_string();
    match error {
        knee_rig::Error::NeverReady { .. } | knee_rig::Error::Died { at_start: true, .. } => {
            Ok(Told::NeverReady { reason })
        }
        knee_rig::Error::Died { .. } => Ok(Told::Died { reason }),
        _ => Err(broken(error)),
    }
}

/// Sends one request over and over, as the one-liner does with the same words.
fn send(request: &Request, url: &str, times: Times, control: &Control) -> Result<Taken, Failed> {
    let words = words(request, url, times);
    let Ok(Invocation::Load(asked)) = args::parse(words.iter().map(Into::into)) else {
        return Err(refused(Problem::new(format!("`{}` cannot be sent", request.path), "")));
    };
    let mut load = settings::resolve(&asked, &Surroundings::read()).map_err(refused)?;
    load.output.progress = Progress::None;
    target::probe(&load.targets, &load.http).map_err(refused)?;
    let way = load::way(&load).map_err(refused)?;
    load::take(&load, &way, control, |_| {})
}

/// The command line of the one-liner that is the same load.
fn words(request: &Request, url: &str, times: Times) -> Vec<String> {
    let span = |time: Nanos| format!("{}ms", time.as_nanos() / 1_000_000);
    let whole = Nanos(times.settle.as_nanos() + times.measure.as_nanos());
    let mut words: Vec<String> =
        ["knee", "-m", &request.method, "-z", &span(whole), "--warm-up", &span(times.settle)]
            .map(str::to_owned)
            .to_vec();
    words.extend(["-c".to_owned(), request.connections.to_string()]);
    words.extend(["--seed".to_owned(), times.seed.to_string()]);
    if let Some(rate) = request.rate {
        let arrivals = match request.arrivals {
            Arrivals::Poisson => "poisson",
            Arrivals::Uniform => "uniform",
        };
        words.extend(["-q".to_owned(), rate.to_string(), "--arrivals".to_owned(), arrivals.to_owned()]);
    }
    for (name, value) in &request.headers {
        words.extend(["-H".to_owned(), format!("{name}: {value}")]);
    }
    if let Some(body) = &request.body {
        words.extend(["-d".to_owned(), body.clone()]);
    }
    if let Some(timeout) = request.timeout {
        words.extend(["-t".to_owned(), span(timeout)]);
    }
    words.push(format!("{url}{}", request.path));
    words
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_request_of_a_study_is_a_load_that_the_one_liner_takes() {
        let request = Request {
            path: "/benchmarking/post_create".to_owned(),
            method: "POST".to_owned(),
            headers: BTreeMap::from([("X-Mark".to_owned(), "1".to_owned())]),
            body: Some("a=1".to_owned()),
            connections: 20,
            rate: Some(150.0),
            arrivals: Arrivals::Poisson,
            timeout: Some(Nanos::from_secs(5)),
        };
        let times = Times { settle: Nanos::from_secs(1), measure: Nanos::from_secs(5), seed: 7 };
        let words = words(&request, "http://127.0.0.1:9", times);
        let Ok(Invocation::Load(args)) = args::parse(words.iter().map(Into::into)) else {
            panic!("{words:?} is no load");
        };
        let load = settings::resolve(&args, &Surroundings::read()).unwrap();
        assert_eq!((load.seed, load.plan.warm_up), (7, Nanos::from_secs(1)));
        assert!(load.plan.is_open());
        assert_eq!(load.http.request_timeout, Some(Nanos::from_secs(5)));
    }
}
