//! The commands in the documents: knee takes each of them, and those that need nothing but a service and files run.
//!
//! A command runs as it is printed, with the address of a server of this test, for a fraction of the time. What cannot run
//! here is left out by what it needs: a fleet, a database, a proxy. Does not look at what commands print.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use knee::args::{Refused, parse};

use crate::program::{Home, Knee};
use crate::server::Server;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A command in a document.
struct Printed {
    /// Where it is, as `PAGE:LINE`.
    place: String,
    /// Its words, with `knee` first and without what a shell does with it.
    words: Vec<String>,
}

/// The texts of the repository, but for decisions, which are history, and flags, which are generated.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from("README.md"), "examples/README.md".into()];
    let mut folders = vec!["docs".to_owned(), "labs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(Path::new(ROOT).join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if Path::new(&path).extension().is_some_and(|extension| extension == "md")
                && !path.starts_with("docs/decisions")
                && !path.ends_with("flags.md")
            {
                pages.push(path.into());
            }
        }
    }
    pages.sort();
    pages
}

/// The commands in the fenced code of a page.
fn commands(page: &Path) -> Vec<Printed> {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let (mut found, mut in_code, mut line) = (Vec::new(), false, String::new());
    for (number, printed) in text.lines().enumerate() {
        let printed = printed.trim();
        if printed.starts_with("```") {
            in_code = !in_code;
            line.clear();
            continue;
        }
        line.push_str(printed.trim_end_matches('\\'));
        if printed.ends_with('\\') {
            continue;
        }
        let words = words(&std::mem::take(&mut line));
        if in_code && is_command(&words) {
            found.push(Printed { place: format!("{}:{}", page.display(), number + 1), words });
        }
    }
    found
}

/// The words of a line up to its explanation, a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let mut quote = None;
    let end = line.char_indices().position(|(at, letter)| match (quote, letter) {
        (Some(open), _) if letter == open => {
            quote = None;
            false
        }
        (None, '\'' | '"') => {
            quote = Some(letter);
            false
        }
        (None, ' ') => line[at..].starts_with("  "),
        _ => false,
    });
    let line: String = line.chars().take(end.unwrap_or(usize::MAX)).collect();
    let words = shlex::split(&line).unwrap_or_default();
    words
        .into_iter()
        .take_while(|word| !matches!(word.as_str(), "|" | "&" | ">" | "<" | "2>" | "&&" | ";"))
        .collect()
}

const COMMANDS: [&str; 20] = [
    "report",
    "history",
    "serve",
    "merge",
    "agent",
    "fleet",
    "demo",
    "run",
    "sweep",
    "find",
    "study",
    "compare",
    "calibrate",
    "doctor",
    "audit",
    "explain",
    "tour",
    "completions",
    "man",
    "--help",
];

/// Whether these words are a command and no output or prose that begins with the name.
fn is_command(words: &[String]) -> bool {
    let [name, first, ..] = words else { return false };
    name == "knee" && (COMMANDS.contains(&first.as_str()) || is_target(first) || first.starts_with('-'))
}

fn is_target(word: &str) -> bool {
    word == "URL" || word.contains("://") || word.contains(":8")
}

fn all() -> Vec<Printed> {
    pages().iter().flat_map(|page| commands(page)).collect()
}

#[test]
fn knee_takes_every_command_in_the_documents() {
    let commands = all();
    assert!(commands.len() > 150, "only {} commands were found", commands.len());
    let refused: Vec<String> = commands
        .iter()
        .filter_map(|Printed { place, words }| match parse(words.iter().map(Into::into)) {
            Err(Refused::Problem(problem)) => Some(format!("{place}: {}: {problem:?}", words.join(" "))),
            _ => None,
        })
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// What a command here cannot have, as a word or, with punctuation, as a part of one; and why.
const NEEDS: [(&str, &str); 34] = [
    ("--nats", "a fleet"),
    ("agent", "a fleet"),
    ("fleet", "a fleet"),
    ("serve", "ends when it is interrupted"),
    ("--serve-only", "ends when it is interrupted"),
    ("tour", "has a test of its own"),
    ("study", "builds a service: the labs have tests of their own"),
    ("--variant", "builds a service: sweeps of studies have tests of their own"),
    ("labs/", "builds a service: the labs have tests of their own"),
    ("https://", "a certificate: TLS has tests of its own"),
    ("--http2", "a server of HTTP/2: it has tests of its own"),
    ("--stream", "a server of events: streams have tests of their own"),
    ("-x", "a proxy: proxies have tests of their own"),
    ("--proxy", "a proxy"),
    ("postgres:", "a database"),
    ("redis:", "a database"),
    ("$", "variables of a shell"),
    ("pid:", "a process of the reader"),
    ("--pid", "a process of the reader"),
    ("prometheus:", "a server of metrics"),
    ("pgbouncer:", "a database"),
    ("nginx:", "a server that counts"),
    ("--out", "a server of metrics"),
    ("psql ", "a database"),
    ("{port}", "a service of the reader"),
    ("./", "a service of the reader"),
    ("…", "is a part of a command"),
    ("summary.json", "files of k6"),
    ("results.json", "files of k6"),
    ("man", "is for packagers"),
    ("--urls-from-file", "files of the reader"),
    ("calibrate", "takes half a minute: it has tests of its own"),
    ("--baseline", "earlier runs: the history has tests of its own"),
    ("--resume", "a run that was stopped"),
];

fn need(words: &[String]) -> Option<&'static str> {
    let is_part = |part: &str| part.contains([':', '/', '$', '{', '…', '.', ' ']);
    let has =
        |part: &&str| words[1..].iter().any(|word| word == *part || (is_part(part) && word.contains(*part)));
    NEEDS.iter().find(|(part, _)| has(part)).map(|(_, why)| *why)
}

