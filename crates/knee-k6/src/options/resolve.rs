//! Combines all layers: applies precedence, expands shortcuts, and validates the result.
//!
//! Does not parse thresholds, because metrics are known only after the script was loaded.

use std::collections::BTreeSet;
use std::str::FromStr;

use knee_core::plan::Scenario;
use knee_core::share::{Segment, Sequence, Share, ShareError};
use serde_json::Value;

use super::defaults::{OPTIONAL_SYSTEM_TAGS, SYSTEM_TAGS, TREND_STATS};
use super::exported::{exported, plain, with_shortcuts};
use super::layer::{Layer, Source};
use super::resolved::{HttpOptions, Options, RunOptions};
use super::scenario::{Executor, Form, ScenarioSpec, Scenarios};
use crate::duration::SignedDuration;
use crate::read::ConfigError;

/// The options of each layer.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The configuration file, as JSON; `null` if there is none.
    pub file: Value,
    /// The script's exported `options`, as JSON; `null` if it exports none.
    pub script: Value,
    /// Variables `K6_*`, see [`Layer::from_env`].
    pub env: Layer,
    /// Flags.
    pub cli: Layer,
}

/// Turns all layers into the resolved options. `is_exported` knows the functions of the script.
pub fn resolve(layers: Layers, is_exported: impl Fn(&str) -> bool) -> Result<Options, ConfigError> {
    let mut warnings = Vec::new();
    let (file, _) = Layer::from_value(&layers.file)?;
    let (script, unknown) = Layer::from_value(&layers.script)?;
    let ext = layers.script.get("ext").unwrap_or(&Value::Null);
    if !unknown.is_empty() {
        warnings.push(format!(
            "There were unknown fields in the options exported in the script: {}",
            unknown.join(", ")
        ));
    }
    let mut merged = Layer::default();
    let order = [
        (Source::File, file),
        (Source::Script, script),
        (Source::Env, layers.env),
        (Source::Cli, layers.cli),
    ];
    for (source, layer) in order {
        if merged.scenarios.is_some() && layer.decides_execution() && layer.scenarios.is_none() {
            warnings.push(format!(
                "{:?} level configuration overrode scenarios configuration entirely",
                source.name()
            ));
        }
        merged.lay(layer);
    }
    let forms = derive_scenarios(&merged, &mut warnings)?;
    let scenarios = check(&merged, &forms, is_exported)?;
    for scenario in &scenarios {
        warn_about(scenario, &forms[&scenario.name], &mut warnings);
    }
    let exported = exported(&merged, &forms);
    let plain = plain(&merged, ext);
    let inspected = with_shortcuts(exported.clone(), &merged, ext);
    Ok(Options { plain, inspected, ..complete(merged, scenarios, exported, warnings)? })
}

fn warn_about(scenario: &ScenarioSpec, form: &Form, warnings: &mut Vec<String>) {
    let name = &scenario.name;
    if matches!(form.executor, Executor::ExternallyControlled { .. }) {
        warnings.push(format!(
            "scenario {name}: `externally-controlled` runs with a fixed number of VUs, because knee has no external control"
        ));
    }
    if form.options.as_ref().is_some_and(|options| options.get("browser").is_some()) {
        warnings.push(format!("scenario {name}: `options.browser` is ignored: knee has no browser"));
    }
}

/// The scenarios that the shortcuts `iterations`, `duration` and `stages` stand for, or those given.
fn derive_scenarios(options: &Layer, warnings: &mut Vec<String>) -> Result<Scenarios, ConfigError> {
    let given = options.scenarios.clone().unwrap_or_default();
    let stages = options.stages.as_ref().is_some_and(|stages| !stages.is_empty());
    let conflict = |first: &str, is_second: bool, second: &str| {
        if is_second { Err(conflict_of(first, second)) } else { Ok(()) }
    };
    let only = |executor| Ok(Scenarios::from([("default".to_owned(), Form::of(executor))]));
    if let Some(iterations) = options.iterations {
        conflict("iterations", stages, "stages")?;
        conflict("iterations", !given.is_empty(), "scenarios")?;
        let (vus, max_duration) = (options.vus, options.duration);
        return only(Executor::SharedIterations { vus, iterations: Some(iterations), max_duration });
    }
    if let Some(duration) = options.duration {
        conflict("duration", stages, "stages")?;
        conflict("duration", !given.is_empty(), "scenarios")?;
        if duration.0 <= 0 {
            return Err(ConfigError::new(
                "`duration` option should be more than 0, for infinite duration use the externally-controlled executor",
            ));
        }
        return only(Executor::ConstantVus { vus: options.vus, duration: Some(duration) });
    }
    if stages {
        conflict("stages", !given.is_empty(), "scenarios")?;
        // A stage without a duration does not count as a shortcut, as in k6.
        let stages: Vec<_> =
            options.stages.iter().flatten().copied().filter(|stage| stage.duration.is_some()).collect();
        if !stages.is_empty() {
            return only(Executor::RampingVus {
                start_vus: options.vus,
                stages: Some(stages),
                graceful_ramp_down: None,
            });
        }
    }
    if !given.is_empty() {
        return Ok(given);
    }
    warn_about_default(options, warnings);
    only(Executor::default())
}

