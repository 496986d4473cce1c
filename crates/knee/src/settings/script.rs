//! Resolves the flags of `knee run` and the variables `K6_*`, as far as that is possible before the
//! script is loaded.
//!
//! k6's order: flags override variables, variables the script, the script the configuration file. Does not open files
//! of results and does not print.

use std::collections::BTreeMap;
use std::path::PathBuf;

use knee_k6::options::Layer;
use knee_k6::options::layer::FlagError;
use knee_k6::output::{Target, TargetError};
use knee_k6::read::Read;

use super::file::read_file;
use crate::args::{RunArgs, RunForeignFlags, RunReportFlags};
use crate::problem::Problem;

#[cfg(test)]
mod tests;

/// The environment of this process.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Settings of a run that are not options of the script.
#[derive(Debug)]
pub struct Asked {
    /// The configuration file as JSON; `null` if there is none.
    pub file: serde_json::Value,
    /// Options from variables.
    pub env: Layer,
    /// Options from flags.
    pub cli: Layer,
    /// Whether `__ENV` has the variables of this process.
    pub system_environment: bool,
    /// Variables given with `-e`.
    pub environment: Vec<(String, String)>,
    /// Sources of secrets.
    pub secret_sources: Vec<String>,
    /// Whether thresholds are evaluated.
    pub thresholds: bool,
    /// k6's summary.
    pub summary: Summary,
    /// Outputs of every sample.
    pub outputs: Vec<Target>,
    /// Destination of log lines.
    pub log: Log,
    /// What is watched beside the load.
    pub observe: Vec<knee_observe::Target>,
    /// Whether the result can have colours.
    pub color: bool,
    /// What the user should know; for stderr.
    pub notes: Vec<String>,
}

/// Settings of k6's summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its extent.
    pub mode: Mode,
    /// A file for its JSON.
    pub export: Option<PathBuf>,
    /// Whether that JSON has k6's newer form.
    pub machine: bool,
}

/// Extent of k6's summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The metrics most people look at.
    #[default]
    Compact,
    /// All metrics, groups and scenarios.
    Full,
    /// No summary; `handleSummary` is not called.
    Disabled,
}

/// Destination of lines of the script and about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Destination of all lines that have no other one.
    pub to: LogTarget,
    /// A file for the script's `console` lines.
    pub console: Option<PathBuf>,
    /// How lines look.
    pub form: LogForm,
    /// Whether `console.debug` is printed.
    pub verbose: bool,
}

/// A destination for lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogTarget {
    /// stderr.
    #[default]
    Stderr,
    /// stdout.
    Stdout,
    /// Nowhere.
    None,
    /// A file.
    File(PathBuf),
}

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogForm {
    /// Level and words.
    #[default]
    Text,
    /// Words alone.
    Raw,
    /// A JSON object.
    Json,
}

/// Resolves flags and variables.
///
/// # Errors
///
/// The first mistake found.
pub fn asked(args: &RunArgs, env: Lookup<'_>, no_color: bool) -> Result<Asked, Problem> {
    let mut notes = explain_foreign(&args.foreign)?;
    let report = &args.report;
    let env_layer = Layer::from_env(env).map_err(|error| {
        Problem::new(format!("a variable cannot be used: {error}"), "correct it, or unset it")
    })?;
    if env("K6_LINGER").is_some() || env("K6_PAUSED").is_some() {
        notes.push("`K6_LINGER` and `K6_PAUSED` have no effect: knee has no REST API".into());
    }
    let config = args.config_file(env);
    let switch =
        |flag: &'static str, given: Option<&String>, variable: &str| switch(flag, given, variable, env);
    Ok(Asked {
        file: config.map_or(Ok(serde_json::Value::Null), |path| config_file(&path))?,
        env: env_layer,
        cli: cli(args)?,
        system_environment: switch(
            "--include-system-env-vars",
            args.script_flags.include_system_env_vars.as_ref(),
            "K6_INCLUDE_SYSTEM_ENV_VARS",
        )?
        .unwrap_or(true),
        environment: args.script_flags.env.iter().map(|pair| variable(pair, env)).collect(),
        secret_sources: secret_sources(args, env),
        thresholds: !switch("--no-thresholds", args.load.no_thresholds.as_ref(), "K6_NO_THRESHOLDS")?
            .unwrap_or(false),
        summary: summary(report, env, &mut notes)?,
        outputs: outputs(report, env)?,
        log: log(report, env)?,
        observe: super::observe::targets(&args.observe)?,
        color: !(no_color || switch("--no-color", report.no_color.as_ref(), "K6_NO_COLOR")?.unwrap_or(false)),
        notes,
    })
}

