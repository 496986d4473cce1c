//! Two services against each other, two runs beside each other, and what noise does: with real servers of which one
//! is slow by far.
//!
//! A build without optimizations measures nothing that counts, so there every comparison is undecided and ends with
//! 120; what the trials measured is looked at all the same.

use serde_json::Value;

use crate::program::{BINARY, Finished, Home, number, word};
use crate::server::Server;

/// Blocks that can show a difference by one metric: the least p is 2 / 2^6.
const ENOUGH: &str = "--blocks 6 --metric goodput -z 200ms --warm-up 50ms -c 2 --output-format json";

/// The document, if it is as its schema says.
fn parsed(finished: &Finished) -> Value {
    let schema =
        serde_json::from_str(include_str!("../../../../docs/reference/compare.schema.json")).unwrap();
    let document: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    // The errors of two forms are reported as one; each form alone says more.
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    document
}

/// The last attempt at every trial, in the order in which they were made: block, side, and its figures.
fn trials(document: &Value) -> Vec<(u64, String, Value)> {
    let mut trials: Vec<(u64, String, Value)> = Vec::new();
    for entry in document["trials"].as_array().unwrap() {
        let trial = &entry["trial"];
        let place = (number(trial, "/block"), trial["variant"].as_str().unwrap().to_owned());
        if trial["attempt"].as_u64() > Some(1) {
            trials.pop();
        }
        trials.push((place.0, place.1, entry["result"]["measured"].clone()));
    }
    trials
}

/// Fails unless every trial is accounted for.
fn balances(document: &Value) {
    let count = |name: &str| number(document, &format!("/totals/{name}"));
    assert_eq!(
        count("trials"),
        count("valid") + count("suspect") + count("invalid") + count("broken"),
        "{document:#}"
    );
    assert_eq!(count("trials"), document["trials"].as_array().unwrap().len() as u64);
}

fn rate(measured: &Value) -> f64 {
    measured["figures"]["goodput"]["value"].as_f64().unwrap_or_else(|| panic!("{measured:#}"))
}

#[test]
fn the_slow_side_is_found_whichever_it_is_and_only_a_slow_b_stops_a_pipeline() {
    let home = Home::new();
    let server = Server::start();
    // An answer takes a tenth of a second, or next to nothing.
    for (a, b, word, exit) in [("/", "/slow", "slower", 121), ("/slow", "/", "faster", 0)] {
        let sides = format!("compare {} {} {ENOUGH}", server.url(a), server.url(b));
        let finished = home.knee(&sides).run();
        let document = parsed(&finished);
        balances(&document);
        let verdict = if word == "slower" { "worse" } else { "better" };
        let expected = if cfg!(debug_assertions) { ("undecided", 120) } else { (verdict, exit) };
        assert_eq!((document["verdict"].as_str().unwrap(), finished.code.unwrap()), expected, "{document:#}");
        // The best of six blocks: a machine that pauses makes trials slower, and none faster.
        let best = |side: &str| {
            let of_side = trials(&document).into_iter().filter(|(_, arm, _)| arm == side);
            let rates: Vec<f64> = of_side.map(|(_, _, measured)| rate(&measured)).collect();
            assert_eq!(rates.len(), 6, "every block has its {side}");
            rates.into_iter().fold(0.0, f64::max)
        };
        assert_eq!(best("A") > best("B"), word == "slower", "{document:#}");
    }
}

