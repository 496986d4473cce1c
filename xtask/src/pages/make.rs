//! One page of each kind, made by the commands that users type.
//!
//! Loads the demo server on loopback, for some seconds each. Does not look at the pages.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::said;
use crate::folder::emptied;
use crate::process::{self, Running};

/// A command that prints a page. `URL` is the demo server.
struct Made {
    name: &'static str,
    line: &'static str,
}

/// The pages that are files. Some need what the ones before them have saved.
const MADE: [Made; 13] = [
    Made { name: "run", line: "URL -q 600 -z 4s" },
    Made { name: "overload", line: "URL -q 600 -c 64 --stage 5s:4500 -z 7s" },
    Made { name: "brief", line: "URL -c 4 -z 200ms" },
    Made { name: "two-runs", line: "compare last~1 last" },
    Made { name: "timeouts", line: "URL -q 500 -z 2s --timeout 4ms" },
    Made { name: "warm-up", line: "URL -c 8 --warm-up 1s -z 2s --observe host" },
    Made { name: "script", line: "run thresholds.js" },
    Made { name: "endpoints", line: "run endpoints.js" },
    Made { name: "sweep", line: "sweep URL --from 500 --to 5000 --step 1s --max-time 15s" },
    Made { name: "comparison", line: "compare URL URL --blocks 5 -z 400ms --warm-up 100ms -c 8" },
    Made { name: "search", line: "find URL -q 1000 -z 5s --observe host" },
    Made { name: "study", line: "study labs/lorem-news --report-only" },
    Made { name: "history", line: "history" },
];

/// A script whose threshold is crossed and whose checks fail now and then.
const THRESHOLDS: &str = include_str!("thresholds.js");

/// A script with 500 endpoints, some with names that attack the page that shows them.
const ENDPOINTS: &str = include_str!("endpoints.js");

/// A place in which pages are made.
pub struct Workshop {
    knee: PathBuf,
    /// What the commands save.
    home: PathBuf,
    /// Where they run: has the scripts and a copy of the labs.
    place: PathBuf,
    pages: PathBuf,
    url: String,
    _server: Running,
}

impl Workshop {
    /// Starts the server, and lays out what the commands read.
    pub fn open(root: &Path, knee: PathBuf, folder: &Path) -> Result<Self> {
        let [home, place, pages] = ["home", "place", "pages"].map(|name| folder.join(name));
        for folder in [&home, &place, &pages] {
            emptied(folder)?;
        }
        // A study also writes its text and its pictures: here, into a copy.
        said(Command::new("cp").arg("-r").arg(root.join("labs")).arg(&place))?;
        let mut command = Command::new(&knee);
        command.args(["demo", "--serve-only"]);
        let (server, url) = started(&mut command, "serving ")?;
        for (name, script) in [("thresholds.js", THRESHOLDS), ("endpoints.js", ENDPOINTS)] {
            fs::write(place.join(name), script.replace("\"URL\"", &format!("\"{url}\"")))?;
        }
        Ok(Self { knee, home, place, pages, url, _server: server })
    }

    /// The URL of the demo server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The oldest record that is saved.
    pub fn record(&self) -> Result<PathBuf> {
        let entries = fs::read_dir(self.home.join("runs"))?;
        let mut records: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        records.retain(|path| path.extension().is_some_and(|extension| extension == "knee"));
        records.into_iter().min().context("no run was saved")
    }

    /// A load of so many requests per second, with the URL of a page that can stop it.
    pub fn stoppable(&self, rate: f64) -> Result<(Running, String)> {
        let line = format!("URL -q {rate} -z 600s --web --web-control --no-tui");
        started(&mut self.knee(&line), "page that can")
    }

    /// Where the pages are.
    pub fn pages(&self) -> PathBuf {
        self.pages.clone()
    }

