//! Sweeps of scripts, studies and comparisons whose loads a fleet makes: the server counts what the results say.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::world::{Fleet, json};
use crate::program::{BINARY, number};

/// Which machines make the load.
fn agents(fleet: &Fleet, count: usize) -> String {
    format!("--nats {} --agents {count}", fleet.nats.url())
}

/// The requests of all trials of a document.
fn requests(document: &Value) -> u64 {
    let trials = document["trials"].as_array().unwrap();
    trials.iter().map(|trial| number(trial, "/result/measured/requests")).sum()
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn each_step_of_a_sweep_of_a_script_is_a_load_of_all_agents() {
    let fleet = Fleet::start(2);
    let source = "import http from 'k6/http'; import exec from 'k6/execution';
        export const options = { scenarios: { other: { executor: 'constant-vus', vus: 9, duration: '9m' } } };
        export function setup() { http.get(__ENV.TARGET + '/setup'); return { word: 'shared' }; }
        export default function (data) {
            http.get(`${__ENV.TARGET}/one/${__ENV.KNEE_AGENT}/${data.word}`);
            http.get(`${__ENV.TARGET}/two/${exec.scenario.iterationInTest}`);
        }
        export function teardown() { http.get(__ENV.TARGET + '/teardown'); }";
    fleet.home.file("s.js", source);
    let line = "sweep s.js --rates 20,40 --step 2s --in-flight 10 --output-format json";
    let target = fleet.server.url("");
    let sweep = fleet.home.knee(line).args(&agents(&fleet, 2)).args(&format!("-e TARGET={target}"));
    let document = json(&sweep.run());
    let steps = document["steps"].as_array().unwrap();
    assert!(steps.len() >= 2, "{document:#}");
    for step in steps {
        assert_eq!(step["requests_per_arrival"], 2.0, "{step:#}");
    }
    let seen = fleet.server.seen();
    let count = |prefix: &str| seen.iter().filter(|one| one.path.starts_with(prefix)).count();
    assert_eq!([count("/setup"), count("/teardown")], [1, 1]);
    let (first, second) = (count("/one/0/shared"), count("/one/1/shared"));
    assert!(first > 0 && second > 0 && first + second == count("/one/"), "{first} and {second}");
    // A record has the whole step, in two parts.
    let record = steps[0]["record"].as_str().unwrap();
    let report = json(&fleet.home.knee("report --format json").arg(record).run());
    assert_eq!(report["parts"].as_array().unwrap().len(), 2, "{report:#}");
    assert!(fleet.copies().is_empty(), "the copies of steps do not stay");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_sweep_that_chooses_its_loads_begins_with_a_connection_for_each_agent() {
    let fleet = Fleet::start(3);
    let target = fleet.server.url("/");
    fleet
        .home
        .file("s.js", "import http from 'k6/http'; export default function () { http.get(__ENV.TARGET); }");
    for (what, flags) in [(target.as_str(), ""), ("s.js", "-e TARGET=")] {
        let flags = if flags.is_empty() { String::new() } else { format!("{flags}{target}") };
        let line = format!("sweep {what} --step 1s --max-time 5s --output-format json {flags}");
        let finished = fleet.home.knee(&line).args(&agents(&fleet, 3)).run();
        let document = json(&finished);
        let first = &document["steps"][0];
        assert_eq!((&first["purpose"], &first["level"]), (&"probe".into(), &3.0.into()), "{finished:?}");
    }
    let few = fleet.home.knee(&format!("sweep {target} --connections 2,4")).args(&agents(&fleet, 3)).run();
    few.refused(
        "2 connections are too few for 3 agents",
        "take fewer agents, or more with `--connections` or `--in-flight`",
    );
    let all = format!("--nats {} --fleet all", fleet.nats.url());
    let unknown = fleet.home.knee(&format!("sweep {target}")).args(&all).run();
    assert_eq!(unknown.code, Some(104), "{unknown:?}");
    assert!(unknown.stderr.contains("`--agents`"), "{unknown:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn what_an_agent_holds_back_is_not_taken_for_the_limit_of_the_service() {
    let fleet = Fleet::with(1, |_| "max_rate = 30.0".to_owned());
    let source = "import http from 'k6/http';
        export default function () { for (let k = 0; k < 5; k += 1) http.get(__ENV.TARGET + '/k'); }";
    fleet.home.file("s.js", source);
    let target = fleet.server.url("");
    let line = format!("sweep s.js --rates 20 --step 2s --in-flight 10 -e TARGET={target}");
    let finished = fleet.home.knee(&line).args(&agents(&fleet, 1)).run();
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("waited for the agent's `max_rate` of 30 per second"), "{finished:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn both_sides_of_a_comparison_are_loaded_by_all_agents() {
    let fleet = Fleet::start(2);
    let (a, b) = (fleet.server.url("/a"), fleet.server.url("/b"));
    let line = format!(
        "compare {a} {b} -q 40 --arrivals uniform -z 1s --warm-up 0s --blocks 2 --output-format json"
    );
    let document = json(&fleet.home.knee(&line).args(&agents(&fleet, 2)).run());
    let seen = fleet.server.seen();
    let count = |path: &str| seen.iter().filter(|one| one.path == path).count() as u64;
    assert_eq!([count("/a"), count("/b")], [80, 80], "{document:#}");
    assert_eq!(requests(&document), 160);
    fleet.home.file(
        "c.js",
        "import http from 'k6/http'; export const options = { vus: 2, iterations: 6 };
        export default function () { http.get(__ENV.BASE_URL + '/by-script'); }",
    );
    let address = fleet.server.url("");
    let line =
        format!("compare {address} {address} --script c.js --warm-up 0s --blocks 1 --output-format json");
    let document = json(&fleet.home.knee(&line).args(&agents(&fleet, 2)).run());
    let by_script = fleet.server.seen().iter().filter(|one| one.path == "/by-script").count();
    assert_eq!((by_script, requests(&document)), (12, 12), "{document:#}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_study_starts_its_services_here_and_agents_load_them_under_the_name_that_they_know() {
    // Where the services listen is known only later.
    let fleet = Fleet::with(2, |_| "targets = [\"localhost\", \"127.0.0.1\"]".to_owned());
    let folder = fleet.home.path("study");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "title = \"one service twice\"\n\
         [service.main]\n\
         command = [\"{BINARY}\", \"demo\", \"--serve-only\", \"--listen\", \"127.0.0.1:{{port}}\"]\n\
         [variants.one]\n\
         [variants.two]\n\
         [workloads.page]\n\
         path = \"/\"\n\
         arrival_rate = 40\n\
         arrivals = \"uniform\"\n\
         connections = 10\n\
         [workloads.script]\n\
         script = \"s.js\"\n\
         [design]\n\
         kind = \"ladder\"\n\
         order = [\"one\", \"two\"]\n\
         warm_up = \"500ms\"\n\
         measure = \"1s\"\n"
    );
    fs::write(folder.join("study.toml"), text).unwrap();
    let script = "import http from 'k6/http'; export const options = { vus: 2, duration: '1500ms' };
        export default function () { http.get(__ENV.BASE_URL + '/'); }";
    fs::write(folder.join("s.js"), script).unwrap();
    let line = "study study --blocks 1 --output-format json --service-host localhost";
    let finished = fleet.home.knee(line).args(&agents(&fleet, 2)).run();
    let document = json(&finished);
    let trials = document["trials"].as_array().unwrap();
    // A trial that neighbours on the host disturbed is repeated.
    let numbers: BTreeSet<u64> =
        trials.iter().filter_map(|trial| trial["trial"]["number"].as_u64()).collect();
    assert_eq!(numbers.len(), 4, "{}", finished.stderr);
    for trial in trials {
        let measured = &trial["result"]["measured"];
        let requests = number(measured, "/requests");
        let workload = trial["trial"]["workload"].as_str().unwrap();
        assert!(requests == 40 || (workload == "script" && requests > 2), "{trial:#}");
    }
    assert_eq!(document["cpus"]["shared"], "agents", "{:#}", document["cpus"]);
    // Who makes the load is an option of the study: without the fleet, it does not go on.
    let alone = fleet.home.knee("study study --blocks 1 --resume").run();
    assert_eq!(alone.code, Some(104), "{alone:?}");
    assert!(alone.stderr.contains("other options"), "{alone:?}");
}

#[test]
fn what_a_series_over_a_fleet_cannot_do_is_refused_before_anything_is_started() {
    let home = crate::program::Home::new();
    home.knee("fleet key").run();
    let fleet = "--nats nats://127.0.0.1:1 --agents 2";
    home.knee("compare http://127.0.0.1:9/ http://127.0.0.1:9/ --service-host a:b/c")
        .args(fleet)
        .run()
        .refused(
            "`a:b/c` is not a host, for `--service-host`",
            "give a name or an address without a port, such as 10.0.0.1",
        );
    let alone = home.knee("compare http://127.0.0.1:9/ http://127.0.0.1:9/ --service-host a").run();
    assert_eq!(alone.code, Some(104), "{alone:?}");
    home.file("s.js", "export default function () {}");
    for line in ["sweep s.js --observe host", "compare http://a.test/ http://b.test/ --observe host"] {
        let finished = home.knee(line).args(fleet).run();
        assert_eq!(finished.code, Some(104), "{line}: {finished:?}");
        assert!(finished.stderr.contains("`--observe` does not work with a fleet"), "{line}: {finished:?}");
    }
}