#[test]
fn both_sides_get_the_same_requests_alternately_and_every_trial_is_kept() {
    let (home, one, other) = (Home::new(), Server::start(), Server::start());
    let flags = "--blocks 4 -z 100ms --warm-up 50ms -c 2 -m POST -d hello -H X-Mark:1 --output-format json";
    let finished = home.knee(&format!("compare {} {} {flags}", one.url("/x"), other.url("/y"))).run();
    let document = parsed(&finished);
    let trials = trials(&document);
    let order: Vec<&str> = trials.iter().map(|(_, side, _)| side.as_str()).collect();
    assert_eq!(order.len(), 8);
    assert_eq!(document["not_restarted"], serde_json::json!(["A", "B"]));
    let notes = document["notes"].to_string();
    assert!(
        notes.contains("one process each: differences between two starts of the same service are not in"),
        "{notes}"
    );
    for pair in order.chunks(4) {
        assert_eq!(
            pair[..2].iter().rev().collect::<Vec<_>>(),
            pair[2..].iter().collect::<Vec<_>>(),
            "AB is followed by BA"
        );
    }
    for (_, _, measured) in &trials {
        assert!(number(measured, "/requests") > 0);
        assert!(std::path::Path::new(measured["record"].as_str().unwrap()).is_file());
    }
    for (server, path) in [(&one, "/x"), (&other, "/y")] {
        let seen = server.seen();
        assert!(!seen.is_empty());
        for request in seen {
            assert_eq!(
                (request.method.as_str(), request.path.as_str(), request.text().as_str()),
                ("POST", path, "hello")
            );
            assert_eq!(request.header("x-mark"), Some("1"));
        }
    }
}

#[test]
fn the_same_service_twice_is_said_to_be_that_in_every_form() {
    let (home, server) = (Home::new(), Server::start());
    let url = server.url("/");
    let line = format!("compare {url} {url} --blocks 1 -z 100ms --warm-up 0s -c 1 --quiet --output-format");
    for (format, begins) in
        [("text", "B vs A: goodput undecided"), ("md", "# B vs A: goodput undecided"), ("json", "{")]
    {
        let finished = home.knee(&format!("{line} {format}")).run();
        assert!(finished.stdout.starts_with(begins), "{}\n{}", finished.stdout, finished.stderr);
        assert!(
            finished.stdout.contains("A and B are the same service: any difference is noise"),
            "{}",
            finished.stdout
        );
        assert!(!finished.stdout.contains('\u{1b}'), "no colours in a pipe");
        assert_eq!(finished.stderr, "", "quiet");
    }
}

#[test]
fn commands_are_started_on_free_ports_loaded_and_ended() {
    let home = Home::new();
    let command = format!("MARK=1 {BINARY} demo --serve-only --listen 127.0.0.1:{{port}}");
    let flags =
        "--ready /healthz --path /healthz --blocks 2 -z 200ms --warm-up 50ms -c 1 --output-format json";
    let finished = home.knee("compare").arg(&command).arg(&command).args(flags).run();
    let document = parsed(&finished);
    balances(&document);
    let trials = trials(&document);
    assert_eq!(trials.len(), 4, "{document:#}");
    assert_eq!(document["not_restarted"], serde_json::json!([]), "each trial has a process of its own");
    let restarted =
        document["trials"].as_array().unwrap().iter().all(|entry| entry["trial"]["restart"] == true);
    assert!(restarted, "{document:#}");
    if cfg!(target_os = "linux") && std::thread::available_parallelism().unwrap().get() > 1 {
        assert_eq!(document["cpus"]["shared"], Value::Null, "{document:#}");
    }
    for (_, _, measured) in &trials {
        let answered = number(measured, "/requests");
        assert!(answered > 0 && measured["figures"]["errors"]["value"] == 0.0, "{measured:#}");
        assert!(!cfg!(target_os = "linux") || measured["figures"]["memory"]["value"].as_f64() > Some(0.0));
        let record = measured["record"].as_str().unwrap();
        let title = home.report(record)["title"].as_str().unwrap().to_owned();
        let address = title.split("://").nth(1).unwrap().split('/').next().unwrap();
        assert!(std::net::TcpStream::connect(address).is_err(), "{address} still answers");
    }
}

