//! Resolves the flags of `knee compare` and `knee calibrate`.
//!
//! Does not run anything; requests and targets are resolved as for `knee URL`.

use std::path::{Path, PathBuf};

use knee_core::fixture::{Declaration, Ready, Service};
use knee_core::unit::Nanos;
use knee_k6::output::Target;
use knee_study::compare::{A, Asked, B, variant};
use knee_study::definition::Variant;
use knee_study::metric::{self, Metric};

use super::number::{span, span_above_zero, whole};
use super::request;
use crate::args::{
    AmountFlags, ArrivalKind, CalibrateArgs, CommandFlags, CompareArgs, ConnectionFlags, FleetFlags,
    LoadFlags, ObserveFlags, RequestFlags, ServiceHostFlag, SweepScriptFlags, TrialFlags, VerdictFlags,
    WebFlags,
};
use crate::problem::Problem;
use crate::store::Store;

/// Blocks when none are given.
const BLOCKS: usize = 10;
/// Most blocks.
const BLOCKS_MAX: u64 = 1_000;
/// Default measured time of a trial.
const MEASURE: Nanos = Nanos::from_secs(3);
/// Default warm-up of a trial.
const WARM_UP: Nanos = Nanos::from_secs(1);
/// Placeholder for the port on which a command must listen.
const PORT: &str = "{port}";
/// Metrics of an A/A test: all whose noise a later comparison can need.
const METRICS_OF_NOISE: [Metric; 7] =
    [Metric::Goodput, Metric::P50, Metric::P90, Metric::P95, Metric::P99, Metric::Mean, Metric::Errors];

/// One side of a comparison, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// A saved run, or the output of another tool.
    Record(PathBuf),
    /// A running service.
    Url(String),
    /// A service that is started for its trials.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Variables given before the program as `NAME=VALUE`.
        env: Vec<(String, String)>,
    },
}

/// Reads a side as typed.
///
/// # Errors
///
/// If it is not a side.
pub fn side(text: &str, store: Option<&Store>) -> Result<Side, Problem> {
    if text.contains(PORT) {
        return command(text);
    }
    if text.contains("://") {
        return Ok(Side::Url(text.to_owned()));
    }
    let kept = store.map(|store| store.find_run(text));
    let ending = Path::new(text).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    // A URL without its scheme, or a command, can end like an output of another tool.
    let can_be_file = !text.contains(|c: char| c == ':' || c.is_whitespace());
    let named = text == "last"
        || text.starts_with("last~")
        || matches!(ending, "knee" | "html" | "result")
        || can_be_file && matches!(ending, "json" | "jsonl" | "ndjson" | "csv" | "txt");
    match kept {
        _ if matches!(ending, "js" | "mjs" | "ts") => Err(Problem::new(
            format!("`{text}` is a script, not a side of a comparison"),
            format!("to load both sides with it, write `knee compare URL_A URL_B --script {text}`"),
        )),
        Some(Ok(path)) => Ok(Side::Record(path)),
        Some(Err(problem)) if named => Err(problem),
        None if named || Path::new(text).is_file() => Ok(Side::Record(PathBuf::from(text))),
        _ if text.contains(char::is_whitespace)
            || text.contains(['/', '\\']) && text.starts_with(['.', '/']) =>
        {
            Err(Problem::new(
                format!("`{text}` is not a URL, a saved run or a command with {PORT}"),
                format!(
                    "for a command, write {PORT} where it takes its port, as in './server --port {PORT}'"
                ),
            ))
        }
        // As the one-liner takes it; a script needs the scheme.
        _ => Ok(Side::Url(format!("http://{text}"))),
    }
}

/// A side in a form that can be shown: a URL without its credentials, anything else as typed.
///
/// # Errors
///
/// If a URL is malformed.
pub fn shown(text: &str, side: &Side) -> Result<String, Problem> {
    match side {
        Side::Url(url) => Ok(request::title(&request::urls(Some(url), None)?)),
        Side::Record(_) | Side::Command { .. } => Ok(text.to_owned()),
    }
}