impl RunArgs {
    fn config_file(&self, env: Lookup<'_>) -> Option<PathBuf> {
        let named = self.script_flags.config.clone();
        named.or_else(|| env("K6_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from))
    }
}

/// A switch: the value of the flag, otherwise of the variable.
fn switch(
    flag: &str,
    given: Option<&String>,
    variable: &str,
    env: Lookup<'_>,
) -> Result<Option<bool>, Problem> {
    let (name, text) = match (given, env(variable)) {
        (Some(text), _) => (flag, text.clone()),
        (None, Some(text)) => (variable, text),
        (None, None) => return Ok(None),
    };
    bool::read_text(&text)
        .map_err(|_| Problem::new(format!("`{text}` is not a value of `{name}`"), "write true or false"))
}

/// `NAME=VALUE`, or the value that this process has for NAME.
fn variable(pair: &str, env: Lookup<'_>) -> (String, String) {
    match pair.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (pair.to_owned(), env(pair).unwrap_or_default()),
    }
}

/// The sources of secrets: those of the flags, otherwise the one of the variable.
fn secret_sources(args: &RunArgs, env: Lookup<'_>) -> Vec<String> {
    let given = args.script_flags.secret_sources.clone();
    if given.is_empty() { env("K6_SECRET_SOURCE").into_iter().collect() } else { given }
}

fn config_file(path: &std::path::Path) -> Result<serde_json::Value, Problem> {
    let bytes = read_file("--config", path)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(
            format!("`{}` is not JSON, for `--config`: {error}", path.display()),
            "write options as a script exports them: {\"vus\": 10, \"duration\": \"30s\"}",
        )
    })
}

/// How an option's flag is written.
const FLAGS: [(&str, &str); 24] = [
    ("vus", "--vus"),
    ("duration", "--duration"),
    ("iterations", "--iterations"),
    ("stages", "--stage"),
    ("noSetup", "--no-setup"),
    ("noTeardown", "--no-teardown"),
    ("minIterationDuration", "--min-iteration-duration"),
    ("executionSegment", "--execution-segment"),
    ("executionSegmentSequence", "--execution-segment-sequence"),
    ("maxRedirects", "--max-redirects"),
    ("batch", "--batch"),
    ("batchPerHost", "--batch-per-host"),
    ("rps", "--rps"),
    ("userAgent", "--user-agent"),
    ("httpDebug", "--http-debug"),
    ("insecureSkipTLSVerify", "--insecure-skip-tls-verify"),
    ("noConnectionReuse", "--no-connection-reuse"),
    ("noVUConnectionReuse", "--no-vu-connection-reuse"),
    ("throw", "--throw"),
    ("discardResponseBodies", "--discard-response-bodies"),
    ("localIPs", "--local-ips"),
    ("dns", "--dns"),
    ("summaryTrendStats", "--summary-trend-stats"),
    ("summaryTimeUnit", "--summary-time-unit"),
];

