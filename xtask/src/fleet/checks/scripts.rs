//! Check 12: what a script says of the whole test holds for all agents, and an agent that is too slow is named.
//!
//! When the agents fall silent is measured at the target.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Setting, report};
use crate::fleet::lan::Lan;
use crate::fleet::quota::Quota;
use crate::fleet::world::{Kind, Place, World, parts};

const AGENTS: usize = 4;
/// All agents are silent so long after the event at the latest.
const SILENCE: Duration = Duration::from_secs(4);
const IMPORTS: &str = "import http from 'k6/http'; import exec from 'k6/execution';
import { sleep } from 'k6'; import { Counter } from 'k6/metrics';
const get = (path) => http.get(`TARGET${path}`, { tags: { name: 'load' } });
";
const ONCE: &str = "
export const options = { vus: 8, iterations: 400 };
export function setup() { get('/setup'); return { word: 'made once' }; }
export default function (data) { get('/k/' + data.word.length); sleep(0.05); }
export function teardown() { get('/teardown'); }
";
/// About 400 requests/s, until the second user of the second agent has had enough.
const ABORT: &str = "
export const options = { vus: 40, duration: '60s' };
export default function () {
    get('/'); sleep(0.1);
    if (__ENV.KNEE_AGENT == 1 && exec.vu.iterationInInstance === 40) { get('/event'); exec.test.abort('enough'); }
}
";
const THRESHOLD: &str = "
export const options = { vus: 40, duration: '60s',
    thresholds: { bad: [{ threshold: 'count<1', abortOnFail: true }] } };
const bad = new Counter('bad');
export default function () {
    get('/'); sleep(0.1);
    if (__ENV.KNEE_AGENT == 1 && exec.vu.iterationInInstance === 40) { get('/event'); bad.add(1); }
}
";
/// An iteration takes some milliseconds of a CPU.
const WORK: &str = "
export const options = { scenarios: { work: { executor: 'constant-arrival-rate',
    rate: 40, timeUnit: '1s', duration: '20s', preAllocatedVUs: 40 } } };
export default function () {
    let sum = 0;
    for (let i = 0; i < 300000; i++) sum += i % 7;
    get('/' + sum);
}
";

/// The rows of check 12.
pub(super) fn rows(setting: &Setting) -> Vec<bool> {
    let made = Lan::new(&["a1", "a2", "a3", "a4", "c1"])
        .and_then(|lan| World::start(setting.knee, Place::Lan(lan), AGENTS));
    let on = |check: &dyn Fn(&World) -> Result<(String, bool)>| match &made {
        Ok(world) => check(world),
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    let silent = "all agents silent within 4 s at the target, exit code";
    vec![
        report(
            "12",
            "setup() and teardown() of a script by four agents",
            "once each at the target",
            on(&once),
        ),
        report(
            "12",
            "exec.test.abort() on one agent, 400/s",
            &format!("{silent} 108"),
            on(&|world| silence(world, ABORT, 108)),
        ),
        report(
            "12",
            "a threshold with abortOnFail that one agent crosses, 400/s",
            &format!("{silent} 99"),
            on(&|world| silence(world, THRESHOLD, 99)),
        ),
        report(
            "12",
            "one agent of four has 10 % of a CPU",
            "a warning of the whole says that it is too slow, and names it",
            slow(setting),
        ),
    ]
}

fn run(world: &World, text: &str) -> Result<Option<i32>> {
    world.forget("home")?;
    let script = world.script("script.js", &format!("{IMPORTS}{text}"))?;
    let running = world.load("home", &format!("run {} --agents {AGENTS}", script.display()))?;
    let finished = world.finish(running)?;
    ensure!(world.target.count() > 0, "no load: {}", finished.log);
    // Who is free has ended its load.
    world.wait_for_agents(AGENTS)?;
    Ok(finished.code)
}

fn once(world: &World) -> Result<(String, bool)> {
    let code = run(world, ONCE)?;
    let count = |path: &str| world.target.paths(path).values().sum::<u64>();
    let counts = [count("/setup"), count("/teardown"), count("/k/9")];
    let [setup, teardown, iterations] = counts;
    let measured =
        format!("setup {setup}, teardown {teardown}, iterations {iterations} of 400; exit code {code:?}");
    Ok((measured, counts == [1, 1, 400] && code == Some(0)))
}

fn silence(world: &World, text: &str, expected: i32) -> Result<(String, bool)> {
    let code = run(world, text)?;
    let controller = world.lan()?.seen_as("c1");
    let seen = world.target.seen();
    let of_agents = || seen.iter().filter(|one| one.from != controller);
    let event = of_agents().find(|one| one.path == "/event").context("the event did not come")?;
    let last = of_agents().map(|one| one.at).max().context("no request")?;
    let silent = last.saturating_duration_since(event.at);
    let after = of_agents().filter(|one| one.at > event.at).count();
    let code = code.context("the controller was killed")?;
    let measured =
        format!("silent {:.2} s after it ({after} requests), exit code {code}", silent.as_secs_f64());
    Ok((measured, silent <= SILENCE && code == expected))
}

/// The warnings that are about a machine that is too slow.
const SLOW: [&str; 5] = ["throttled", "worker_cpu", "run_delay", "lag", "behind"];

fn slow(setting: &Setting) -> Result<(String, bool)> {
    let quota = Quota::new(10).context("cannot run here")?;
    let lan = Lan::new(&["a1", "a2", "a3", "a4", "c1"])?;
    let mut world = World::without_agents(setting.knee, Place::Lan(lan), Duration::ZERO, "")?;
    for number in 1..=AGENTS {
        let prefix = if number == 3 { quota.prefix() } else { Vec::new() };
        world.start_agent(number, &Kind { prefix, ..Kind::default() })?;
    }
    world.wait_for_agents(AGENTS)?;
    run(&world, WORK)?;
    let report = world.report("home")?;
    let codes = |part: &Value| -> Vec<String> {
        let warnings = part["warnings"].as_array().into_iter().flatten();
        let codes = warnings.filter_map(|warning| warning["code"].as_str());
        codes.filter(|code| SLOW.contains(code)).map(str::to_owned).collect()
    };
    let of_parts: Vec<Vec<String>> = parts(&report)?.iter().map(codes).collect();
    let whole = report["warnings"].as_array().into_iter().flatten();
    let named =
        whole.filter(|warning| warning["message"].as_str().is_some_and(|text| text.contains("load-3")));
    let named: Vec<&str> = named.filter_map(|warning| warning["code"].as_str()).collect();
    let others: Vec<&String> =
        of_parts.iter().enumerate().filter(|(at, _)| *at != 2).flat_map(|(_, one)| one).collect();
    let measured =
        format!("load-3: {}; in the whole: {}; others: {others:?}", of_parts[2].join(", "), named.join(", "));
    let held = of_parts[2].iter().any(|code| named.contains(&code.as_str()))
        && !others.iter().any(|code| *code == "throttled");
    Ok((measured, held))
}
