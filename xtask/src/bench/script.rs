//! What many VUs take: memory, rate and readiness at 10,000, and data that all of them share.
//!
//! k6 does the same beside them where it is on PATH. CPU per request is [`super::cost`]'s.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::cost::{self, Lap};
use super::figure::{Figure, median};
use super::nginx::Nginx;
use super::tool::{Load, Script, Tool};
use crate::process::{self, GENERATOR_CPU, Running};
use crate::program::{Knee, words};
use crate::truth::row::millis;

const MIB: f64 = 1_048_576.0;
/// A crowd.
const VUS: u32 = 10_000;
/// How long it runs, so that its start is a small part of it.
const SECONDS: u32 = 20;

/// Data of 100 MB in one `SharedArray`, of which every VU reads an element.
const SHARED: &str = "import { SharedArray } from 'k6/data';\n\
    const data = new SharedArray('rows', () => {\n  const rows = [];\n  \
    for (let i = 0; i < 100000; i++) rows.push({ i, text: 'x'.repeat(980) });\n  return rows;\n});\n\
    export default function () { if (data[__VU].i !== __VU) throw new Error('another row'); }\n";

/// An iteration that sends one request.
const ONE: &str = "import http from 'k6/http';\n\
    export default function () { http.get(__ENV.TARGET, { timeout: '1s' }); }\n";

/// What a rich script costs, against k6.
pub fn rich(knee: &Knee, nginx: &Nginx, load: &Load, rounds: usize, scratch: &Path) -> Result<Figure> {
    let (ours, theirs) = (Tool::KneeScript(Script::Rich), Tool::K6Script(Script::Rich));
    let all = cost::measure(knee, nginx, &Tool::present(&[ours, theirs]), load, rounds, scratch)?;
    println!("{}", cost::overview(&all));
    Ok(cost::figure(&all, ours, theirs, "rich script, CPU per request against k6", 0.2))
}

/// What `-o json` costs on top, per request.
pub fn samples(knee: &Knee, nginx: &Nginx, load: &Load, rounds: usize, scratch: &Path) -> Result<Figure> {
    output(("-o json", Tool::KneeSamples(Script::Check), 3.0), knee, nginx, load, (rounds, scratch))
}

/// What sums for Prometheus cost on top, per request.
pub fn sums(knee: &Knee, nginx: &Nginx, load: &Load, rounds: usize, scratch: &Path) -> Result<Figure> {
    let with = Tool::KneeSums(Script::Check);
    output(("-o experimental-prometheus-rw", with, 0.3), knee, nginx, load, (rounds, scratch))
}

/// What an output costs on top, per request, with at most so many microseconds as its goal.
fn output(
    (name, with, most): (&str, Tool, f64),
    knee: &Knee,
    nginx: &Nginx,
    load: &Load,
    (rounds, scratch): (usize, &Path),
) -> Result<Figure> {
    let without = Tool::KneeScript(Script::Check);
    let all = cost::measure(knee, nginx, &[without, with], load, rounds, scratch)?;
    println!("{}", cost::overview(&all));
    let laps = |wanted| all.iter().find(|one| one.tool == wanted).map_or(&[][..], |one| &one.laps);
    let added: Vec<f64> =
        laps(with).iter().zip(laps(without)).map(|(with, without)| with.cost - without.cost).collect();
    Ok(Figure {
        name: format!("{name}, CPU on top per request"),
        goal: format!("{most} us at most"),
        measured: format!("{:.1} us ({} rounds)", median(&added), added.len()),
        met: median(&added) <= most,
        values: added,
    })
}

/// Memory and rate of 10,000 VUs, against k6 in the same minutes.
pub fn crowd(knee: &Knee, nginx: &Nginx, scratch: &Path) -> Result<Vec<Figure>> {
    let tools = Tool::present(&[Tool::KneeScript(Script::Check), Tool::K6Script(Script::Check)]);
    let load = Load { url: nginx.url(false), connections: VUS, seconds: SECONDS, anywhere: true };
    let all = cost::measure(knee, nginx, &tools, &load, 1, scratch)?;
    println!("{}", cost::overview(&all));
    let of = |tool| all.iter().find(|one| one.tool == tool).and_then(|one| one.laps.first().copied());
    let ours = of(Tool::KneeScript(Script::Check)).context("knee did not run")?;
    let theirs = of(Tool::K6Script(Script::Check));
    Ok(vec![memory(ours, theirs), rate(ours, theirs)])
}

fn memory(ours: Lap, theirs: Option<Lap>) -> Figure {
    let ratio = theirs.map_or(f64::NAN, |theirs| ours.resident as f64 / theirs.resident as f64);
    let of_k6 = theirs.map_or(f64::NAN, |theirs| theirs.resident as f64 / MIB);
    Figure {
        name: format!("memory of {VUS} VUs, against k6"),
        goal: "0.38 at most".to_owned(),
        measured: format!("{ratio:.2} ({:.0} MiB of {of_k6:.0} MiB)", ours.resident as f64 / MIB),
        met: ratio <= 0.38,
        values: vec![ours.resident as f64 / MIB, of_k6],
    }
}

fn rate(ours: Lap, theirs: Option<Lap>) -> Figure {
    let of_k6 = theirs.map_or(f64::NAN, |theirs| theirs.rate);
    let ratio = ours.rate / of_k6;
    Figure {
        name: format!("rate of {VUS} VUs on {} CPUs, against k6", process::cpus()),
        goal: "6 times at least".to_owned(),
        measured: format!("{ratio:.1} times ({:.0}/s of {of_k6:.0}/s)", ours.rate),
        met: ratio >= 6.0,
        values: vec![ours.rate, of_k6],
    }
}

