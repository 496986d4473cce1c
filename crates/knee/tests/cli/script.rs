//! `knee run`: k6's view of a run, and ours beside it.
//!
//! Scripts without requests measure nothing that an unoptimized build could spoil, so their exit codes
//! are the same in every build.

use std::io::Read;

use serde_json::Value;

use crate::program::{Finished, Home, number, word};
use crate::server::Server;

/// Runs a script in a home of its own.
fn run(script: &str, flags: &str) -> (Home, Finished) {
    let home = Home::new();
    home.file("script.js", script);
    let finished = home.knee("run -q script.js").args(flags).run();
    (home, finished)
}

/// A script whose iterations ask `server` for `path`.
fn asking(server: &Server, path: &str, rest: &str) -> String {
    format!(
        "import http from 'k6/http'; {rest}\nexport default function () {{ http.get(`{}`); }}",
        server.url(path)
    )
}

#[test]
fn a_run_ends_with_k6s_summary_and_below_it_what_k6_does_not_say() {
    let server = Server::start();
    let script = asking(
        &server,
        "/x",
        "export const options = { iterations: 5, thresholds: { http_reqs: ['count==5'] } };",
    );
    let (_home, finished) = run(&script, "");
    assert_eq!((finished.code, server.count()), (Some(0), 5), "{}", finished.stderr);
    let (k6, own) =
        finished.stdout.split_once("\n\n\n\nknee ").unwrap_or_else(|| panic!("{}", finished.stdout));
    assert!(k6.starts_with("\n\n  █ THRESHOLDS \n\n    http_reqs\n    ✓ 'count==5' count=5\n\n\n  █ TOTAL RESULTS \n\n    HTTP\n"), "{k6}");
    assert!(k6.contains("\n    http_reqs......................: 5 "), "{k6}");
    assert!(own.contains("response time      service time") && own.contains("\nValidity: "), "{own}");
}

#[test]
fn connections_that_vus_do_not_reuse_are_closed_when_their_iteration_ends() {
    let server = Server::start();
    let script = format!(
        "import http from 'k6/http'; import {{ check }} from 'k6';
         export const options = {{
            noVUConnectionReuse: true, thresholds: {{ checks: ['rate==1'] }},
            scenarios: {{ one: {{ executor: 'per-vu-iterations', vus: 2 }} }},
         }};
         export default function () {{
            const response = http.get(`{}${{__VU == 1 ? 'x' : 'after'}}`);
            check(response, {{ ok: (r) => r.status == 200 }});
         }}",
        server.url("/")
    );
    let (_home, finished) = run(&script, "");
    assert_eq!((finished.code, server.count()), (Some(0), 2), "{}\n{}", finished.stdout, finished.stderr);
}

#[test]
fn machines_that_each_do_a_part_of_a_load_do_the_whole_together() {
    let server = Server::start();
    let arrivals = "scenarios: { a: { executor: 'constant-arrival-rate', rate: 50, duration: '1s', preAllocatedVUs: 9 } }";
    for (load, whole) in [("vus: 5, iterations: 17", 17), (arrivals, 51)] {
        let before = server.count();
        let script = format!(
            "import http from 'k6/http'; import exec from 'k6/execution'; export const options = {{ {load} }};
             export default () => http.get(`{}${{exec.scenario.iterationInTest}}`);",
            server.url("/")
        );
        for part in ["0:1/4", "1/4:1/2", "1/2:1"] {
            let flags = format!(
                "--execution-segment {part} --execution-segment-sequence 0,1/4,1/2,1 --output-format json"
            );
            let (_home, finished) = run(&script, &flags);
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
            let document: Value = serde_json::from_str(&finished.stdout).unwrap();
            assert_eq!(document["segment"]["segment"], part);
            assert_eq!(document["segment"]["sequence"], "0,1/4,1/2,1");
        }
        let mut paths: Vec<String> = server.seen()[before..].iter().map(|seen| seen.path.clone()).collect();
        paths.sort();
        let mut each: Vec<String> = (0..whole).map(|index| format!("/{index}")).collect();
        each.sort();
        assert_eq!(paths, each, "{load}");
    }
}

#[test]
fn a_part_of_the_load_is_named_and_one_without_work_is_said() {
    let server = Server::start();
    let script = &asking(&server, "/", "export const options = { vus: 1, iterations: 1 };");
    let (_home, finished) = run(script, "--execution-segment 0:1/2");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("\npart 0:1/2 of this load\n"), "{}", finished.stdout);
    let (_home, finished) = run(script, "--execution-segment 1/2:1");
    let words = "warning: Executor 'default' is disabled for segment 1/2:1 due to lack of work!";
    assert!(finished.stderr.contains(words), "{}", finished.stderr);
    let (_home, finished) = run(script, "--execution-segment 1/2:1/3");
    let words = "error: executionSegment: the segment `1/2:1/3` must end after it begins";
    assert!(finished.code == Some(104) && finished.stderr.starts_with(words), "{}", finished.stderr);
}