    /// Makes these pages, or all. Those that others need are made too.
    pub fn make(&self, names: &[String]) -> Result<()> {
        if let Some(name) = names.iter().find(|name| !is_known(name)) {
            let known: Vec<&str> = MADE.iter().map(|made| made.name).chain(SERVED).collect();
            bail!("there is no page `{name}`; there are {}", known.join(", "));
        }
        for made in MADE {
            let is_wanted = names.is_empty() || names.iter().any(|name| name == made.name);
            let is_needed = matches!(made.name, "run" | "overload" | "brief");
            if is_wanted || is_needed {
                self.page(&made)?;
            }
            if !is_wanted && is_needed {
                fs::remove_file(self.file(made.name))?;
            }
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.pages.join(format!("{name}.html"))
    }

    fn page(&self, made: &Made) -> Result<()> {
        println!("pages: {}", made.name);
        let file = self.file(made.name);
        let mut line = made.line;
        let mut format = "--output-format";
        if line.starts_with("run ") {
            // `-o` of scripts is k6's, so the page comes from the record.
            let output = self.knee(line).stdin(Stdio::null()).output()?;
            // A crossed threshold and an invalid run are results. After any other end, the last record is that of another page.
            if !matches!(output.status.code(), Some(0 | 99 | 120)) {
                bail!(
                    "`knee {line}` ended with {}:\n{}",
                    output.status,
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            line = "report last";
        }
        if line.starts_with("report") || line.starts_with("history") {
            format = "--format";
        }
        let mut command = self.knee(line);
        let output = command.args([format, "html", "-o"]).arg(&file).stdin(Stdio::null()).output()?;
        // An invalid measurement and a crossed threshold are results, and have a page.
        if !file.exists() {
            bail!("`knee {}` wrote no page:\n{}", made.line, String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// A command of knee, with what it saves in the workshop.
    pub fn knee(&self, line: &str) -> Command {
        let mut command = Command::new(&self.knee);
        command.args(line.split_ascii_whitespace().map(|word| if word == "URL" { &self.url } else { word }));
        command.current_dir(&self.place).env("KNEE_HOME", &self.home);
        command
    }

    /// The pages that are served, with their URLs; they go with what is returned.
    pub fn served(&self, names: &[String]) -> Result<Vec<(&'static str, String, Running)>> {
        let is_wanted = |name: &&str| names.is_empty() || names.iter().any(|wanted| wanted == name);
        let lines = SERVED.into_iter().filter(is_wanted).map(|name| {
            let line = match name {
                "serve" => "serve",
                "serve-control" => "serve --control --folder .",
                "live" => "URL -q 600 -c 64 --stage 20s:4500 -z 900s --web --web-control --no-tui",
                "live-script" => "run endpoints.js --web --no-tui --observe host -e SECONDS=900",
                _ => "sweep URL --rates 100,200 --step 400s --max-time 900s --web",
            };
            // The page with everything on it: that of the owner, if it can be controlled.
            let is_owned = matches!(name, "live" | "serve-control");
            let before = if is_owned { "page that can" } else { "page: " };
            let (running, url) = started(&mut self.knee(line), before)?;
            Ok((name, url, running))
        });
        lines.collect()
    }
}

/// The pages that are served.
const SERVED: [&str; 5] = ["serve", "serve-control", "live", "live-script", "live-sweep"];

fn is_known(name: &str) -> bool {
    SERVED.contains(&name) || MADE.iter().any(|made| made.name == name)
}

/// Starts a command and waits for the line that has its URL.
fn started(command: &mut Command, before: &str) -> Result<(Running, String)> {
    let name = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = process::spawn(command)?;
    let stderr = running.child().stderr.take().context("the pipe is missing")?;
    let mut lines = BufReader::new(stderr).lines();
    let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let at = line.contains(before).then(|| line.find("http://")).flatten()?;
        Some(line[at..].split_whitespace().next()?.to_owned())
    });
    let url = url.with_context(|| format!("{name} named no URL"))?;
    // What it says later must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    Ok((running, url))
}