fn conflict_of(first: &str, second: &str) -> ConfigError {
    ConfigError::new(format!("using `{first}` and `{second}` options simultaneously is not allowed"))
}

fn warn_about_default(options: &Layer, warnings: &mut Vec<String>) {
    let empty = [("stages", options.stages.is_some()), ("scenarios", options.scenarios.is_some())];
    for (name, _) in empty.into_iter().filter(|&(_, is_set)| is_set) {
        warnings.push(format!(
            "`{name}` was explicitly set to an empty value, running the script with 1 iteration in 1 VU"
        ));
    }
    if let Some(vus) = options.vus {
        warnings.push(format!(
            "`vus={vus}` option will be ignored, it only works in conjunction with `iterations`, `duration`, or `stages`"
        ));
    }
}

/// Completes every scenario, or reports all mistakes at once.
fn check(
    options: &Layer,
    forms: &Scenarios,
    is_exported: impl Fn(&str) -> bool,
) -> Result<Vec<ScenarioSpec>, ConfigError> {
    let mut faults = Vec::new();
    let mut scenarios = Vec::new();
    for (name, form) in forms {
        match form.check(name) {
            Ok(scenario) => scenarios.push(scenario),
            Err(found) => {
                faults.push(format!("scenario {name} has configuration errors: {}", found.join(", ")));
            }
        }
    }
    let timeouts = [("setupTimeout", options.setup_timeout), ("teardownTimeout", options.teardown_timeout)];
    for (name, _) in timeouts.into_iter().filter(|(_, span)| span.is_some_and(|span| span.0 <= 0)) {
        faults.push(format!("{name} must be positive"));
    }
    for scenario in scenarios.iter().filter(|scenario| !is_exported(&scenario.exec)) {
        faults.push(format!("executor {}: function '{}' not found in exports", scenario.name, scenario.exec));
    }
    if faults.is_empty() {
        return Ok(scenarios);
    }
    Err(ConfigError::new(format!(
        "There were problems with the specified script configuration:\n\t- {}",
        faults.join("\n\t- ")
    )))
}

/// Whether a summary can show this figure of a trend.
fn check_trend_stat(stat: &str) -> Result<(), ConfigError> {
    if ["avg", "min", "med", "max", "count"].contains(&stat) {
        return Ok(());
    }
    let number = stat.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
    let Some(percent) = number.and_then(|number| number.parse::<f64>().ok()) else {
        return Err(ConfigError::new(format!("invalid trend stat '{stat}', unknown format")));
    };
    if (0.0..=100.0).contains(&percent) {
        return Ok(());
    }
    Err(ConfigError::new(format!(
        "invalid percentile trend stat value '{stat}', provide a number between 0 and 100"
    )))
}

fn check_time_unit(unit: Option<&str>) -> Result<(), ConfigError> {
    match unit {
        None | Some("s" | "ms" | "us") => Ok(()),
        Some(unit) => {
            Err(ConfigError::new(format!("invalid summary time unit '{unit}', use 's', 'ms' or 'us'")))
        }
    }
}