#[test]
fn time_that_a_script_waits_by_itself_is_no_response_time_and_no_lag_of_the_generator() {
    let server = Server::start();
    let pause = "await new Promise((done) => setTimeout(done, 300));";
    let closed = "export const options = { vus: 2, iterations: 4 };";
    let arrivals = "export const options = { scenarios: { a: { executor: 'constant-arrival-rate', rate: 10, \
                    duration: '1s', preAllocatedVUs: 10 } } };";
    for script in [
        format!("{closed} export default () => {{ sleep(0.3); http.get(at); }};"),
        format!("{closed} export default () => {{ sleep(0.3); http.batch([at]); }};"),
        format!("{closed} export default async () => {{ {pause} http.get(at); }};"),
        format!("{closed} export default async () => {{ {pause} await http.asyncRequest('GET', at); }};"),
        "export const options = { vus: 2, iterations: 4, rps: 4 }; export default () => { http.get(at); };"
            .to_owned(),
        format!("{arrivals} export default () => {{ sleep(0.3); http.get(at); }};"),
    ] {
        let at = server.url("/");
        let head = format!("import http from 'k6/http'; import {{ sleep }} from 'k6'; const at = '{at}';");
        let (_home, finished) = run(&format!("{head}\n{script}"), "--output-format json");
        let document: Value = serde_json::from_str(&finished.stdout).unwrap();
        // If the pause counted, it would be in each of them. A busy machine adds a lag of its own to some.
        for time in ["response_time_ms", "send_delay_ms", "generator_lag_ms"] {
            let least = document.pointer(&format!("/{time}/min")).and_then(Value::as_f64).unwrap();
            assert!(least < 150.0, "{script}: {time}, at least {least} ms");
        }
    }
}

#[test]
fn our_own_result_is_alone_when_it_is_asked_for() {
    let server = Server::start();
    let (home, finished) = run(&asking(&server, "/x", ""), "--output-format json");
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!((number(&document, "/requests/planned"), home.report("last")), (1, document));
}

#[test]
fn secrets_in_urls_of_a_script_are_sent_and_not_saved_or_shown() {
    let server = Server::start();
    let script = format!(
        "import http from 'k6/http'; const named = {{ tags: {{ name: 'http://ann:hunter2@h/?token=hunter2' }} }};
         export default function () {{
            const response = http.get(`{0}`); http.get(`{0}`, named);
            if (!response.url.endsWith('token=hunter2')) {{ throw new Error(response.url); }}
         }}",
        server.url("/x?page=1&token=hunter2")
    );
    let (home, finished) = run(&script, "-o json=samples.json");
    assert_eq!((finished.code, server.count()), (Some(0), 2), "{}", finished.stderr);
    assert!(finished.stdout.contains("http://h/?token=***"), "{}", finished.stdout);
    assert!(!finished.stdout.contains("hunter2"), "{}", finished.stdout);
    let saved = home.report("last").to_string();
    assert!(saved.contains("/x?page=1&token=***") && !saved.contains("hunter2"), "{saved}");
    let samples = std::fs::read_to_string(home.path("samples.json")).unwrap();
    assert!(samples.contains("token=hunter2"), "k6's tags are those of k6: {samples}");
}

#[test]
fn switches_have_values_as_under_k6() {
    let script = "console.debug('a detail'); export default function () {}";
    let (_home, finished) = run(script, "--quiet=true --verbose=false --no-setup=T --throw=0 -u 1 -u 1");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        !finished.stderr.contains("scenarios:") && !finished.stderr.contains("a detail"),
        "{}",
        finished.stderr
    );
    let (_home, finished) = run(script, "--quiet=0 -v=1");
    assert!(
        finished.stderr.contains("scenarios:") && finished.stderr.contains("a detail"),
        "{}",
        finished.stderr
    );
    let (_home, finished) = run(script, "--quiet=maybe");
    assert_eq!(finished.code, Some(104), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("maybe") && finished.stderr.contains("true or false"),
        "{}",
        finished.stderr
    );
}

