//! The live page of commands whose loads are compared: it says nothing of the answer before the last load has ended, it
//! stops them, and it never changes their loads. And a study that is started from a browser.
//!
//! Does not look at what the answers are.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::control::{begun, body, controlled, form_urlencoded, results, status, wait_until};
use crate::program::{Home, Running};
use crate::server::Server;
use crate::study::study_of_the_demo_server;
use crate::web::Page;

/// What only the answer to the whole can say.
const VERDICTS: [&str; 8] =
    ["faster", "slower", "better", "worse", "confirmed", "refuted", "no difference", "equivalent"];

/// A study with two variants of the demo server, in the folder `study`.
pub fn study(home: &Home, title: &str) {
    let folder = home.path("study");
    fs::create_dir(&folder).unwrap();
    study_of_the_demo_server(&folder);
    rewrite(home, "\"two servers that are the same\"", &json!(title).to_string());
}

/// Replaces a part of the study's file.
pub fn rewrite(home: &Home, from: &str, to: &str) {
    let file = home.path("study").join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&file, text.replace(from, to)).unwrap();
}

/// Commands whose loads are compared.
const SERIES: [&str; 2] = ["study", "compare"];

/// One of them with two blocks and a page that can stop it. `measure`: how long a load takes.
fn series(command: &str, measure: &str) -> (Home, Server, Running, Page, String) {
    let (home, server) = (Home::new(), Server::start());
    study(&home, "two of a kind");
    rewrite(&home, "measure = \"800ms\"", &format!("measure = \"{measure}\""));
    let flags = "--web --web-control --blocks 2";
    let url = server.url("/");
    let (running, page, control) = if command == "study" {
        controlled(&home, &format!("study {flags}"), "study")
    } else {
        controlled(&home, &format!("compare {flags} --metric goodput -z {measure} -c 2 {url}"), &url)
    };
    (home, server, running, page, control)
}

#[test]
fn a_study_and_a_comparison_are_stopped_from_the_page_and_never_steered() {
    for command in SERIES {
        let (_home, _server, running, page, control) = series(command, "1h");
        begun(&page);
        let state = page.state();
        assert_eq!((&state["steering"], &state["conclusion"]), (&Value::Null, &Value::Null), "{state}");
        let steer = format!("control={control}&rate=1&over_s=0");
        let steered = body(&page.answer(&page.form("/api/run/steer", &steer)));
        assert_eq!(steered, json!({ "done": false, "says": "the rate of this load cannot be changed" }));
        assert_eq!(page.state()["run"]["load"], state["run"]["load"], "the load is as planned");
        let stop = page.form("/api/run/stop", &format!("control={control}"));
        assert_eq!(body(&page.answer(&stop))["done"], true);
        assert_eq!(running.finish().code, Some(105), "as after Ctrl-C");
    }
}

/// Fails if a state says more of the answer than can be known.
fn says_nothing_yet(state: &Value) {
    let all_ended =
        state["lines"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains("the last one"));
    if all_ended {
        return;
    }
    assert_eq!((&state["conclusion"], &state["report"]), (&Value::Null, &Value::Null), "{state}");
    let text = state.to_string();
    let said: Vec<&&str> = VERDICTS.iter().filter(|word| text.contains(**word)).collect();
    assert!(said.is_empty(), "{said:?}: {text}");
}

#[test]
fn the_page_of_a_study_and_of_a_comparison_has_no_verdict_before_the_last_load_has_ended() {
    for command in SERIES {
        let (_home, _server, running, page, _control) = series(command, "800ms");
        let events = page.watch();
        running.finish();
        assert!(events.len() > 4, "one piece for each load at least: {}", events.len());
        for (_, state) in &events {
            says_nothing_yet(state);
        }
        let early = events
            .iter()
            .filter(|(_, state)| state["run"]["number"].as_u64().is_some_and(|number| number < 4));
        assert!(early.count() > 1, "it was watched before the last load");
        let (name, last) = events.last().unwrap();
        assert_eq!(name, "ended");
        assert!(last["conclusion"]["answer"].as_str().is_some_and(|answer| !answer.is_empty()), "{last}");
        assert!(last["report"].as_str().is_some_and(|report| report.contains("<h1")), "{last}");
    }
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_the_verdict_of_a_study_and_of_a_comparison_appears_only_at_the_end() {
    let mut browser = Browser::start();
    for command in SERIES {
        let (_home, _server, running, page, _control) = series(command, "2s");
        browser.open(&format!("http://{}/?token={}", page.address, page.token));
        browser.sees("live");
        let seen = "(() => { const shown = document.body.innerText.toLowerCase(); return {
                conclusion: !document.getElementById('conclusion').hidden, text: shown,
                ended: shown.includes('the last one') || shown.includes('run ended') }; })()";
        let mut early = 0;
        loop {
            let shown = browser.read(seen);
            if shown["ended"] == true {
                break;
            }
            early += 1;
            let text = shown["text"].as_str().unwrap();
            let said = VERDICTS.iter().any(|word| text.contains(word));
            assert!(shown["conclusion"] == false && !said, "{text}");
        }
        assert!(early > 0, "it was looked at before the end");
        browser.sees("run ended");
        browser.finds("!document.getElementById('conclusion').hidden");
        browser.finds("document.getElementById('conclusion-answer').textContent.length > 10");
        running.finish();
    }
}

#[test]
fn a_study_of_a_folder_is_started_shown_and_saved() {
    let home = Home::new();
    study(&home, "two of a kind");
    let (running, page, control) =
        controlled(&home, "serve --control --folder", &home.path("").display().to_string());
    let folder = home.path("study").canonicalize().unwrap();
    let fields =
        format!("control={control}&kind=study&quick=yes&study={}", form_urlencoded(folder.to_str().unwrap()));
    let shown = page.answer(&page.form("/start", &fields));
    assert!(shown.contains("Start this load?") && shown.contains(folder.to_str().unwrap()), "{shown}");
    assert!(!folder.join(".knee").exists(), "nothing is started before it was confirmed");
    let begun = page.answer(&page.form("/start/confirmed", &fields));
    assert!(begun.contains("The load has started"), "{begun}");
    let second = page.answer(&page.form("/start/confirmed", &fields));
    assert_eq!(status(&second), "409", "one at a time: {second}");
    wait_until("its result is saved", || results(&page) == 1);
    let list = page.answer(&page.request("/history.json", ""));
    assert!(list.contains("two of a kind") || list.contains("\"study\""), "{list}");
    running.send(Signal::INT);
    assert_eq!(running.finish().code, Some(0));
}
