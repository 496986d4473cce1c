//! The load of a study's trials: the requests of its workloads, which the one-liner and the script runner send.
//!
//! Does not start anything.

use std::path::PathBuf;

use knee_core::unit::Nanos;
use knee_driver::{Error, LoadSource, Loaded, Times};
use knee_engine::control::Control;
use knee_study::definition::{Arrivals, Load, Request, Workload};

use crate::args::{self, Invocation, RunScriptFlags};
use crate::command::failed::{Failed, load_failed, refused};
use crate::command::load;
use crate::command::run::whole;
use crate::problem::Problem;
use crate::settings::output::Progress;
use crate::settings::{self, Surroundings, target};

/// Sends what the workloads of a study declare.
pub struct Declared {
    /// The folder of the study, to which paths of scripts are relative.
    pub folder: PathBuf,
}

impl LoadSource for Declared {
    fn load(&self, workload: &Workload, url: &str, times: Times, control: &Control) -> Result<Loaded, Error> {
        let loaded = match &workload.load {
            Load::Request(request) => send(request, url, times, control),
            Load::Script { path, env } => {
                let env = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let flags = RunScriptFlags { env, ..RunScriptFlags::default() };
                let script = self.folder.join(path).display().to_string();
                whole::against(&script, url, flags, times, control)
            }
            // A study.toml has no such load.
            Load::OfCaller => Err(refused(Problem::new(format!("`{}` sends nothing", workload.name), ""))),
        };
        loaded.map_err(load_failed)
    }
}

/// Repeats one request, like the one-liner with the same flags.
fn send(request: &Request, url: &str, times: Times, control: &Control) -> Result<Loaded, Failed> {
    let words = words(request, url, times);
    let Ok(Invocation::Load(asked)) = args::parse(words.iter().map(Into::into)) else {
        return Err(refused(Problem::new(format!("`{}` cannot be sent", request.path), "")));
    };
    let mut load = settings::resolve(&asked, &Surroundings::read()).map_err(refused)?;
    load.output.progress = Progress::None;
    target::probe(&load.targets, &load.http).map_err(refused)?;
    let way = load::way(&load).map_err(refused)?;
    load::loaded(&load, &way, control)
}

/// The command line of the one-liner for the same load.
fn words(request: &Request, url: &str, times: Times) -> Vec<String> {
    let span = |time: Nanos| format!("{}ms", time.as_nanos() / 1_000_000);
    let whole = Nanos(times.settle.as_nanos() + times.measure.as_nanos());
    let mut words: Vec<String> =
        ["knee", "-m", &request.method, "-z", &span(whole), "--warm-up", &span(times.settle)]
            .map(str::to_owned)
            .to_vec();
    words.extend(["-c".to_owned(), request.connections.to_string()]);
    words.extend(["--seed".to_owned(), times.seed.to_string()]);
    if let Some(rate) = request.arrival_rate {
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
            arrival_rate: Some(150.0),
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
