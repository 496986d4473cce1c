//! Options behave as in k6 v1.8.1, from whose `inspect` and `run` every expectation here was recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::*;

fn layers(script: Value) -> Layers {
    Layers { script, ..Layers::default() }
}

fn is_exported(name: &str) -> bool {
    ["default", "f"].contains(&name)
}

fn run(script: Value) -> Options {
    resolve(layers(script), is_exported).unwrap()
}

fn error(script: Value) -> String {
    resolve(layers(script), is_exported).unwrap_err().to_string()
}

/// How a single scenario is described before the run.
fn line(script: Value) -> String {
    let options = run(script);
    describe::lines(&options.scenarios).join("\n")
}

#[allow(clippy::needless_pass_by_value, reason = "callers write their JSON in place")]
fn scenario(form: Value) -> Value {
    json!({"scenarios": {"a": form}})
}

/// The faults of one scenario.
fn faults(form: Value) -> String {
    let text = error(scenario(form));
    let prefix = "There were problems with the specified script configuration:\n\t- scenario a has configuration errors: ";
    text.strip_prefix(prefix).map_or_else(|| panic!("{text}"), str::to_owned)
}

/// Options of the command line or of the environment, written as a script's.
#[allow(clippy::needless_pass_by_value, reason = "callers write their JSON in place")]
fn layer(value: Value) -> Layer {
    Layer::from_value(&value).unwrap().0
}

