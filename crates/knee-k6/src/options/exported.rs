//! The options as a script sees them in `exec.test.options`: k6's names, `null` for what is not set.
//!
//! Does not fill in defaults: k6 does not either, except for the few it prints.

use serde_json::{Map, Value, json};

use super::defaults::{SYSTEM_TAGS, TREND_STATS};
use super::layer::Layer;
use super::scenario::Scenarios;
use crate::duration::SignedDuration;

/// The value of `exec.test.options`.
pub fn exported(options: &Layer, scenarios: &Scenarios) -> Value {
    let span = |span: Option<SignedDuration>| span.map(|span| span.to_string());
    let scenarios: Map<String, Value> =
        scenarios.iter().map(|(name, form)| (name.clone(), form.to_json())).collect();
    let thresholds = options.thresholds.as_ref().map(|thresholds| {
        let sources = |list: &Vec<crate::threshold::ThresholdText>| -> Value {
            list.iter().map(|text| text.source.clone()).collect()
        };
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