#[test]
fn validity_changes_the_exit_code_of_a_script_on_request_alone() {
    let server = Server::start();
    let script = asking(&server, "/x", "");
    let (home, plain) = run(&script, "");
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(plain.stdout.contains("\nValidity: "), "it is reported all the same: {}", plain.stdout);
    home.knee("run -q script.js --require-valid").run().ended_as_it_says(&home);
}

#[test]
fn a_script_that_only_drops_iterations_is_not_asked_about_an_address() {
    let script = "import { sleep } from 'k6'; export const options = { scenarios: { main: { executor: \
                  'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 1 } } }; \
                  export default function () { sleep(0.4); }";
    let (_home, finished) = run(script, "--require-valid");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("dropped_iterations"), "{}", finished.stdout);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!said.contains("answered") && !said.contains("Validity"), "{said}");
}

#[test]
fn exit_codes_are_those_of_k6() {
    let exec = "import exec from 'k6/execution'; import { sleep } from 'k6'; export default function () {}";
    for (code, script, words) in [
        (0, "export default function () {}", ""),
        (
            99,
            "export const options = { thresholds: { iterations: ['count>1'] } }; export default function () {}",
            "thresholds on metrics 'iterations' have been crossed",
        ),
        (
            99,
            "import { sleep } from 'k6'; export const options = { vus: 2, duration: '80s', thresholds: { iterations: \
             [{ threshold: 'count>1000000', abortOnFail: true }] } }; export default function () { sleep(0.1); }",
            "at least one has abortOnFail enabled",
        ),
        (
            100,
            "export const options = { setupTimeout: '100ms' }; export function setup() { sleep(60); }",
            "`setupTimeout`",
        ),
        (
            101,
            "export const options = { teardownTimeout: '100ms' }; export function teardown() { sleep(60); }",
            "`teardownTimeout`",
        ),
        (104, "export const options = { thresholds: { nope: ['avg<1'] } };", "no metric name \"nope\" found"),
        (104, "export const options = { duration: 'soon' };", "time: invalid duration \"soon\""),
        (107, "throw new Error('broken');", "broken"),
        (107, "export function setup() { throw new Error('broken'); }", "setup() threw: Error: broken"),
        (107, "export function teardown() { throw new Error('broken'); }", "teardown() threw: Error: broken"),
        (108, "export function setup() { exec.test.abort('enough'); }", "test aborted: enough"),
        (110, "export function setup() { exec.test.fail('bad'); }", "test run was marked as failed"),
    ] {
        let whole = if script.contains("default") { script.to_owned() } else { format!("{exec}\n{script}") };
        let (_home, finished) = run(&whole, "");
        assert_eq!(finished.code, Some(code), "{script}: {}", finished.stderr);
        assert!(finished.stderr.contains(words), "{script}: {}", finished.stderr);
    }
}

#[test]
fn a_threshold_that_cannot_be_judged_is_reported_before_any_request() {
    let server = Server::start();
    let script = asking(&server, "/x", "export const options = { thresholds: { http_reqs: ['avg<1'] } };");
    let (home, finished) = run(&script, "");
    assert_eq!((finished.code, finished.stdout.as_str(), server.count()), (Some(104), "", 0));
    assert!(
        finished.stderr.contains("unsupported aggregation method avg on metric of type counter"),
        "{}",
        finished.stderr
    );
    assert_eq!(home.files().len(), 1, "no record is left behind");
    assert_eq!(home.knee("run -q script.js --no-thresholds").run().stdout.lines().next(), Some(""));
}

