//! Claims about statements of a real PostgreSQL: counted beside the load, in the trials, and in the result.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The demo server, and a client of the database beside it that naps in a statement, over and over.
fn study_of_a_service_that_naps(folder: &Path) {
    let knee = env!("CARGO_BIN_EXE_knee");
    let serve = format!(
        "printf 'select pg_sleep(%s), count(*) from tasks \\\\watch 0.01\\n' \"$NAP\" | psql -qX > /dev/null &\n\
         exec '{knee}' demo --serve-only --listen \"127.0.0.1:$1\"\n"
    );
    fs::write(folder.join("serve.sh"), serve).unwrap();
    let text = r#"title = "a nap"

[postgres.db]

[service.main]
command = ["sh", "serve.sh", "{port}"]
seed = ["psql", "-qX", "-c", "create table tasks as select generate_series(1, 100) as id"]
seed_env = []
reset = "stores"
env = { PGHOST = "127.0.0.1", PGPORT = "{postgres.db.port}", PGUSER = "knee", PGPASSWORD = "{postgres.db.password}", PGDATABASE = "knee" }

[switches.nap]
default = "0.04"
env = "NAP"

[statements.nap]
like = "SELECT pg_sleep(%) % FROM tasks"

[statements.never]
like = "delete from tasks %"

[variants.long]

[variants.short]
extends = "long"
switches = { nap = "0.002" }

[workloads.page]
path = "/"
connections = 2

[design]
kind = "ladder"
order = ["long", "short"]
warm_up = "200ms"
measure = "4s"

[claims.shorter]
text = "a shorter nap"
workload = "page"
statement = "nap"
metric = "statement_time"
variant = "short"
against = "long"
expect = "faster"

[claims.never]
text = "nothing is deleted"
goal = true
workload = "page"
statement = "never"
metric = "statement_time"
variant = "short"
below = "1s"
"#;
    fs::write(folder.join("study.toml"), text).unwrap();
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_study_measures_the_statements_that_it_names_and_says_which_were_not_executed() {
    let folder = tempfile::tempdir().unwrap();
    // PostgreSQL must pass through when the tests are run by root.
    let temporary = folder.path().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    for path in [folder.path(), &temporary] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        fs::set_permissions(path, open).unwrap();
    }
    study_of_a_service_that_naps(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.arg("study").arg(folder.path()).args(["--blocks", "1", "--output-format", "json"]);
    command.env("KNEE_HOME", folder.path().join("home")).env("TMPDIR", &temporary);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    let schema = serde_json::from_str(include_str!("../../../../docs/reference/study.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&conclusion).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    for entry in conclusion["trials"].as_array().unwrap() {
        let nap_ms = if entry["trial"]["variant"] == "long" { 40.0 } else { 2.0 };
        let statements = &entry["result"]["measured"]["statements"];
        let (calls, nanos) = (&statements["nap"]["calls"], &statements["nap"]["time"]);
        let (calls, nanos) = (calls.as_f64().unwrap(), nanos.as_f64().unwrap());
        assert!(calls > 0.0 && nanos / calls >= nap_ms * 1e6, "{entry:#}\n{told}");
        assert!(statements["nap"]["requests"].as_f64().unwrap() > 0.0, "{entry:#}");
        assert_eq!(statements["never"]["calls"], 0);
    }
    let claims = conclusion["claims"].as_array().unwrap();
    let basis = |id: &str| &claims.iter().find(|claim| claim["id"] == id).unwrap()["basis"];
    // A build that is not optimized has no valid trial, so that nothing is compared.
    let (place, absent) =
        if cfg!(debug_assertions) { ("cell", "none_usable") } else { ("to", "not_executed") };
    assert_eq!(basis("shorter")[place]["statement"], "nap", "{:#}", basis("shorter"));
    assert_eq!(basis("never")["absence"]["code"], absent, "{:#}", basis("never"));
}
