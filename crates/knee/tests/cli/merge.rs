//! A load that several machines made together, and the one result of their records.

use std::fs;

use serde_json::Value;

use crate::program::{Finished, Home, number};
use crate::server::Server;

const SEQUENCE: &str = "0,1/4,1/2,3/4,1";
const PARTS: [&str; 4] = ["0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"];

/// Runs all parts of a load at the same time; their records are `0.knee` to `3.knee`.
fn run_parts(home: &Home, command: &str, target: &str) {
    let parts: Vec<_> = PARTS
        .iter()
        .enumerate()
        .map(|(place, segment)| {
            let part = format!("--execution-segment {segment} --execution-segment-sequence {SEQUENCE}");
            home.knee(command).args(&part).args(&format!("--record {place}.knee")).arg(target).start()
        })
        .collect();
    for part in parts {
        let finished = part.finish();
        // A debug build is no valid generator.
        assert!(matches!(finished.code, Some(0 | 120)), "{finished:?}");
    }
}

fn merge(home: &Home, line: &str) -> Finished {
    home.knee("merge").args(line).run()
}

fn json(home: &Home, line: &str) -> Value {
    let finished = merge(home, line);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"))
}

#[test]
fn four_parts_make_the_load_of_one_machine_and_their_merged_record_counts_what_the_server_saw() {
    let (home, server) = (Home::new(), Server::start());
    run_parts(&home, "-q 400 -z 2s --arrivals poisson --no-tui", &server.url("/"));
    let whole = json(&home, "0.knee 1.knee 2.knee 3.knee --record all.knee --output-format json");
    let seen = server.seen().len() as u64;
    assert_eq!(number(&whole, "/requests/planned"), seen);
    assert_eq!(number(&whole, "/requests/ok"), seen);
    assert_eq!(number(&whole, "/diagnostics/parts/arrivals_off"), 0, "{whole:#}");
    let parts = whole["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 4);
    let sum: u64 = parts.iter().map(|part| number(part, "/planned")).sum();
    assert_eq!(sum, seen);
    assert_eq!(parts[1]["segment"], "1/4:1/2");
    assert!(whole["warnings"].as_array().unwrap().iter().all(|one| one["code"] != "parts"), "{whole:#}");

    // The same load by one machine has the same arrivals.
    let alone =
        home.knee("-q 400 -z 2s --arrivals poisson --no-tui --output-format json").arg(server.url("/")).run();
    let alone: Value = serde_json::from_str(&alone.stdout).unwrap();
    assert_eq!(number(&alone, "/requests/planned"), seen);

    // The order does not matter, and the merged record is one like any other.
    merge(&home, "3.knee 0.knee 2.knee 1.knee --record again.knee --output-format quiet");
    let bytes = |name: &str| fs::read(home.path(name)).unwrap();
    assert!(bytes("all.knee") == bytes("again.knee"), "byte for byte");
    let text = home.knee("report all.knee").run();
    assert!(text.stdout.contains("Parts") && text.stdout.contains("3/4:1"), "{text:?}");
    assert_eq!(home.report("all.knee")["parts"], whole["parts"]);
    let page = home.knee("report all.knee --format html").run();
    assert!(page.stdout.contains("What each machine contributed"), "{}", page.stderr);
}

#[test]
fn a_script_is_divided_and_merged_in_the_same_way() {
    let (home, server) = (Home::new(), Server::start());
    home.file(
        "script.js",
        "import http from 'k6/http'; import exec from 'k6/execution';
         export const options = { scenarios: { all: { executor: 'shared-iterations', vus: 8, iterations: 40 } } };
         export default () => http.get(`${__ENV.BASE}/k/${exec.scenario.iterationInTest}`, { tags: { name: 'k' } });",
    );
    let script = home.path("script.js").display().to_string();
    run_parts(&home, &format!("run -q -e BASE={}", server.url("")), &script);
    let whole = json(&home, "0.knee 1.knee 2.knee 3.knee --output-format json");
    let mut paths: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 40, "each iteration once");
    assert_eq!(number(&whole, "/requests/ok"), 40);
    let endpoints = whole["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), 1, "joined by name: {endpoints:?}");
}

#[test]
fn a_part_that_is_missing_is_said_and_the_exit_code_is_that_of_an_invalid_result() {
    let (home, server) = (Home::new(), Server::start());
    run_parts(&home, "-q 200 -c 40 -z 1s --no-tui", &server.url("/"));
    let finished = merge(&home, "0.knee 1.knee 3.knee");
    assert_eq!(finished.code, Some(120), "{finished:?}");
    let said = "1 of 4 parts missing; the result lacks 25 % of the load [parts]";
    assert!(finished.stdout.replace('\n', " ").contains(said), "{finished:?}");
    assert!(home.knee("explain parts").run().stdout.contains("Give the records of all parts"));
}

#[test]
fn a_part_whose_machine_was_killed_is_merged_as_far_as_its_record_goes_and_the_rest_is_counted() {
    let (home, server) = (Home::new(), Server::start());
    run_parts(&home, "-q 200 -c 40 -z 3s --no-tui", &server.url("/"));
    let whole = fs::read(home.path("2.knee")).unwrap();
    // What a killed program leaves: whole frames, and a part of one.
    fs::write(home.path("2.knee"), &whole[..whole.len() * 6 / 10]).unwrap();
    let finished = merge(&home, "0.knee 1.knee 2.knee 3.knee");
    let text = finished.stdout.replace('\n', " ");
    assert!(text.contains("1 of 4 parts ended early;"), "{finished:?}");
    assert!(text.contains(" more missing)") && text.contains("cut off"), "{finished:?}");
    let merged = json(&home, "0.knee 1.knee 2.knee 3.knee --output-format json");
    let lost = number(&merged, "/parts/2/lost");
    // All that was planned was sent by a machine or is lost.
    assert_eq!(number(&merged, "/requests/planned") + lost, 600, "{merged:#}");
}

#[test]
fn records_that_do_not_belong_together_are_refused_and_leave_no_file() {
    let (home, server) = (Home::new(), Server::start());
    home.knee("-n 10 -c 2 --record whole.knee").arg(server.url("/")).run();
    home.knee("-n 10 -c 2 --execution-segment 0:1/2 --record one.knee").arg(server.url("/")).run();
    home.knee("-n 20 -c 2 --execution-segment 1/2:1 --record two.knee").arg(server.url("/")).run();
    merge(&home, "one.knee whole.knee --record all.knee").refused(
        "`whole.knee` is not the record of a part of a load",
        "run each part with `--execution-segment`, as in `knee URL --execution-segment 0:1/2`",
    );
    merge(&home, "one.knee two.knee --record all.knee").refused(
        "`one.knee` and `two.knee` are parts of different loads: the load differs",
        "run all parts with the same flags except `--execution-segment`",
    );
    merge(&home, "one.knee one.knee --record all.knee")
        .refused("`one.knee` and `one.knee` are both of the part 0:1/2", "give one record of each part");
    assert!(!home.path("all.knee").exists());
    home.knee("-n 10 -c 1 --execution-segment 1/2:1").arg(server.url("/")).run().refused(
        "the part 1/2:1 of this load has nothing to do",
        "give more connections or requests than there are parts",
    );
    home.knee("-n 10 --execution-segment 1/2:1/4").arg(server.url("/")).run().refused(
        "`--execution-segment`: the segment `1/2:1/4` must end after it begins",
        "write parts as fractions, as in `--execution-segment 0:1/4 --execution-segment-sequence 0,1/4,1/2,3/4,1`",
    );
}