fn cli(args: &RunArgs) -> Result<Layer, Problem> {
    let (load, http, report) = (&args.load, &args.http, &args.report);
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join(","));
    let lookup = |option: &str| match option {
        "vus" => load.vus.clone(),
        "duration" => load.duration.clone(),
        "iterations" => load.iterations.clone(),
        "stages" => list(&load.stages),
        "noSetup" => load.no_setup.clone(),
        "noTeardown" => load.no_teardown.clone(),
        "minIterationDuration" => load.min_iteration_duration.clone(),
        "executionSegment" => load.execution_segment.clone(),
        "executionSegmentSequence" => load.execution_segment_sequence.clone(),
        "maxRedirects" => http.max_redirects.clone(),
        "batch" => http.batch.clone(),
        "batchPerHost" => http.batch_per_host.clone(),
        "rps" => http.rps.clone(),
        "userAgent" => http.user_agent.clone(),
        "httpDebug" => http.http_debug.clone(),
        "insecureSkipTLSVerify" => http.insecure_skip_tls_verify.clone(),
        "noConnectionReuse" => http.no_connection_reuse.clone(),
        "noVUConnectionReuse" => http.no_vu_connection_reuse.clone(),
        "throw" => http.throw.clone(),
        "discardResponseBodies" => http.discard_response_bodies.clone(),
        "blacklistIPs" => list(&http.blacklist_ips),
        "blockHostnames" => list(&http.block_hostnames),
        "localIPs" => http.local_ips.clone(),
        "dns" => http.dns.clone(),
        "summaryTrendStats" => report.summary_trend_stats.clone(),
        "summaryTimeUnit" => report.summary_time_unit.clone(),
        "systemTags" => report.system_tags.clone(),
        _ => None,
    };
    let mut layer = Layer::from_flags(lookup).map_err(|error| flag_problem(&error))?;
    layer.tags = tags(&report.tags)?;
    Ok(layer)
}

fn flag_problem(FlagError { option, text, error }: &FlagError) -> Problem {
    let flag = FLAGS.iter().find(|(name, _)| name == option).map_or(*option, |(_, flag)| flag);
    let hint = match *option {
        "duration" | "minIterationDuration" => "write a unit, as in `10s`, `1m30s` or `500ms`",
        "stages" => "write time and target, as in `30s:10`",
        _ => "see `knee run --help`",
    };
    Problem::new(format!("`{text}` is not a value of `{flag}`: {error}"), hint)
}

fn tags(given: &[String]) -> Result<Option<BTreeMap<String, String>>, Problem> {
    if given.is_empty() {
        return Ok(None);
    }
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Problem::new(format!("`{text}` is not a value of `--tag`"), "write NAME=VALUE")),
    };
    given.iter().map(pair).collect::<Result<_, _>>().map(Some)
}

fn summary(flags: &RunReportFlags, env: Lookup<'_>, notes: &mut Vec<String>) -> Result<Summary, Problem> {
    let mode = flags.summary_mode.clone().or_else(|| env("K6_SUMMARY_MODE")).unwrap_or_default();
    let mut mode = match mode.as_str() {
        "" | "compact" => Mode::Compact,
        "full" => Mode::Full,
        "disabled" => Mode::Disabled,
        "legacy" => {
            notes.push(
                "there is no legacy summary (k6 2 has none either); showing the compact one".to_owned(),
            );
            Mode::Compact
        }
        other => {
            return Err(Problem::new(
                format!("`{other}` is not a value of `--summary-mode`"),
                "use one of: compact, full, disabled",
            ));
        }
    };
    if switch("--no-summary", flags.no_summary.as_ref(), "K6_NO_SUMMARY", env)?.unwrap_or(false) {
        mode = Mode::Disabled;
    }
    let export = flags.summary_export.clone();
    let machine = switch(
        "--new-machine-readable-summary",
        flags.new_machine_readable_summary.as_ref(),
        "K6_NEW_MACHINE_READABLE_SUMMARY",
        env,
    )?;
    Ok(Summary {
        mode,
        export: export
            .or_else(|| env("K6_SUMMARY_EXPORT").filter(|path| !path.is_empty()).map(PathBuf::from)),
        machine: machine.unwrap_or(false),
    })
}

fn outputs(flags: &RunReportFlags, env: Lookup<'_>) -> Result<Vec<Target>, Problem> {
    let mut given = flags.out.clone();
    if given.is_empty() {
        let variable = env("K6_OUT").unwrap_or_default();
        given = variable.split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect();
    }
    let read = |text: &String| {
        Target::parse(text, env).map_err(|error| Problem::new(error.to_string(), output_hint(text, &error)))
    };
    given.iter().map(read).collect()
}