/// Fills in the defaults of everything that is not a scenario.
fn complete(
    options: Layer,
    mut scenarios: Vec<ScenarioSpec>,
    exported: Value,
    mut warnings: Vec<String>,
) -> Result<Options, ConfigError> {
    let share = share(&options)?;
    if let Some(share) = &share {
        leave_out_idle(&mut scenarios, share, &mut warnings);
    }
    let stats = options.summary_trend_stats.clone();
    let stats = stats.unwrap_or_else(|| TREND_STATS.map(str::to_owned).to_vec());
    stats.iter().try_for_each(|stat| check_trend_stat(stat))?;
    let unit = options.summary_time_unit.clone().filter(|unit| !unit.is_empty());
    check_time_unit(unit.as_deref())?;
    let is_tag = |name: &String| SYSTEM_TAGS.contains(&&**name) || OPTIONAL_SYSTEM_TAGS.contains(&&**name);
    let system_tags = match options.system_tags.clone() {
        None => SYSTEM_TAGS.map(str::to_owned).into_iter().collect(),
        Some(names) => names.into_iter().filter(is_tag).collect::<BTreeSet<_>>(),
    };
    Ok(Options {
        scenarios,
        thresholds: options.thresholds.clone().unwrap_or_default(),
        tags: options.tags.clone().unwrap_or_default(),
        system_tags,
        summary_trend_stats: stats,
        summary_time_unit: unit,
        run: run_options(&options),
        share,
        http: http_options(options),
        warnings,
        exported,
        plain: Value::Null,
        inspected: Value::Null,
    })
}

/// The share of the load that the options ask for; `None` for all of it.
fn share(options: &Layer) -> Result<Option<Share>, ConfigError> {
    fn read<T: FromStr<Err = ShareError>>(
        name: &str,
        text: Option<&String>,
    ) -> Result<Option<T>, ConfigError> {
        let text = text.filter(|text| !text.is_empty());
        let wrong = |error| ConfigError::new(format!("{name}: {error}"));
        text.map(|text| text.parse().map_err(wrong)).transpose()
    }
    let segment: Option<Segment> = read("executionSegment", options.execution_segment.as_ref())?;
    let sequence: Option<Sequence> =
        read("executionSegmentSequence", options.execution_segment_sequence.as_ref())?;
    if segment.is_none() && sequence.is_none() {
        return Ok(None);
    }
    let share = Share::new(segment, sequence.as_ref());
    let share = share.map_err(|error| ConfigError::new(format!("executionSegment: {error}")))?;
    Ok(Some(share).filter(|share| !share.is_whole()))
}

/// Leaves out scenarios of which this machine has no user or no iteration, and says so as k6 does.
fn leave_out_idle(scenarios: &mut Vec<ScenarioSpec>, share: &Share, warnings: &mut Vec<String>) {
    scenarios.retain(|spec| {
        let has_work = Scenario::from(spec).shared(share).has_work();
        if !has_work {
            warnings.push(format!(
                "Executor '{}' is disabled for segment {} due to lack of work!",
                spec.name,
                share.segment()
            ));
        }
        has_work
    });
}

fn run_options(options: &Layer) -> RunOptions {
    RunOptions {
        setup_timeout: options.setup_timeout.unwrap_or(SignedDuration::from_secs(60)),
        teardown_timeout: options.teardown_timeout.unwrap_or(SignedDuration::from_secs(60)),
        handle_summary_timeout: options.handle_summary_timeout.unwrap_or(SignedDuration::from_secs(120)),
        no_setup: options.no_setup.unwrap_or(false),
        no_teardown: options.no_teardown.unwrap_or(false),
        paused: options.paused.unwrap_or(false),
        min_iteration_duration: options.min_iteration_duration.unwrap_or_default(),
    }
}

fn http_options(options: Layer) -> HttpOptions {
    let count =
        |given: Option<i64>, default| given.map_or(default, |number| u32::try_from(number).unwrap_or(0));
    HttpOptions {
        max_redirects: count(options.max_redirects, 10),
        user_agent: options.user_agent,
        batch: count(options.batch, 20),
        batch_per_host: count(options.batch_per_host, 6),
        rps: Some(count(options.rps, 0)).filter(|&rps| rps > 0),
        debug: options.http_debug.filter(|kind| !kind.is_empty()),
        insecure_skip_tls_verify: options.insecure_skip_tls_verify.unwrap_or(false),
        no_connection_reuse: options.no_connection_reuse.unwrap_or(false),
        no_vu_connection_reuse: options.no_vu_connection_reuse.unwrap_or(false),
        no_cookies_reset: options.no_cookies_reset.unwrap_or(false),
        discard_response_bodies: options.discard_response_bodies.unwrap_or(false),
        throw: options.throw.unwrap_or(false),
        hosts: options.hosts.unwrap_or_default(),
        block_hostnames: options.block_hostnames.unwrap_or_default(),
        blacklist_ips: options.blacklist_ips.unwrap_or_default(),
        local_ips: options.local_ips,
        dns: options.dns,
        tls_version: options.tls_version,
        tls_cipher_suites: options.tls_cipher_suites,
        tls_auth: options.tls_auth,
    }
}
