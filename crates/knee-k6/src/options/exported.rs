//! The options as a script sees them in `exec.test.options`: k6's names, `null` for what is not set.
//!
//! Does not fill in defaults: k6 does not either, except for the few it prints.

use serde_json::{Map, Value, json};

use super::defaults::{SYSTEM_TAGS, TREND_STATS};
use super::layer::Layer;
use super::scenario::Scenarios;
use crate::duration::SignedDuration;
use crate::threshold::ThresholdText;

/// Options that `exec.test.options` has, and k6's archives and `k6 inspect` do not.
const ONLY_EXPORTED: [&str; 2] = ["consoleOutput", "localIPs"];

/// The options as k6 writes them into archives: shortcuts stay what they are, and nothing has a default. `ext` is what
/// the script gives to other tools.
pub fn plain(options: &Layer, ext: &Value) -> Value {
    let scenarios = options.scenarios.clone().unwrap_or_default();
    let mut plain = with_shortcuts(exported(options, &scenarios), options, ext);
    if let Some(object) = plain.as_object_mut() {
        if options.scenarios.is_none() {
            object.insert("scenarios".to_owned(), Value::Null);
        }
        object.insert("summaryTrendStats".to_owned(), json!(options.summary_trend_stats));
        object.insert("systemTags".to_owned(), json!(options.system_tags));
    }
    plain
}

/// The options that `exec.test.options` has, with the shortcuts that became a scenario, as `k6 inspect` shows them.
pub fn with_shortcuts(mut exported: Value, options: &Layer, ext: &Value) -> Value {
    if let Some(object) = exported.as_object_mut() {
        object.retain(|name, _| !ONLY_EXPORTED.contains(&name.as_str()));
        let stages =
            options.stages.as_ref().map(|stages| stages.iter().map(|stage| stage.to_json()).collect());
        let fields = [
            ("ext", ext.clone()),
            ("dns", dns(options.dns.as_ref())),
            ("thresholds", thresholds(options)),
            ("tlsVersion", tls_version(options.tls_version.as_ref())),
            ("vus", json!(options.vus)),
            ("duration", json!(options.duration.map(|span| span.to_string()))),
            ("iterations", json!(options.iterations)),
            ("stages", stages.map_or(Value::Null, Value::Array)),
        ];
        object.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    }
    exported
}

/// All thresholds, with what they do when they are crossed.
fn thresholds(options: &Layer) -> Value {
    let whole = |text: &ThresholdText| {
        let has_delay = text.delay_abort_eval != SignedDuration::ZERO;
        if !text.abort_on_fail && !has_delay {
            return json!(text.source);
        }
        json!({
            "threshold": text.source,
            "abortOnFail": text.abort_on_fail,
            "delayAbortEval": has_delay.then(|| text.delay_abort_eval.to_string()),
        })
    };
    let all = |list: &Vec<ThresholdText>| list.iter().map(whole).collect::<Value>();
    let pairs = options.thresholds.as_ref().map(|thresholds| {
        thresholds.iter().map(|(name, list)| (name.clone(), all(list))).collect::<Map<_, _>>()
    });
    json!(pairs)
}

/// The settings of names, each of them.
fn dns(given: Option<&Value>) -> Value {
    let field = |name: &str| given.and_then(|given| given.get(name)).cloned().unwrap_or_default();
    json!({"ttl": field("ttl"), "select": field("select"), "policy": field("policy")})
}

/// The oldest and the newest version: one that is named alone is both.
fn tls_version(given: Option<&Value>) -> Value {
    match given {
        Some(Value::String(version)) => json!({"min": version, "max": version}),
        given => given.cloned().unwrap_or_default(),
    }
}

/// The value of `exec.test.options`.
pub fn exported(options: &Layer, scenarios: &Scenarios) -> Value {
    let span = |span: Option<SignedDuration>| span.map(|span| span.to_string());
    let scenarios: Map<String, Value> =
        scenarios.iter().map(|(name, form)| (name.clone(), form.to_json())).collect();
    let thresholds = options.thresholds.as_ref().map(|thresholds| {
        let sources =
            |list: &Vec<ThresholdText>| -> Value { list.iter().map(|text| text.source.clone()).collect() };
        thresholds.iter().map(|(name, list)| (name.clone(), sources(list))).collect::<Map<_, _>>()
    });
    let stats = options.summary_trend_stats.clone();
    let system_tags = options.system_tags.clone();
    json!({
        "paused": options.paused,
        // The shortcuts have become a scenario by now, and are not listed.
        "scenarios": scenarios,
        "executionSegment": options.execution_segment,
        "executionSegmentSequence": options.execution_segment_sequence,
        "noSetup": options.no_setup,
        "setupTimeout": span(options.setup_timeout),
        "noTeardown": options.no_teardown,
        "teardownTimeout": span(options.teardown_timeout),
        "rps": options.rps,
        "dns": options.dns.clone().unwrap_or_else(|| json!({"ttl": null, "select": null, "policy": null})),
        "maxRedirects": options.max_redirects,
        "userAgent": options.user_agent,
        "batch": options.batch,
        "batchPerHost": options.batch_per_host,
        "httpDebug": options.http_debug,
        "insecureSkipTLSVerify": options.insecure_skip_tls_verify,
        "tlsCipherSuites": options.tls_cipher_suites,
        "tlsVersion": options.tls_version,
        "tlsAuth": options.tls_auth,
        "throw": options.throw,
        "thresholds": thresholds,
        "blacklistIPs": options.blacklist_ips,
        "blockHostnames": options.block_hostnames,
        "hosts": options.hosts,
        "noConnectionReuse": options.no_connection_reuse,
        "noVUConnectionReuse": options.no_vu_connection_reuse,
        "minIterationDuration": span(options.min_iteration_duration),
        "ext": null,
        "summaryTrendStats": stats.unwrap_or_else(|| TREND_STATS.map(str::to_owned).to_vec()),
        "summaryTimeUnit": options.summary_time_unit,
        "systemTags": system_tags.unwrap_or_else(|| SYSTEM_TAGS.map(str::to_owned).to_vec()),
        "tags": options.tags,
        "metricSamplesBufferSize": null,
        "noCookiesReset": options.no_cookies_reset,
        "discardResponseBodies": options.discard_response_bodies,
        "consoleOutput": null,
        "localIPs": options.local_ips,
    })
}
