//! Results that are found again: as pages, by `last`, in the list, as a baseline.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::program::{BINARY, Finished, Home};
use crate::server::Server;

/// A load that is short, and long enough for a few intervals.
const LOAD: &str = "-n 60 -c 2";

fn report(home: &Home, line: &str) -> Finished {
    let finished = home.knee("report").args(line).run();
    assert_eq!(finished.code, Some(0), "{line}: {finished:?}");
    finished
}

#[test]
fn a_page_of_a_run_is_as_good_as_its_record() {
    let (home, server) = (Home::new(), Server::start());
    home.knee(LOAD).args("--record a.knee").arg(server.url("/")).run();
    report(&home, "a.knee --format html -o a.html");
    for format in ["text", "json", "csv", "oha-json", "html", "text --all-findings", "text -u us"] {
        let (of_record, of_page) = (
            report(&home, &format!("a.knee --format {format}")),
            report(&home, &format!("a.html --format {format}")),
        );
        assert!(!of_record.stdout.is_empty() && of_record.stdout == of_page.stdout, "{format}");
    }
    // A page that was written at the end of the run is that of its record.
    home.knee(LOAD).args("--record b.knee --output-format html -o b.html").arg(server.url("/")).run();
    assert_eq!(report(&home, "b.knee").stdout, report(&home, "b.html").stdout);
    let locust = home.knee("report a.html --format locust-csv -o x").run();
    locust.refused(
        "`a.html` is a page, which has no totals after each interval",
        "give the record of the run; `knee history` lists records",
    );
    let compare = |sides: &str| {
        let finished = home.knee("compare --output-format json").args(sides).run();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let mut document: Value = serde_json::from_str(&finished.stdout).unwrap();
        for side in ["a", "b"] {
            document[side]["record"] = Value::Null;
        }
        document
    };
    assert_eq!(compare("a.html b.html"), compare("a.knee b.knee"));
    assert_eq!(compare("a.html b.knee"), compare("a.knee b.html"));
}

#[test]
fn a_page_that_is_broken_or_foreign_is_an_error_that_says_why() {
    let (home, server) = (Home::new(), Server::start());
    home.knee(LOAD).args("--record a.knee").arg(server.url("/")).run();
    report(&home, "a.knee --format html -o a.html");
    let page = fs::read_to_string(home.path("a.html")).unwrap();
    let hint = "give the whole page as knee wrote it, or the record of the run; `knee history` lists records";
    let cases = [
        (page[..page.len() / 2].to_owned(), "the page is cut off"),
        ("<!DOCTYPE html><html><p>mine</p></html>".to_owned(), "the page does not carry its result"),
        (page.replace("knee-record\">\"", "knee-record\">\"!"), "the result within the page is damaged"),
    ];
    for (text, said) in cases {
        home.file("broken.html", text);
        home.knee("report broken.html").run().refused(&format!("`broken.html`: {said}"), hint);
        home.knee("compare broken.html a.html").run().refused(&format!("`broken.html`: {said}"), hint);
    }
    // What it carries is no record.
    let (before, rest) = page.split_once("knee-record\">\"").unwrap();
    let (_, after) = rest.split_once('"').unwrap();
    home.file("broken.html", format!("{before}knee-record\">\"AAAA\"{after}"));
    let finished = home.knee("report broken.html").run();
    assert_eq!(finished.code, Some(104), "{finished:?}");
    assert!(finished.stderr.contains("this is not a knee record"), "{finished:?}");
}

/// A study of the demo server whose trials are short.
fn study(home: &Home) {
    let text = format!(
        r#"title = "two servers that are the same"

[service.main]
command = ["{BINARY}", "demo", "--serve-only", "--listen", "127.0.0.1:{{port}}"]

[variants.red]

[variants.blue]
extends = "red"
env = {{ DEMO_COLOR = "blue" }}

[workloads.page]
path = "/"
connections = 2

[design]
kind = "ladder"
order = ["red", "blue"]
warm_up = "100ms"
measure = "400ms"
"#
    );
    home.file("study/study.toml", text);
}

#[test]
fn every_command_that_measures_leaves_its_result_where_last_finds_it() {
    let server = Server::start();
    let url = server.url("/");
    let commands = [
        "find study --no-proof".to_owned(),
        format!("find {url} -n 40 -c 2"),
        format!("sweep {url} --from 20 --to 40 --step 300ms --max-time 2s"),
        format!("compare {url} {url} --blocks 2 --metric goodput -z 200ms --warm-up 50ms -c 2"),
        "study study --blocks 1".to_owned(),
    ];
    for command in commands {
        let home = Home::new();
        study(&home);
        let finished = home.knee(&command).run();
        assert!(!finished.stdout.is_empty(), "{command}: {finished:?}");
        assert_eq!(report(&home, "last").stdout, finished.stdout, "{command}");
        let json: Value = serde_json::from_str(&report(&home, "last --format json").stdout).unwrap();
        assert!(json.is_object(), "{command}");
        let listed = report(&home, "--list").stdout;
        let kind =
            command.split(' ').next().unwrap().replace("find", "search").replace("compare", "comparison");
        assert!(listed.lines().nth(1).unwrap().contains(&kind), "{command}: {listed}");
        let is_result = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "result");
        let result = home.files().into_iter().find(is_result).unwrap();
        let refused = home.knee("compare").arg(&result).arg(&result).run();
        assert_eq!(refused.code, Some(104), "{command}: {refused:?}");
        assert!(
            refused.stderr.contains(&format!("this is the result of a {kind}, not a run")),
            "{refused:?}"
        );
        if kind != "search" {
            report(&home, "last --format html -o page.html");
            assert_eq!(report(&home, "page.html").stdout, finished.stdout, "{command}: as a page");
        }
    }
}

