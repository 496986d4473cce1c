//! What flags and variables mean, and the first mistake in them.

use super::*;
use crate::args::{self, Invocation};

/// What `knee run LINE` asks for, with variables.
fn ask(line: &str, variables: &[(&str, &str)]) -> Result<Asked, Problem> {
    let words = ["knee", "run"].into_iter().chain(line.split_whitespace()).map(Into::into);
    let Ok(Invocation::Run(args)) = args::parse(words) else { panic!("{line} is no run") };
    let env =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    asked(&args, &env, false)
}

fn refused(line: &str, variables: &[(&str, &str)]) -> String {
    ask(line, variables).unwrap_err().to_string()
}

#[test]
fn flags_are_read_as_k6_reads_them() {
    let cli =
        ask("s.js -u 3 -d 1m30s -s 10s:5,20s:1 -w --batch 7 --no-setup=false --tag a=b=c --tag d=", &[])
            .unwrap()
            .cli;
    assert_eq!((cli.vus, cli.duration), (Some(3), Some(knee_k6::duration::SignedDuration::from_secs(90))));
    assert_eq!(cli.stages.unwrap().len(), 2);
    assert_eq!(
        (cli.throw, cli.batch, cli.no_setup, cli.no_teardown),
        (Some(true), Some(7), Some(false), None)
    );
    let tags = cli.tags.unwrap();
    assert_eq!((tags["a"].as_str(), tags["d"].as_str()), ("b=c", ""));
}

#[test]
fn a_duration_without_a_unit_is_refused_as_in_k6() {
    assert_eq!(
        refused("s.js -d 5", &[]),
        "error: `5` is not a value of `--duration`: time: missing unit in duration \"5\"\n\n\
         hint: write a unit, as in `10s`, `1m30s` or `500ms`"
    );
}

#[test]
fn a_flag_wins_over_its_variable() {
    let variables = [("K6_SUMMARY_MODE", "full"), ("K6_NO_THRESHOLDS", "true"), ("K6_OUT", "json=a,csv=b")];
    let from_env = ask("s.js", &variables).unwrap();
    assert_eq!((from_env.summary.mode, from_env.thresholds, from_env.outputs.len()), (Mode::Full, false, 2));
    let from_flags = ask("s.js --summary-mode disabled --no-thresholds=false -o csv=c", &variables).unwrap();
    assert_eq!(
        (from_flags.summary.mode, from_flags.thresholds, from_flags.outputs.len()),
        (Mode::Disabled, true, 1)
    );
}

#[test]
fn variables_for_the_script_come_from_the_flag_or_from_this_process() {
    let asked =
        ask("s.js -e A=1=2 -e HOST -e NONE --include-system-env-vars=false", &[("HOST", "h")]).unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(asked.environment, [pair("A", "1=2"), pair("HOST", "h"), pair("NONE", "")]);
    assert!(!asked.system_environment);
}

#[test]
fn the_configuration_file_is_read_and_must_be_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    std::fs::write(&path, r#"{"vus": 4}"#).unwrap();
    let line = format!("s.js -c {}", path.display());
    assert_eq!(ask(&line, &[]).unwrap().file["vus"], 4);
    assert_eq!(ask("s.js", &[("K6_CONFIG", path.to_str().unwrap())]).unwrap().file["vus"], 4);
    std::fs::write(&path, "vus: 4").unwrap();
    assert!(refused(&line, &[]).contains("is not JSON, for `--config`"));
    assert!(refused("s.js -c missing.json", &[]).contains("`missing.json` cannot be read, for `--config`"));
}

#[test]
fn what_makes_no_sense_is_reported_before_any_load() {
    for (line, words) in [
        ("s.js -o kafka=x", "there is no output `kafka`"),
        ("s.js -o influxdb=localhost:8086/k6", "the URL after `influxdb=` has no scheme"),
        ("s.js --summary-mode most", "`most` is not a value of `--summary-mode`"),
        ("s.js --log-output loki", "`loki` is not a value of `--log-output`"),
        ("s.js --tag a", "`a` is not a value of `--tag`"),
        ("s.js --throw=maybe", "`maybe` is not a value of `--throw`"),
        (
            "s.js -u many",
            "`many` is not a value of `--vus`: strconv.ParseInt: parsing \"many\": invalid syntax",
        ),
        ("s.js --type zip", "`--type` is not supported"),
        ("s.js --traces-output otel", "`--traces-output` is not supported"),
    ] {
        assert!(refused(line, &[]).contains(words), "{line}: {}", refused(line, &[]));
    }
    assert!(refused("s.js", &[("K6_VUS", "x")]).contains("a variable cannot be used: K6_VUS: "));
    assert!(refused("s.js", &[("K6_NO_SUMMARY", "x")]).contains("`x` is not a value of `K6_NO_SUMMARY`"));
}

#[test]
fn flags_of_k6_that_change_nothing_are_noted() {
    let notes =
        ask("s.js --no-usage-report -l --address 127.0.0.1:6565 --compatibility-mode base -t js", &[])
            .unwrap()
            .notes;
    assert_eq!(notes.len(), 3, "{notes:?}");
}

#[test]
fn sources_of_secrets_come_from_the_flags_or_else_from_the_variable() {
    let variables = [("K6_SECRET_SOURCE", "file=a")];
    assert_eq!(ask("s.js", &variables).unwrap().secret_sources, ["file=a"]);
    let flags = "s.js --secret-source=mock=a=1,b=2 --secret-source file=c";
    assert_eq!(ask(flags, &variables).unwrap().secret_sources, ["mock=a=1,b=2", "file=c"]);
    assert!(ask("s.js", &[]).unwrap().secret_sources.is_empty());
}