/// A script for the names of scripts in the documents.
const SCRIPT: &str = "import http from 'k6/http';
export const options = { vus: 1, iterations: 3 };
export default function () { http.get(__ENV.BASE_URL || 'URL'); }
";

/// The same command against `url`, for a fraction of the time.
fn shortened(words: &[String], url: &str) -> Vec<String> {
    let mut short: Vec<String> = Vec::new();
    for word in &words[1..] {
        let before = short.last().map(String::as_str).unwrap_or_default();
        let new = match before {
            "-z" | "--step" => "300ms".to_owned(),
            "--warm-up" | "--gap" => "20ms".to_owned(),
            "--max-time" => "2s".to_owned(),
            "--stage" => word.split(',').map(short_stage).collect::<Vec<_>>().join(","),
            "-n" | "--blocks" => "5".to_owned(),
            _ => aimed(word, url),
        };
        short.push(new);
    }
    let more: &[(&str, &str)] = match short[0].as_str() {
        "sweep" => &[("--step", "300ms"), ("--max-time", "2s")],
        "compare" if short.iter().any(|word| word == "--script") => &[("--blocks", "5")],
        "compare" if short.iter().any(|word| word.starts_with(url)) => {
            &[("-z", "100ms"), ("--blocks", "5"), ("--warm-up", "20ms")]
        }
        "calibrate" => &[("-z", "100ms"), ("--blocks", "5")],
        "find" | "demo" => &[("-z", "1s")],
        _ => &[],
    };
    for (flag, value) in more {
        if !short.iter().any(|word| word == flag) {
            short.extend([(*flag).to_owned(), (*value).to_owned()]);
        }
    }
    short
}

fn short_stage(stage: &str) -> String {
    let (_, target) = stage.split_once(':').unwrap();
    format!("100ms:{target}")
}

/// An address of the documents as one of the server.
fn aimed(word: &str, url: &str) -> String {
    if ["URL", "URL_A", "URL_B"].contains(&word) {
        return url.to_owned();
    }
    match word.strip_prefix("http://") {
        Some(rest) => format!("{url}{}", rest.split_once('/').map_or("", |(_, path)| path)),
        None => word.to_owned(),
    }
}

/// A text with figures of another tool.
const AUDITED: &str = "# Results

```
Running 10s test @ http://127.0.0.1:8080/
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.02ms    1.10ms  20.11ms   80.00%
    Req/Sec    24.75k     1.00k   27.00k    70.00%
  495000 requests in 10.00s, 60.00MB read
Requests/sec:  49500.00
Transfer/sec:      6.00MB
```
";

/// A summary of k6.
const SUMMARY: &str = r#"{"metrics":{
"http_req_duration":{"type":"trend","contains":"time","values":{"avg":50,"min":10,"med":40,"max":200,"p(95)":120}},
"http_reqs":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}}},
"state":{"testRunDurationMs":10000}}"#;

/// Files that the documents name.
fn lay_out(home: &Home, url: &str) {
    for name in ["script.js", "checkout.js", "shop.js", "orders.js"] {
        home.file(name, SCRIPT.replace("URL'", &format!("{url}'")));
    }
    home.file("README.md", AUDITED);
    home.file("body.json", "{}");
    home.file("bodies.txt", "one\ntwo\n");
    home.file("file.csv", "a,b\n");
    home.file("before.json", SUMMARY);
    home.file("after.json", SUMMARY);
    home.file("wrk.txt", AUDITED);
    for (name, part) in [
        ("one.knee", "0:1/2"),
        ("two.knee", "1/2:1"),
        ("A", "0:1/2"),
        ("B", "1/2:1"),
        ("before.knee", "0:1"),
        ("after.knee", "0:1"),
        ("FILE", "0:1"),
    ] {
        let line = format!("{url} -n 20 -c 2 --record {name} --execution-segment {part}");
        assert!(matches!(home.knee(&line).run().code, Some(0 | 120)), "{line}");
    }
    for page in ["before", "after"] {
        let line = format!("{url} -n 20 -c 2 --output-format html -o {page}.html");
        assert!(matches!(home.knee(&line).run().code, Some(0 | 120)), "{line}");
    }
    for name in ["checkout", "checkout", "orders"] {
        home.knee(&format!("{url} -n 20 -c 2 --name {name}")).run();
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "cargo shows what was left out with the result of the test")]
fn commands_in_the_documents_that_need_only_a_service_and_files_run() {
    let (home, server) = (Home::new(), Server::start());
    let url = server.url("/");
    lay_out(&home, &url);
    let (mut left_out, mut run, mut failed) = (BTreeMap::<_, u32>::new(), BTreeSet::new(), Vec::new());
    for Printed { place, words } in all() {
        if let Some(why) = need(&words) {
            *left_out.entry(why).or_default() += 1;
            continue;
        }
        let words = shortened(&words, &url);
        if !run.insert(words.clone()) {
            continue;
        }
        // Which one it was, if one hangs.
        println!("{place}: knee {}", words.join(" "));
        let finished = words.iter().fold(home.knee(""), Knee::arg).run();
        // A debug build rates its own results invalid (120); a comparison can be slower (121) and a threshold crossed (99).
        if !matches!(finished.code, Some(0 | 99 | 120 | 121)) {
            failed.push(format!(
                "{place}: knee {}: {:?}\n{}",
                words.join(" "),
                finished.code,
                finished.stderr
            ));
        }
    }
    println!("{} different commands run; left out: {left_out:?}", run.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(run.len() > 60, "only {} commands run", run.len());
}
