//! Resolves the flags of `knee sweep`.
//!
//! Does not run anything; requests and targets are resolved as for `knee URL`.

use std::path::{Path, PathBuf};

use knee_core::plan::{Endpoint, Executor, Plan, Scenario, Stop};
use knee_core::schedule::{Arrivals, Curve};
use knee_core::unit::Nanos;
use knee_fleet::controller::Wanted;
use knee_k6::output::Target;
use knee_report::number::Unit;
use knee_study::sweep::cost::{Assumptions, PerTime};
use knee_study::sweep::search::{FACTOR, FIRST};
use knee_study::sweep::slo::Timed;
use knee_study::sweep::{Config, Ladder, LoadKind, Slo, Step, StepLoad};

use super::number::{rate, span_above_zero, whole};
use super::output::{Output, Progress};
use super::{Load, Surroundings, connection, fleet, request, target};
use crate::args::{
    ConnectionFlags, FleetFlags, Format, LadderFlags, RequestFlags, RuleFlags, SweepArgs, SweepFormat,
    SweepOutputFlags, SweptStudyFlags, WorthFlags,
};
use crate::problem::Problem;

/// Most requests in flight when none are given.
pub const IN_FLIGHT: u32 = 1_000;
/// Default limit of VUs of a script; each VU has its own JavaScript runtime.
pub const VUS: u32 = 200;
/// How long requests in flight can take to finish after a step.
pub const GRACE: Nanos = Nanos::from_secs(2);
/// Most levels of a list.
const LEVELS_MAX: usize = 100;
/// The file that declares a study.
const STUDY: &str = "study.toml";
/// Highest seed: the largest integer that a JSON reader with doubles holds exactly.
const SEED_MAX: u64 = (1 << 53) - 1;

/// A sweep that is ready to start.
#[derive(Clone, Debug)]
pub struct SweepSettings {
    /// Its settings.
    pub config: Config,
    /// Worker threads; one per CPU when not given.
    pub workers: u16,
    /// Figures for the cost of its capacity, if given.
    pub assumptions: Option<Assumptions>,
    /// Processes whose CPU time is measured.
    pub pids: Vec<u32>,
    /// The command that resets the service, if it can be.
    pub reset: Option<String>,
    /// Form of the result.
    pub format: SweepFormat,
    /// File for the result; stdout without one.
    pub file: Option<PathBuf>,
    /// File for everything as JSON, whatever the form of the result.
    pub json: Option<PathBuf>,
    /// File for the curve.
    pub svg: Option<PathBuf>,
    /// Unit of the times in a text.
    pub time_unit: Option<Unit>,
    /// Whether the result can have colours.
    pub color: bool,
    /// Whether one line per step is shown.
    pub progress: bool,
    /// Where the figures of steps are sent.
    pub pushes: Vec<Target>,
}

/// Whether a target is a script.
pub fn is_script(target: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let ending = [".js", ".mjs", ".ts"].iter().any(|ending| path.ends_with(ending));
    // An address with such a path is loaded; a script from the network must be fetched first.
    ending && !target.contains("://")
}

/// Whether a target is a study: its `study.toml`, or a folder with one.
pub fn is_study(target: &str) -> bool {
    let path = Path::new(target);
    !target.contains("://")
        && (path.extension().is_some_and(|ending| ending == "toml") || path.join(STUDY).is_file())
}

/// Refuses flags that say what is started, with a target that is no study.
///
/// # Errors
///
/// The first such flag.
pub fn refuse_study_flags(flags: &SweptStudyFlags) -> Result<(), Problem> {
    let SweptStudyFlags { variant, workload, share_cpus } = flags;
    let given =
        [(variant.is_some(), "--variant"), (workload.is_some(), "--workload"), (*share_cpus, "--share-cpus")];
    given.iter().find(|(given, _)| *given).map_or(Ok(()), |(_, flag)| {
        Err(Problem::new(
            format!("`{flag}` does not apply to this target"),
            "give the folder of a study, whose service is started, as in `knee sweep labs/todos/newest`",
        ))
    })
}