#[test]
fn samples_are_kept_apart_by_their_tags() {
    let script = "import { Counter } from 'k6/metrics'; const orders = new Counter('orders');
        export const options = { tags: { team: 'a' }, thresholds: {
            'orders{kind:big}': ['count==2'], 'orders{kind:none}': ['count==0'], 'orders{team:a}': ['count==5'],
            'orders{scenario:default}': ['count==5'] } };
        export default function () { orders.add(2, { kind: 'big' }); orders.add(3); }";
    let (_home, finished) = run(script, "");
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    // A flag replaces the tags of the script, and switching a system tag off leaves nothing to filter by.
    let (_home, finished) = run(script, "--tag team=b --system-tags url");
    assert!(
        finished.stderr.contains("'orders{scenario:default}, orders{team:a}' have been crossed"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_scenario_has_variables_and_tags_of_its_own() {
    let script = "import { Counter } from 'k6/metrics'; const c = new Counter('orders');
        const one = { executor: 'per-vu-iterations', vus: 1, iterations: 1 };
        export const options = { tags: { t: 'run', u: 'run' }, scenarios: {
            a: { ...one, env: { WHO: 'a' }, tags: { t: 'a' } }, b: { ...one } },
            thresholds: { 'orders{t:a}': ['count==1'], 'orders{t:run}': ['count==10'], 'orders{u:run}': ['count==111'],
                'orders{group:::setup,u:run}': ['count==100'] } };
        export function setup() { c.add(100, { t: 'x' }); }
        export default function () { console.log(`who is ${__ENV.WHO}`); c.add(__ENV.WHO === 'a' ? 1 : 10); }";
    let (_home, finished) = run(script, "-e WHO=b");
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    assert!(
        finished.stderr.contains("who is a") && finished.stderr.contains("who is b"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_script_makes_its_own_summary_and_has_stdout_for_itself() {
    let server = Server::start();
    let script = asking(
        &server,
        "/x",
        "export function setup() { return { a: 1 }; }
         export function handleSummary(data) {
             return { stdout: JSON.stringify([data.setup_data, data.metrics.http_reqs.values.count]), stderr: 'told\\n',
                 'own.txt': 'text', 'bytes.bin': new Uint8Array([1, 2]).buffer };
         }",
    );
    let (home, finished) = run(&script, "--summary-export export.json");
    assert_eq!(finished.stdout, r#"[{"a":1},1]"#);
    let mut stderr = finished.stderr.lines();
    assert_eq!(stderr.next(), Some("told"));
    if cfg!(debug_assertions) {
        assert!(stderr.next().is_some_and(|line| line.ends_with("[debug_build]")), "{}", finished.stderr);
    }
    assert_eq!(stderr.next(), None, "with -q the validity of the result is all that we add");
    assert_eq!(std::fs::read(home.path("own.txt")).unwrap(), b"text");
    assert_eq!(std::fs::read(home.path("bytes.bin")).unwrap(), [1, 2]);
    let export: Value = serde_json::from_slice(&std::fs::read(home.path("export.json")).unwrap()).unwrap();
    assert_eq!(export["metrics"]["http_reqs"]["count"], 1);
}

#[test]
fn a_summary_that_fails_costs_nothing_but_itself() {
    for (body, words) in [
        ("throw new Error('no');", "handleSummary() threw: Error: no"),
        ("return 5;", "handleSummary() should return a map with string keys"),
        ("return { 'a.txt': 'a', 'b.txt': {} };", "error handling summary object b.txt"),
        ("return { 'none/a.txt': 'a' };", "`none/a.txt` cannot be written"),
    ] {
        let (home, finished) =
            run(&format!("export default function () {{}} export function handleSummary() {{ {body} }}"), "");
        assert_eq!(finished.code, Some(0), "{body}");
        assert!(finished.stderr.contains(words), "{body}: {}", finished.stderr);
        assert!(!home.path("a.txt").exists(), "{body}");
    }
}

#[test]
fn flags_win_over_variables_over_the_script_over_the_file() {
    let home = Home::new();
    home.file("config.json", r#"{ "batch": 1, "maxRedirects": 1, "batchPerHost": 1, "userAgent": "file" }"#);
    home.file(
        "script.js",
        "import exec from 'k6/execution'; export const options = { batch: 2, maxRedirects: 2, batchPerHost: 2 };
         export default function () {
             const { batch, maxRedirects, batchPerHost, userAgent } = exec.test.options;
             console.log([batch, maxRedirects, batchPerHost, userAgent].join());
         }",
    );
    let finished = home
        .knee("run -q script.js -c config.json --batch 4")
        .env("K6_BATCH", "3")
        .env("K6_MAX_REDIRECTS", "3")
        .run();
    assert!(finished.stderr.contains(" level=info msg=\"4,3,2,file\" source=console"), "{}", finished.stderr);
}

#[test]
fn load_on_a_higher_layer_replaces_the_scenarios_of_the_script() {
    let script =
        "export const options = { scenarios: { a: { executor: 'constant-vus', vus: 1, duration: '80s' } } };
        export default function () {}";
    let (_home, finished) = run(script, "-i 3 -u 2");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("\n    iterations...........: 3 "), "{}", finished.stdout);
    assert!(
        finished.stderr.contains("\"cli\" level configuration overrode scenarios configuration entirely")
    );
}

#[test]
fn every_sample_is_written_while_the_run_goes_on() {
    let server = Server::start();
    let script = asking(&server, "/x", "export const options = { iterations: 7, vus: 2 };");
    let (home, _) = run(&script, "-o json=samples.json -o csv=samples.csv.gz");
    let json = std::fs::read_to_string(home.path("samples.json")).unwrap();
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |metric: &str| {
        lines.iter().filter(|line| line["metric"] == metric && line["type"] == "Point").count()
    };
    assert_eq!(
        (count("http_reqs"), count("http_req_waiting"), count("iterations"), count("data_sent")),
        (7, 7, 7, 7)
    );
    let packed = std::fs::File::open(home.path("samples.csv.gz")).unwrap();
    let mut csv = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut csv).unwrap();
    assert_eq!(csv.lines().filter(|line| line.starts_with("http_reqs,")).count(), 7);
    // The first line of each metric is in JSON only, the header in CSV only.
    let points = lines.iter().filter(|line| line["type"] == "Point").count();
    assert_eq!(csv.lines().count(), points + 1);
}

#[test]
fn each_name_is_an_endpoint_and_urls_without_end_share_one() {
    let server = Server::start();
    let script = format!(
        "import http from 'k6/http';
         export default function () {{
             const base = '{}';
             for (let i = 0; i < 3; i += 1) http.get(`${{base}}/item/${{i}}`, {{ tags: {{ name: 'an item' }} }});
             for (let i = 0; i < 1100; i += 1) http.get(`${{base}}/page/${{i}}`);
         }}",
        server.url("")
    );
    let (home, finished) = run(&script, "");
    assert_eq!(server.count(), 1_103);
    let report = home.report("last");
    let endpoints = report["endpoints"].as_array().unwrap();
    let requests = |name: &str| {
        let found = endpoints.iter().find(|endpoint| endpoint["name"] == name);
        found.map_or(0, |endpoint| number(endpoint, "/requests/planned"))
    };
    assert_eq!((requests("an item"), endpoints.len()), (3, 1_000));
    assert_eq!(requests("(other endpoints)"), 1_103 - 3 - 998);
    assert!(finished.stdout.contains("\n  (other endpoints) "), "{}", finished.stdout);
}

#[test]
fn a_script_reads_the_data_of_its_repository_and_of_the_working_directory_unless_a_root_narrows_it() {
    let home = Home::new();
    home.file("repo/.git/HEAD", "");
    home.file("repo/data/users.csv", "anna");
    home.file(
        "repo/tests/load.js",
        "const u = open('../data/users.csv'); export default () => console.log(u);",
    );
    home.file(
        "else/where/o.js",
        "const u = open('../../repo/data/users.csv'); export default () => console.log(u);",
    );
    home.file("suite/lib/d.txt", "anna");
    home.file("suite/tests/b.js", "const u = open('../lib/d.txt'); export default () => console.log(u);");
    let run = |script: &str, folder: &str, flags: &str| {
        let path = home.path(script);
        home.knee("run -q --log-format raw").args(flags).arg(path).folder(&home.path(folder)).run()
    };
    let said = |finished: &Finished| finished.stderr.contains("anna");
    assert!(said(&run("repo/tests/load.js", "else", "")), "by the repository");
    assert!(said(&run("else/where/o.js", ".", "")), "by the working directory");
    assert!(said(&run("suite/tests/b.js", "else", "")), "by the folder above its own");
    let outside = run("else/where/o.js", "else", "");
    assert_eq!(outside.code, Some(107), "{}", outside.stderr);
    assert!(outside.stderr.contains("--allow-read"), "{}", outside.stderr);
    let narrowed = run("repo/tests/load.js", "repo", &format!("--root {}", word(&home.path("repo/tests"))));
    assert_eq!(narrowed.code, Some(107), "{}", narrowed.stderr);
}

#[test]
fn a_script_whose_target_is_on_this_machine_is_noted_as_sharing_its_cpus() {
    let home = Home::new();
    let server = Server::start();
    let text = format!("import http from 'k6/http'; export default () => http.get('{}');", server.url("/"));
    home.file("script.js", text);
    let finished = home.knee("run -i 3 --output-format json script.js").run();
    assert!(finished.stdout.contains("[co_located]"), "{}", finished.stdout);
}

#[test]
fn lines_of_the_script_go_where_they_are_sent() {
    let home = Home::new();
    home.file("script.js", "export default function () { console.log('said'); console.debug('debugged'); }");
    let console = home.path("console.txt");
    let run = |flags: &str| home.knee("run -q script.js").args(flags).run();
    assert!(
        run("").stderr.contains(" level=info msg=said source=console")
            && !run("").stderr.contains("debugged")
    );
    assert!(run("-v").stderr.contains(" level=debug msg=debugged source=console"));
    assert!(!run("--log-output none").stderr.contains("said"));
    assert!(!run(&format!("--console-output {}", word(&console))).stderr.contains("said"));
    assert!(std::fs::read_to_string(console).unwrap().ends_with(" level=info msg=said source=console\n"));
}