/// From the start of the process to the first request of 10,000 VUs, which are all made before it: by as many
/// threads as the machine has CPUs, and on one CPU, to tell what a VU takes.
pub fn ready(knee: &Knee, scratch: &Path) -> Result<Figure> {
    let script = scratch.join("one.js");
    std::fs::write(&script, ONE)?;
    let anywhere = until_ready(knee, &script, process::spawn)?;
    let on_one = until_ready(knee, &script, |command| process::spawn_on(GENERATOR_CPU, command))?;
    Ok(Figure {
        name: format!("{VUS} VUs ready"),
        goal: "3 s".to_owned(),
        measured: format!("{} on {} CPUs; on one {}", millis(anywhere), process::cpus(), millis(on_one)),
        met: anywhere <= 3e3,
        values: vec![anywhere, on_one],
    })
}

/// Milliseconds until the first request of 10,000 VUs arrives.
fn until_ready(knee: &Knee, script: &Path, start: impl Fn(&mut Command) -> Result<Running>) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let target = listener.local_addr()?;
    let line = format!("--quiet --vus {VUS} --iterations {VUS} --env TARGET=http://{target}/");
    let begun = Instant::now();
    let _running = start(&mut knee.script(script, &words(&line)))?;
    let (mut stream, _) = listener.accept().context("nobody connects")?;
    stream.read_exact(&mut [0; 1])?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// What one more VU takes, which is what decision 0007 weighs: 2,100 VUs against 100, two iterations each.
pub fn weight(knee: &Knee, nginx: &Nginx, scratch: &Path) -> Result<Figure> {
    const FEW: u32 = 100;
    const MORE: u32 = 2_000;
    let script = scratch.join("one.js");
    std::fs::write(&script, ONE)?;
    let resident = |vus: u32| -> Result<f64> {
        let line = format!("--quiet --vus {vus} --iterations {} --env TARGET={}", 2 * vus, nginx.url(false));
        let ran = process::run_on(GENERATOR_CPU, &mut knee.script(&script, &words(&line)))?;
        Ok(ran.resident_peak as f64)
    };
    let kilobytes = (resident(FEW + MORE)? - resident(FEW)?) / f64::from(MORE) / 1e3;
    Ok(Figure {
        name: "memory of one more VU".to_owned(),
        goal: "98 kB: 0.38 of k6's".to_owned(),
        measured: format!("{kilobytes:.0} kB"),
        met: kilobytes <= 98.0,
        values: vec![kilobytes],
    })
}

/// What 1,000 VUs take with a `SharedArray` of 100 MB, against one VU with it.
pub fn shared(knee: &Knee, scratch: &Path) -> Result<Figure> {
    let script = scratch.join("shared.js");
    std::fs::write(&script, SHARED)?;
    let resident = |vus: u32| -> Result<f64> {
        let line = format!("--quiet --vus {vus} --iterations {vus}");
        let ran = process::run_on(GENERATOR_CPU, &mut knee.script(&script, &words(&line)))?;
        Ok(ran.resident_peak as f64 / MIB)
    };
    let (one, many) = (resident(1)?, resident(1_000)?);
    Ok(Figure {
        name: "SharedArray of 100 MB with 1,000 VUs".to_owned(),
        goal: "one copy".to_owned(),
        measured: format!("{many:.0} MiB, with 1 VU {one:.0} MiB"),
        // One more copy would be 95 MiB more; VUs themselves take their share.
        met: many - one < 95.0,
        values: vec![one, many],
    })
}

/// A crowd that needs neither a connection nor a port for each VU: 50,000 of them send a request and wait.
const MANY: &str = "import http from 'k6/http';\nimport { sleep } from 'k6';\n\
    export const options = { noVUConnectionReuse: true };\n\
    export default function () { sleep(Math.random() * 20); http.get(__ENV.TARGET); }\n";

/// 50,000 VUs in one process.
pub fn many(knee: &Knee, nginx: &Nginx, scratch: &Path) -> Result<Figure> {
    const VUS: u32 = 50_000;
    let script = scratch.join("many.js");
    std::fs::write(&script, MANY)?;
    let line = format!("--quiet --vus {VUS} --iterations {VUS} --env TARGET={}", nginx.url(false));
    let run = || process::run_anywhere(&mut knee.script(&script, &words(&line)));
    let (ran, requests) = nginx.counted(run)?;
    Ok(Figure {
        name: format!("{VUS} VUs"),
        goal: "each sends its request".to_owned(),
        measured: format!("{requests} requests, {:.0} MiB", ran.resident_peak as f64 / MIB),
        met: requests >= u64::from(VUS),
        values: vec![requests as f64, ran.resident_peak as f64 / MIB],
    })
}

/// As many URLs as there can be endpoints.
const URLS: &str = "import http from 'k6/http';\n\
    export default function () { http.get(`${__ENV.TARGET}/${__ITER % 1000}`); }\n";

/// Memory of a run with 1,000 endpoints.
pub fn endpoints(knee: &Knee, nginx: &Nginx, scratch: &Path) -> Result<Figure> {
    let script = scratch.join("urls.js");
    std::fs::write(&script, URLS)?;
    let line = format!("--quiet --vus 64 --iterations 300000 --env TARGET={}", nginx.url(false));
    let ran = process::run_on(GENERATOR_CPU, &mut knee.script(&script, &words(&line)))?;
    let resident = ran.resident_peak as f64 / MIB;
    Ok(Figure {
        name: "memory with 1,000 endpoints".to_owned(),
        goal: "128 MiB".to_owned(),
        measured: format!("{resident:.0} MiB"),
        met: resident <= 128.0,
        values: vec![resident],
    })
}