/// Refuses flags that say what the study says: requests, connections, resets.
///
/// # Errors
///
/// The first such flag.
pub fn refuse_beside_study(args: &SweepArgs) -> Result<(), Problem> {
    let given = [
        (args.request != RequestFlags::default(), "flags about requests"),
        (args.connection != ConnectionFlags::default(), "flags about connections"),
        (!args.script.env.is_empty(), "`--env`"),
        (args.ladder.reset.is_some(), "`--reset`"),
        (!args.rules.pids.is_empty(), "`--pid`"),
        (args.fleet != FleetFlags::default(), "flags of a fleet"),
    ];
    given.iter().find(|(given, _)| *given).map_or(Ok(()), |(_, flags)| {
        Err(Problem::new(
            format!("a sweep of a study does not take {flags}"),
            "leave them out: the workload of the study says what is sent, and knee starts its service here",
        ))
    })
}

/// Resolves everything except the requests.
///
/// # Errors
///
/// The first mistake found.
pub fn settings(args: &SweepArgs, surroundings: &Surroundings) -> Result<SweepSettings, Problem> {
    let script = args.target.as_deref().is_some_and(is_script);
    let output = &args.output;
    refuse_one_file_for_two(output)?;
    let color = !(output.no_color || surroundings.no_color);
    let config = config(&args.ladder, &args.rules, script)?;
    let is_of_events = |slo: &&Slo| slo.of != Timed::Response;
    if !script
        && !args.request.stream
        && let Some(slo) = config.slos.iter().find(is_of_events)
    {
        return Err(Problem::new(
            format!("`--slo` on {} needs responses that are streams of events", slo.measured()),
            "add `--stream`",
        ));
    }
    Ok(SweepSettings {
        config,
        workers: workers(args.ladder.workers.as_deref(), surroundings.cpus)?,
        assumptions: assumptions(&args.worth)?,
        pids: args.rules.pids.clone(),
        reset: args.ladder.reset.clone(),
        format: output.output_format.unwrap_or_default(),
        file: output.output.clone(),
        json: output.json.clone(),
        svg: output.svg.clone(),
        time_unit: output.time_unit,
        color: color && surroundings.stdout_terminal && output.output.is_none(),
        progress: !output.quiet,
        pushes: super::output::pushes(&output.out)?,
    })
}

fn refuse_one_file_for_two(output: &SweepOutputFlags) -> Result<(), Problem> {
    let files = [("-o", &output.output), ("--json", &output.json), ("--svg", &output.svg)];
    for (index, (flag, file)) in files.iter().enumerate() {
        if let Some((other, _)) = files[..index].iter().find(|(_, earlier)| file.is_some() && earlier == file)
        {
            let what = format!("`{other}` and `{flag}` name the same file");
            return Err(Problem::new(what, "give them different names"));
        }
    }
    Ok(())
}

fn config(flags: &LadderFlags, rules: &RuleFlags, script: bool) -> Result<Config, Problem> {
    let connections =
        flags.connections.as_deref().map(|text| levels("--connections", text, true)).transpose()?;
    if script && connections.is_some() {
        return Err(Problem::new(
            "`--connections` is for a URL: a script has VUs",
            "leave it out: a sweep raises a script's arrival rate; for N VUs use `knee run -u N`",
        ));
    }
    let seconds =
        flags.step.as_deref().map_or(Ok(Nanos::from_secs(10)), |text| span_above_zero("--step", text))?;
    let kind = match (&connections, script) {
        (Some(_), _) => LoadKind::Connections,
        (None, true) => LoadKind::Iterations,
        (None, false) => LoadKind::Requests,
    };
    let default = if script { VUS } else { IN_FLIGHT };
    let in_flight = flags
        .in_flight
        .as_deref()
        .map_or(Ok(u64::from(default)), |text| whole("--in-flight", text, 1..=1_000_000))?;
    let ceiling = flags.to.as_deref().map(|text| level("--to", text)).transpose()?;
    Ok(Config {
        kind,
        ladder: ladder(flags, connections, ceiling)?,
        ceiling,
        seconds: whole_enough(seconds),
        slos: rules.slos.iter().map(|text| slo(text)).collect::<Result<_, _>>()?,
        errors_max: rules.errors.as_deref().map_or(Ok(0.001), |text| share("--errors", text))?,
        precision: rules.precision.as_deref().map_or(Ok(0.05), |text| share("--precision", text))?.max(0.005),
        in_flight_max: in_flight as u32,
        connections_min: 1,
        resets: reset(flags.reset.as_deref())?,
        seconds_max: flags
            .max_time
            .as_deref()
            .map(|text| span_above_zero("--max-time", text).map(Nanos::as_secs_f64))
            .transpose()?,
        seed: flags.seed.as_deref().map_or(Ok(1), |text| whole("--seed", text, 0..=SEED_MAX))?,
    })
}

