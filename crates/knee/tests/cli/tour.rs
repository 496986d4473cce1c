//! The tour: what a newcomer sees first, from its announcement to its pages and last lines.
//!
//! A build without optimizations calls its own measurements invalid, so there the comparison reaches no verdict, and
//! says why.

use serde_json::Value;

use crate::program::{Finished, Home};

/// The number before `/s` after `text`.
fn rate(finished: &Finished, text: &str) -> f64 {
    let (_, rest) = finished.stderr.split_once(text).unwrap_or_else(|| panic!("{}", finished.stderr));
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    number.replace(',', "").parse().unwrap_or_else(|_| panic!("no number after `{text}`: {rest}"))
}

/// The run of the third part: the last one that is no trial. The comparison after it is no run.
fn third_run(home: &Home) -> Value {
    let is_run = |path: &std::path::PathBuf| {
        let folder = path.parent().and_then(std::path::Path::file_name);
        path.extension().is_some_and(|suffix| suffix == "knee") && folder.is_some_and(|name| name == "runs")
    };
    let last = home.files().into_iter().filter(is_run).max().unwrap();
    home.report(last.to_str().unwrap())
}

/// What the tour must say of the findings and bounds of a run: on a busy machine, they are others than on an idle one.
fn answer(findings: &Value) -> &str {
    let (first, tightest) = (&findings["findings"][0], &findings["bounds"][0]);
    let is_full = tightest["reached"].as_f64().is_some_and(|reached| reached >= 0.85);
    let is_hint = first["confidence"] == "hint";
    match first["statement"].as_str() {
        Some(statement) if !is_hint || !is_full => statement,
        _ if is_full => tightest["resource"].as_str().unwrap(),
        _ if findings["ran"].as_array().unwrap().is_empty() => "was not looked for",
        _ => "ran and found nothing",
    }
}

/// Whether a comparison by goodput has a verdict, or says why not.
fn has_verdict_or_reason(stdout: &str) -> bool {
    let verdicts = ["goodput faster", "goodput slower", "goodput same"];
    // No common block; too few of them; noise.
    let reasons = ["Nothing was compared: ", "; a verdict needs ", " blocks needed"];
    verdicts.iter().chain(&reasons).any(|text| stdout.contains(text))
}

#[test]
fn the_tour_announces_its_commands_finds_the_limit_that_it_predicts_and_what_bounds_it_and_ends_in_pages() {
    let home = Home::new();
    let mut running = home.knee("tour --brief").env("TMPDIR", home.path("")).start();
    running.wait_for("A tour of knee in about 35 s");
    for (part, command) in [
        ("1/4", "$ knee http://"),
        ("2/4", "$ knee sweep http://"),
        ("3/4", "--observe host --observe pid:"),
        ("4/4", "$ knee compare "),
    ] {
        running.wait_for(part);
        running.wait_for(command);
    }
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{}\n{}", finished.stderr, finished.stdout);
    let (predicted, found) = (rate(&finished, "predicted "), rate(&finished, "/s, found "));
    assert!((predicted - 2_000.0).abs() < 1e-9, "8 workers of 4 ms");
    // More than the server can answer is wrong on any machine; less is what a busy one has left for it.
    assert!(found > 0.0 && found < 1.25 * predicted, "{}\n{}", finished.stderr, finished.stdout);
    let says = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!says.contains("cannot give a verdict"), "the tour itself asks for too few blocks: {says}");
    assert!(has_verdict_or_reason(&says), "{says}");
    if !cfg!(debug_assertions) {
        assert!(says.contains("goodput faster"), "{says}");
    }
    let (_, end) = finished.stderr.split_once("\nShown: ").unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = third_run(&home);
    let says = answer(&run["findings"]);
    assert!(words(end).contains(&words(says)), "{says}\n{end}");
    if !cfg!(debug_assertions) && run["validity"] != "invalid" {
        let ran = run["findings"]["ran"].as_array().unwrap();
        assert!(ran.iter().any(|code| code == "fixed_places"), "its levels are enough for the rule: {ran:?}");
    }
    let last: Vec<&str> = end.lines().rev().take(6).collect();
    assert!(last[0].ends_with("./try labs/lorem-news"), "{last:?}");
    for (line, kind) in
        [(last[5], "Load test"), (last[4], "Sweep"), (last[3], "Load test"), (last[2], "Comparison")]
    {
        let page = std::fs::read_to_string(line.trim()).unwrap();
        let (title, _) = page.split_once("</title>").unwrap();
        assert!(title.ends_with(&format!(" · {kind}")), "{line}: {title}");
    }
    let left: Vec<_> = home.files().into_iter().filter(|path| path.ends_with("sweep.json")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_interrupted_tour_goes_on_to_no_further_part() {
    let home = Home::new();
    let mut running = home.knee("tour").start();
    running.wait_for("$ knee http://");
    running.send(rustix::process::Signal::INT);
    let finished = running.finish();
    assert_eq!(finished.code, Some(105), "{}", finished.stderr);
    assert!(!finished.stderr.contains("2/4"), "{}", finished.stderr);
}