fn output_hint(text: &str, error: &TargetError) -> &'static str {
    match error {
        TargetError::Setting(_) if text.starts_with("csv") => "use one of k6's values, such as `rfc3339`",
        TargetError::Setting(_) => {
            "the guide for users of k6 lists the settings of this output, and what each takes"
        }
        TargetError::Unknown(kind) => match kind.as_str() {
            "cloud" | "web-dashboard" => {
                "knee has no cloud; `knee report --format html` writes a page of a run that was saved"
            }
            "statsd" | "datadog" => "k6 has no such output since 0.55; use `-o opentelemetry`",
            _ => {
                "use `-o json=FILE`, `-o csv=FILE`, `-o influxdb=URL/DATABASE`, `-o opentelemetry` or `-o experimental-prometheus-rw`; every run is also saved, see `knee report`"
            }
        },
    }
}

fn log(flags: &RunReportFlags, env: Lookup<'_>) -> Result<Log, Problem> {
    let to = flags.log_output.clone().or_else(|| env("K6_LOG_OUTPUT")).unwrap_or_default();
    let to = match to.as_str() {
        "" | "stderr" => LogTarget::Stderr,
        "stdout" => LogTarget::Stdout,
        "none" => LogTarget::None,
        other => match other.strip_prefix("file=").filter(|path| !path.is_empty()) {
            Some(path) => LogTarget::File(path.into()),
            None => {
                return Err(Problem::new(
                    format!("`{other}` is not a value of `--log-output`"),
                    "use one of: stderr, stdout, none, file=FILE",
                ));
            }
        },
    };
    let form = flags.log_format.clone().or_else(|| env("K6_LOG_FORMAT")).unwrap_or_default();
    let form = match form.as_str() {
        "" | "text" => LogForm::Text,
        "raw" => LogForm::Raw,
        "json" => LogForm::Json,
        other => {
            return Err(Problem::new(
                format!("`{other}` is not a value of `--log-format`"),
                "use one of: text, raw, json",
            ));
        }
    };
    let console = env("K6_CONSOLE_OUTPUT").filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(Log { to, console: flags.console_output.clone().or(console), form, verbose: flags.verbose })
}

/// Refuses unsupported k6 flags, and returns notes on those without effect.
fn explain_foreign(foreign: &RunForeignFlags) -> Result<Vec<String>, Problem> {
    let is = |given: &Option<String>, harmless: &[&str]| {
        given.as_deref().is_some_and(|value| !harmless.contains(&value))
    };
    let refused = [
        (is(&foreign.paused, &["false"]), "`--paused`", "leave it out: knee cannot resume a run"),
        (
            is(&foreign.traces_output, &["none", ""]),
            "`--traces-output`",
            "leave it out: knee writes no traces",
        ),
        (
            is(&foreign.kind, &["js", "archive", ""]),
            "`--type`",
            "leave it out: knee sees whether a file is a script or an archive",
        ),
    ];
    if let Some((_, what, hint)) = refused.into_iter().find(|(given, ..)| *given) {
        return Err(Problem::new(format!("{what} is not supported"), hint));
    }
    let notes = [
        (is(&foreign.linger, &["false"]), "`--linger` has no effect: knee has no REST API"),
        (is(&foreign.address, &[""]), "`--address` has no effect: knee has no REST API"),
        (
            is(&foreign.profiling_enabled, &["false"]),
            "`--profiling-enabled` has no effect: knee has no REST API",
        ),
        (!foreign.features.is_empty(), "`--features` has no effect: knee has no feature flags"),
        (foreign.no_usage_report.is_some(), "`--no-usage-report` has no effect: knee never reports usage"),
        (
            is(&foreign.compatibility_mode, &["extended", "base"]),
            "`--compatibility-mode` has no effect: knee has one mode",
        ),
    ];
    Ok(notes.into_iter().filter(|(given, _)| *given).map(|(_, note)| note.to_owned()).collect())
}
