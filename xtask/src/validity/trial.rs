//! One trial: what is loaded, how, for how long, what disturbs it, and what knee said.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::Options;
use super::disturbance::{Disturbance, Effect};
use super::place::Places;
use crate::process;
use crate::program::{Knee, words};

/// How much longer than its length a run can take before it is ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// One trial.
#[derive(Debug)]
pub struct Trial {
    quiet: bool,
    kind: String,
    seconds: u64,
    load: Load,
    /// Whether the target is in a network namespace of its own.
    apart: bool,
    /// What a response takes, in milliseconds.
    service_ms: u64,
    disturbance: Option<Disturbance>,
    /// When it is disturbed, and for how long, where that is a matter of time.
    at: Duration,
    span: Duration,
}

/// What is sent.
#[derive(Debug)]
enum Load {
    /// Flags of the one-liner.
    OneLiner(String),
    /// Options of a script, and what its iterations do before they send.
    Script(String, &'static str),
}

/// Work of an iteration that keeps a worker busy for a good part of a millisecond.
const BUSY: &str = "let sum = 0; for (let k = 0; k < 20000; k++) { sum += k % 7; }";

impl Load {
    fn closed(script: bool, seconds: u64, vus: u64) -> Self {
        if script {
            return Self::Script(format!("vus: {vus}, duration: '{seconds}s'"), "");
        }
        Self::OneLiner(format!("-c {vus} -z {seconds}s"))
    }

    fn open(script: bool, seconds: u64, rate: u64) -> Self {
        if script {
            let scenario = format!(
                "scenarios: {{ main: {{ executor: 'constant-arrival-rate', rate: {rate}, duration: '{seconds}s', \
                 preAllocatedVUs: 50 }} }}"
            );
            return Self::Script(scenario, "");
        }
        Self::OneLiner(format!("-c 50 -q {rate} -z {seconds}s"))
    }
}

impl Trial {
    /// A trial with nothing wrong. All combinations come in turn; numbers are drawn.
    pub fn quiet(number: usize, options: &Options, places: &Places, random: &mut StdRng) -> Self {
        let (open, script, apart) = (number % 2 == 1, number / 2 % 2 == 1, number / 4 % 2 == 1);
        let seconds = options.seconds[number / 8 % options.seconds.len()];
        let service_ms = [0, 1, 5, 20][random.random_range(0..4)];
        let load = if open {
            Load::open(script, seconds, [50, 200, 500][random.random_range(0..3)])
        } else {
            Load::closed(script, seconds, [1, 5, 20, 50][random.random_range(0..4)])
        };
        let apart = apart && places.has_namespace();
        let kind = format!(
            "quiet {seconds} s, {}, {}, {}",
            if open { "open" } else { "closed" },
            if script { "script" } else { "one-liner" },
            if apart { "namespace" } else { "local" }
        );
        let (at, span) = (Duration::ZERO, Duration::ZERO);
        Self { quiet: true, kind, seconds, load, apart, service_ms, disturbance: None, at, span }
    }

    /// A trial whose generator is disturbed.
    pub fn disturbed(
        number: usize,
        disturbance: &Disturbance,
        options: &Options,
        random: &mut StdRng,
    ) -> Self {
        // Long enough for a pause to lie inside.
        let seconds = options.seconds[number % options.seconds.len()].max(3);
        let script = number / 2 % 2 == 1;
        let rate = [200, 500][random.random_range(0..2)];
        let load = match (disturbance.effect, disturbance.open) {
            (Effect::Saturated, false) => Load::Script(format!("vus: 20, duration: '{seconds}s'"), BUSY),
            (Effect::Saturated, true) => Load::OneLiner(format!("-c 100 -q 400k -z {seconds}s")),
            (Effect::Throttled { .. } | Effect::Starved, true) => Load::open(false, seconds, 20_000),
            (Effect::Throttled { .. } | Effect::Starved, false) => Load::closed(script, seconds, 50),
            (Effect::Paused, true) => Load::open(script, seconds, rate),
            (Effect::Paused, false) => Load::closed(script, seconds, 20),
        };
        let span = Duration::from_millis(random.random_range(300..=900));
        let latest = (seconds * 1_000).saturating_sub(1_200).max(500);
        let at = Duration::from_millis(random.random_range(400..=latest));
        let kind = disturbance.name.to_owned();
        let (apart, service_ms) = (false, [0, 1][random.random_range(0..2)]);
        let disturbance = Some(disturbance.clone());
        Self { quiet: false, kind, seconds, load, apart, service_ms, disturbance, at, span }
    }

