//! Scripts that a fleet runs: one test, whatever the number of machines.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::world::{Fleet, json};
use crate::program::{Finished, Knee, number};

impl Fleet {
    /// A run of `s.js` by `agents` of the fleet, with the address of its server in the environment.
    fn script(&self, source: &str, agents: usize, line: &str) -> Knee {
        self.home.file("s.js", source);
        let fleet = format!("run s.js --no-tui --nats {} --agents {agents} {line}", self.nats.url());
        self.home.knee(&fleet).env("TARGET", self.server.url(""))
    }

    /// The requests that the server saw on paths that begin with `prefix`, without it.
    fn seen(&self, prefix: &str) -> Vec<String> {
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