/// Splits words like a shell, but without a shell. Variables can come first.
fn command(text: &str) -> Result<Side, Problem> {
    let hint = "close the quotes; to use shell syntax, write `sh -c '…'`";
    let mut words = shlex::split(text)
        .ok_or_else(|| Problem::new(format!("`{text}` cannot be split into words"), hint))?;
    let variable = |word: &String| {
        let (name, value) = word.split_once('=')?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        plain.then(|| (name.to_owned(), value.to_owned()))
    };
    let env: Vec<(String, String)> = words.iter().map_while(variable).collect();
    words.drain(..env.len());
    if words.is_empty() {
        return Err(Problem::new(
            format!("`{text}` names no program"),
            "write the program after its variables",
        ));
    }
    Ok(Side::Command { words, env })
}

/// The sides as variants, with the services to start for them.
///
/// # Errors
///
/// If a flag for commands is given without a command, or has a wrong value.
pub fn variants(
    sides: &[(&str, &Side)],
    flags: &CommandFlags,
) -> Result<(Vec<Variant>, Declaration), Problem> {
    let names = [A, B];
    let mut variants = Vec::new();
    let mut fixture = Declaration::default();
    for (name, (text, side)) in names.into_iter().zip(sides) {
        let mut made = variant(name, &shown(text, side)?);
        if let Side::Command { words, env } = side {
            made.command = Some(words.clone());
            made.env = env.iter().cloned().collect();
            let service = Service { command: words.clone(), ready: ready(flags)?, ..Service::default() };
            fixture.service.entry(made.service.clone()).or_insert(service);
        }
        variants.push(made);
    }
    fixture.generator.share_cpus = flags.share_cpus;
    if fixture.service.is_empty() && *flags != CommandFlags::default() {
        return Err(Problem::new(
            "`--path`, `--ready`, `--ready-within` and `--share-cpus` are for commands, but neither side is a command",
            "leave the flag out; write the path into the URL",
        ));
    }
    Ok((variants, fixture))
}

fn ready(flags: &CommandFlags) -> Result<Ready, Problem> {
    let otherwise = Ready::default();
    let within_s = match &flags.ready_within {
        Some(text) => span_above_zero("--ready-within", text)?.as_secs_f64(),
        None => otherwise.within_s,
    };
    Ok(Ready { path: flags.ready.as_deref().map(|path| absolute("--ready", path)).transpose()?, within_s })
}

/// The path to request from a service that a command started.
///
/// # Errors
///
/// If it is not a path.
pub fn path(flags: &CommandFlags) -> Result<String, Problem> {
    flags.path.as_deref().map_or_else(|| Ok("/".to_owned()), |path| absolute("--path", path))
}

fn absolute(flag: &str, path: &str) -> Result<String, Problem> {
    if path.starts_with('/') && !path.contains(char::is_whitespace) {
        return Ok(path.to_owned());
    }
    Err(Problem::new(
        format!("`{flag} {path}` is not a path"),
        format!("begin it with `/`, as in `{flag} /health`"),
    ))
}

/// The study that runs a comparison of `variants`, whose responses are streams of events if `stream` says so.
///
/// # Errors
///
/// The first mistake found.
pub fn asked(
    title: &str,
    (variants, fixture): (Vec<Variant>, Declaration),
    trial: &TrialFlags,
    verdict: &VerdictFlags,
    stream: bool,
) -> Result<Asked, Problem> {
    let blocks = trial.blocks.as_deref().map(|text| whole("--blocks", text, 1..=BLOCKS_MAX)).transpose()?;
    Ok(Asked {
        title: title.to_owned(),
        fixture,
        variants,
        blocks: blocks.map_or(BLOCKS, |blocks| blocks as usize),
        warm_up: trial.warm_up.as_deref().map_or(Ok(WARM_UP), |text| span("--warm-up", text))?,
        measure: trial.duration.as_deref().map_or(Ok(MEASURE), |text| span_above_zero("-z", text))?,
        seed: trial
            .seed
            .as_deref()
            .map_or(Ok(1), |text| whole("--seed", text, 0..=super::amount::SEED_MAX))?,
        margin: verdict.margin.as_deref().map(margin).transpose()?,
        metrics: metrics(&verdict.metrics, trial.rate.is_some(), stream)?,
    })
}