#[test]
fn shortcuts_stand_for_scenarios() {
    for (script, text) in [
        (json!({}), "default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"),
        (json!(null), "default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"),
        (json!({"duration": "5s"}), "default: 1 looping VUs for 5s (gracefulStop: 30s)"),
        (json!({"duration": 1500, "vus": "2"}), "default: 2 looping VUs for 1.5s (gracefulStop: 30s)"),
        (
            json!({"iterations": 3}),
            "default: 3 iterations shared among 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"vus": 2, "duration": "5s", "iterations": 10}),
            "default: 10 iterations shared among 2 VUs (maxDuration: 5s, gracefulStop: 30s)",
        ),
        (
            json!({"stages": [{"duration": "5s", "target": 5}, {"duration": "5s", "target": "0"}]}),
            "default: Up to 5 looping VUs for 10s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
    ] {
        assert_eq!(line(script.clone()), text, "{script}");
    }
}

#[test]
fn every_executor_has_its_defaults() {
    let script = json!({"scenarios": {
        "a": {"executor": "constant-vus", "duration": "5s", "env": {"A": "b"}, "tags": {"t": "x"}, "startTime": "2s"},
        "b": {"executor": "ramping-arrival-rate", "startRate": 10, "timeUnit": "1m", "preAllocatedVUs": 3, "maxVUs": 10,
              "gracefulStop": "5s", "stages": [{"duration": "5s", "target": 10}, {"duration": "0", "target": 100},
              {"duration": "1m", "target": 100}]},
        "c": {"executor": "shared-iterations", "vus": 2, "iterations": 10, "maxDuration": "90s"},
        "d": {"executor": "per-vu-iterations", "vus": 2, "iterations": 10, "exec": "f"},
        "e": {"executor": "ramping-vus", "stages": [{"duration": "5s", "target": 10}, {"duration": "5m", "target": 20}]},
        "f": {"executor": "constant-arrival-rate", "rate": 10, "duration": "5s", "preAllocatedVUs": 3, "timeUnit": "7s"},
    }});
    let options = run(script);
    assert_eq!(
        describe::headline(&options.scenarios),
        "6 scenarios, 29 max VUs, 10m30s max duration (incl. graceful stop)"
    );
    assert_eq!(
        describe::lines(&options.scenarios),
        [
            "b: Up to 1.67 iterations/s for 1m5s over 3 stages (maxVUs: 3-10, gracefulStop: 5s)",
            "c: 10 iterations shared among 2 VUs (maxDuration: 1m30s, gracefulStop: 30s)",
            "d: 10 iterations for each of 2 VUs (maxDuration: 10m0s, exec: f, gracefulStop: 30s)",
            "e: Up to 20 looping VUs for 5m5s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
            "f: 1.43 iterations/s for 5s (maxVUs: 3, gracefulStop: 30s)",
            "a: 1 looping VUs for 5s (startTime: 2s, gracefulStop: 30s)",
        ]
    );
    let a = &options.scenarios[0];
    assert_eq!((a.env["A"].as_str(), a.tags["t"].as_str(), a.exec.as_str()), ("b", "x", "default"));
}

#[test]
fn users_that_do_not_run_at_the_same_time_are_not_added_up() {
    let options = run(json!({"scenarios": {
        "a": {"executor": "constant-vus", "duration": "5s"},
        "b": {"executor": "shared-iterations", "vus": 3, "iterations": 9, "startTime": "1m"},
    }}));
    assert_eq!(
        describe::headline(&options.scenarios),
        "2 scenarios, 3 max VUs, 11m30s max duration (incl. graceful stop)"
    );
}

#[test]
fn a_higher_layer_that_says_how_much_replaces_what_lower_layers_say() {
    let with_cli = |script: Value, cli: Value| {
        let layers = Layers { script, cli: layer(cli), ..Layers::default() };
        let options = resolve(layers, is_exported).unwrap();
        (describe::lines(&options.scenarios).join("\n"), options.warnings)
    };
    let constant = json!({"scenarios": {"a": {"executor": "constant-vus", "duration": "5s"}}});
    let overrode = "\"cli\" level configuration overrode scenarios configuration entirely";
    let (text, warnings) = with_cli(constant.clone(), json!({"vus": 3, "iterations": 6}));
    assert_eq!(text, "default: 6 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)");
    assert_eq!(warnings, [overrode]);
    let (text, warnings) = with_cli(constant, json!({"vus": 3}));
    assert_eq!(text, "a: 1 looping VUs for 5s (gracefulStop: 30s)");
    assert_eq!(warnings, [] as [&str; 0]);
    let cases = [
        (
            json!({"vus": 5, "duration": "5s"}),
            json!({"iterations": 6}),
            "default: 6 iterations shared among 5 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({"vus": 5, "iterations": 7}),
            json!({"duration": "6s"}),
            "default: 5 looping VUs for 6s (gracefulStop: 30s)",
        ),
        (
            json!({"vus": 5, "stages": [{"duration": "5s", "target": 1}]}),
            json!({"vus": 9}),
            "default: Up to 9 looping VUs for 5s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
        (
            json!({"vus": 5, "duration": "5s"}),
            json!({"stages": [{"duration": "6s", "target": 3}]}),
            "default: Up to 5 looping VUs for 6s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
    ];
    for (script, cli, text) in cases {
        assert_eq!(with_cli(script.clone(), cli.clone()).0, text, "{script} {cli}");
    }
}

#[test]
fn variables_stand_between_the_script_and_the_flags() {
    let env = |pairs: &[(&str, &str)]| {
        Layer::from_env(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        })
    };
    let lines = |pairs: &[(&str, &str)], cli: Value| {
        let script = json!({"vus": 5, "iterations": 7});
        let layers = Layers { script, env: env(pairs).unwrap(), cli: layer(cli), ..Layers::default() };
        describe::lines(&resolve(layers, is_exported).unwrap().scenarios).join("\n")
    };
    assert_eq!(
        lines(&[("K6_VUS", "4"), ("K6_DURATION", "7s")], json!({})),
        "default: 4 looping VUs for 7s (gracefulStop: 30s)"
    );
    assert_eq!(
        lines(&[("K6_ITERATIONS", "40")], json!({"vus": 2})),
        "default: 40 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)"
    );
    assert_eq!(
        lines(&[("K6_STAGES", "5s:10,1m:20")], json!({})),
        "default: Up to 20 looping VUs for 1m5s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)"
    );
    let as_script = "default: 7 iterations shared among 5 VUs (maxDuration: 10m0s, gracefulStop: 30s)";
    assert_eq!(lines(&[("K6_VUS", ""), ("K6_DURATION", "")], json!({})), as_script);
    assert_eq!(
        env(&[("K6_VUS", "abc")]).unwrap_err().to_string(),
        r#"K6_VUS: strconv.ParseInt: parsing "abc": invalid syntax"#
    );
    let layers = Layers {
        script: json!({"tags": {"c": "d2"}}),
        env: env(&[("K6_TAGS", "a:b,c:d")]).unwrap(),
        ..Layers::default()
    };
    let tags = resolve(layers, is_exported).unwrap().tags;
    assert_eq!(tags, BTreeMap::from([("a".into(), "b".into()), ("c".into(), "d".into())]));
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let stages = json!([{"duration": "5s", "target": 5}]);
    let scenarios = json!({"a": {"executor": "constant-vus", "duration": "5s"}});
    for (script, first, second) in [
        (json!({"duration": "5s", "stages": stages}), "duration", "stages"),
        (json!({"iterations": 5, "stages": stages}), "iterations", "stages"),
        (json!({"iterations": 5, "scenarios": scenarios}), "iterations", "scenarios"),
        (json!({"duration": "2s", "scenarios": scenarios}), "duration", "scenarios"),
        (json!({"stages": stages, "scenarios": scenarios}), "stages", "scenarios"),
    ] {
        assert_eq!(
            error(script),
            format!("using `{first}` and `{second}` options simultaneously is not allowed")
        );
    }
}

#[test]
fn what_is_ignored_is_reported() {
    let warnings = |script| run(script).warnings;
    assert_eq!(
        warnings(json!({"vus": 3})),
        [
            "`vus=3` option will be ignored, it only works in conjunction with `iterations`, `duration`, or `stages`"
        ]
    );
    for name in ["stages", "scenarios"] {
        let empty = if name == "stages" { json!([]) } else { json!({}) };
        assert_eq!(
            warnings(json!({name: empty})),
            [format!(
                "`{name}` was explicitly set to an empty value, running the script with 1 iteration in 1 VU"
            )]
        );
    }
    assert_eq!(
        warnings(json!({"foo": 1, "tls": {}, "ext": {"loadimpact": {}}, "cloud": {}})),
        ["There were unknown fields in the options exported in the script: foo, tls"]
    );
    assert_eq!(warnings(json!({"vus": "", "duration": null})), [] as [&str; 0]);
}

#[test]
fn an_externally_controlled_scenario_runs_with_a_warning() {
    let options =
        run(scenario(json!({"executor": "externally-controlled", "vus": 2, "maxVUs": 5, "duration": "10s"})));
    assert!(
        options.warnings[0]
            .starts_with("scenario a: `externally-controlled` runs with a fixed number of VUs")
    );
    assert_eq!(
        describe::headline(&options.scenarios),
        "1 scenario, 5 max VUs, 10s max duration (incl. graceful stop)"
    );
    assert_eq!(
        faults(json!({"executor": "externally-controlled"})),
        "the duration must be specified, for infinite duration use 0"
    );
}

#[test]
fn everything_wrong_with_a_scenario_is_reported_at_once() {
    for (form, text) in [
        (
            json!({"executor": "shared-iterations", "vus": 5, "iterations": 2}),
            "the number of iterations (2) can't be less than the number of VUs (5)",
        ),
        (
            json!({"executor": "shared-iterations", "vus": 0, "iterations": 0, "maxDuration": "0s"}),
            "the number of VUs must be more than 0, the maxDuration must be at least 1s, but is 0s",
        ),
        (
            json!({"executor": "per-vu-iterations", "vus": -1, "iterations": -2, "maxDuration": "100ms"}),
            "the number of VUs must be more than 0, the number of iterations must be more than 0, the maxDuration must be at least 1s, but is 100ms",
        ),
        (json!({"executor": "constant-vus"}), "the duration is unspecified"),
        (
            json!({"executor": "constant-vus", "duration": "100ms"}),
            "the duration must be at least 1s, but is 100ms",
        ),
        (
            json!({"executor": "constant-vus", "duration": "5s", "vus": 0}),
            "the number of VUs must be more than 0",
        ),
        (json!({"executor": "ramping-vus"}), "at least one stage has to be specified"),
        (
            json!({"executor": "ramping-vus", "startVUs": 0, "stages": [{"duration": "5s", "target": 0}]}),
            "either startVUs or one of the stages' target values must be greater than 0",
        ),
        (
            json!({"executor": "ramping-vus", "startVUs": -2, "stages": [{"target": -1}, {"duration": "5s"}, {"duration": "-5s", "target": 1}]}),
            "the number of start VUs can't be negative, stage 1 doesn't have a duration, the target for stage 1 can't be negative, stage 2 doesn't have a target, the duration for stage 3 can't be negative",
        ),
        (
            json!({"executor": "constant-arrival-rate"}),
            "the iteration rate isn't specified, the duration is unspecified, the number of preAllocatedVUs isn't specified",
        ),
        (
            json!({"executor": "constant-arrival-rate", "rate": "10", "duration": "5s", "preAllocatedVUs": 3, "maxVUs": 2}),
            "maxVUs can't be less than preAllocatedVUs",
        ),
        (
            json!({"executor": "constant-arrival-rate", "rate": 0, "duration": "5s", "preAllocatedVUs": -3, "timeUnit": "0s"}),
            "the iteration rate must be more than 0, the timeUnit must be more than 0, the number of preAllocatedVUs can't be negative",
        ),
        (
            json!({"executor": "ramping-arrival-rate"}),
            "at least one stage has to be specified, the number of preAllocatedVUs isn't specified",
        ),
        (
            json!({"executor": "ramping-arrival-rate", "startRate": -3, "timeUnit": "-1s", "stages": [{"duration": "5s", "target": -10}], "preAllocatedVUs": 3, "maxVUs": 1}),
            "the startRate value can't be negative, the timeUnit must be more than 0, the target for stage 1 can't be negative, maxVUs can't be less than preAllocatedVUs",
        ),
    ] {
        assert_eq!(faults(form.clone()), text, "{form}");
    }
    let named = json!({"scenarios": {"a b": {"executor": "constant-vus", "duration": "5s", "exec": "", "startTime": "-3s", "gracefulStop": "-1s"}}});
    assert_eq!(
        error(named),
        "There were problems with the specified script configuration:\n\t- scenario a b has configuration errors: the scenario name should contain only numbers, latin letters, underscores, and dashes, exec value cannot be empty, the startTime can't be negative, the gracefulStop timeout can't be negative"
    );
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (script, text) in [
        (json!({"vus": "abc"}), r#"option `vus`: strconv.ParseInt: parsing "abc": invalid syntax"#),
        (json!({"vus": 1.5}), "option `vus`: expected a whole number, found the number 1.5"),
        (json!({"duration": "abc"}), r#"option `duration`: time: invalid duration "abc""#),
        (json!({"duration": ""}), r#"option `duration`: time: invalid duration """#),
        (
            json!({"duration": "0s"}),
            "`duration` option should be more than 0, for infinite duration use the externally-controlled executor",
        ),
        (json!({"scenarios": {"a": {}}}), "scenario 'a' doesn't have a specified executor type"),
        (json!({"scenarios": {"a": null}}), "scenario 'a' doesn't have a specified executor type"),
        (json!({"scenarios": {"a": {"executor": "nope"}}}), "unknown executor type 'nope'"),
        (json!({"scenarios": []}), "option `scenarios`: expected an object, found an array"),
        (
            json!({"scenarios": {"a": {"executor": "constant-vus", "duration": "5s", "foo": 3}}}),
            r#"scenario 'a': unknown field "foo" for the executor constant-vus"#,
        ),
        (json!({"summaryTrendStats": ["avg", "p99"]}), "invalid trend stat 'p99', unknown format"),
        (
            json!({"summaryTrendStats": ["p(101)"]}),
            "invalid percentile trend stat value 'p(101)', provide a number between 0 and 100",
        ),
        (json!({"summaryTimeUnit": "h"}), "invalid summary time unit 'h', use 's', 'ms' or 'us'"),
        (
            json!({"setupTimeout": "-1s"}),
            "There were problems with the specified script configuration:\n\t- setupTimeout must be positive",
        ),
        (json!([]), "expected options to be an object, found an array"),
        (json!(3), "expected options to be an object, found the number 3"),
        (
            json!({"discardResponseBodies": "true"}),
            "option `discardResponseBodies`: expected true or false, found the text \"true\"",
        ),
    ] {
        assert_eq!(error(script.clone()), text, "{script}");
    }
}

#[test]
fn the_function_of_a_scenario_must_be_exported() {
    let script = scenario(json!({"executor": "constant-vus", "duration": "5s", "exec": "nope"}));
    assert_eq!(
        error(script),
        "There were problems with the specified script configuration:\n\t- executor a: function 'nope' not found in exports"
    );
}

#[test]
fn a_script_sees_its_options_with_null_for_what_is_not_set() {
    let exported = run(json!({"vus": 5, "iterations": 7})).exported;
    assert_eq!(
        exported["scenarios"],
        json!({"default": {"executor": "shared-iterations", "startTime": null, "gracefulStop": null, "env": null,
            "exec": null, "tags": null, "vus": 5, "iterations": 7, "maxDuration": null}})
    );
    assert_eq!(
        (&exported["vus"], &exported["tags"], &exported["setupTimeout"]),
        (&json!(null), &json!(null), &json!(null))
    );
}

#[test]
fn requests_have_k6s_defaults() {
    let http = run(json!({"maxRedirects": "3", "rps": "0"})).http;
    assert_eq!((http.max_redirects, http.batch, http.batch_per_host, http.rps), (3, 20, 6, None));
    assert_eq!(
        run(json!({"systemTags": ["url", "nope", "vu"]})).system_tags,
        BTreeSet::from(["url".into(), "vu".into()])
    );
}
