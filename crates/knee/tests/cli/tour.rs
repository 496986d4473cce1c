//! The tour: what a newcomer sees first, from its announcement to its pages and last lines.
//!
//! A build without optimizations calls its own measurements invalid, so there the comparison reaches no verdict.

use crate::program::{Finished, Home};

/// The number before `/s` after `text`.
fn rate(finished: &Finished, text: &str) -> f64 {
    let (_, rest) = finished.stderr.split_once(text).unwrap_or_else(|| panic!("{}", finished.stderr));
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    number.replace(',', "").parse().unwrap_or_else(|_| panic!("no number after `{text}`: {rest}"))
}

#[test]
fn the_tour_announces_its_commands_finds_the_limit_that_it_predicts_and_ends_in_a_verdict_and_pages() {
    let home = Home::new();
    let mut running = home.knee("tour --brief").env("TMPDIR", home.path("")).start();
    running.wait_for("A tour of knee in about 20 s");
    for (part, command) in
        [("1/3", "$ knee http://"), ("2/3", "$ knee sweep http://"), ("3/3", "$ knee compare ")]
    {
        running.wait_for(part);
        running.wait_for(command);
    }
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{}\n{}", finished.stderr, finished.stdout);
    let (predicted, found) = (rate(&finished, "predicted "), rate(&finished, "/s, found "));
    assert!((predicted - 2_000.0).abs() < 1e-9, "8 workers of 4 ms");
    // More than the server can answer is wrong on any machine; less is what a busy one has left for it.
    assert!(found > 0.0 && found < 1.25 * predicted, "{}\n{}", finished.stderr, finished.stdout);
    if !cfg!(debug_assertions) {
        assert!(finished.stdout.contains("goodput faster"), "{}", finished.stdout);
    }
    let last: Vec<&str> = finished.stderr.lines().rev().take(8).collect();
    assert!(last[7].starts_with("Shown: "), "{last:?}");
    assert!(last[6].contains("its 8 workers of 4 ms"), "{last:?}");
    assert!(last[0].ends_with("./try labs/lorem-news"), "{last:?}");
    for (line, kind) in [(last[4], "Load test"), (last[3], "Sweep"), (last[2], "Comparison")] {
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
    assert!(!finished.stderr.contains("2/3"), "{}", finished.stderr);
}