    /// Runs it. A run that fails or does not end is an outcome as well.
    pub fn run(&self, knee: &Knee, places: &Places) -> Result<Outcome> {
        let target = places.target(self.apart, self.service_ms)?;
        let scratch = tempfile::tempdir()?;
        let mut arguments = vec![];
        match &self.load {
            Load::OneLiner(flags) => {
                arguments.push(target.url.clone());
                arguments.extend(words(flags));
                arguments.push("--no-tui".to_owned());
            }
            Load::Script(options, before) => {
                let path = scratch.path().join("script.js");
                let text = format!(
                    "import http from 'k6/http';\nexport const options = {{ {options} }};\n\
                     export default function () {{ {before} http.get('{}'); }}\n",
                    target.url
                );
                fs::write(&path, text)?;
                arguments.extend(["run".into(), "--quiet".into(), path.display().to_string()]);
            }
        }
        arguments.extend(words("--output-format json"));
        let mut command = knee.plain(&arguments, scratch.path());
        command.stdout(Stdio::piped());
        let said = self.measure(command)?;
        Ok(self.outcome(&arguments, said.as_deref().unwrap_or_default()))
    }

    /// Runs `command` under the disturbance; what it printed, or nothing if it had to be ended.
    fn measure(&self, command: Command) -> Result<Option<String>> {
        let (mut running, _held) = if let Some(disturbance) = &self.disturbance {
            disturbance.start(command)?
        } else {
            let mut command = command;
            (process::spawn(&mut command)?, Vec::new())
        };
        let mut stdout = running.child().stdout.take().context("the pipe is missing")?;
        let reader = thread::spawn(move || {
            let mut text = String::new();
            // What came before an error is all there is.
            let _ = stdout.read_to_string(&mut text);
            text
        });
        if self.disturbance.as_ref().is_some_and(|one| matches!(one.effect, Effect::Paused)) {
            thread::sleep(self.at);
            running.freeze(self.span)?;
        }
        let latest = Instant::now() + Duration::from_secs(self.seconds) + PATIENCE;
        while running.child().try_wait()?.is_none() {
            if Instant::now() > latest {
                drop(running);
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(reader.join().ok())
    }

    fn outcome(&self, arguments: &[String], printed: &str) -> Outcome {
        let document: Value = serde_json::from_str(printed).unwrap_or_default();
        let first = |pointers: &[&str]| pointers.iter().find_map(|pointer| document.pointer(pointer));
        let validity = first(&["/validity/state", "/validity/validity", "/validity", "/verdict/state"])
            .and_then(Value::as_str)
            .unwrap_or("failed");
        let warnings = first(&["/validity/warnings", "/warnings", "/verdict/reasons"]);
        let text = |warning: &Value, names: [&str; 2]| {
            let named = names.iter().find_map(|name| warning.get(name)?.as_str());
            named.unwrap_or_default().to_owned()
        };
        let warning = |one: &Value| (text(one, ["code", "code"]), text(one, ["message", "text"]));
        Outcome {
            quiet: self.quiet,
            kind: self.kind.clone(),
            seconds: self.seconds,
            service_ms: self.service_ms,
            pause_ms: self.span.as_millis() as u64,
            arguments: arguments.to_vec(),
            validity: validity.to_owned(),
            warnings: warnings.and_then(Value::as_array).into_iter().flatten().map(warning).collect(),
            diagnostics: first(&["/diagnostics", "/truth"]).cloned().unwrap_or_default(),
            times: json!({
                "response_time_ms": document.get("response_time_ms"),
                "service_time_ms": document.get("service_time_ms"),
            }),
        }
    }
}

/// What came of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// Whether nothing was wrong.
    pub quiet: bool,
    /// What it was, for the table.
    pub kind: String,
    seconds: u64,
    service_ms: u64,
    pause_ms: u64,
    arguments: Vec<String>,
    /// What knee said: `valid`, `suspect`, `invalid`; `failed` if it said nothing.
    pub validity: String,
    /// Codes and messages.
    pub warnings: Vec<(String, String)>,
    diagnostics: Value,
    times: Value,
}

impl Outcome {
    /// A line for those who wait.
    pub fn line(&self) -> String {
        let warnings: Vec<String> =
            self.warnings.iter().map(|(code, message)| format!("{message} [{code}]")).collect();
        format!(
            "{} ({} s, {} ms): {} {}",
            self.kind,
            self.seconds,
            self.service_ms,
            self.validity,
            warnings.join("; ")
        )
    }

    /// Everything, for those who look closer.
    pub fn json(&self) -> Value {
        json!({
            "quiet": self.quiet,
            "kind": self.kind,
            "seconds": self.seconds,
            "service_ms": self.service_ms,
            "pause_ms": self.pause_ms,
            "arguments": self.arguments,
            "validity": self.validity,
            "warnings": self.warnings,
            "diagnostics": self.diagnostics,
            "times": self.times,
        })
    }
}