#[test]
fn a_command_that_does_not_come_up_is_reported_with_what_it_said() {
    let (home, server) = (Home::new(), Server::start());
    let flags = "--blocks 2 -z 100ms --warm-up 0s -c 1 --output-format json";
    let command = "sh -c 'echo no such flag >&2; exit 3' {port}";
    let finished = home.knee("compare").arg(server.url("/")).arg(command).args(flags).run();
    let document = parsed(&finished);
    balances(&document);
    assert_eq!(finished.code, Some(120), "{}", finished.stderr);
    let lost = document["trials"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|entry| entry.pointer("/result/never_ready/reason"));
    assert!(lost.unwrap().as_str().unwrap().contains("no such flag"), "{document:#}");
}

#[test]
fn a_script_is_given_the_address_of_each_side() {
    let (home, one, other) = (Home::new(), Server::start(), Server::start());
    let script = "import http from 'k6/http';\nexport const options = { vus: 1, iterations: 3 };\nexport default () => { http.get(`${__ENV.BASE_URL}/${__ENV.PAGE}`); };\n";
    let script = word(&home.file("pages.js", script));
    let flags = format!("--script {script} -e PAGE=list --blocks 1 --warm-up 0s --output-format json");
    let finished = home.knee(&format!("compare {} {} {flags}", one.url(""), other.url(""))).run();
    let document = parsed(&finished);
    assert_eq!(trials(&document).len(), 2, "{}", finished.stderr);
    for server in [one, other] {
        let seen = server.seen();
        assert!(seen.len() >= 3 && seen.iter().all(|request| request.path == "/list"), "{seen:?}");
    }
}

#[test]
fn two_runs_are_shown_beside_each_other_without_a_verdict() {
    let (home, server) = (Home::new(), Server::start());
    home.knee(&format!("{} -n 300 -c 3", server.url("/"))).run();
    home.knee(&format!("{} -n 200 -c 2", server.url("/other"))).run();
    let finished = home.knee("compare last~1 last").run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for said in [
        "No verdict: one run per side cannot separate change from noise",
        "What two runs cannot show",
        "the targets differ: ",
        "the loads differ: 3 connections, closed, 300 requests and 2 connections",
        "the noise of this machine: run `knee calibrate`",
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&finished.stdout).contains(said), "no {said:?} in\n{}", finished.stdout);
    }
    for verdict in ["faster", "slower"] {
        assert!(!finished.stdout.contains(verdict), "{}", finished.stdout);
    }
    let document = parsed(&home.knee("compare last~1 last --output-format json").run());
    assert_eq!((number(&document, "/a/requests"), number(&document, "/b/requests")), (300, 200));
    let itself = parsed(&home.knee("compare last last --output-format json").run());
    for pair in itself["metrics"].as_array().unwrap() {
        assert!(pair["change"].as_f64().is_none_or(|change| change == 0.0), "{pair:#}");
    }
}