/// Whether there is a command that resets the service.
fn reset(command: Option<&str>) -> Result<bool, Problem> {
    match command.map(str::trim) {
        Some("") => Err(Problem::new("`--reset` is empty", "give a command, as in `--reset ./reset.sh`")),
        command => Ok(command.is_some()),
    }
}

/// Below a tenth of a second there is nothing to measure.
fn whole_enough(step: Nanos) -> f64 {
    step.as_secs_f64().max(0.1)
}

fn ladder(flags: &LadderFlags, connections: Option<Vec<f64>>, to: Option<f64>) -> Result<Ladder, Problem> {
    if let Some(levels) = connections {
        return Ok(Ladder::List(levels));
    }
    if let Some(text) = &flags.rates {
        return levels("--rates", text, false).map(Ladder::List);
    }
    let from = match (&flags.from, to) {
        (Some(text), _) => level("--from", text)?,
        // Probes are closed: they could be faster than what is allowed.
        (None, Some(to)) => to * FIRST,
        (None, None) if flags.factor.is_some() => {
            return Err(Problem::new("`--factor` needs `--from`", "give the first rate with `--from`"));
        }
        (None, None) => return Ok(Ladder::Auto),
    };
    let factor = flags.factor.as_deref().map_or(Ok(FACTOR), |text| rate("--factor", text))?;
    if !(1.01..=100.0).contains(&factor) {
        return Err(Problem::new(
            format!("`--factor {factor}` is out of range"),
            "give a number from 1.01 to 100, as in `--factor 1.5`",
        ));
    }
    if to.is_some_and(|to| to < from) {
        return Err(Problem::new(
            "`--to` is below `--from`",
            "the load rises during a sweep: give `--to` the higher rate",
        ));
    }
    Ok(Ladder::Geometric { from, to, factor })
}

/// A rate above zero.
fn level(flag: &str, text: &str) -> Result<f64, Problem> {
    let level = rate(flag, text)?;
    if level < 0.01 {
        return Err(Problem::new(
            format!("`{flag} {text}` is too low"),
            "give a rate of 0.01 per second or more",
        ));
    }
    Ok(level)
}

/// Ascending levels of a list.
fn levels(flag: &str, text: &str, connections: bool) -> Result<Vec<f64>, Problem> {
    let mut levels = Vec::new();
    for item in text.split(',').map(str::trim) {
        levels.push(if connections { whole(flag, item, 1..=1_000_000)? as f64 } else { level(flag, item)? });
    }
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    if levels.len() > LEVELS_MAX {
        return Err(Problem::new(
            format!("`{flag}` has {} levels", levels.len()),
            format!("give at most {LEVELS_MAX}; the sweep searches between them by itself"),
        ));
    }
    Ok(levels)
}

fn slo(text: &str) -> Result<Slo, Problem> {
    text.trim().parse().map_err(|error: knee_study::sweep::slo::SloError| {
        Problem::new(
            error.to_string(),
            "write limits as `p99<250ms`, `p99.9<1s`, `mean<20ms`, `max<2s` or `first_event p99<500ms`",
        )
    })
}

/// A share as `0.1%` or `0.001`; 0 to 1.
fn share(flag: &str, text: &str) -> Result<f64, Problem> {
    const EXPECTED: &str = "give a share as `0.1%` or `0.001`, at most 100%";
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let number = number.trim();
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: Option<f64> = plain.then(|| number.parse().ok()).flatten();
    match value.map(|value| value / scale) {
        Some(share) if share <= 1.0 => Ok(share),
        _ => Err(Problem::new(format!("`{flag} {text}` is not a share"), EXPECTED)),
    }
}

fn workers(typed: Option<&str>, cpus: u16) -> Result<u16, Problem> {
    typed.map_or(Ok(cpus), |text| whole("--workers", text, 1..=1_024).map(|workers| workers as u16))
}