#[test]
fn the_history_lists_what_is_saved_newest_first_and_filters_by_name() {
    let (home, server) = (Home::new(), Server::start());
    let run = |name: &str| home.knee(LOAD).args(name).arg(server.url("/")).run();
    run("--name checkout");
    run("--name search");
    run("");
    fs::write(home.path("runs/notes.txt"), "mine").unwrap();
    fs::write(home.path("runs/broken.knee"), "no record").unwrap();
    let all = home.knee("history --format json").run();
    assert_eq!(all.code, Some(0), "{all:?}");
    assert!(all.stderr.contains("note: skipped `broken.knee`: "), "{all:?}");
    assert!(all.stderr.contains("note: skipped `notes.txt`: not a saved run or result"), "{all:?}");
    let document: Value = serde_json::from_str(&all.stdout).unwrap();
    let names: Vec<&str> =
        document["entries"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(&names[1..], ["search", "checkout"]);
    assert!(names[0].starts_with("127.0.0.1-"), "{names:?}");
    let likeness = |place: usize| document["entries"][place]["like"].clone();
    assert_eq!(likeness(1), likeness(2), "the same load of the same target on the same machine");
    let one = home.knee("history checkout").run();
    assert_eq!(one.stdout.lines().count(), 2, "{one:?}");
    assert!(one.stdout.lines().nth(1).unwrap().contains("-checkout "), "{one:?}");
    let limited = home.knee("history --limit 1").run().stdout;
    assert!(limited.ends_with("… and 2 older (--limit N)\n"), "{limited}");
    fs::remove_file(home.path("runs/notes.txt")).unwrap();
    fs::remove_file(home.path("runs/broken.knee")).unwrap();
    home.knee("history nothing").run().refused(
        "nothing is saved whose name or target contains `nothing`",
        "`knee history` lists all that is saved",
    );
}

#[test]
fn a_baseline_is_the_run_before_with_the_same_name_plan_target_and_machine() {
    let (home, server) = (Home::new(), Server::start());
    let run = |flags: &str| home.knee(flags).arg(server.url("/")).run();
    let hint = "`knee history` lists what is saved; `knee compare A B` compares any two runs";
    run("-n 60 -c 2 --name checkout");
    home.knee("compare --baseline checkout")
        .run()
        .refused("no run called `checkout` began before this one, for `--baseline`", hint);
    home.knee("compare --baseline other")
        .run()
        .refused("no saved run is called `other`, for `--baseline`", hint);
    run("-n 50 -c 2");
    home.knee("compare --baseline checkout").run().refused(
        "no earlier run called `checkout` has the plan, the target and the machine of this one, for `--baseline`",
        hint,
    );
    run("-n 60 -c 2");
    let compared = home.knee("compare --baseline checkout --output-format json").run();
    if cfg!(debug_assertions) {
        compared
            .refused("every earlier run called `checkout` like this one is invalid, for `--baseline`", hint);
    } else {
        let document: Value = serde_json::from_str(&compared.stdout).unwrap();
        assert!(document["a"]["record"].as_str().unwrap().ends_with("-checkout.knee"), "{document:#}");
    }
}

#[test]
fn a_trend_needs_runs_that_can_be_compared() {
    let (home, server) = (Home::new(), Server::start());
    let nothing = home.knee("history --trend").run();
    assert!(nothing.stdout.starts_with("no trend: "), "{nothing:?}");
    for _ in 0..2 {
        home.knee(LOAD).args("--name shop").arg(server.url("/")).run();
    }
    let text = home.knee("history shop --trend").run();
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.stdout.starts_with("shop ["), "{text:?}");
    let document: Value =
        serde_json::from_str(&home.knee("history shop --trend --format json").run().stdout).unwrap();
    let goodput = &document["trends"][0];
    assert_eq!((goodput["metric"].as_str(), goodput["changes"].is_null()), (Some("goodput"), true));
    let counted = goodput["points"].as_array().unwrap().len() as u64 + goodput["left_out"].as_u64().unwrap();
    assert_eq!(counted, 2, "{document:#}");
}
