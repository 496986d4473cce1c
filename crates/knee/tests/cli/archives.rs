//! `knee archive`, `knee inspect`, and `knee run` of archives, among them one that k6 1.8.1 made.
//!
//! That k6 runs those of knee was tried by hand: continuous integration has no k6.

use std::fs;

use serde_json::Value;

use crate::program::{Finished, Home};

/// An archive that k6 made of a script in a home directory, with `-e WHO=ann`.
const OF_K6: &[u8] = include_bytes!("archive_of_k6.tar");

const SCRIPT: &str = "
    import { greeting } from './lib/greeting.js';
    const rows = open('./rows.csv').split('\\n');
    export const options = {
      thresholds: { iterations: [{ threshold: 'count>0', abortOnFail: true, delayAbortEval: '5s' }] },
      tags: { team: 'shop' }, ext: { other: { tool: 1 } },
    };
    export default function () { console.log(greeting, rows.length, __ENV.WHO); }";

fn shop() -> Home {
    let home = Home::new();
    fs::create_dir_all(home.path("shop/lib")).unwrap();
    home.file("shop/shop.js", SCRIPT);
    home.file("shop/lib/greeting.js", "export const greeting = 'hello';");
    home.file("shop/rows.csv", "a\nb");
    home
}

/// The lines that a script said.
fn said(finished: &Finished) -> Vec<&str> {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    finished
        .stderr
        .lines()
        .filter(|line| line.contains("source=console"))
        .filter_map(|line| line.split("msg=\"").nth(1)?.split('"').next())
        .collect()
}

fn json(finished: &Finished) -> Value {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn an_archive_runs_without_the_files_of_its_script() {
    let home = shop();
    let made = home.knee("archive -e WHO=ann -u 2 -i 2 -O shop.tar shop/shop.js").run();
    assert_eq!((made.code, made.stdout.as_str()), (Some(0), ""), "{}", made.stderr);
    fs::remove_dir_all(home.path("shop")).unwrap();
    assert_eq!(said(&home.knee("run -q shop.tar").run()), ["hello 2 ann", "hello 2 ann"]);
    assert_eq!(said(&home.knee("run -q -u 1 -i 1 -e WHO=eve shop.tar").run()), ["hello 2 eve"]);
}

#[test]
fn an_archive_has_no_variables_if_that_was_asked_for() {
    let home = shop();
    home.knee("archive -e WHO=ann --exclude-env-vars shop/shop.js").run();
    assert_eq!(said(&home.knee("run -q -i 2 archive.tar").run()), ["hello 2 undefined"; 2]);
}

#[test]
fn an_archive_does_not_have_the_environment_of_the_process_that_made_it() {
    let home = shop();
    home.knee("archive shop/shop.js").env("WHO", "secret-word").run();
    let bytes = fs::read(home.path("archive.tar")).unwrap();
    assert!(!bytes.windows(11).any(|window| window == b"secret-word"));
}

#[test]
fn an_archive_of_an_archive_is_the_same() {
    let home = shop();
    home.knee("archive -e WHO=ann -O one.tar shop/shop.js").run();
    home.knee("archive -O two.tar one.tar").run();
    assert_eq!(fs::read(home.path("one.tar")).unwrap(), fs::read(home.path("two.tar")).unwrap());
}

#[test]
fn an_archive_that_k6_made_runs() {
    let home = Home::new();
    home.file("shop.tar", OF_K6);
    let finished = home.knee("run -q shop.tar").run();
    assert_eq!(said(&finished), ["hello 3 ann undefined"; 2]);
    let options = json(&home.knee("inspect --execution-requirements shop.tar").run());
    assert_eq!((options["maxVUs"].as_u64(), options["totalDuration"].as_str()), (Some(2), Some("10m30s")));
}

#[test]
fn a_file_that_is_no_archive_of_a_test_is_refused() {
    let home = Home::new();
    let mut block = vec![0; 1024];
    block[257..262].copy_from_slice(b"ustar");
    home.file("f.tar", &block);
    let finished = home.knee("run f.tar").run();
    assert_eq!(finished.code, Some(104), "{}", finished.stderr);
    assert!(
        finished.stderr.starts_with("error: `f.tar` is an archive that cannot be read: "),
        "{}",
        finished.stderr
    );
}

#[test]
fn inspect_shows_what_the_script_says_and_nothing_more() {
    let home = shop();
    let options = json(&home.knee("inspect shop/shop.js").run());
    assert_eq!(options["tags"]["team"], "shop");
    assert_eq!(options["ext"]["other"]["tool"], 1);
    let threshold = &options["thresholds"]["iterations"][0];
    assert_eq!((&threshold["abortOnFail"], &threshold["delayAbortEval"]), (&true.into(), &"5s".into()));
    for name in ["vus", "duration", "scenarios", "systemTags", "summaryTrendStats"] {
        assert!(options.get(name).is_some_and(Value::is_null), "{name}");
    }
}

#[test]
fn inspect_says_how_many_vus_a_run_needs_and_how_long_it_takes() {
    let home = Home::new();
    home.file("s.js", "export const options = { vus: 3, duration: '5s' }; export default () => {};");
    let options = json(&home.knee("inspect --execution-requirements s.js").run());
    assert_eq!((options["maxVUs"].as_u64(), options["totalDuration"].as_str()), (Some(3), Some("35s")));
    assert_eq!(options["scenarios"]["default"]["executor"], "constant-vus");
    assert_eq!((options["vus"].as_u64(), options["duration"].as_str()), (Some(3), Some("5s")));
}