fn assumptions(flags: &WorthFlags) -> Result<Option<Assumptions>, Problem> {
    let per_time = |flag: &str, text: &str, example: &str| {
        text.parse::<PerTime>().map_err(|error| {
            Problem::new(format!("{error}, for `{flag}`"), format!("write it as `{flag} {example}`"))
        })
    };
    let host =
        flags.host_cost.as_deref().map(|text| per_time("--host-cost", text, "20/month")).transpose()?;
    let per_user = flags
        .requests_per_user
        .as_deref()
        .map(|text| per_time("--requests-per-user", text, "300/month"))
        .transpose()?;
    if host.is_none() && per_user.is_none() {
        return match flags.peak_factor {
            Some(_) => Err(Problem::new(
                "`--peak-factor` needs `--host-cost` or `--requests-per-user`",
                "give the cost of the hardware or the requests per user",
            )),
            None => Ok(None),
        };
    }
    let peak_factor = flags.peak_factor.as_deref().map_or(Ok(10.0), |text| rate("--peak-factor", text))?;
    if peak_factor < 1.0 {
        return Err(Problem::new(
            format!("`--peak-factor {peak_factor}` is below 1"),
            "give 1 or more: the peak load is at least the mean load",
        ));
    }
    Ok(Some(Assumptions { host, per_user, peak_factor }))
}

/// Resolves the requests to a URL: everything of a load except its plan, because each step has its own.
///
/// # Errors
///
/// The first mistake found.
pub fn load(args: &SweepArgs, sweep: &SweepSettings, surroundings: &Surroundings) -> Result<Load, Problem> {
    if args.target.is_none() && args.request.urls_from_file.is_none() {
        return Err(Problem::new(
            "no URL, no script and no study is given",
            "write `knee sweep http://127.0.0.1:8080/`; `knee demo --serve-only` starts a server to try it on",
        ));
    }
    let http = connection::settings(&args.connection, &args.request)?;
    let urls = request::urls(args.target.as_deref(), args.request.urls_from_file.as_deref())?;
    let (requests, names) = request::requests(&args.request, &urls)?;
    let targets = target::targets(&requests, &http, surroundings.resolve)?;
    let plan = Plan {
        scenarios: vec![highest(&sweep.config)],
        endpoints: names.into_iter().map(|name| Endpoint { name }).collect(),
        warm_up: Nanos::ZERO,
        grace: GRACE,
        request_timeout: http.request_timeout,
        connect_timeout: http.connect_timeout,
        workers: sweep.workers,
        interval: super::amount::INTERVAL,
    };
    target::refuse_public(&targets, &plan, &args.ladder.allow_hosts)?;
    Ok(Load {
        agent: None,
        fleet: fleet::choice(&args.fleet)?,
        plan,
        http,
        title: request::title(&urls),
        requests,
        seed: sweep.config.seed,
        share: None,
        targets,
        allowed_hosts: args.ladder.allow_hosts.clone(),
        observe: super::observe::targets(&args.observe)?,
        output: Output {
            format: Format::Quiet,
            file: None,
            record: None,
            name: None,
            time_unit: None,
            color: false,
            progress: Progress::None,
            pushes: Vec::new(),
        },
        notes: Vec::new(),
    })
}

/// The highest load that a sweep can reach; checked against the limit for public hosts.
fn highest(config: &Config) -> Scenario {
    let stop = Stop::At(Nanos::from_secs(1));
    let executor = match &config.ladder {
        Ladder::List(levels) if config.kind == LoadKind::Connections => {
            let most = levels.last().copied().unwrap_or(1.0);
            Executor::Closed { vus: Curve::constant(most) }
        }
        // Probes are closed: as fast as the service answers.
        Ladder::Auto => Executor::Closed { vus: Curve::constant(f64::from(config.in_flight_max)) },
        Ladder::List(levels) => open(levels.last().copied().unwrap_or(1.0) * 1.1, config, 0),
        Ladder::Geometric { .. } => open(config.ceiling.unwrap_or(f64::MAX), config, 0),
    };
    Scenario::new("default", executor, stop)
}

