//! Scripts that a fleet runs: one test, whatever the number of machines.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::world::{Fleet, json, planned};
use crate::program::{Finished, Knee, number};

impl Fleet {
    /// A run of `s.js` by `agents` of the fleet, with the address of its server in the environment.
    pub fn script(&self, source: &str, agents: usize, line: &str) -> Knee {
        self.home.file("s.js", source);
        let fleet = format!("run s.js --no-tui --nats {} --agents {agents} {line}", self.nats.url());
        self.home.knee(&fleet).env("TARGET", self.server.url(""))
    }

    /// The requests that the server saw on paths that begin with `prefix`, without it.
    pub fn seen(&self, prefix: &str) -> Vec<String> {
        let seen = self.server.seen();
        seen.iter().filter_map(|one| one.path.strip_prefix(prefix)).map(str::to_owned).collect()
    }
}

/// k6's summary of a run with `--summary-export summary.json`.
fn summary(fleet: &Fleet) -> Value {
    let text = fs::read_to_string(fleet.home.path("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What every test of a script begins with.
const IMPORTS: &str = "import http from 'k6/http'; import exec from 'k6/execution'; import { check, sleep } from 'k6';
    import { Trend } from 'k6/metrics'; const get = (path, params) => http.get(__ENV.TARGET + path, params);\n";

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_script_on_three_agents_is_one_test_and_the_server_counts_what_the_summary_says() {
    let fleet = Fleet::start(3);
    fleet.home.file("rows.json", r#"["anna", "ben"]"#);
    fleet.home.file("parts/path.js", "export const path = (k) => `/k/${k}`;");
    let source = format!(
        "{IMPORTS}
        import {{ SharedArray }} from 'k6/data';
        import {{ path }} from './parts/path.js';
        const rows = new SharedArray('rows', () => JSON.parse(open('./rows.json')));
        const own = new Trend('own');
        export const options = {{
            scenarios: {{ a: {{ executor: 'shared-iterations', vus: 6, iterations: 120, maxDuration: '20s' }} }},
            thresholds: {{ checks: ['rate==1'], 'http_reqs{{odd:yes}}': ['count==60'], own: ['max<200'] }},
        }};
        export function setup() {{ get('/setup'); return {{ word: 'from setup' }}; }}
        export default function (data) {{
            const k = exec.scenario.iterationInTest;
            const response = get(path(k), {{ tags: {{ odd: k % 2 ? 'yes' : 'no' }} }});
            own.add(k);
            sleep(0.1);
            check(response, {{
                'the target answers': (one) => one.status === 200,
                'setup() arrives': () => data.word === 'from setup',
                'files arrive': () => rows.length === 2 && rows[1] === 'ben',
                'agents are numbered': () => __ENV.KNEE_AGENT < __ENV.KNEE_AGENTS && __ENV.KNEE_AGENTS == 3,
                'users are numbered': () => exec.vu.idInTest >= 1 && exec.vu.idInTest <= 6,
            }});
        }}
        export function teardown(data) {{ get('/teardown?' + data.word.length); }}"
    );
    let finished = fleet.script(&source, 3, "--summary-export summary.json --output-format json").run();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let indexes: BTreeSet<String> = fleet.seen("/k/").into_iter().collect();
    assert_eq!((indexes.len(), fleet.seen("/k/").len()), (120, 120), "each iteration once");
    assert_eq!([fleet.seen("/setup").len(), fleet.seen("/teardown?10").len()], [1, 1]);
    let summary = summary(&fleet);
    assert_eq!(number(&summary, "/metrics/http_reqs/count"), 122);
    assert_eq!(number(&summary, "/metrics/iterations/count"), 120);
    assert_eq!(number(&summary, "/metrics/checks/passes"), 600);
    assert_eq!(summary["metrics"]["vus_max"]["value"], 6.0);
    assert_eq!(summary["metrics"]["own"]["max"], 119.0);
    assert_eq!(summary["metrics"]["own"]["med"], 59.5, "percentiles are those of all agents together");
    let run = json(&finished);
    assert_eq!((number(&run, "/requests/ok"), run["parts"].as_array().unwrap().len()), (120, 3));
    fleet.check_copies(3);
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn what_ends_a_test_on_one_agent_ends_it_on_all() {
    let fleet = Fleet::start(2);
    let options = "export const options = { vus: 4, duration: '30s'";
    let aborts = format!(
        "{IMPORTS}{options} }};
        export default function () {{
            get('/');
            sleep(0.1);
            if (__ENV.KNEE_AGENT == 1 && exec.vu.iterationInInstance === 5) exec.test.abort('enough');
        }}
        export function teardown() {{ get('/teardown'); }}"
    );
    let threshold = format!(
        "{IMPORTS}{options}, thresholds: {{
            http_reqs: [{{ threshold: 'count<40', abortOnFail: true }}] }} }};
        export default function () {{ get('/'); sleep(0.1); }}"
    );
    for (source, code, words) in [(aborts, 108, "enough"), (threshold, 99, "'http_reqs' were crossed")] {
        // Of a test of 30 s.
        let finished = fleet.script(&source, 2, "").start().finish_within(Duration::from_secs(20));
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert!(finished.stderr.contains(words), "{finished:?}");
        let count = fleet.server.count();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(fleet.server.count(), count, "nothing is sent any more");
    }
    assert_eq!(fleet.seen("/teardown").len(), 1, "teardown() runs after an abort too");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_script_reaches_the_targets_of_the_agent_only_and_not_faster_than_it_lets_it() {
    let fleet = Fleet::with(1, |_| "max_rate = 20.0".to_owned());
    let port = fleet.server.address().port();
    let source = format!(
        "{IMPORTS}
        export const options = {{ vus: 1, iterations: 30, hosts: {{ 'other.test': '127.0.0.2' }} }};
        export default function () {{
            const k = exec.scenario.iterationInTest;
            if (k > 0) return get('/k');
            for (const url of ['http://127.0.0.2:{port}/', 'http://other.test:{port}/', 'http://169.254.169.254/'])
                check(http.get(url), {{ 'is blocked': (response) => response.error_code === 1110 }});
        }}"
    );
    let finished = fleet.script(&source, 1, "--summary-export summary.json --output-format json").run();
    let summary = summary(&fleet);
    assert_eq!(number(&summary, "/metrics/checks/passes"), 3, "{finished:?}");
    assert_eq!(fleet.seen("/k").len(), 29);
    // 20 at once, and then 20 in a second.
    let took = json(&finished)["parts"][0]["ended_s"].as_f64().unwrap();
    assert!(took >= 0.4, "{took} s");
    assert!(finished.stderr.contains("waited for the agent's `max_rate` of 20 per second"), "{finished:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_test_that_cannot_be_set_up_loads_nothing_and_agents_that_differ_are_named() {
    let fleet = Fleet::start(2);
    let throws = format!(
        "{IMPORTS}export function setup() {{ throw new Error('no database'); }}
        export default function () {{ get('/'); }}"
    );
    let finished = fleet.script(&throws, 2, "").run();
    assert_eq!(finished.code, Some(107), "{finished:?}");
    assert!(finished.stderr.contains("no database"), "{finished:?}");
    let differs = format!(
        "{IMPORTS}export const options = {{ vus: 2 + Number(__ENV.KNEE_AGENT || 0), iterations: 10 }};
        export default function () {{ get('/'); }}"
    );
    let finished = fleet.script(&differs, 2, "").run();
    assert_eq!(finished.code, Some(104), "{finished:?}");
    assert!(
        finished.stderr.contains("load-02: the script has other options on this machine"),
        "{finished:?}"
    );
    assert_eq!(fleet.server.count(), 0);
    assert_eq!(fleet.knee_fleet("ls").stdout.matches("free").count(), 2, "both are free again");
}

#[test]
fn what_a_script_cannot_do_on_a_fleet_is_refused_before_anything_is_asked() {
    let home = crate::program::Home::new();
    home.knee("fleet key").run();
    home.file("s.js", "export default function () {}");
    let refused = |line: &str| -> Finished {
        home.knee("run s.js --nats nats://127.0.0.1:1 --agents 2").args(line).run()
    };
    for line in
        ["-o json=x.json", "--execution-segment 0:1/2", "--secret-source mock=a=b", "--local-ips 127.0.0.1"]
    {
        let finished = refused(line);
        assert_eq!(finished.code, Some(104), "{line}: {finished:?}");
        assert!(finished.stderr.contains("does not work with a fleet"), "{line}: {finished:?}");
    }
    let finished = refused("");
    assert!(finished.stderr.contains("error: cannot connect to NATS at nats://127.0.0.1:1"), "{finished:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn sockets_and_streams_of_events_are_opened_no_faster_than_the_agent_lets_them() {
    let fleet = Fleet::with(1, |_| "max_rate = 20.0".to_owned());
    let source = format!(
        "{IMPORTS}
        import ws from 'k6/ws'; import sse from 'k6/x/sse';
        export const options = {{ vus: 1, iterations: 15 }};
        export default function () {{
            try {{ ws.connect(__ENV.TARGET.replace('http', 'ws') + '/socket', () => {{}}); }} catch (_) {{ /* it is no server of sockets */ }}
            sse.open(__ENV.TARGET + '/events', {{}}, () => {{}});
        }}"
    );
    let finished = fleet.script(&source, 1, "--output-format json").run();
    assert_eq!((fleet.seen("/socket").len(), fleet.seen("/events").len()), (15, 15), "{finished:?}");
    // 20 at once, and then 20 in a second.
    let took = json(&finished)["parts"][0]["ended_s"].as_f64().unwrap();
    assert!(took >= 0.4, "{took} s");
    assert!(finished.stderr.contains("waited for the agent's `max_rate` of 20 per second"), "{finished:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_controller_that_takes_a_script_over_judges_its_thresholds_and_runs_its_teardown() {
    let fleet = Fleet::start(2);
    let source = format!(
        "{IMPORTS}
        export const options = {{
            scenarios: {{ a: {{ executor: 'constant-arrival-rate', rate: 30, duration: '8s', preAllocatedVUs: 4 }} }},
            thresholds: {{ checks: ['rate==1'], http_reqs: ['count>1000'] }},
        }};
        export function setup() {{ get('/setup'); return {{ word: 'from setup' }}; }}
        export default function (data) {{
            check(get(`/k/${{exec.scenario.iterationInTest}}`), {{ 'setup() arrives': () => data.word === 'from setup' }});
        }}
        export function teardown(data) {{ get('/teardown?' + data.word.length); }}
        export function handleSummary(data) {{
            return {{ stdout: `requests: ${{data.metrics.http_reqs.values.count}}, setup: ${{data.setup_data.word}}` }};
        }}"
    );
    let mut load = fleet.script(&source, 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(60);
    load.send(Signal::KILL);
    // The new one has what the dead one sent to the agents, and nothing else.
    fs::remove_file(fleet.home.path("s.js")).unwrap();
    let run = fleet.run_to_take_over();
    let finished = fleet.knee_fleet(&format!("resume {run}"));
    assert_eq!(finished.code, Some(99), "{finished:?}");
    assert!(finished.stderr.contains("thresholds on metrics 'http_reqs'"), "{finished:?}");
    let (seen, different) = (fleet.seen("/k/").len(), fleet.seen("/k/").into_iter().collect::<BTreeSet<_>>());
    assert!(seen >= 240 && seen == different.len(), "each iteration once: {seen}");
    assert_eq!([fleet.seen("/setup").len(), fleet.seen("/teardown?10").len()], [1, 1]);
    let all = seen + 2;
    assert_eq!(finished.stdout.trim(), format!("requests: {all}, setup: from setup"), "{finished:?}");
    assert!(!fleet.knee_fleet("ls").stdout.contains("run "), "nothing is left in NATS");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_script_that_another_key_began_is_merged_but_not_run_here() {
    let mut fleet = Fleet::start(0);
    let signers = format!("signers = [{:?}, {:?}]", fleet.key(""), fleet.key("--fleet-key other.nk"));
    fleet.add(1, &signers);
    let source = format!(
        "{IMPORTS}
        export const options = {{ scenarios: {{
            a: {{ executor: 'constant-arrival-rate', rate: 20, duration: '6s', preAllocatedVUs: 4 }} }} }};
        export default function () {{ get('/k'); }}
        export function teardown() {{ get('/teardown'); }}"
    );
    let mut load = fleet.script(&source, 1, "--fleet-key other.nk").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(20);
    load.send(Signal::KILL);
    let run = fleet.run_to_take_over();
    let finished = fleet.knee_fleet(&format!("resume {run}"));
    assert!(finished.stdout.contains("load-01"), "{finished:?}");
    assert!(
        finished.stderr.contains("the script is not taken over: it was begun with another key"),
        "{finished:?}"
    );
    assert!(finished.stderr.contains(&format!("NATS keeps the run {run} and its script")), "{finished:?}");
    assert_eq!(fleet.seen("/teardown").len(), 0);
    // So that the owner of the key can end the test.
    let again = fleet.knee_fleet(&format!("resume {run} --fleet-key other.nk"));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("http_reqs"), "{again:?}");
    assert_eq!(fleet.seen("/teardown").len(), 1);
    assert!(!fleet.knee_fleet("ls").stdout.contains("run "), "nothing is left in NATS");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn what_a_script_writes_is_shown_where_the_load_was_asked_for_and_not_without_end() {
    let fleet = Fleet::start(2);
    let source = format!(
        "{IMPORTS}
        export const options = {{ vus: 2, iterations: 100 }};
        export default function () {{
            console.log(`\\x1b[2Jthis is ${{exec.scenario.iterationInTest}}`);
        }}"
    );
    let finished = fleet.script(&source, 2, "").run();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let shown = finished.stderr.lines().filter(|line| line.contains("this is "));
    let shown: Vec<&str> = shown.collect();
    assert!((2..=80).contains(&shown.len()), "{finished:?}");
    assert!(shown.iter().all(|line| line.starts_with("load-0")), "{shown:#?}");
    assert!(!finished.stderr.contains('\u{1b}'), "{finished:?}");
    let left_out = |line: &str| -> Option<usize> {
        line.strip_suffix(" further lines are in its log")?.rsplit(' ').next()?.parse().ok()
    };
    let left_out: usize = finished.stderr.lines().filter_map(left_out).sum();
    assert_eq!(shown.len() + left_out, 100, "each line is shown or counted: {finished:?}");
}

/// A script that sends for eight seconds, and asks for a path when its test is torn down.
pub fn torn_down(more: &str) -> String {
    format!(
        "{IMPORTS}{more}
        export const options = {{ scenarios: {{
            a: {{ executor: 'constant-arrival-rate', rate: 30, duration: '8s', preAllocatedVUs: 4 }} }} }};
        export default function () {{ get('/k'); }}
        export function teardown() {{ get('/teardown'); }}"
    )
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn of_a_controller_that_hung_and_the_one_that_took_over_only_one_tears_the_test_down() {
    let fleet = Fleet::start(2);
    let mut load = fleet.script(&torn_down(""), 2, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(60);
    load.send(Signal::STOP);
    let run = fleet.run_to_take_over();
    let second = fleet.home.knee(&format!("fleet resume {run} --nats {}", fleet.nats.url())).start();
    // A second and a half without a sign of life, and some more.
    fleet.server.wait_for(180);
    load.send(Signal::CONT);
    let (first, second) = (load.finish(), second.finish());
    assert_eq!(fleet.seen("/teardown").len(), 1, "{first:?}\n{second:?}");
    assert_eq!(first.code, Some(105), "{first:?}");
    assert!(first.stderr.contains("another controller has taken over the run"), "{first:?}");
    assert!(!first.stdout.contains("http_reqs"), "no summary of a test that it did not see: {first:?}");
    assert!(second.stdout.contains("http_reqs"), "{second:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_test_that_lost_an_agent_is_torn_down_once_and_its_script_is_no_longer_in_nats() {
    let fleet = Fleet::start(2);
    let mut load = fleet.script(&torn_down(""), 2, "-e PASS=hunter2secret").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(60);
    fleet.agents[1].send(Signal::KILL);
    let finished = load.finish();
    assert!(finished.stderr.contains("load-02 is lost"), "{finished:?}");
    assert_eq!(fleet.seen("/teardown").len(), 1, "{finished:?}");
    let list = fleet.knee_fleet("ls");
    assert!(list.stdout.contains("ended; what arrived can be merged again"), "{list:?}");
    let again = fleet.knee_fleet(&format!("resume {}", fleet.run_to_take_over()));
    assert!(again.stdout.contains("load-01"), "{again:?}");
    assert_eq!(fleet.seen("/teardown").len(), 1, "{again:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_script_that_cannot_be_loaded_again_is_merged_all_the_same() {
    let fleet = Fleet::start(1);
    let now = knee_core::clock::wall().as_nanos() / 1_000_000;
    let limit = now + 6_000;
    let more = format!("if (Date.now() > {limit}) throw new Error('too late');");
    let mut load = fleet.script(&torn_down(&more), 1, "").start();
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(200);
    load.send(Signal::KILL);
    let finished = fleet.knee_fleet(&format!("resume {}", fleet.run_to_take_over()));
    assert!(
        finished.stderr.contains("warning: the script is not taken over: the script threw"),
        "{finished:?}"
    );
    assert!(finished.stdout.contains("load-01"), "{finished:?}");
    assert_eq!(fleet.seen("/teardown").len(), 0);
    assert_eq!(planned(&fleet.home.report("last")), (fleet.seen("/k").len() as u64, 0));
}