/// The study that measures the noise of this machine: an A/A test of one side, which `text` describes. A command is
/// started anew for each trial, so that the noise contains the differences between two starts.
///
/// # Errors
///
/// The first mistake found.
pub fn asked_of_noise(text: &str, side: &Side, args: &CalibrateArgs) -> Result<Asked, Problem> {
    let variants = variants(&[(text, side)], &CommandFlags::default())?;
    let asked = asked("noise of this machine", variants, &args.trial, &VerdictFlags::default(), false)?;
    if asked.blocks < 2 {
        return Err(Problem::new(
            "noise cannot be measured with one block",
            "give at least two blocks, preferably ten",
        ));
    }
    Ok(Asked { metrics: METRICS_OF_NOISE.to_vec(), ..asked })
}

fn margin(text: &str) -> Result<f64, Problem> {
    metric::share(text).filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| {
        Problem::new(
            format!("`--margin {text}` is not a share above 0 and below 100 %"),
            "write it as `--margin 5%` or `--margin 0.05`",
        )
    })
}

fn metrics(names: &[String], open: bool, stream: bool) -> Result<Vec<Metric>, Problem> {
    if names.is_empty() && stream {
        return Ok(vec![Metric::FirstEvent, Metric::LongestGap, Metric::Events, Metric::Errors]);
    }
    if names.is_empty() {
        // By plan the rate is given, and says something only when it falls.
        return Ok(if open {
            vec![Metric::P50, Metric::P95, Metric::Goodput, Metric::Errors]
        } else {
            vec![Metric::Goodput, Metric::P50, Metric::P95, Metric::Errors]
        });
    }
    let mut metrics = Vec::new();
    for name in names {
        let metric: Metric = name.trim().parse().map_err(|_| {
            let known: Vec<&str> = Metric::ALL.map(Metric::name).to_vec();
            Problem::new(format!("there is no metric `{name}`"), format!("use one of: {}", known.join(", ")))
        })?;
        if metric.is_of_postgres() || metric.is_by_statement() {
            return Err(Problem::new(
                format!("`{metric}` is measured only of a PostgreSQL server that knee starts"),
                "write a study with [postgres.NAME]; see docs/guide/study.md",
            ));
        }
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    Ok(metrics)
}

/// The flags of the one-liner that loads a side. Times and seed come from the trial.
pub fn load(trial: &TrialFlags, request: &RequestFlags, connection: &ConnectionFlags) -> LoadFlags {
    let amount = AmountFlags {
        connections: trial.connections.clone(),
        rate: trial.rate.clone(),
        arrivals: trial.arrivals.or(trial.rate.is_some().then_some(ArrivalKind::Poisson)),
        workers: trial.workers.clone(),
        allow_hosts: trial.allow_hosts.clone(),
        ..AmountFlags::default()
    };
    LoadFlags { amount, request: request.clone(), connection: connection.clone(), ..LoadFlags::default() }
}

/// Refuses flags without effect.
///
/// # Errors
///
/// If a flag does not apply to this kind of comparison.
pub fn refuse_misplaced(args: &CompareArgs, records: bool) -> Result<(), Problem> {
    let requests = args.request != RequestFlags::default() || args.connection != ConnectionFlags::default();
    if records {
        let loads = args.trial != TrialFlags::default()
            || args.verdict != VerdictFlags::default()
            || args.command != CommandFlags::default()
            || args.script.is_some()
            || args.script_flags != SweepScriptFlags::default()
            || args.web != WebFlags::default()
            || args.observe != ObserveFlags::default()
            || args.fleet != FleetFlags::default()
            || args.service_host != ServiceHostFlag::default()
            || !args.output.out.is_empty()
            || requests;
        return refuse_if(
            loads,
            "for two saved runs, knee sends no load and gives no verdict",
            "leave out all flags but those for output, or compare two URLs or commands",
        );
    }
    if args.script.is_none() {
        let script = args.script_flags != SweepScriptFlags::default();
        return refuse_if(
            script,
            "`--env` and `--allow-read` are for a script",
            "give a script with `--script`",
        );
    }
    let TrialFlags { duration, connections, rate, arrivals, workers, .. } = &args.trial;
    let amount =
        [duration, connections, rate, workers].into_iter().any(Option::is_some) || arrivals.is_some();
    refuse_if(
        amount || requests || args.command.path.is_some(),
        "the script defines its requests, load and duration",
        "leave out `-c`, `-q`, `-z` and the flags for requests",
    )
}

/// Where the figures of trials are sent.
///
/// # Errors
///
/// If there is no such place, its settings are wrong, or a fleet makes the load.
pub fn pushes(args: &CompareArgs) -> Result<Vec<Target>, Problem> {
    super::fleet::refuse_pushes(&args.fleet, &args.output.out)?;
    super::output::pushes(&args.output.out)
}

fn refuse_if(misplaced: bool, what: &str, hint: &str) -> Result<(), Problem> {
    if misplaced { Err(Problem::new(what, hint)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(side: Side) -> (Vec<String>, Vec<(String, String)>) {
        let Side::Command { words, env } = side else { panic!("{side:?} is no command") };
        (words, env)
    }

    #[test]
    fn a_side_is_recognized_by_how_it_is_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().as_os_str().to_owned();
        let store = Store::of(|name| (name == "KNEE_HOME").then(|| path.clone())).unwrap();
        let record = home.path().join("base.knee");
        std::fs::write(&record, "").unwrap();
        let of = |text: &str| side(text, Some(&store));
        assert_eq!(of("http://127.0.0.1:1/a"), Ok(Side::Url("http://127.0.0.1:1/a".to_owned())));
        assert_eq!(of("localhost:8080"), Ok(Side::Url("http://localhost:8080".to_owned())));
        assert_eq!(of(record.to_str().unwrap()), Ok(Side::Record(record)));
        let secret = "http://ada:secret@127.0.0.1:1/a";
        assert!(
            !shown(secret, &of(secret).unwrap()).unwrap().contains("secret"),
            "a result is shown to others"
        );
        assert!(of("last").unwrap_err().what.starts_with("there is no saved run"));
        assert!(of("gone.knee").unwrap_err().what.contains("there is no saved run"));
        assert!(of("gone.json").unwrap_err().what.contains("there is no saved run"));
        let url = Ok(Side::Url("http://localhost:8080/data.json".to_owned()));
        assert_eq!(of("localhost:8080/data.json"), url, "a URL can end like a file");
        assert!(of("./server --port 80").unwrap_err().hint.contains("{port}"));
        assert!(of("./server --settings a.json").unwrap_err().hint.contains("{port}"));
        assert!(of("shop.js").unwrap_err().hint.contains("--script shop.js"));
    }

    #[test]
    fn a_command_is_words_after_its_variables_and_no_shell_sees_it() {
        let (found, env) = words(side("A=1 B='x y' ./server --port {port} \"$HOME\"", None).unwrap());
        assert_eq!(found, ["./server", "--port", "{port}", "$HOME"]);
        assert_eq!(env, [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "x y".to_owned())]);
        let (found, env) = words(side("server --listen=:{port}", None).unwrap());
        assert_eq!((found.len(), env.len()), (2, 0), "what follows the program is no variable");
        assert!(side("PORT={port}", None).unwrap_err().what.contains("names no program"));
        assert!(side("server '{port}", None).is_err());
    }

    #[test]
    fn a_margin_and_metrics_are_read_and_nonsense_is_refused() {
        assert_eq!(margin("5%"), Ok(0.05));
        assert_eq!(margin("0.03"), Ok(0.03));
        for text in ["5", "0", "-1%", "100%", "wide", ""] {
            assert!(margin(text).is_err(), "{text}");
        }
        let named = ["p99".to_owned(), " goodput".to_owned(), "p99".to_owned()];
        assert_eq!(metrics(&named, true, false), Ok(vec![Metric::P99, Metric::Goodput]));
        assert!(metrics(&["speed".to_owned()], false, false).unwrap_err().hint.contains("p99.9"));
        assert!(
            metrics(&["wal_per_request".to_owned()], false, false).unwrap_err().what.contains("PostgreSQL")
        );
        assert_ne!(metrics(&[], true, false), metrics(&[], false, false));
        assert_ne!(metrics(&[], false, true), metrics(&[], false, false));
    }
}