fn open(level: f64, config: &Config, seed: u64) -> Executor {
    Executor::Open {
        rate: Curve::constant(level),
        arrivals: Arrivals::Poisson { seed },
        users_max: config.in_flight_max,
    }
}

/// The plan of a step, with the settings of `base`.
pub fn step_plan(base: &Plan, config: &Config, step: &Step) -> Plan {
    let warm_up = Nanos::from_secs_f64(step.warm_up);
    let end = Stop::At(warm_up + Nanos::from_secs_f64(step.seconds));
    let executor = match step.load {
        StepLoad::ArrivalRate(rate) => open(rate, config, step.seed),
        StepLoad::Connections(count) => Executor::Closed { vus: Curve::constant(f64::from(count)) },
    };
    let scenario = Scenario::new("default", executor, end);
    let most = scenario.users_max().clamp(1, 1_024) as u16;
    Plan {
        workers: base.workers.min(most),
        scenarios: vec![scenario],
        warm_up,
        // Ten intervals at the least: a backlog that grows is seen over time.
        interval: Nanos(super::amount::INTERVAL.0.min(Nanos::from_secs_f64(step.seconds / 10.0).0)),
        ..base.clone()
    }
}

/// The settings of a sweep that a fleet makes: each agent gets one connection or user at least.
///
/// # Errors
///
/// If the number of agents is unknown and matters, or a level is too small for it.
pub fn of_fleet(settings: SweepSettings, args: &SweepArgs) -> Result<SweepSettings, Problem> {
    let Some(choice) = fleet::choice(&args.fleet)? else { return Ok(settings) };
    fleet::refuse_pushes(&args.fleet, &args.output.out)?;
    if args.ladder.workers.is_some() {
        let hint = "each agent has a worker for each of its CPUs";
        return Err(Problem::new("`--workers` does not work with a fleet", hint));
    }
    let config = &settings.config;
    let closed = config.kind == LoadKind::Connections || config.ladder == Ladder::Auto;
    let agents = match choice.wanted {
        Wanted::Count { count, .. } => count,
        _ if closed => {
            let hint = "say how many agents with `--agents`, or choose rates with `--from` or `--rates`";
            return Err(Problem::new(
                "a sweep by a whole fleet does not know with how many connections it begins",
                hint,
            ));
        }
        Wanted::Fleet(_) => 1,
    };
    let least = match &config.ladder {
        Ladder::List(levels) if config.kind == LoadKind::Connections => {
            levels.first().copied().unwrap_or(1.0)
        }
        _ => f64::from(config.in_flight_max),
    };
    if least < f64::from(agents) {
        let are = if least <= 1.0 { "connection is" } else { "connections are" };
        let what = format!("{least} {are} too few for {agents} agents");
        return Err(Problem::new(what, "take fewer agents, or more with `--connections` or `--in-flight`"));
    }
    let config = Config { connections_min: agents, ..settings.config };
    Ok(SweepSettings { config, ..settings })
}

/// Refuses flags that do not apply to this kind of target.
///
/// # Errors
///
/// When a flag for URLs is given with a script, or the other way round.
pub fn refuse_misplaced(args: &SweepArgs, script: bool) -> Result<(), Problem> {
    let RequestFlags { method, headers, body, body_file, body_lines, form, urls_from_file, .. } =
        &args.request;
    let of_url = [
        (method.is_some(), "--method"),
        (!headers.is_empty(), "--header"),
        (body.is_some(), "--body"),
        (body_file.is_some(), "--body-file"),
        (body_lines.is_some(), "--body-lines"),
        (!form.is_empty(), "--form"),
        (urls_from_file.is_some(), "--urls-from-file"),
    ];
    let of_script = [
        (!args.script.env.is_empty(), "--env"),
        (!args.script.allow_read.is_empty(), "--allow-read"),
        (args.script.root.is_some(), "--root"),
    ];
    let given =
        |flags: &[(bool, &'static str)]| flags.iter().find(|(given, _)| *given).map(|(_, flag)| *flag);
    let (misplaced, why) = if script {
        (given(&of_url), "leave the flag out: the script defines its requests")
    } else {
        (given(&of_script), "leave the flag out: it is for scripts")
    };
    misplaced.map_or(Ok(()), |flag| Err(Problem::new(format!("`{flag}` does not apply to this target"), why)))
}