#[test]
fn the_noise_that_is_kept_is_used_on_its_machine_and_ignored_when_that_has_changed() {
    let (home, server) = (Home::new(), Server::start());
    home.knee(&format!("{} -n 300 -c 3", server.url("/"))).run();
    let run = parsed(&home.knee("compare last last --output-format json").run());
    let mut machine = run["a"]["machine"].clone();
    assert_eq!(run["noise"], Value::Null);

    let finished = home.knee("calibrate --blocks 2 -z 100ms --warm-up 0s -c 2 --output-format json").run();
    assert!(finished.stderr.contains("The demo server, a new process in each trial"), "{}", finished.stderr);
    let kept = || home.files().into_iter().filter(|path| path.extension().is_some_and(|end| end == "json"));
    if cfg!(debug_assertions) {
        assert_eq!((finished.code, kept().count()), (Some(120), 0), "{}", finished.stderr);
        assert!(finished.stderr.contains("nothing is saved"), "{}", finished.stderr);
    } else {
        assert_eq!((finished.code, kept().count()), (Some(0), 1), "{}", finished.stderr);
        let document: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(document["machine"], machine);
        let used = parsed(&home.knee("compare last last --output-format json").run());
        assert_eq!(used["noise"], document["calibration"]);
    }

    let slug = |cpu: &str| {
        let plain: String = cpu
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { ' ' })
            .collect();
        plain.to_ascii_lowercase().replace('-', " ").split_whitespace().collect::<Vec<_>>().join("-")
    };
    let cpu = machine["cpu"].as_str().or(machine["arch"].as_str()).unwrap();
    let name = format!("calibration/{}-{}.json", slug(cpu), machine["cores"]);
    std::fs::create_dir_all(home.path("calibration")).unwrap();
    let write = |machine: &Value| {
        let noise = serde_json::json!({ "of": "a test", "blocks": 10, "deviations": { "rate": 0.05 }, "suspicious": [] });
        let made = run["a"]["started"].as_u64().unwrap();
        let build = serde_json::json!({ "version": "0.1.0", "commit": null, "optimized": true });
        let kept = serde_json::json!({
            "format": "knee-calibration", "version": 2, "made": made, "build": build, "machine": machine, "calibration": noise
        });
        home.file(&name, kept.to_string());
    };
    write(&machine);
    let used = parsed(&home.knee("compare last last --output-format json").run());
    assert_eq!(used["noise"]["of"], "a test", "{name}");
    assert_eq!(used["metrics"][0]["within_noise"], true);
    let refused = home.knee(&format!("compare {0} {0} --blocks 8 --margin 1%", server.url("/"))).run();
    assert_eq!(refused.code, Some(104));
    assert!(refused.stderr.contains("within this machine's noise"), "{}", refused.stderr);

    machine["system"] = "an older kernel".into();
    write(&machine);
    let finished = home.knee("compare last last --output-format json").run();
    assert_eq!(parsed(&finished)["noise"], Value::Null);
    assert!(
        finished.stderr.contains("is ignored: it was measured under an older kernel"),
        "{}",
        finished.stderr
    );
}

#[test]
fn mistakes_are_reported_with_what_to_write_instead() {
    let home = Home::new();
    for (flags, error, hint) in [
        (
            "compare http://127.0.0.1:1/ last~1.knee",
            "there is no saved run `last~1.knee`",
            "give `last`, `last~1` or a file; `knee report --list` lists saved runs",
        ),
        (
            "compare ./a ./b",
            "`./a` is not a URL, a saved run or a command with {port}",
            "for a command, write {port} where it takes its port, as in './server --port {port}'",
        ),
        (
            "compare a.js b.js",
            "`a.js` is a script, not a side of a comparison",
            "to load both sides with it, write `knee compare URL_A URL_B --script a.js`",
        ),
        (
            "compare http://127.0.0.1:1/ http://127.0.0.1:1/ --margin 5",
            "`--margin 5` is not a share above 0 and below 100 %",
            "write it as `--margin 5%` or `--margin 0.05`",
        ),
        (
            "compare http://127.0.0.1:1/ http://127.0.0.1:1/ --ready /health",
            "`--path`, `--ready`, `--ready-within` and `--share-cpus` are for commands, but neither side is a command",
            "leave the flag out; write the path into the URL",
        ),
        (
            "compare http://127.0.0.1:1/ http://127.0.0.1:1/ -e A=1",
            "`--env` and `--allow-read` are for a script",
            "give a script with `--script`",
        ),
        (
            "compare http://127.0.0.1:1/ http://127.0.0.1:1/ --script a.js -c 5",
            "the script defines its requests, load and duration",
            "leave out `-c`, `-q`, `-z` and the flags for requests",
        ),
    ] {
        home.knee(flags).run().refused(error, hint);
    }
    let (record, server) = (Home::new(), Server::start());
    record.knee(&format!("{} -n 1 -c 1", server.url("/"))).run();
    record.knee("compare last last -c 5").run().refused(
        "for two saved runs, knee sends no load and gives no verdict",
        "leave out all flags but those for output, or compare two URLs or commands",
    );
    record.knee("compare last http://127.0.0.1:1/").run().refused(
        "a saved run cannot be compared with a URL or a command",
        "give two saved runs, or two URLs or commands",
    );
}
